from moving_average import averages


def test_moves_along():
    assert list(averages([1, 2, 3, 4], 2)) == [1.5, 2.5, 3.5]


def test_too_few():
    assert list(averages([1], 2)) == []


def test_size_one_is_the_same():
    assert list(averages([4, 5], 1)) == [4, 5]
