from peekable import Peekable


def test_peek_takes_nothing():
    items = Peekable([1, 2])
    assert items.peek() == 1
    assert [next(items), next(items, "end")] == [1, 2]


def test_at_the_end():
    items = Peekable([])
    assert items.peek("none") == "none"
    assert list(items) == []


def test_the_last_one_can_be_seen():
    items = Peekable([7])
    assert [items.peek(), items.peek("none"), next(items), items.peek("none")] == [7, 7, 7, "none"]


def test_plain():
    assert list(Peekable("ab")) == ["a", "b"]
