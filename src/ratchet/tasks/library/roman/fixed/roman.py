"""Roman numerals up to 3999."""

VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def value(numeral):
    total = 0
    for place, letter in enumerate(numeral):
        worth = VALUES[letter]
        following = VALUES[numeral[place + 1]] if place + 1 < len(numeral) else 0
        if worth < following:
            total -= worth
        else:
            total += worth
    return total
