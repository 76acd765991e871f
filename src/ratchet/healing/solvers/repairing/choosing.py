"""Which of several patches that pass all tests to propose: a plausible patch is not yet a correct one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .differing import RAISED
from .search import DOUBTFUL, Patch

_ALIKE = 0.95  # share of answers that two patches must have in common to count as the same program
_SIZE = 24.0  # characters changed that halve a patch's weight
_DOUBT = 0.25  # weight of an edit of a doubtful family
_KEEPING = 8.0  # how much heavier a patch is that leaves every other answer as it was than one that changes them all


def weight(patch: Patch) -> float:
    """Weigh a patch by itself: likely edits, few and small."""
    likely = patch.plain if patch.plain > 0 else 1.0 / (1 + patch.found_at)
    doubts = sum(each["family"] in DOUBTFUL for each in patch.marks)
    return float(likely / (1 + patch.size / _SIZE) / len(patch.marks) ** 2 * _DOUBT**doubts)


def keeping(before: Sequence[str], after: Sequence[str]) -> float:
    """Measure how much of what the program answered stays, in [-1, 1]: a fault is mostly in the answers that tests
    complain of, so a patch that changes all others is a suspicious one, and one that raises where there was an answer
    even more."""
    pairs = [(old, new) for old, new in zip(before, after, strict=False) if old and new and not old.startswith(RAISED)]
    if not pairs:
        return 0.0
    return sum(1 if old == new else -1 if new.startswith(RAISED) else 0 for old, new in pairs) / len(pairs)


def chosen(patches: Sequence[Patch], answers: Callable[[Patch | None], object]) -> list[Patch]:
    """The patches, the one to propose first. `answers` runs a patch (None: the program as it was) on inputs near those
    of the tests.

    Patches that answer alike are one opinion, and the opinion with the most weight wins; within it, the heaviest patch.
    """
    if len(patches) < 2:
        return list(patches)
    before = _texts(answers(None))
    told = {id(each): _texts(answers(each)) for each in patches}
    heavy = {id(each): weight(each) * _KEEPING ** keeping(before, told[id(each)]) for each in patches}
    groups: list[list[Patch]] = []
    for patch in sorted(patches, key=lambda each: heavy[id(each)], reverse=True):
        for group in groups:
            if _agree(told[id(group[0])], told[id(patch)]):
                group.append(patch)
                break
        else:
            groups.append([patch])
    groups.sort(key=lambda group: sum(heavy[id(each)] for each in group), reverse=True)
    return [patch for group in groups for patch in group]


def told(patch: Patch, rank: int) -> dict[str, object]:
    """A patch as it leaves the sandbox."""
    return {
        "files": {path: content.hex() for path, content in patch.files.items()},
        "marks": [dict(each) for each in patch.marks],
        "found_at": patch.found_at,
        "rank": rank,
        "plain": patch.plain,
        "foretold": patch.foretold,
        "exact": patch.exact,
        "key": patch.key,
    }


def _texts(said: object) -> list[str]:
    return [str(each) for each in said] if isinstance(said, list) else []


def _agree(one: Sequence[str], other: Sequence[str]) -> bool:
    if not one or len(one) != len(other):
        return False
    return sum(a == b for a, b in zip(one, other, strict=True)) >= _ALIKE * len(one)
