from peekable import Peekable


def test_peek_before_each():
    items = Peekable(range(4))
    seen = []
    while items.peek() is not None:
        seen.append((items.peek(), next(items)))
    assert seen == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_none_is_an_item():
    items = Peekable([None, 1])
    assert items.peek("x") is None
    assert list(items) == [None, 1]


def test_default_is_not_kept():
    items = Peekable([])
    items.peek("a")
    assert items.peek("b") == "b"
    assert next(items, "end") == "end"
