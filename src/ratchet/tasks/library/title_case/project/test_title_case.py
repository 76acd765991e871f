from title_case import heading


def test_small_words_stay_small():
    assert heading("lord of the rings") == "Lord of the Rings"


def test_the_first_word_is_always_large():
    assert heading("THE END") == "The End"


def test_one_word():
    assert heading("home") == "Home"
