from caesar import shift


def test_moves_small_letters():
    assert shift("abc", 2) == "cde"


def test_goes_round():
    assert shift("xyz", 3) == "abc"


def test_leaves_other_characters():
    assert shift("Hi, Bob!", 1) == "Ij, Cpc!"


def test_back():
    assert shift("dog", -4) == "zkc"
