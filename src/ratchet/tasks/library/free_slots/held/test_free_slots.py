from free_slots import free


def test_full():
    assert free([(9, 12), (12, 17)], 9, 17) == []


def test_overlaps_in_any_order():
    assert free([(12, 13), (9, 14), (15, 16)], 8, 18) == [(8, 9), (14, 15), (16, 18)]


def test_back_to_back():
    assert free([(9, 10), (10, 11)], 9, 12) == [(11, 12)]
