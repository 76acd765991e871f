import pytest

from lengths import add, convert, shown


def test_convert():
    assert convert(2, "km", "m") == pytest.approx(2000)


def test_add():
    assert add((1, "m"), (50, "cm"))[0] == pytest.approx(1.5)


def test_shown():
    assert shown(1500, "m") == "1.5 km"
    assert shown(5, "mm") == "5 mm"
