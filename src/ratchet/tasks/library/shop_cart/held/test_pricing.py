from cart import Cart
from pricing import discount


def test_discount():
    assert discount(1000, 10) == 900
    assert discount(999, 0) == 999
    assert discount(500, 100) == 0


def test_large():
    cart = Cart()
    cart.add("milk", 10)
    assert cart.total() == 1045
