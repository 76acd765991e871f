"""A search as it is asked for, and the patches that it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .recollection import Remembered


@dataclass(frozen=True, slots=True)
class Wanted:
    """Request of the side outside."""

    candidates: int
    choice: int = 400
    """At most so many candidates after the first that passes."""
    seed: int = 0
    order: str = "best"
    memory: tuple[Remembered, ...] = ()
    exact: tuple[tuple[Mapping[str, str], ...], ...] = ()
    """Edits that fixed this very failure before, each a sequence of marks (`mark`)."""
    skip: frozenset[str] = frozenset()
    """Keys of patches that were tried and found wanting."""
    donors: Mapping[str, str] = field(default_factory=dict)
    """Texts of other implementations that are right, by a name."""
    spent: frozenset[str] = frozenset()
    """Candidates that came to nothing in an earlier search."""
    quarantined: frozenset[str] = frozenset()
    """Tests that count for nothing."""
    failing: frozenset[str] = frozenset()
    """Tests that fail for the judge; none where it only counts."""
    jointly: bool = False
    """Give up where the failing tests have no line of the program in common."""
    said: str = ""
    """What the check printed."""
    processes: int = 1
    """Candidates that run at once."""
    plain: bool = False
    """Load the tests anew for every candidate: what a benchmark sets beside it."""
    given: Mapping[str, bytes] = field(default_factory=dict)
    """Files of a patch that somebody else found: it alone is run, to be weighed."""


@dataclass(frozen=True, slots=True)
class Patch:
    """Files under which every test passes. `found_at` counts candidates; `shares` are those of its last edit."""

    files: Mapping[str, bytes]
    marks: tuple[Mapping[str, str], ...]
    found_at: int
    plain: float = 0.0
    foretold: float = 0.0
    size: int = 0
    exact: bool = False

    @property
    def key(self) -> str:
        return " | ".join(f"{m['path']}:{m['function']}:{m['shape']}:{m['before']}>{m['text']}" for m in self.marks)
