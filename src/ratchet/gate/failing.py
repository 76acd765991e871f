"""Evidence that one version's runs fail more often than another's: two shares, known by counts. Pure."""

from __future__ import annotations

from math import lgamma, log, pi
from typing import NamedTuple


class Attempts(NamedTuple):
    """Runs of a version, and how many of them brought no score."""

    failed: int
    total: int

    @property
    def share(self) -> float:
        return self.failed / self.total if self.total else 0.0


def log_doubt(new: Attempts, old: Attempts) -> float:
    """The logarithm of how much better the runs are explained by new failing more often than by both failing alike: 0
    where it fails no more often. Not evidence (it is chosen after the fact), but never below 0: what is divided by it
    stays an e-value."""
    if new.share <= old.share:
        return 0.0
    return _log_best(new) + _log_best(old) - _log_best(_both(new, old))


def log_harm(new: Attempts, old: Attempts) -> float:
    """The logarithm of an e-value against "new fails no more often than old", valid at every run however runs were
    allotted: bettors on each share (Krichevsky and Trofimov, IEEE Trans. Inf. Theory 27, 1981) against the best
    explanation in which it is so (universal inference: Wasserman, Ramdas, Balakrishnan, PNAS 2020)."""
    best = _log_best(_both(new, old)) if new.share > old.share else _log_best(new) + _log_best(old)
    return _log_bet(new) + _log_bet(old) - best


def _both(new: Attempts, old: Attempts) -> Attempts:
    return Attempts(new.failed + old.failed, new.total + old.total)


def _log_best(of: Attempts) -> float:
    parts = (of.failed, of.total - of.failed)
    return sum(part * log(part / of.total) for part in parts if part)


def _log_bet(of: Attempts) -> float:
    return lgamma(of.failed + 0.5) + lgamma(of.total - of.failed + 0.5) - lgamma(of.total + 1) - log(pi)
