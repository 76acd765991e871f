"""Ways in which a tool or a command was called here, by how they ended; and what an agent replaced in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.errors import NotFound
from ratchet.failures.intent import is_shell
from ratchet.failures.searching import mark, words_in
from ratchet.recording.texts import line_of
from ratchet.records import Json, Outcome, outcome_of, text_in

if TYPE_CHECKING:
    from ratchet.ports import Store

_LOOKED_AT = 600  # newest calls that have the words
_WRITES = ("edit", "write")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolWay:
    """One way to call a tool. `exit_codes` are those of its failures, the newest first; `last` is its newest call."""

    tool: str
    input: str
    worked: int
    failed: int
    exit_codes: tuple[int, ...]
    last_at: float
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """Content of a file before an agent's edits. `whole` is False where only the replaced lines are known. `step` is
    the first edit of the span, `edits` how many it has."""

    path: str
    text: str
    whole: bool
    session: str
    step: str
    at: float
    edits: int


def ways(store: Store, tool: str, *, project: str | None = None, limit: int = 20) -> tuple[ToolWay, ...]:
    """The ways to call a tool, or a command of a shell, that were tried here: those that worked first, newest first.
    Raises NotFound where it never ran."""
    words = words_in(tool)
    terms = [*words, *([mark("project", project)] if project else ())] or [mark("tool", tool.lower())]
    keys: list[Json] = [text_in(row, "id") for row in store.having("steps", terms, limit=_LOOKED_AT)]
    calls = [outcome_of(row) for row in store.find("outcomes", {"id": ("in", keys)}).rows]
    held: dict[tuple[str, str], list[Outcome]] = {}
    for call in sorted(calls, key=lambda each: -each.started_at):
        if call.step is not None and _is_of(call, tool):
            held.setdefault((call.step.tool, " ".join(call.step.input.split())), []).append(call)
    if not held:
        raise NotFound(f"{tool} never ran here, as far as histories were read; next: ratchet learn")
    found = [_way(name, given, each) for (name, given), each in held.items()]
    found.sort(key=lambda each: (not each.worked, -each.last_at))
    return tuple(found[:limit])


def _is_of(call: Outcome, tool: str) -> bool:
    assert call.step is not None
    head, named = call.step.head.lower(), tool.lower()
    by_head = head == named or head.startswith(f"{named} ")
    return call.step.tool.lower() == named or (is_shell(call.step.tool) and by_head)


def _way(tool: str, given: str, calls: Sequence[Outcome]) -> ToolWay:
    codes = [each.failure.exit_code for each in calls if each.failure and each.failure.exit_code is not None]
    return ToolWay(
        tool=tool,
        input=given,
        worked=sum(each.ok for each in calls),
        failed=sum(not each.ok for each in calls),
        exit_codes=tuple(dict.fromkeys(codes)),
        last_at=calls[0].started_at,
        last=calls[0].id,
    )


def replaced(store: Store, path: str, *, step: str = "", place: str = "") -> Replaced:
    """Find what a file held before the last session that edited it, or before one step. `place`, a path without links,
    says which file of that name is meant. Raises NotFound where no edit of it is known."""
    edits = [each for each in reversed(edits_of(store, path, place)) if each.ok]
    if step:
        edits = [each for each in edits if each.id == step]
    if not edits:
        raise NotFound(
            f"no edit of {place or path} is known{f' as step {step}' if step else ''}; "
            "`ratchet sessions search WORDS` finds the steps that name a file, `ratchet learn` reads newer ones"
        )
    span = [each for each in edits if each.session == edits[-1].session]
    first = span[0]
    assert first.step is not None
    before = _before(line_of(store, first.id))
    lines = [line[2:] for line in first.step.change.split("\n") if line.startswith("- ")]
    return Replaced(
        path=first.step.target,
        text="\n".join(lines) if before is None else before,
        whole=before is not None,
        session=first.session,
        step=first.id,
        at=first.started_at,
        edits=len(span),
    )


def edits_of(store: Store, path: str, place: str = "") -> list[Outcome]:
    """The edits of the files that end in this path, or of the one at `place`, newest first, those that failed, too."""
    wanted = path.rstrip("/")
    words = words_in(wanted)
    held = store.having("steps", words, limit=_LOOKED_AT) if words else ()
    keys: list[Json] = [text_in(row, "id") for row in held]
    found = [outcome_of(row) for row in store.find("outcomes", {"id": ("in", keys)}).rows]
    return sorted(
        (
            each
            for each in found
            if each.step is not None
            and each.step.head in _WRITES
            and (_is_at(each.step.target, place) if place else f"/{each.step.target}".endswith(f"/{wanted}"))
        ),
        key=lambda each: (-each.started_at, each.id),
    )


def _is_at(target: str, place: str) -> bool:
    return Path(target).is_absolute() and "\0" not in target and os.path.realpath(target) == place


def _before(line: bytes) -> str | None:
    """The whole text of a file before an edit, as the edit's result in a history has it; None where it does not."""
    try:
        record = json.loads(line) if line else {}
    except ValueError:
        return None
    result = record.get("toolUseResult") if isinstance(record, dict) else None
    held = result.get("originalFile") if isinstance(result, dict) else None
    return held if isinstance(held, str) else None
