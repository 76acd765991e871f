from logline import parse


def test_the_message_keeps_its_spaces():
    assert parse("d L a b  c\n") == ("d", "L", "a b  c")


def test_two_words_are_none():
    assert parse("d L") is None
    assert parse("") is None
