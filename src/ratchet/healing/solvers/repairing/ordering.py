"""The order in which edits are tried: suspicion / size of the family, mixed with what worked elsewhere.

Every family gets the same share, spread over its edits by their lines' suspicion: so a family of five edits is tried
before one of five hundred. Memory is a second opinion of the same form (`recollection`). The two are mixed by how well
each has foretold the edits that worked so far (a Bayesian mixture of experts that forgets), so a memory that does not
pay loses its say by itself.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .program import SourceEdit
from .recollection import Remembered, foretold, trust
from .spectrum import Place

_SHARPNESS = 2.0  # power of the suspicion
_SIZE = 0.7  # power of a family's size: with 1 every small family is used up before the first edit of a large one
_COMMON = 2.0  # how much oftener a fault is of these classes, as in collections of one-line faults of real programs
_COMMON_FAMILIES = frozenset({"variable", "off_by_one", "comparison", "arithmetic", "argument_swap", "attribute",
                              "constant", "returned", "growing", "unbound"})  # fmt: skip

# Time of a candidate for which the tests are loaded anew, beside one for which they are not: 3 to 8 in real projects.
_ANEW = 4.0
_ENDLESS = 2.0  # how much oftener it is one of these where no failing test comes to an end
_ENDING = frozenset({"growing", "stepping", "setting", "noting", "leaving", "guarding", "replacement", "extension",
                     "extreme", "relation", "comparison", "off_by_one"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ranked:
    """An edit with its shares (all edits of one order add up to 1 in each)."""

    edit: SourceEdit
    plain: float
    foretold: float


def ranked(
    edits: Sequence[SourceEdit],
    suspicion: Mapping[Place, float],
    memory: Sequence[Remembered],
    *,
    root: str,
    seed: int = 0,
    order: str = "best",
    endless: bool = False,
    imported: Mapping[str, Collection[int]] = {},
    again: Collection[tuple[str, str]] = (),
) -> list[Ranked]:
    """The edits in the order to try them. `order` may also be "coverage" (by suspicion alone) or "random": what the
    benchmark sets beside it. `endless`: no failing test comes to an end. `imported`: file -> lines that are run at
    import; an edit there comes as late as one so many times less likely that it can be tried as quickly. `again`:
    edits (before, after) that helped elsewhere come first: who makes a mistake in one place makes it in others (Saha,
    Saha, Prasad, "Harnessing Evolution for Multi-Hunk Program Repair", ICSE 2019). Equal ones come in an order drawn
    from the seed."""
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
    by_memory = foretold(edits, plain, memory) if memory else plain
    say = trust(memory) if memory else 0.0
    found = [Ranked(*row) for row in zip(edits, plain, by_memory, strict=True)]
    return sorted(
        found,
        key=lambda each: (
            (each.edit.before, each.edit.text) in again,
            ((1 - say) * each.plain + say * each.foretold) / _cost(each.edit, imported, root),
            ties[id(each.edit)],
        ),
        reverse=True,
    )


def _cost(edit: SourceEdit, imported: Mapping[str, Collection[int]], root: str) -> float:
    """Time that a candidate takes, beside that of one for which nothing is loaded anew."""
    return _ANEW if edit.lines[0] in imported.get(f"{root}/{edit.path}", ()) else 1.0


def _share(edit: SourceEdit, size: float) -> float:
    return float(edit.weight / size**_SIZE) * (_COMMON if edit.family in _COMMON_FAMILIES else 1.0)


def _suspicion(edit: SourceEdit, suspicion: Mapping[Place, float], root: str) -> float:
    path = f"{root}/{edit.path}"
    return max((suspicion.get((path, line), 0.0) for line in range(edit.lines[0], edit.lines[1] + 1)), default=0.0)


def _normal(weights: Sequence[float]) -> list[float]:
    total = sum(weights) or 1.0
    return [weight / total for weight in weights]
