"""Reads the sessions of a store as the replay needs them, one at a time, in order of their begin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ratchet.failures.diagnostics import import_keys_of, keys_of
from ratchet.failures.health import EXCUSED
from ratchet.lessons.backtest.replay import PastFailure, PastSession
from ratchet.lessons.imports import OPENED, opened_files
from ratchet.lessons.mined import resolution_of, run_of
from ratchet.lessons.mining.calls import calls_of
from ratchet.lessons.mining.facts import file_of
from ratchet.lessons.paths import missing_path
from ratchet.lessons.repositories import known_as
from ratchet.records import Row, number_in, text_in

if TYPE_CHECKING:
    from ratchet.ports import Progress, Store

_NEXT_CALLS = 8  # in which what was missing is opened, or something else is


def pasts(store: Store, progress: Progress | None = None) -> Iterator[PastSession]:
    """The sessions of the store. Of one whose outcomes were forgotten there is still what it taught."""
    ran = store.sum_by("outcomes", ("session",), ("min:started_at", "max:started_at"), {"session": ("!=", "")})
    taught = store.sum_by("resolutions", ("session",), ("min:at", "max:at"), {"session": ("!=", "")})
    spans = {
        str(row["session"]): (number_in(row, f"min:{at}"), number_in(row, f"max:{at}"))
        for rows, at in ((taught, "at"), (ran, "started_at"))
        for row in rows
    }
    for done, (begun, session) in enumerate(sorted((span[0], name) for name, span in spans.items())):
        if progress is not None:
            progress(done, len(spans), f"replaying {session}")
        yield _past(store, session, begun, spans[session][1])


def _past(store: Store, session: str, begun: float, ended: float) -> PastSession:
    first = store.find("outcomes", {"session": session, "project": ("!=", "")}, order=("started_at",), limit=1).rows
    root = text_in(first[0], "project") if first else ""
    failed = store.find("outcomes", {"session": session, "ok": False}, order=("started_at",)).rows
    resolved = store.find("resolutions", {"session": session}, order=("at", "id")).rows
    return PastSession(
        session=session,
        project=text_in(resolved[0], "project") if resolved else known_as(store, root),
        begun=begun,
        ended=ended,
        failed=tuple(_failed(store, row, root) for row in failed if is_own(row)),
        resolved=tuple(map(resolution_of, resolved)),
        ran=tuple(map(run_of, store.find("habits", {"session": session}).rows)),
        opened=opened_files(store, {"session": session})[0],
    )


def is_own(row: Row) -> bool:
    """Tell whether a failed outcome is a call of a tool that failed by itself."""
    return isinstance(row.get("step"), dict) and text_in(row.get("failure"), "kind") not in EXCUSED


def _failed(store: Store, row: Row, root: str) -> PastFailure:
    message = text_in(row.get("failure"), "message")
    project, asked = text_in(row, "project"), text_in(row["step"], "input")
    missing = missing_path(message, asked)
    return PastFailure(
        id=text_in(row, "id"),
        at=number_in(row, "started_at"),
        thread=text_in(row, "thread"),
        tool=text_in(row["step"], "tool"),
        asked=asked,
        message=message,
        keys=tuple(keys_of(message)),
        imports=tuple(import_keys_of(message)),
        away=bool(project and root) and project.rstrip("/") != root.rstrip("/"),
        missing=missing,
        then=_opened_next(store, row, root) if missing else (),
    )


def _opened_next(store: Store, row: Row, root: str) -> tuple[str, ...]:
    """The files that the next calls of its session opened, as the project names them."""
    at = number_in(row, "started_at")
    since = store.find(
        "outcomes",
        {"session": text_in(row, "session"), "started_at": (">", at)},
        order=("started_at",),
        limit=_NEXT_CALLS,
    )
    calls = calls_of(since.rows)
    return tuple(file_of(call.target, root) for call in calls if call.ok and call.head in OPENED)
