from tokenizer import tokens


def test_the_last_word():
    assert tokens("a") == ["a"]


def test_no_word():
    assert tokens("  ") == []


def test_words():
    assert tokens("a bc ") == ["a", "bc"]


def test_quotes():
    assert tokens("say 'a b' ") == ["say", "a b"]


def test_end():
    assert tokens("x  y") == ["x", "y"]
