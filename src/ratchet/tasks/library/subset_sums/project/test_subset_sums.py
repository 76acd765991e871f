from subset_sums import subsets


def test_finds_all():
    assert sorted(subsets([1, 2, 3], 3)) == [[1, 2], [3]]


def test_zero_is_made_of_nothing():
    assert subsets([5], 0) == [[]]


def test_no_way():
    assert subsets([4, 6], 3) == []
