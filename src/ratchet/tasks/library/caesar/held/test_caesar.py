import pytest

from caesar import shift


@pytest.mark.parametrize("by", [0, 1, 13, 25, 26, 27, -1, 52])
def test_there_and_back(by):
    text = "The quick brown Fox, jumping 7 times. Zz"
    assert shift(shift(text, by), -by) == text


def test_rot13():
    assert shift("Nggnpx", 13) == "Attack"
