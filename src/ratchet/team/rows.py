"""Runs of teams as rows of the store: who drives one, how far its tasks have come, what was written to whom."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from ratchet import ids
from ratchet.errors import Conflict, NotFound, Refused
from ratchet.failures.redaction.text import redact_json
from ratchet.ports import Store, Where
from ratchet.records import Json, Page, Row, as_row, record_of
from ratchet.store.timeline import note
from ratchet.team.values import TeamBudget, TeamRecord, TeamRun

_TRIES = 5


def begin(
    store: Store,
    run_id: str,
    team: str,
    driver: str,
    *,
    take_over: bool = False,
    budget: TeamBudget | None = None,
) -> TeamRun:
    """The run, new or taken up again by this driver. Whoever calls holds the run's lock, which his home alone knows:
    Conflict where another home's driver has not ended, unless it is to be taken over."""
    held = store.get("team_runs", run_id)
    now = time.time()
    limits = {name: limit for name, limit in as_row(budget).items() if limit is not None} if budget else {}
    if held is None:
        run = TeamRun(id=run_id, team=team, driver=driver, started_at=now, budget=limits)
        with store.transaction():
            if not store.swap("team_runs", run_id, 0, _row(run)):
                raise Conflict(f"run {run_id} was begun by somebody else at this moment; try again")
            note(store, "team run", run_id, "started", now, team=team)
        return replace(run, revision=1)
    found = record_of(TeamRun, held)
    if found.team != team:
        raise Conflict(f"run {run_id} is of team {found.team!r}, not of {team!r}: name another run")
    if found.state == "running" and found.driver not in ("", driver) and not take_over:
        raise Conflict(
            f"run {run_id} is driven by another home ({found.driver}): end it there, or, where that process is gone, "
            "take it over with run(..., take_over=True)"
        )
    if found.asked == "cancel" and found.state == "running":
        found = replace(found, asked="")  # its driver died before it obeyed; whoever runs it again wants it to run
    begun = {"state": "running", "driver": driver, "reason": "", "ended_at": 0.0, "asked": found.asked}
    return change(store, found.id, "resumed", **begun, budget=limits)


def run(store: Store, run_id: str) -> TeamRun:
    """One run without its tasks. Raises NotFound."""
    row = store.get("team_runs", run_id)
    if row is None:
        raise NotFound(f"no run {run_id} of a team; `ratchet.team` lists those that there are with TeamBook.list()")
    return record_of(TeamRun, row)


def change(store: Store, run_id: str, verb: str, **changes: object) -> TeamRun:
    """Change a run, whoever else does so meanwhile, and note it. Raises NotFound, Conflict."""
    for _ in range(_TRIES):
        held = run(store, run_id)
        moved = replace(held, **changes)  # type: ignore[arg-type]
        with store.transaction():
            if store.swap("team_runs", run_id, held.revision, _row(moved)):
                note(
                    store,
                    "team run",
                    run_id,
                    verb,
                    time.time(),
                    team=moved.team,
                    state=moved.state,
                    reason=moved.reason,
                )
                return replace(moved, revision=held.revision + 1)
    raise Conflict(f"run {run_id} is changed by somebody else again and again; try once more")


def ask(store: Store, run_id: str, wish: Literal["", "pause", "cancel"], *, reason: str = "") -> TeamRun:
    """Ask its driver for something. Raises NotFound, and Refused for a run that has ended."""
    held = run(store, run_id)
    if held.state != "running":
        raise Refused(f"run {run_id} has ended ({held.state}): there is nothing to {wish or 'go on with'}")
    verb = {"pause": "pause asked", "cancel": "cancel asked", "": "goes on"}[wish]
    return change(store, run_id, verb, asked=wish, reason=reason)


def runs(store: Store, *, where: Where | None = None, limit: int | None = None, cursor: str | None = None) -> Page:
    """Runs, newest first."""
    return store.find("team_runs", where, order=("-started_at",), limit=limit, cursor=cursor)


def records(store: Store, run_id: str) -> list[TeamRecord]:
    """Tasks of a run, by id."""
    return [record_of(TeamRecord, row) for row in store.find("team_tasks", {"run": run_id}, order=("id",)).rows]


def letter(run_id: str, sender: str, to: str, body: Json) -> Row:
    """A letter of a run, as it is written."""
    return {
        "id": ids.uuid7(),
        "run": run_id,
        "sender": sender,
        "to": to,
        "body": redact_json(body),
        "at": time.time(),
        "read_at": 0.0,
        "revision": 1,
    }


def unread(store: Store, run_id: str) -> list[Row]:
    """Letters of a run that nobody has read, oldest first."""
    return store.find("team_mail", {"run": run_id, "read_at": 0.0}, order=("at", "id")).rows


def read_rows(letters: Sequence[Row]) -> list[Row]:
    """The same letters, read now."""
    now = time.time()
    return [{**each, "read_at": now} for each in letters]


def _row(held: TeamRun) -> Row:
    row = as_row(held)
    del row["tasks"]
    return row
