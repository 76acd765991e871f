from bit_tricks import count_ones, is_power_of_two, reverse_bits


def test_ones_of_many():
    assert all(count_ones(n) == bin(n).count("1") for n in range(600))


def test_twice_is_the_same():
    assert all(reverse_bits(reverse_bits(n)) == n for n in range(256))
    assert reverse_bits(1, 4) == 8


def test_no_power():
    assert not is_power_of_two(0)
    assert is_power_of_two(1 << 40)
