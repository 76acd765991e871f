from intervals import length, merged


def test_touching():
    assert merged([(1, 2), (2, 3), (5, 6)]) == [(1, 3), (5, 6)]


def test_chain():
    assert merged([(1, 10), (2, 3), (4, 12), (20, 21)]) == [(1, 12), (20, 21)]
    assert length([(1, 10), (2, 3), (4, 12), (20, 21)]) == 12


def test_none():
    assert merged([]) == []
    assert length([]) == 0
