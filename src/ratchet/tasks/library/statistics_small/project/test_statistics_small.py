from statistics_small import mean, median, variance


def test_mean():
    assert mean([1, 2, 3]) == 2


def test_median_of_odd():
    assert median([9, 1, 5]) == 5


def test_median_of_even():
    assert median([4, 1, 3, 2]) == 2.5


def test_variance():
    assert variance([1, 3]) == 2
