from free_slots import free


def test_a_free_day():
    assert free([], 9, 17) == [(9, 17)]


def test_between():
    assert free([(10, 11), (13, 14)], 9, 17) == [(9, 10), (11, 13), (14, 17)]


def test_any_order():
    assert free([(13, 14), (10, 11)], 9, 17) == [(9, 10), (11, 13), (14, 17)]


def test_one_within_another():
    assert free([(9, 15), (10, 11)], 9, 17) == [(15, 17)]
