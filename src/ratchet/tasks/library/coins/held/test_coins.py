from coins import fewest, ways


def test_a_euro():
    assert ways(100, [1, 2, 5, 10, 20, 50, 100]) == 4563


def test_the_greedy_is_not_the_best():
    assert fewest(6, [1, 3, 4]) == 2


def test_order_of_values_does_not_matter():
    assert ways(12, [5, 1, 2]) == ways(12, [1, 2, 5]) == 13
