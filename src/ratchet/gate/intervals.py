"""95 % intervals that keep their word on few tasks. Pure.

Runs of one task are alike, so tasks are counted, not runs: each gives its mean, and the means are what varies. On few
tasks they may agree by chance, so two more are added at either end of the scale before the spread is taken: for tasks
that are right or wrong this is the interval of Agresti and Coull (The American Statistician 52, 1998), and it goes to
Student's as tasks are added. `benchmarks/statements.py` has its coverage, beside the bootstrap's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import exp, fsum, inf, lgamma, log, sqrt

LEVEL = 0.95
_TAIL = (1 - LEVEL) / 2
_ADDED = 2  # at either end, as Agresti and Coull have it
_HALVINGS = 60
_TERMS = 500  # of the continued fraction: enough for a million runs, where it converges in O(sqrt(n))
_TINY = 1e-300
_CLOSE = 1e-13


def over_means(means: Sequence[float], low: float = 0.0, high: float = 1.0) -> tuple[float, float]:
    """The interval of the mean of a scale from `low` to `high`, from the means of at least two tasks; it holds their
    mean. The t point has one degree of freedom more than tasks: those that are added are no data, but steady it."""
    held = [*means, *[low, high] * _ADDED]
    middle = fsum(held) / len(held)
    spread = sqrt(fsum((each - middle) ** 2 for each in held) / (len(held) - 1) / len(held))
    half = t_point(len(means) + 1) * spread
    mean = fsum(means) / len(means)
    return max(low, min(mean, middle - half)), min(high, max(mean, middle + half))


def over_runs(total: float, n: int) -> tuple[float, float]:
    """The interval of the mean of `n` scores in [0, 1] of one task, which add up to `total` (Clopper and Pearson,
    Biometrika 26, 1934: never below its level, where Wilson's falls to 80 % at one run). Of partial scores it is wider
    than need be."""
    if n == 0:
        return 0.0, 1.0
    total = min(float(n), max(0.0, total))
    low = _root(lambda p: _beta(total, n - total + 1, p) - _TAIL) if total > 0 else 0.0
    high = _root(lambda p: _beta(total + 1, n - total, p) - (1 - _TAIL)) if total < n else 1.0
    return min(low, total / n), max(high, total / n)


def over_ratio(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The interval of the sum of the firsts over the sum of the seconds, each pair a task's, none below 0 (Fieller,
    JRSS-B 16, 1954, whose interval holds 1 just where a paired t test finds no difference).

    Two tasks are added, of which the first makes one free and one twice as dear: tasks that agree prove nothing. The
    upper end is infinite where so few tasks, or so unlike ones, bound nothing.
    """
    second = fsum(b for _, b in pairs) / len(pairs) if pairs else 0.0
    if len(pairs) < 2 or second <= 0:
        return 0.0, inf
    held = [*pairs, (0.0, second), (2 * second, second)]
    n = len(held)
    first = fsum(a for a, _ in held) / n
    scale = t_point(len(pairs) + 1) ** 2 / (n * (n - 1))
    c = first**2 - scale * fsum((a - first) ** 2 for a, _ in held)
    b = first * second - scale * fsum((a - first) * (b - second) for a, b in held)
    a = second**2 - scale * fsum((b - second) ** 2 for _, b in held)
    root = sqrt(max(0.0, b * b - a * c))
    ratio = (first * n - 2 * second) / (second * len(pairs))
    if a > 0:
        return max(0.0, min(ratio, (b - root) / a)), max(ratio, (b + root) / a)
    low = (b - root) / a if a < 0 < c and b * b > a * c else 0.0  # of what lies outside of two roots, the upper part
    return max(0.0, min(ratio, low)), inf


@lru_cache(maxsize=1024)
def t_point(freedom: int) -> float:
    """Student's 97.5 % point."""
    x = _root(lambda x: _beta(freedom / 2, 0.5, x) - 2 * _TAIL)  # x = freedom / (freedom + t^2)
    return sqrt(freedom * (1 - x) / x)


def _root(rising: Callable[[float], float]) -> float:
    """The place in [0, 1] at which a rising function is 0."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2


def _beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (DLMF 8.17.22) from the side on which it
    converges fast."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """By Lentz's method: numerators and denominators side by side, neither ever 0."""
    upper, lower = 1.0, 1 / _off_zero(1 - (a + b) * x / (a + 1))
    found = lower
    for m in range(1, _TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            lower = 1 / _off_zero(1 + term * lower)
            upper = _off_zero(1 + term / upper)
            found *= lower * upper
        if abs(lower * upper - 1) < _CLOSE:
            break
    return found


def _off_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
