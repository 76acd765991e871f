import pytest

from machine import evaluate


def test_sum():
    assert evaluate("1 2 +") == 3


def test_order_of_operands():
    assert evaluate("7 2 -") == 5
    assert evaluate("8 4 /") == 2


def test_nested():
    assert evaluate("2 3 4 * +") == 14


def test_missing():
    with pytest.raises(ValueError):
        evaluate("1 +")
