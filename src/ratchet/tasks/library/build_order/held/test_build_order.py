import pytest

from build_order import order


def test_a_diamond():
    assert order({"d": ["b", "c"], "b": ["a"], "c": ["a"], "a": []}) == ["a", "b", "c", "d"]


def test_things_that_only_are_needed():
    assert order({"x": ["z"]}) == ["z", "x"]


def test_itself():
    with pytest.raises(ValueError):
        order({"x": ["x"]})
