import statistics

import pytest

from statistics_small import mean, median, variance


@pytest.mark.parametrize("values", [[3, 1], [5, 5, 5], [9, -2, 4, 4], [1.5, 2.5, 7, 0, 3], list(range(10))])
def test_like_the_library(values):
    assert mean(values) == pytest.approx(statistics.mean(values))
    assert median(values) == pytest.approx(statistics.median(values))
    assert variance(values) == pytest.approx(statistics.variance(values))
