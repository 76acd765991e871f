"""Writes sessions for training: each with its steps, what failed, and what mended it, as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from os import PathLike
from pathlib import Path

from ratchet.client import Ratchet, default
from ratchet.failures.redaction.text import redact_json
from ratchet.records import Json, Outcome, Row


def export_sessions(
    file: str | PathLike[str],
    *,
    ratchet: Ratchet | None = None,
    agent: str | None = None,
    since: float | None = None,
    only_mended: bool = False,
) -> int:
    """Write the sessions of the store into a file, one a line; return how many.

    A line is `{"session", "agent", "model", "project", "steps": [...], "ok"}`; a step is `{"tool", "input", "ok",
    "error", "kind", "at"}`, in order. `only_mended` keeps sessions in which a tool failed and worked later. Texts are
    as the store keeps them: without secrets. The file is replaced whole.
    """
    kept = [*(ratchet or default()).outcomes(agent=agent, since=since)]
    sessions = [each for each in _sessions(kept) if not only_mended or _is_mended(each)]
    lines = [json.dumps(redact_json(_told(each)), ensure_ascii=False) for each in sessions]
    Path(file).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(lines)


def _sessions(kept: Iterable[Outcome]) -> Iterator[list[Outcome]]:
    """The steps of each session in order; an outcome without a session belongs to none."""
    known = sorted((each for each in kept if each.session and each.step is not None), key=_place)
    for _, steps in groupby(known, key=attrgetter("session")):
        yield [*steps]


def _place(outcome: Outcome) -> tuple[str, float, str]:
    return outcome.session, outcome.started_at, outcome.id


def _is_mended(steps: list[Outcome]) -> bool:
    failed: set[str] = set()
    for each in steps:
        tool = each.step.tool if each.step else ""
        if each.ok and tool in failed:
            return True
        if not each.ok:
            failed.add(tool)
    return False


def _told(steps: list[Outcome]) -> Row:
    told: list[Json] = [_step(each) for each in steps]
    first = steps[0]
    about: Row = {"session": first.session, "agent": first.agent, "project": first.project}
    about["model"] = next((each.model for each in steps if each.model), "")
    return {**about, "steps": told, "ok": steps[-1].ok}


def _step(outcome: Outcome) -> Row:
    assert outcome.step is not None
    failure = outcome.failure
    return {
        "tool": outcome.step.tool,
        "input": outcome.step.input,
        "ok": outcome.ok,
        "error": failure.message if failure else "",
        "kind": failure.kind if failure else "",
        "at": outcome.started_at,
    }
