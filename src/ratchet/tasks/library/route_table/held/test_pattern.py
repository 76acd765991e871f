from pattern import match


def test_fits():
    assert match("/a/<b>", "/a/x") == {"b": "x"}
    assert match("a", "/a/") == {}


def test_does_not_fit():
    assert match("/a/<b>", "/a/x/y") is None
    assert match("/a/<b>/c", "/a/x") is None
    assert match("/a", "/b") is None
