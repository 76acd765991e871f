"""Parts of the gate's tests: tables of bets, the wealth of a mixture of them, and checked arguments. Pure.

A table holds, for each bet of a mixture, the logarithm by which one unit of each cell of `Counts` multiplies its
wealth. Tables depend on constants and a share only, so they are computed once and shared by all tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import exp, inf, isfinite, log, log1p
from operator import index
from typing import NamedTuple

from ratchet.errors import UsageError

SUCCESS_RATES = (0.4, 0.6, 0.8, 0.9, 0.96, 0.99)
RELATIVE_DROPS = (0.06, 0.12, 0.25, 0.5, 0.9)
GRID = tuple((rate, rate * (1 - drop)) for rate in SUCCESS_RATES for drop in RELATIVE_DROPS)
"""(success of the better arm, of the worse one): a mixture over these finds any harm without knowing its size."""

INFORMED = 0.8  # weight of the history's posterior, the rest is uniform: a history that misleads costs a factor 5
MARGIN_BETS = (0.02, 0.05, 0.1, 0.2, 0.4)
STAKE = 0.95  # the most of its wealth that a bet may lose on one unit: the logarithm stays finite
_EXP_LIMIT = 700.0  # exp() of more overflows a float; every threshold lies far below

Counts = tuple[int, int, int, int]
"""(fail_new, fail_old, ok_new, ok_old) of the units at one share."""

Factors = tuple[float, float, float, float]
"""The logarithm by which one unit of each cell of `Counts` multiplies the wealth of a bet."""


class BetTable(NamedTuple):
    """The bets of a mixture at one share, and the most that any of them gains from a unit of each cell."""

    bets: tuple[Factors, ...]
    gains: Factors


def _table(bets: list[Factors]) -> BetTable:
    fail_new, fail_old, ok_new, ok_old = (max(column) for column in zip(*bets, strict=True))
    return BetTable(tuple(bets), (fail_new, fail_old, ok_new, ok_old))


@lru_cache(maxsize=256)
def label_table(share: float, worse_is_new: bool) -> BetTable:
    """Bets on the arm of a unit whose outcome is known, one for each pair of `GRID`.

    If the arm that is called worse is in truth at least as good as the other, whatever both do over time, then a
    failed unit belongs to it with probability at most its share and a successful one with at least its share: no bet
    gains on average (Turner, Ly, Grunwald, arXiv 2106.02693, with the arm instead of the outcome drawn by chance).
    """
    pi = share if worse_is_new else 1 - share  # share of the arm that is called worse
    return _table([_label_bet(pi, good, bad, worse_is_new) for good, bad in GRID])


def _label_bet(pi: float, good: float, bad: float, worse_is_new: bool) -> Factors:
    failed = pi * (1 - bad) / (pi * (1 - bad) + (1 - pi) * (1 - good))  # P(worse arm | failed), as bet
    succeeded = pi * bad / (pi * bad + (1 - pi) * good)
    worse = (log(failed / pi), log(succeeded / pi))
    better = (log((1 - failed) / (1 - pi)), log((1 - succeeded) / (1 - pi)))
    new, old = (worse, better) if worse_is_new else (better, worse)
    return (new[0], old[0], new[1], old[1])


@lru_cache(maxsize=256)
def margin_table(share: float, margin: float) -> BetTable:
    """Bets that the new arm fails at most `margin` more often than the old one, one for each of `MARGIN_BETS`.

    They are on Z = (A / share - (1 - A) / (1 - share)) 1[failed], A = 1 on the new arm, whose mean is the failure rate
    of new minus old; each unit multiplies by 1 - bet (Z - margin).
    """
    return _table([_margin_bet(share, margin, size) for size in MARGIN_BETS])


def _margin_bet(share: float, margin: float, size: float) -> Factors:
    loss = 1 / share - margin
    bet = min(size, STAKE / loss)
    succeeded = log1p(bet * margin)
    return (log1p(-bet * loss), log1p(bet * (1 / (1 - share) + margin)), succeeded, succeeded)


@lru_cache(maxsize=256)
def label_weights(before: tuple[int, int], worse_is_new: bool) -> tuple[float, ...]:
    """The weight of each pair of `GRID`: the posterior of the pair's better rate given the old arm's (ok, total), mixed
    with the uniform, and spread evenly over the drops.

    Where new is suspected to be worse, old is the better arm and its history speaks of that rate. Where new is
    suspected to be better, old is the worse arm and its history speaks of each pair's worse rate.
    """
    ok, total = before
    rates = [good if worse_is_new else bad for good, bad in GRID]
    logs = [ok * log(rate) + (total - ok) * log1p(-rate) for rate in rates]
    top = max(logs)
    likelihoods = [exp(each - top) for each in logs]
    scale = sum(likelihoods)
    return tuple(INFORMED * each / scale + (1 - INFORMED) / len(GRID) for each in likelihoods)


def log_mixture(logs: Sequence[float], weights: Sequence[float]) -> float:
    """The logarithm of the weighted mean of exp(log); exact far beyond the range of a float."""
    top = max(logs)
    return top + log(sum([weight * exp(each - top) for weight, each in zip(weights, logs, strict=True)]))


def log_mean(logs: Sequence[float]) -> float:
    """`log_mixture` with equal weights."""
    top = max(logs)
    return top + log(sum([exp(each - top) for each in logs]) / len(logs))


def wealth(log_e: float) -> float:
    """exp(log_e), infinite where that exceeds a float."""
    return exp(log_e) if log_e < _EXP_LIMIT else inf


def inside(name: str, value: float) -> float:
    """`value`, if it lies strictly between 0 and 1. Raises UsageError otherwise (for NaN and booleans, too)."""
    number = real(name, value)
    if not 0 < number < 1:
        raise UsageError(f"{name} is {value!r}: use a number strictly between 0 and 1")
    return number


def real(name: str, value: float) -> float:
    """`value` as a finite float. Raises UsageError for NaN, infinities, booleans and what is no number."""
    try:
        number = float("nan") if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not isfinite(number):
        raise UsageError(f"{name} is {value!r}: use a finite number")
    return number


def positive(name: str, value: float) -> float:
    """`value` as a finite float above 0. Raises UsageError otherwise."""
    number = real(name, value)
    if number <= 0:
        raise UsageError(f"{name} is {value!r}: use a number above 0")
    return number


def whole(name: str, value: int, *, least: int = 0) -> int:
    """`value` as an integer of at least `least`. Raises UsageError for booleans, fractions and what is no number."""
    try:
        number = least - 1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise UsageError(f"{name} is {value!r}: use an integer from {least}")
    return number


def truth(name: str, value: bool) -> bool:
    """`value` as a boolean; 0 and 1 count as such. Raises UsageError for everything else: 0.7 is not a success."""
    if value in (True, False):
        return bool(value)
    raise UsageError(f"{name} is {value!r}: use True or False")


def history(before: tuple[int, int]) -> tuple[int, int]:
    """`before` as (ok, total). Raises UsageError if it is not that."""
    try:
        ok, total = before
    except (TypeError, ValueError):
        raise UsageError(f"before is {before!r}: use (ok, total) of the old arm's history, (0, 0) if none") from None
    ok, total = whole("ok of before", ok), whole("total of before", total)
    if ok > total:
        raise UsageError(f"before is {before!r}: use (ok, total) with ok <= total")
    return (ok, total)
