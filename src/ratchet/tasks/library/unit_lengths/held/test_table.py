import pytest

from lengths import convert, shown


def test_there_and_back():
    for unit in ("mm", "cm", "m", "km"):
        assert convert(convert(3, "m", unit), unit, "m") == pytest.approx(3)


def test_shown():
    assert shown(250, "cm") == "2.5 m"
    assert shown(12, "mm") == "1.2 cm"
