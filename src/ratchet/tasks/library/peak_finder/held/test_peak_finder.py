from peak_finder import peaks


def test_single():
    assert peaks([4]) == [0]


def test_none():
    assert peaks([]) == []


def test_many():
    assert peaks([3, 1, 2, 1, 5, 4, 8]) == [0, 2, 4, 6]


def test_falling():
    assert peaks([9, 8, 7, 9]) == [0, 3]
