from roman import value

PAIRS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
         (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]


def numeral(number):
    text = ""
    for worth, letters in PAIRS:
        while number >= worth:
            text += letters
            number -= worth
    return text


def test_all_of_them():
    assert all(value(numeral(n)) == n for n in range(1, 4000))
