from dedupe import unique


def test_keeps_the_first():
    assert unique([3, 1, 3, 2, 1]) == [3, 1, 2]


def test_by_key():
    assert unique(["a", "B", "A", "b"], key=str.lower) == ["a", "B"]


def test_nothing_to_do():
    assert unique([1, 2]) == [1, 2]
