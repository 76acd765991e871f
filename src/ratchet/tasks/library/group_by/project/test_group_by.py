from group_by import group_by, inverted


def test_by_length():
    assert group_by(["a", "bb", "c"], len) == {1: ["a", "c"], 2: ["bb"]}


def test_none():
    assert group_by([], len) == {}


def test_inverted():
    assert inverted({"a": 1, "b": 2, "c": 1}) == {1: ["a", "c"], 2: ["b"]}
