from inventory import Inventory


def test_the_last_one_goes():
    shelf = Inventory({"bolt": 1})
    shelf.take("bolt")
    assert shelf.stock == {}


def test_three_in_a_row_start_empty():
    for _ in range(3):
        shelf = Inventory()
        assert shelf.stock == {}
        shelf.add("x")


def test_given_is_kept_apart():
    given = {"a": 1}
    one, two = Inventory(given), Inventory(given)
    one.add("a", 5)
    assert two.stock == {"a": 1}
