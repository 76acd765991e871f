from bit_tricks import count_ones, is_power_of_two, reverse_bits


def test_ones():
    assert count_ones(0b1011) == 3
    assert count_ones(0) == 0


def test_reverse():
    assert reverse_bits(0b00000110) == 0b01100000


def test_power():
    assert [n for n in range(10) if is_power_of_two(n)] == [1, 2, 4, 8]
