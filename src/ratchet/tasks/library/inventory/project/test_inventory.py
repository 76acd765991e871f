import pytest

from inventory import Inventory


def test_two_inventories_share_nothing():
    first, second = Inventory(), Inventory()
    first.add("nail", 3)
    assert second.stock == {}
    assert first.stock == {"nail": 3}


def test_take():
    shelf = Inventory({"nut": 2})
    shelf.take("nut")
    assert shelf.stock == {"nut": 1}


def test_what_was_handed_in_stays_as_it_was():
    given = {"nut": 2}
    shelf = Inventory(given)
    shelf.add("nut")
    assert (given, shelf.stock) == ({"nut": 2}, {"nut": 3})


def test_not_enough():
    with pytest.raises(KeyError):
        Inventory().take("nut")
