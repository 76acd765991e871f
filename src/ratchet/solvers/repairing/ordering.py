"""The order in which edits are tried: suspicion / size of the family, mixed with what worked elsewhere.

Every family gets the same share, spread over its edits by their lines' suspicion: so a family of five edits is tried
before one of five hundred. Memory is a second opinion of the same form, spread over the shapes of edits that worked.
The two are mixed by how well each would have foretold the edits that worked so far (a Bayesian mixture of experts that
forgets), so a memory that does not pay loses its say by itself.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .program import Edit
from .spectrum import Place

_TRUST = 0.1  # the memory's share before it has shown anything
_MOST = 0.9  # the uniform order always keeps a tenth
_FORGET = 0.9  # a success counts so much less with every newer one
_SHAPE = 0.7  # of the memory's share, what goes to the very shape of an edit; the rest goes to its family
_LEAST = 1e-12
_SHARPNESS = 2.0  # power of the suspicion
_SIZE = 0.7  # power of a family's size: with 1 every small family is used up before the first edit of a large one
_COMMON = 2.0  # how much oftener a fault is of these classes, as in collections of one-line faults of real programs
_COMMON_FAMILIES = frozenset({"variable", "off_by_one", "comparison", "arithmetic", "argument_swap", "attribute",
                              "constant", "returned", "growing"})  # fmt: skip

_ENDLESS = 2.0  # how much oftener it is one of these where no failing test comes to an end
_ENDING = frozenset({"growing", "stepping", "setting", "noting", "leaving", "guarding", "replacement", "extension",
                     "extreme", "relation", "comparison", "off_by_one"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Remembered:
    """An edit that worked in another program: its class, and how likely the uniform order and memory held it then."""

    family: str
    shape: str
    plain: float
    foretold: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """An edit with its shares (all edits of one order add up to 1 in each)."""

    edit: Edit
    plain: float
    foretold: float


def trust(memory: Sequence[Remembered]) -> float:
    """The memory's say in [0, 0.9]. `memory` has the newest first."""
    odds = math.log(_TRUST / (1 - _TRUST))
    for age, each in enumerate(memory):
        if each.plain > 0 and each.foretold > 0:
            odds += _FORGET**age * math.log(max(each.foretold, _LEAST) / max(each.plain, _LEAST))
    share = 1 / (1 + math.exp(-max(-50.0, min(50.0, odds))))
    # Below the trust that it began with it has cost more than it brought: then it is silent.
    return 0.0 if share < _TRUST / 2 else min(_MOST, share)


def ranked(
    edits: Sequence[Edit],
    suspicion: Mapping[Place, float],
    memory: Sequence[Remembered],
    *,
    root: str,
    seed: int = 0,
    order: str = "best",
    endless: bool = False,
) -> list[Ranked]:
    """The edits in the order to try them. `order` may also be "coverage" (by suspicion alone) or "random": what the
    benchmark sets beside it. `endless`: no failing test comes to an end. Equal ones come in an order drawn from the
    seed."""
    draw = random.Random(seed)  # noqa: S311  (an order, no secret)
    ties = {id(edit): draw.random() for edit in edits}
    spread = {id(edit): _suspicion(edit, suspicion, root) for edit in edits}
    if order != "best":
        weights = ties if order == "random" else {id(edit): spread[id(edit)] + 1e-9 * ties[id(edit)] for edit in edits}
        found = [Ranked(edit, 0.0, 0.0) for edit in edits]
        return sorted(found, key=lambda each: weights[id(each.edit)], reverse=True)
    sizes: dict[str, float] = {}
    for edit in edits:
        sizes[edit.family] = sizes.get(edit.family, 0.0) + edit.weight
    plain = _normal(
        [
            spread[id(edit)] ** _SHARPNESS
            * _share(edit, sizes[edit.family])
            * (_ENDLESS if endless and edit.family in _ENDING else 1.0)
            for edit in edits
        ]
    )
    foretold = (
        _normal(_by_memory(edits, [spread[id(edit)] ** _SHARPNESS for edit in edits], memory)) if memory else plain
    )
    say = trust(memory) if memory else 0.0
    found = [Ranked(*row) for row in zip(edits, plain, foretold, strict=True)]
    return sorted(
        found,
        key=lambda each: ((1 - say) * each.plain + say * each.foretold, ties[id(each.edit)]),
        reverse=True,
    )


def _share(edit: Edit, size: float) -> float:
    return float(edit.weight / size**_SIZE) * (_COMMON if edit.family in _COMMON_FAMILIES else 1.0)


def _by_memory(edits: Sequence[Edit], spread: Sequence[float], memory: Sequence[Remembered]) -> list[float]:
    shapes: dict[str, float] = {}
    families: dict[str, float] = {}
    for age, each in enumerate(memory):
        weight = _FORGET**age
        shapes[each.shape] = shapes.get(each.shape, 0.0) + weight
        families[each.family] = families.get(each.family, 0.0) + weight
    total = sum(shapes.values()) + 1.0  # one success is not the whole truth: the rest is spread as without memory
    by_shape: dict[str, float] = {}
    by_family: dict[str, float] = {}
    for edit, share in zip(edits, spread, strict=True):
        by_shape[edit.shape] = by_shape.get(edit.shape, 0.0) + share
        by_family[edit.family] = by_family.get(edit.family, 0.0) + share * edit.weight
    count = len(by_family)
    found = []
    for edit, share in zip(edits, spread, strict=True):
        of_shape = shapes.get(edit.shape, 0.0) / total * share / (by_shape[edit.shape] or 1.0)
        in_family = share * edit.weight / (by_family[edit.family] or 1.0)
        of_family = families.get(edit.family, 0.0) / total * in_family
        found.append(_SHAPE * of_shape + (1 - _SHAPE) * of_family + in_family / count / total)
    return found


def _suspicion(edit: Edit, suspicion: Mapping[Place, float], root: str) -> float:
    path = f"{root}/{edit.path}"
    return max((suspicion.get((path, line), 0.0) for line in range(edit.lines[0], edit.lines[1] + 1)), default=0.0)


def _normal(weights: Sequence[float]) -> list[float]:
    total = sum(weights) or 1.0
    return [weight / total for weight in weights]
