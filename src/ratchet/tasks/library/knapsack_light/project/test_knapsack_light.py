from knapsack_light import best_value


def test_takes_what_just_fits():
    assert best_value([(3, 10)], 3) == 10


def test_leaves_what_does_not():
    assert best_value([(4, 10)], 3) == 0


def test_best_of_several():
    assert best_value([(1, 1), (3, 4), (4, 5), (5, 7)], 7) == 9


def test_each_once():
    assert best_value([(2, 3)], 8) == 3
