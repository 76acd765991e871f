from roman import value


def test_letters_add_up():
    assert value("VII") == 7


def test_a_smaller_one_before_is_taken_off():
    assert value("IX") == 9
    assert value("XL") == 40


def test_single():
    assert value("D") == 500
