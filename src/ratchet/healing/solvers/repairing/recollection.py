"""Weigh possible edits by those that worked in other programs.

A posterior in three steps, each a count that is added to what holds without memory (Dirichlet and multinomial): which
family, which form of edit in it (`<` to `<=`, `sorted(...)` around something), in which kind of place (`call range`).
Few memories say little, many that agree say much, and many that disagree say what is common here. Within a family, a
form and a place, the edits stand to each other as without memory.

The constants are those under which the rank of the right edit was best in streams of one class each (72 faults put into
correct programs, nine classes), with no loss on 63 different faults; halving or doubling any of them changes little.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .program import SourceEdit

_BEGIN = 0.5  # the memory's say before it has shown anything; few memories change little whatever their say
_MOST = 0.9  # the order without memory always keeps a tenth
_SILENT = 0.05  # below it, memory has cost more than it brought
_PAYOFF = 2.0  # how much one success may speak for or against memory, as a logarithm: no single one decides
_FADING = 0.9  # a success counts so much less with every newer one
_OF_FAMILY, _OF_FORM, _OF_PLACE = 8.0, 2.0, 4.0  # successes that weigh as much as the order without memory
_LEAST = 1e-12
_TOKENS = re.compile(r"\w+|[-<>=!+*/%|&^@~]+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Remembered:
    """An edit that worked in another program: its class, and how likely the order without memory and memory held it
    then (0: not known)."""

    family: str
    shape: str
    plain: float
    foretold: float
    site: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.family, form_of(self.shape), self.site


def trust(memory: Sequence[Remembered]) -> float:
    """The memory's say in [0, 0.9], by how well it and the order without it foretold what worked. `memory` has the
    newest first."""
    odds = math.log(_BEGIN / (1 - _BEGIN))
    for age, each in enumerate(memory):
        if each.plain > 0 and each.foretold > 0:
            paid = math.log(max(each.foretold, _LEAST) / max(each.plain, _LEAST))
            odds += _FADING**age * max(-_PAYOFF, min(_PAYOFF, paid))
    share = 1 / (1 + math.exp(-odds))
    return 0.0 if share < _SILENT else min(_MOST, share)


def foretold(edits: Sequence[SourceEdit], plain: Sequence[float], memory: Sequence[Remembered]) -> list[float]:
    """The share of each edit, by memory; `plain` are their shares without it. `memory` has the newest first."""
    keys = [(edit.family, form_of(edit.shape), edit.site) for edit in edits]
    here, known = _Shares(), _Shares()
    for key, share in zip(keys, plain, strict=True):
        here.add(key, share)
    for age, each in enumerate(memory):
        known.add(each.key, _FADING**age)
    likely = {key: _posterior(key, here, known) for key in here.places}
    shares = [likely[key] * share for key, share in zip(keys, plain, strict=True)]
    total = sum(shares) or 1.0
    return [share / total for share in shares]


class _Shares:
    """Shares, or successes, by family, by form in it, and by place of that."""

    def __init__(self) -> None:
        self.total = 0.0
        self.families: dict[str, float] = {}
        self.forms: dict[tuple[str, str], float] = {}
        self.places: dict[tuple[str, str, str], float] = {}

    def add(self, key: tuple[str, str, str], share: float) -> None:
        family, form, _ = key
        self.total += share
        self.families[family] = self.families.get(family, 0.0) + share
        self.forms[family, form] = self.forms.get((family, form), 0.0) + share
        self.places[key] = self.places.get(key, 0.0) + share


def _posterior(key: tuple[str, str, str], here: _Shares, known: _Shares) -> float:
    """Compute how much likelier an edit of this key is by memory than without it."""
    family, form, _ = key
    share = here.places[key]
    if share <= 0:
        return 0.0
    of_family, of_form = here.families[family], here.forms[family, form]
    seen_family, seen_form = known.families.get(family, 0.0), known.forms.get((family, form), 0.0)
    in_family = (seen_family + _OF_FAMILY * of_family / here.total) / (known.total + _OF_FAMILY)
    in_form = (seen_form + _OF_FORM * of_form / of_family) / (seen_family + _OF_FORM)
    in_place = (known.places.get(key, 0.0) + _OF_PLACE * share / of_form) / (seen_form + _OF_PLACE)
    return in_family * in_form * in_place / share


@functools.lru_cache(maxsize=100_000)
def form_of(shape: str) -> str:
    """Return the form of an edit, whatever it edits: the tokens that are not in both texts, or what is put around (`+`)
    or taken from around (`-`) a text that stays."""
    before, _, after = shape.partition(" => ")
    old, new = _TOKENS.findall(before), _TOKENS.findall(after)
    for sign, less, more in (("+", old, new), ("-", new, old)):
        for at in range(len(more) - len(less) + 1 if less and len(more) > len(less) else 0):
            if more[at : at + len(less)] == less:
                return f"{sign} {' '.join(more[:at])} \u00b7 {' '.join(more[at + len(less) :])}"
    start = common(old, new)
    end = common(old[start:][::-1], new[start:][::-1])
    return f"{' '.join(old[start : len(old) - end])} => {' '.join(new[start : len(new) - end])}"


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the start that both share."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
