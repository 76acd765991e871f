"""Findings about one plan, and readers for the parts of its rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from ratchet.records import Json

_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """`goals` of `all_goals` reached, `kept` of `rules` rules kept, at this cost (lower is better)."""

    goals: int
    all_goals: int
    kept: int
    rules: int
    cost: float
    faults: tuple[str, ...] = ()
    """What is wrong, one line each, the first that happened first."""


def part(spec: object, name: str, kind: type[_Kind]) -> _Kind:
    """A part of a task's own rules, of the type that it must have."""
    assert isinstance(spec, dict), spec
    held = spec[name]
    assert isinstance(held, kind), f"{name}: {held!r}"
    return held


def number(value: Json, otherwise: float = 0.0) -> float:
    """A number of a task's own rules."""
    if value is None:
        return otherwise
    assert isinstance(value, int | float)
    return float(value)
