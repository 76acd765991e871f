from peak_finder import highest, peaks


def test_between():
    assert peaks([1, 3, 2]) == [1]


def test_ends_count():
    assert peaks([5, 1, 6]) == [0, 2]


def test_flat_is_no_peak():
    assert peaks([2, 2]) == []


def test_highest():
    assert highest([1, 9, 9]) == 1
