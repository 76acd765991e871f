import pytest

from machine import evaluate


def test_long():
    assert evaluate("5 1 2 + 4 * + 3 -") == 14
    assert evaluate("100 10 5 / -") == 98


def test_left_over():
    with pytest.raises(ValueError):
        evaluate("1 2")
