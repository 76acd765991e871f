from cart import Cart


def test_sum():
    cart = Cart()
    cart.add("apple", 3)
    cart.add("milk")
    assert cart.total() == 200


def test_discount():
    cart = Cart()
    cart.add("bread", 5)
    assert cart.total() == 1045


def test_empty():
    assert Cart().total() == 0
