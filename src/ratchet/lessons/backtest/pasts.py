"""Reads the sessions of a store as the replay needs them, one at a time, in order of their begin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ratchet.failures.diagnostics import keys_of
from ratchet.failures.health import EXCUSED
from ratchet.lessons.backtest.replay import PastFailure, PastSession
from ratchet.lessons.exposure import project_name
from ratchet.lessons.mined import resolution_of, run_of
from ratchet.records import Row, number_in, text_in

if TYPE_CHECKING:
    from ratchet.ports import Progress, Store


def pasts(store: Store, progress: Progress | None = None) -> Iterator[PastSession]:
    """The sessions of the store that ran a tool."""
    spans = store.sum_by("outcomes", ("session",), ("min:started_at", "max:started_at"), {"session": ("!=", "")})
    spans.sort(key=lambda row: (number_in(row, "min:started_at"), str(row["session"])))
    for done, span in enumerate(spans):
        session = str(span["session"])
        if progress is not None:
            progress(done, len(spans), f"replaying {session}")
        yield _past(store, session, number_in(span, "min:started_at"), number_in(span, "max:started_at"))


def _past(store: Store, session: str, begun: float, ended: float) -> PastSession:
    first = store.find("outcomes", {"session": session, "project": ("!=", "")}, order=("started_at",), limit=1).rows
    root = text_in(first[0], "project") if first else ""
    failed = store.find("outcomes", {"session": session, "ok": False}, order=("started_at",)).rows
    return PastSession(
        session=session,
        project=project_name(root),
        begun=begun,
        ended=ended,
        failed=tuple(_failed(row, root) for row in failed if is_own(row)),
        resolved=tuple(map(resolution_of, store.find("resolutions", {"session": session}, order=("at", "id")).rows)),
        ran=tuple(map(run_of, store.find("habits", {"session": session}).rows)),
    )


def is_own(row: Row) -> bool:
    """Tell whether a failed outcome is a call of a tool that failed by itself."""
    return isinstance(row.get("step"), dict) and text_in(row.get("failure"), "kind") not in EXCUSED


def _failed(row: Row, root: str) -> PastFailure:
    message = text_in(row.get("failure"), "message")
    project = text_in(row, "project")
    return PastFailure(
        id=text_in(row, "id"),
        at=number_in(row, "started_at"),
        thread=text_in(row, "thread"),
        tool=text_in(row["step"], "tool"),
        asked=text_in(row["step"], "input"),
        message=message,
        keys=tuple(keys_of(message)),
        away=bool(project and root) and project.rstrip("/") != root.rstrip("/"),
    )
