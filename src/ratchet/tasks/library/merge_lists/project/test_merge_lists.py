from merge_lists import merge, merge_sort


def test_merge():
    assert merge([1, 4], [2, 3, 5]) == [1, 2, 3, 4, 5]


def test_one_is_empty():
    assert merge([], [1]) == [1]
    assert merge([1], []) == [1]


def test_sort():
    assert merge_sort([4, 1, 3, 2]) == [1, 2, 3, 4]
