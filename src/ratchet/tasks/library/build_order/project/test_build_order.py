import pytest

from build_order import order


def test_what_is_needed_comes_first():
    assert order({"app": ["lib"], "lib": ["core"], "core": []}) == ["core", "lib", "app"]


def test_free_ones_by_name():
    assert order({"b": [], "a": []}) == ["a", "b"]


def test_a_circle():
    with pytest.raises(ValueError):
        order({"x": ["y"], "y": ["x"]})
