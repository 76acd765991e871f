import pytest

from durations import seconds


def test_one_part():
    assert seconds("45s") == 45


def test_parts_add_up():
    assert seconds("1h30m") == 5400


def test_a_number_without_unit():
    with pytest.raises(ValueError):
        seconds("10")


def test_a_unit_without_number():
    with pytest.raises(ValueError):
        seconds("h")
