from flatten_deep import flatten


def test_flat_stays_flat():
    assert flatten([1, 2]) == [1, 2]


def test_opens_all_levels():
    assert flatten([1, [2, [3, (4,)]], 5]) == [1, 2, 3, 4, 5]


def test_strings_are_no_lists():
    assert flatten(["ab", ["cd"]]) == ["ab", "cd"]
