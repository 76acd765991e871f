import pytest

from durations import seconds


def test_all_units():
    assert seconds("2d3h4m5s") == 2 * 86_400 + 3 * 3_600 + 4 * 60 + 5


@pytest.mark.parametrize("text", ["1hh", "x", "1h x", "-1s", "1h5"])
def test_what_is_none(text):
    with pytest.raises(ValueError):
        seconds(text)


def test_several_digits():
    assert seconds("120m") == 7200
