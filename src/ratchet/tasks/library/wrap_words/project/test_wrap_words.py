from wrap_words import wrap


def test_breaks_before_the_width_is_passed():
    assert wrap("aa bb cc", 5) == ["aa bb", "cc"]


def test_counts_the_space():
    assert wrap("abc de", 5) == ["abc", "de"]


def test_long_word():
    assert wrap("a bcdefgh i", 3) == ["a", "bcdefgh", "i"]


def test_empty():
    assert wrap("", 4) == []
