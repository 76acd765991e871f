"""Work on the bits of whole numbers."""


def count_ones(number):
    count = 0
    while number:
        number |= number - 1
        count += 1
    return count


def reverse_bits(number, width=8):
    """The last bit becomes the first of `width`."""
    turned = 0
    for _ in range(width):
        turned = (turned << 1) | (number & 1)
        number >>= 1
    return turned


def is_power_of_two(number):
    return number > 0 and number & (number - 1) == 0
