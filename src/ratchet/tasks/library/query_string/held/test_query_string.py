from query_string import build, parse


def test_there_and_back():
    for text in ("a=1", "a=1&a=3&b=", "q=x=y"):
        assert build(parse(text)) == text


def test_empty_parts():
    assert parse("") == {}
    assert parse("a=1&&b=2&") == {"a": ["1"], "b": ["2"]}
