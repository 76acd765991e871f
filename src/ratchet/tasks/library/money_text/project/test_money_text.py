from money_text import money, total


def test_thousands():
    assert money(1234567) == "12,345.67 EUR"


def test_small_part():
    assert money(205) == "2.05 EUR"


def test_below_zero():
    assert money(-150) == "-1.50 EUR"


def test_total():
    assert total([100, 250], "USD") == "3.50 USD"
