"""Integer roots, and roots by iteration."""


def root(number, degree=2, tolerance=1e-9):
    """The positive root of a positive number."""
    guess = max(number, 1.0)
    while abs(guess**degree - number) > tolerance * number:
        guess -= (guess**degree - number) / (degree * guess ** (degree - 1))
    return guess


def integer_root(number):
    """The greatest whole number whose square is not above `number`."""
    low, high = 0, number + 1
    while high - low > 1:
        middle = (low + high) // 2
        if middle * middle <= number:
            low = middle
        else:
            high = middle
    return low
