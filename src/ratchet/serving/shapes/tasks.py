"""The JSON shapes of queued tasks and of the timeline: documented, stable, the same on each surface."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import cast

from ratchet.failures.redaction.text import redact, redact_json
from ratchet.healing.episode import Attempt
from ratchet.healing.queue.book import Breaker, TaskDetail
from ratchet.healing.queue.rows import QueuedTask
from ratchet.records import Json, Row
from ratchet.serving.shapes import healing as healshapes
from ratchet.serving.shapes.core import Shape

_EVENT = ("id", "at", "noun", "record", "verb")
_COLOURS = {"passed": "green", "running": "blue", "cancelled": "grey", "dropped": "grey"}


def queued(task: QueuedTask) -> Shape:
    work = task.work
    return {
        "id": task.id,
        "kind": work.kind,
        "status": task.state,
        "reason": task.reason,
        "instruction": redact(work.instruction),
        "check": [redact(each) for each in work.check],
        "dir": work.folder,
        "solver": redact(work.solver),
        "attempts": work.budget.attempts,
        "budget_s": work.budget.seconds,
        "budget_usd": work.budget.usd,
        "episode": task.episode,
        "by": task.by,
        "created_at": task.created_at,
        "started_at": task.started_at or None,
        "ended_at": task.ended_at or None,
    }


def detail(found: TaskDetail) -> Shape:
    """A task with its episode as far as it has come, secrets of the project's files taken out."""
    shape: Shape = queued(found.task) if found.task is not None else _of_episode(found)
    shape["result"] = None if found.episode is None else redacted(healshapes.detail(found.episode))
    compared = found.task is not None and found.task.work.kind == "compare"
    shape["comparison"] = (
        redacted(dict(found.task.result)) if compared and found.task is not None and found.task.result else None
    )
    return shape


def _of_episode(found: TaskDetail) -> Shape:
    held = found.held
    budget = held.budget
    return {
        "id": held.id,
        "kind": "heal",
        "status": held.status,
        "reason": redact(held.reason),
        "instruction": redact(held.task.instruction),
        "check": [redact(each) for each in held.task.check],
        "dir": held.task.folder,
        "solver": redact(held.solver),
        "attempts": budget.attempts,
        "budget_s": budget.seconds,
        "budget_usd": budget.usd,
        "episode": held.id,
        "by": "the command line",
        "created_at": held.started_at,
        "started_at": held.started_at,
        "ended_at": held.ended_at or None,
    }


def timeline(found: TaskDetail, events: Sequence[Row]) -> Shape:
    """A node for each attempt, in order, and every event."""
    attempts = () if found.episode is None else found.episode.attempts
    return {
        "id": found.id,
        "status": found.held.status if found.task is None else found.task.state,
        "nodes": [_node(each) for each in attempts],
        "events": [event(each) for each in events],
    }


def _node(each: Attempt) -> Shape:
    return {
        **redacted(healshapes.attempt(each)),
        "colour": _COLOURS.get(each.status, "red"),
        "confidence": round(each.score, 4),
        "diff": redact(each.diff),
        "note": redact(each.note),
        "started_at": each.started_at,
        "base": each.base,
        "lessons": [*each.lessons],
    }


def event(row: Row) -> Shape:
    """One line of the timeline."""
    told = {name: value for name, value in row.items() if name not in (*_EVENT, "revision")}
    return {**{name: row.get(name) for name in _EVENT}, "details": redact_json(told)}


def checkpoint(row: Row) -> Shape:
    return {
        "id": str(row["n"]),
        "attempt": row["n"],
        "at": row["at"],
        "state": row["state"],
        "paths": row["paths"],
    }


def breaker(found: Breaker) -> Shape:
    return {
        "state": found.state,
        "count": found.count,
        "limit": found.limit,
        "signature": found.signature,
        "reason": redact(found.reason),
    }


def redacted(shape: Shape) -> Shape:
    """The shape with secrets out of all its texts, whole otherwise: a diff is cut nowhere. Numbers that no JSON has
    become null."""
    return cast("Shape", _without_secrets(shape))


def _without_secrets(value: Json) -> Json:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_without_secrets(each) for each in value]
    if isinstance(value, dict):
        return {name: _without_secrets(each) for name, each in value.items()}
    return None if isinstance(value, float) and not isfinite(value) else value
