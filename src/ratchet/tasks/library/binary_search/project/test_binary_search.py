from binary_search import contains, first_at_least


def test_place():
    assert first_at_least([1, 3, 5], 3) == 1
    assert first_at_least([1, 3, 5], 4) == 2


def test_beyond():
    assert first_at_least([1, 3, 5], 9) == 3
    assert first_at_least([], 1) == 0


def test_contains():
    assert contains([1, 3, 5], 5)
    assert not contains([1, 3, 5], 2)
