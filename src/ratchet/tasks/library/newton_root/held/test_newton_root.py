import math

import pytest

from newton_root import integer_root, root


@pytest.mark.parametrize("number", [0.25, 3, 10, 144, 12345.678])
def test_many(number):
    assert root(number) == pytest.approx(math.sqrt(number))
    assert root(number, 5) == pytest.approx(number ** 0.2)


def test_isqrt():
    assert all(integer_root(n) == math.isqrt(n) for n in range(2000))
