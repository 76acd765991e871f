import pytest

from newton_root import integer_root, root


def test_square():
    assert root(2) == pytest.approx(1.41421356237)


def test_cube():
    assert root(27, 3) == pytest.approx(3)


def test_one():
    assert root(1) == pytest.approx(1)


def test_whole():
    assert [integer_root(n) for n in (0, 1, 8, 9, 10)] == [0, 1, 2, 3, 3]
