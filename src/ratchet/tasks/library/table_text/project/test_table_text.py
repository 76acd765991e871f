from table_text import table


def test_numbers_to_the_right():
    assert table([["a", 5], ["bcd", 100]]) == ["a      5", "bcd  100"]


def test_text_to_the_left():
    assert table([["ab", "c"], ["d", "ef"]]) == ["ab  c", "d   ef"]
