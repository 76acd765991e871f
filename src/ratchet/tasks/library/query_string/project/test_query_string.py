from query_string import build, parse


def test_values_by_name():
    assert parse("?a=1&b=2") == {"a": ["1"], "b": ["2"]}


def test_a_name_may_come_twice():
    assert parse("x=1&x=2") == {"x": ["1", "2"]}


def test_without_value():
    assert parse("flag") == {"flag": [""]}


def test_build():
    assert build({"a": ["1", "2"]}) == "a=1&a=2"
