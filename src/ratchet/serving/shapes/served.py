"""Shapes that only servers answer: pages, receipts, and the simple forms of other systems' webhooks."""

from __future__ import annotations

from typing import Generic, TypeVar

from ratchet.lessons.failing import ORDER
from ratchet.serving.shapes.failures import HealthShape, PatternShape
from ratchet.serving.shapes.lessons import CureShape
from ratchet.serving.shapes.shape import Shape, said
from ratchet.serving.shapes.tasks import CheckpointShape, TaskShape

T = TypeVar("T")


class PageShape(Shape, Generic[T]):
    """A part of a long list."""

    items: list[T] = said("In the order of the list.")
    next: str | None = said("The cursor of the page that follows; null on the last one.")
    total: int = said("How many there are on all pages.")


class TaskPageShape(Shape):
    """A part of the list of tasks."""

    items: list[TaskShape] = said("Newest first.")
    next: str | None = said("The cursor of the page that follows; null on the last one.")


class AcceptedShape(Shape):
    """A receipt for outcomes."""

    accepted: int = said("Outcomes taken.")
    ids: list[str] = said("One for each outcome, in their order; the same outcome has the same id.")


class ObservationShape(Shape):
    """A receipt for one outcome, in the simple form."""

    id: str = said("Names the outcome.")
    issues: list[str] = said("The kind of failure; empty for a success.")


class RecordedShape(Shape):
    """A receipt for one outcome."""

    id: str = said("Names the outcome.")
    ok: bool = said("Whether it succeeded.")
    kind: str = said(
        "The class of the failure; empty for a success.", of=lambda each: each.failure.kind if each.failure else ""
    )
    signature: str = said(
        "Names the cause of the failure.", of=lambda each: each.failure.signature if each.failure else ""
    )


class SimpleHealthShape(HealthShape):
    """Health of agents, in the simple form."""

    status: str = said("ok.")
    health_score: float = said("Over all agents; 1 while nothing has run.")


class SimplePatternsShape(Shape):
    """Patterns, in the simple form."""

    health_score: float = said("Over all agents; 1 while nothing has run.")
    patterns: list[PatternShape] = said(f"{ORDER.capitalize()}.")


class CuresShape(Shape):
    """Permanent changes that lessons could become; a person makes one."""

    cures: list[CureShape] = said("Those first that would have prevented most.")


class PatternsShape(Shape):
    """Patterns: what keeps failing."""

    patterns: list[PatternShape] = said(f"{ORDER.capitalize()}.")
    total: int = said("How many there are.")


class CheckpointsShape(Shape):
    """The ways back of a task."""

    checkpoints: list[CheckpointShape] = said("In order.")
