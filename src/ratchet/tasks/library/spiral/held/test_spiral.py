from spiral import spiral


def test_wide():
    assert spiral([[1, 2, 3, 4], [10, 11, 12, 5], [9, 8, 7, 6]]) == list(range(1, 13))


def test_other_values():
    assert spiral([[5, 1], [4, 9]]) == [5, 1, 9, 4]


def test_nothing():
    assert spiral([]) == []
