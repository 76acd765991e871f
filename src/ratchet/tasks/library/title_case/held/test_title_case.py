from title_case import heading


def test_spaces_are_one():
    assert heading("  war   and peace ") == "War and Peace"


def test_nothing():
    assert heading("") == ""


def test_small_first_and_later():
    assert heading("on the road to an island") == "On the Road to an Island"
