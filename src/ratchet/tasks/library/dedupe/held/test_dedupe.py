from dedupe import unique


def test_key_of_length():
    assert unique(["aa", "b", "cc", "d", "eee"], key=len) == ["aa", "b", "eee"]


def test_any_iterable():
    assert unique(iter("hello")) == ["h", "e", "l", "o"]


def test_empty():
    assert unique([]) == []
