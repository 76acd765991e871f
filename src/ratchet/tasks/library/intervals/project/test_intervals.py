from intervals import length, merged


def test_overlap():
    assert merged([(1, 3), (2, 5)]) == [(1, 5)]


def test_one_within_another():
    assert merged([(1, 9), (2, 3)]) == [(1, 9)]


def test_apart():
    assert merged([(4, 5), (1, 2)]) == [(1, 2), (4, 5)]


def test_length_counts_once():
    assert length([(0, 4), (2, 6)]) == 6
    assert length([(1, 2), (1, 9), (20, 30)]) == 18


def test_length_of_spans_that_are_apart():
    assert length([(0, 1), (5, 7)]) == 3
