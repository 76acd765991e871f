"""Runs of teams as they are read: their tasks, workers and letters, what was spent of what was allowed, how they
ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ratchet.errors import NotFound
from ratchet.ports import Store, Where
from ratchet.records import Json, Row, number_in, record_of, text_in, whole_in

_LETTERS = 500
_SAID_CHARS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One run at a look. `asked` is what somebody wants of it ("", pause, cancel); `budget` holds those of seconds, usd
    and tokens that it may take; `states` counts its tasks; times are Unix seconds."""

    id: str
    team: str
    state: str
    reason: str = ""
    asked: str = ""
    started_at: float = 0.0
    ended_at: float = 0.0
    budget: Mapping[str, Json] = field(default_factory=dict)
    states: Mapping[str, int] = field(default_factory=dict)
    cost_usd: float = 0.0
    tokens: int = 0

    @property
    def tasks(self) -> int:
        return sum(self.states.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAttempt:
    """One attempt at a task; `ok` is None while it runs, or where nobody saw its end."""

    n: int
    worker: str
    began_at: float
    ended_at: float = 0.0
    ok: bool | None = None
    kind: str = ""
    reason: str = ""
    cost_usd: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTask:
    """One task of a run. `result` is what is kept of it: `masked` without a secret that it held, `clipped` since it was
    too long to be kept whole."""

    id: str
    state: str
    worker: str = ""
    skill: str = ""
    needs: tuple[str, ...] = ()
    reason: str = ""
    attempts: tuple[RunAttempt, ...] = ()
    result: Json = None
    masked: bool = False
    clipped: bool = False
    started_at: float = 0.0
    ended_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWorker:
    """A worker as a run met it: its attempts, those that failed, the seconds, money and tokens that they took."""

    name: str
    attempts: int
    failed: int
    seconds: float
    cost_usd: float
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLetter:
    """A letter between workers and tasks; `read_at` is 0 where nobody has read it."""

    sender: str
    to: str
    body: Json
    at: float
    read_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """Runs, newest first, and the cursor that continues after them (None: no more)."""

    items: tuple[RunSummary, ...]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetail:
    """One run whole; `left_out` counts letters beyond the first ones."""

    run: RunSummary
    tasks: tuple[RunTask, ...]
    workers: tuple[RunWorker, ...]
    letters: tuple[RunLetter, ...]
    left_out: int = 0


def page(store: Store, *, team: str | None, limit: int, cursor: str | None) -> RunPage:
    """Runs, newest first, of one team where one is named. Raises UsageError for a cursor that is none."""
    where: Where | None = {"team": team} if team is not None else None
    found = store.find("team_runs", where, order=("-started_at",), limit=limit, cursor=cursor)
    return RunPage(
        items=tuple(_summary(row, _tasks(store, text_in(row, "id"))) for row in found.rows), next=found.cursor
    )


def whole(store: Store, run_id: str) -> RunDetail:
    """One run. Raises NotFound."""
    row = store.get("team_runs", run_id)
    if row is None:
        raise NotFound(f"no run {run_id} of a team; GET /v1/teams/runs lists those that there are")
    tasks = _tasks(store, run_id)
    letters = store.find("team_mail", {"run": run_id}, order=("at", "id"), limit=_LETTERS).rows
    counted = store.sum_by("team_mail", (), ("count:*",), {"run": run_id})
    return RunDetail(
        run=_summary(row, tasks),
        tasks=tuple(sorted(tasks, key=lambda each: (each.started_at or float("inf"), each.id))),
        workers=_workers(tasks),
        letters=tuple(record_of(RunLetter, each) for each in letters),
        left_out=(whole_in(counted[0], "count:*") if counted else 0) - len(letters),
    )


def titled(store: Store, session: str) -> tuple[str, bool] | None:
    """(title, whether it runs) of the session that is a team's run; None for another session."""
    row = store.get("team_runs", session)
    if row is None:
        return None
    return f"Team {text_in(row, 'team')}", text_in(row, "state") == "running"


def said(value: Json) -> str:
    """A result or a letter as text, cut where it is long."""
    import json

    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    return text if len(text) <= _SAID_CHARS else f"{text[:_SAID_CHARS]} ... ({len(text):,} characters)"


def _tasks(store: Store, run_id: str) -> list[RunTask]:
    return [record_of(RunTask, row) for row in store.find("team_tasks", {"run": run_id}, order=("id",)).rows]


def _summary(row: Row, tasks: Sequence[RunTask]) -> RunSummary:
    attempts = [each for task in tasks for each in task.attempts]
    budget = row.get("budget")
    return RunSummary(
        id=text_in(row, "id"),
        team=text_in(row, "team"),
        state=text_in(row, "state"),
        reason=text_in(row, "reason"),
        asked=text_in(row, "asked"),
        started_at=number_in(row, "started_at"),
        ended_at=number_in(row, "ended_at"),
        budget={name: each for name, each in budget.items() if each is not None} if isinstance(budget, dict) else {},
        states=dict(sorted(Counter(task.state for task in tasks).items())),
        cost_usd=sum(each.cost_usd for each in attempts),
        tokens=sum(each.tokens for each in attempts),
    )


def _workers(tasks: Sequence[RunTask]) -> tuple[RunWorker, ...]:
    by: dict[str, list[RunAttempt]] = {}
    for task in tasks:
        for each in task.attempts:
            by.setdefault(each.worker, []).append(each)
    return tuple(
        RunWorker(
            name=name,
            attempts=len(several),
            failed=sum(each.ok is False for each in several),
            seconds=sum(max(0.0, each.ended_at - each.began_at) for each in several if each.ended_at),
            cost_usd=sum(each.cost_usd for each in several),
            tokens=sum(each.tokens for each in several),
        )
        for name, several in sorted(by.items())
    )
