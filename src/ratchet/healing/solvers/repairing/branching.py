"""Programs on the way: edits that help without being enough, what is worth building on, and which fit together."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from .grounds import DOUBTFUL
from .ordering import Ranked
from .program import Program, SourceEdit
from .server import RunReport
from .untried import Untried

_PATIENCE = 60.0  # candidates after which a branch is worth half
_DEEPER = 0.4  # every further edit makes a right patch so much rarer
_FURTHER = 0.1  # a test that fails later, beside one that passes
_PARTIALS = 48
_HIDING = DOUBTFUL | {"yielding"}


@dataclass(slots=True, eq=False)
class State:
    """The program after some edits, and what was not tried on top of it."""

    files: Mapping[str, bytes]
    marks: tuple[Mapping[str, str], ...]
    report: RunReport
    promise: float = 1.0
    likely: float = 1.0
    """How likely its last edit is, beside the mean of all."""
    untried: Untried = field(default_factory=Untried.none)
    programs: dict[str, Program] = field(default_factory=dict)
    calls: list[Mapping[str, str]] = field(default_factory=list)
    tried: int = 0
    opened: bool = False

    @property
    def worth(self) -> float:
        """By what its next candidate is chosen among the branches."""
        return self.promise * _DEEPER ** (len(self.marks) - 1) / (1 + self.tried / _PATIENCE)


@dataclass(frozen=True, slots=True)
class Partial:
    """One edit of the program as it was that lets some tests pass and breaks none."""

    one: Ranked
    content: bytes
    gained: frozenset[str]


class Partials:
    """The edits that help by themselves, the likeliest first, since they come in order."""

    def __init__(self) -> None:
        self._kept: list[Partial] = []

    def fitting(self, new: Partial) -> list[Partial]:
        """Those that help other tests than `new` does, and touch other text; then keep `new` among them."""
        found = [each for each in self._kept if _complementary(each, new) and _apart(each.one.edit, new.one.edit)]
        if len(self._kept) < _PARTIALS:
            self._kept.append(new)
        return found


def gained(before: RunReport, after: RunReport) -> frozenset[str] | None:
    """Tests that failed before and pass now; None where one that passed fails now, or the run had no end."""
    found = after.passing - before.passing
    return None if before.passing & after.failing or (found and not after.whole) else found


def promise(before: RunReport, after: RunReport, family: str = "") -> float:
    """Rate how much better it is, in [0, 1]: the share of the failing tests that pass now; less where they only fail
    later. That says nothing of an edit of a `family` after which what went wrong may just not be run any more."""
    found = gained(before, after)
    if found is None:
        return 0.0
    failing = max(1, len(before.failing))
    if found:
        return len(found) / failing
    if family in _HIDING:
        return 0.0
    further = [name for name in before.failing if _further(before, after, name)]
    return _FURTHER * len(further) / failing


def _further(before: RunReport, after: RunReport, name: str) -> bool:
    old, new = before.tests[name], after.tests.get(name)
    return new is not None and new.line > old.line > 0 and new.error != "TimeUp"


def _complementary(one: Partial, other: Partial) -> bool:
    return not (one.gained <= other.gained or other.gained <= one.gained)


def _apart(one: SourceEdit, other: SourceEdit) -> bool:
    return one.path != other.path or one.end <= other.start or other.end <= one.start


def key_of(path: str, content: bytes, beside: Hashable) -> str:
    """Name a candidate by what it changes."""
    return hashlib.blake2b(repr((path, beside)).encode() + content, digest_size=8).hexdigest()
