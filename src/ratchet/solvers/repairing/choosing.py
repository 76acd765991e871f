"""Which of several patches that pass all tests to propose: a plausible patch is not yet a correct one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .search import Patch

_ALIKE = 0.95  # share of answers that two patches must have in common to count as the same program
_SIZE = 24.0  # characters changed that halve a patch's weight


def weight(patch: Patch) -> float:
    """How much speaks for a patch by itself: likely edits, few and small."""
    likely = patch.plain if patch.plain > 0 else 1.0 / (1 + patch.found_at)
    return likely / (1 + patch.size / _SIZE) / len(patch.marks) ** 2


def chosen(patches: Sequence[Patch], answers: Callable[[Patch], object]) -> list[Patch]:
    """The patches, the one to propose first. `answers` runs a patch on inputs near those of the tests.

    Patches that answer alike are one opinion, and the opinion with the most weight wins (those that differ from each
    other only where tests do not look cancel out); within it, the heaviest patch.
    """
    if len(patches) < 2:
        return list(patches)
    told = {id(each): _texts(answers(each)) for each in patches}
    groups: list[list[Patch]] = []
    for patch in sorted(patches, key=weight, reverse=True):
        for group in groups:
            if _agree(told[id(group[0])], told[id(patch)]):
                group.append(patch)
                break
        else:
            groups.append([patch])
    groups.sort(key=lambda group: sum(map(weight, group)), reverse=True)
    return [patch for group in groups for patch in group]


def _texts(said: object) -> list[str]:
    return [str(each) for each in said] if isinstance(said, list) else []


def _agree(one: Sequence[str], other: Sequence[str]) -> bool:
    if not one or len(one) != len(other):
        return False
    return sum(a == b for a, b in zip(one, other, strict=True)) >= _ALIKE * len(one)


def told(patch: Patch, rank: int) -> dict[str, object]:
    """A patch as it leaves the sandbox."""
    files: Mapping[str, str] = {path: content.hex() for path, content in patch.files.items()}
    return {
        "files": files, "marks": [dict(each) for each in patch.marks], "found_at": patch.found_at, "rank": rank,
        "plain": patch.plain, "foretold": patch.foretold, "exact": patch.exact, "key": patch.key,
    }  # fmt: skip
