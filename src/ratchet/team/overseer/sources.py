"""Running work that the overseer can see: sessions of coding agents, runs of teams, healings, evolutions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ratchet import registry
from ratchet.errors import Refused
from ratchet.failures.circles import RecentCall
from ratchet.failures.verdict import failure_row
from ratchet.healing import rows as episodes
from ratchet.healing.queue import rows as queueing
from ratchet.integrations import circling
from ratchet.integrations.clients.client import Client
from ratchet.lessons import told
from ratchet.ports import Store
from ratchet.records import number_in, record_of, whole_in
from ratchet.team import rows as teams
from ratchet.team.overseer.judging import Action, Sight, Sighted, SightLimits
from ratchet.team.values import TeamRecord, TeamRun

LIVE_S = 600.0
"""A transcript that was written to in this time is of a session that runs."""
QUIET_S = 900.0
"""Silence of a run or a task that is much: three times the longest that an attempt takes by default."""
_OVERSEER = "overseer"
_MOST = 100  # of one kind that run at a time


class CodingSessions:
    """Sessions of coding agents, by the end of the transcripts that they write. What they are told comes with the
    hook's next answer; a client without hooks of ours is judged all the same, and a person hears of it."""

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        self._home, self._environ = str(home), environ

    def sights(self, now: float) -> Iterator[Sight]:
        user = self._environ.get("HOME") or str(Path("~").expanduser())
        for name in registry.names(registry.CLIENTS):
            client = registry.client(name)
            for folder in client.homes(user, self._environ):
                for path in _live(Path(folder), now):
                    sight = self._sight(client, path)
                    if sight is not None:
                        yield sight

    def _sight(self, client: Client, path: Path) -> Sight | None:
        about = path.stat()
        calls = [each and as_told(each) for each in client.at_end(str(path))]
        if not calls:
            return None
        return Sight(
            kind="session",
            id=session_of(path),
            calls=calls,
            steps=about.st_size,
            last_at=about.st_mtime,
            can=frozenset({"tell", "redirect", *(("pause",) if client.can_pause else ())}),
        )

    def act(self, sight: Sight, action: Action, judged: Sighted) -> str:
        said = worded(self._home, sight, action, judged)
        found = judged.found
        if action == "tell" and found is not None and not told.claimed(self._home, sight.id, f"circle  {found.key}"):
            return ""  # its hook has said so already, in the turn that closed the circle
        told.leave(self._home, sight.id, f"{told.PAUSE}{said}" if action == "pause" else said)
        return said


class TeamRuns:
    """Runs of teams that are under way, each task of them by its attempts. Who writes to a task reaches the worker that
    takes it up next."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store

    def sights(self, now: float) -> Iterator[Sight]:
        del now
        store = self._store()
        for row in teams.runs(store, where={"state": "running"}).rows:
            run = record_of(TeamRun, row)
            tasks = teams.records(store, run.id)
            yield _run_sight(run, tasks)
            for task in tasks:
                if task.state in ("waiting", "running") and task.attempts:
                    yield _task_sight(run, task)

    def act(self, sight: Sight, action: Action, judged: Sighted) -> str:
        store = self._store()
        if action == "tell":
            said = worded("", sight, action, judged)
            store.insert_new("team_mail", [teams.letter(sight.id, _OVERSEER, sight.about, said)])
            return said
        teams.ask(store, sight.id, "pause" if action == "pause" else "cancel", reason=judged.reason)
        return ""


class Healings:
    """Tasks that are healed, by servers or from a command line. They have a breaker of their own: what is seen here is
    silence, and what that breaker lets pass. Only a queued one can be cancelled from here."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store

    def sights(self, now: float) -> Iterator[Sight]:
        del now
        store = self._store()
        queued = {task.episode: task.id for task in queueing.page(store, state="running")[0]}
        for row in store.find("episodes", {"status": "running"}, limit=_MOST).rows:
            held = episodes.episode(store, str(row["id"]))
            calls = [
                RecentCall("attempt", each.cause, each.reason or each.signature, failed=True, turn=each.n)
                for each in held.attempts
                if each.status == "failed"
            ]
            yield Sight(
                kind="task",
                id=queued.get(held.id, held.id),
                calls=calls,
                steps=len(held.attempts),
                began_at=held.started_at,
                last_at=max((each.started_at + each.duration_s for each in held.attempts), default=held.started_at),
                usd=sum(each.cost_usd for each in held.attempts),
                limits=SightLimits(usd=held.budget.usd, quiet_s=max(QUIET_S, held.budget.seconds)),
                can=frozenset({"cancel"}) if held.id in queued else frozenset(),
            )

    def act(self, sight: Sight, action: Action, judged: Sighted) -> str:
        del action, judged
        queueing.cancel(self._store(), sight.id)
        return ""


class Evolutions:
    """Runs that better an agent on a benchmark, by their evaluations. The gate decides what they keep, and their purse
    what they spend; what is seen here is silence, of which a person is told."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store

    def sights(self, now: float) -> Iterator[Sight]:
        del now
        store = self._store()
        for row in store.find("evolutions", {"state": "running"}, limit=_MOST).rows:
            run = str(row["id"])
            counted = store.sum_by("evaluations", ("run",), ("count:*", "max:at"), {"run": run})
            done = counted[0] if counted else {}
            yield Sight(
                kind="evolution",
                id=run,
                steps=whole_in(done, "count:*"),
                began_at=number_in(row, "started_at"),
                last_at=number_in(done, "max:at"),
                limits=SightLimits(quiet_s=QUIET_S),
            )

    def act(self, sight: Sight, action: Action, judged: Sighted) -> str:
        raise Refused(f"evolution {sight.id} can only be ended where it runs, with Ctrl-C; {judged.reason}: {action}")


def as_told(call: RecentCall) -> RecentCall:
    """The call as a hook that just met it knows it: a failure that nobody flagged is one, too."""
    failure = failure_row(call.said, flag=call.failed or None, tool=call.tool, head=call.head, given=call.input)
    return RecentCall(call.tool, call.given, call.said, failed=failure is not None, at=call.at, turn=call.turn)


def session_of(path: Path) -> str:
    """The session whose transcript this is: its name, or the id at the end of it."""
    end = path.stem[-36:]
    return end if end.count("-") == 4 else path.stem


def worded(home: str, sight: Sight, action: Action, judged: Sighted) -> str:
    """Word what the work is told: facts about what it repeats, and, when it is to turn back, that it should."""
    if judged.found is None:
        said = f"Ratchet: {judged.reason}."
    else:
        worked = circling.elsewhere(home, judged.found, sight.project) if home else ""
        said = circling.sentence(judged.found, worked)
    if action == "redirect":
        said += (
            " This was said before, and it went on. Stop this line of work: say what you know about the cause, try a "
            "way that does not use this call, or ask the person."
        )
    if action == "pause" and sight.kind == "session":
        said += " The overseer ended this turn, since it went on all the same. Say how to go on, and it does."
    return said


def _live(folder: Path, now: float) -> Iterator[Path]:
    """Transcripts that were written to lately; subagents have their own, in folders beside."""
    if not folder.is_dir():
        return
    for path in folder.rglob("*.jsonl"):
        try:
            if now - path.stat().st_mtime <= LIVE_S and "subagents" not in path.parts:
                yield path
        except OSError:  # gone meanwhile
            continue


def _run_sight(run: TeamRun, tasks: list[TeamRecord]) -> Sight:
    attempts = [each for task in tasks for each in task.attempts]
    return Sight(
        kind="team run",
        id=run.id,
        steps=len(attempts) + sum(each.ended_at > 0 for each in attempts),
        began_at=run.started_at,
        last_at=max((max(each.began_at, each.ended_at) for each in attempts), default=run.started_at),
        usd=sum(task.cost_usd for task in tasks),
        tokens=sum(task.tokens for task in tasks),
        limits=SightLimits(quiet_s=QUIET_S if run.asked != "pause" else None),
        can=frozenset({"pause", "cancel"}),
    )


def _task_sight(run: TeamRun, task: TeamRecord) -> Sight:
    calls = [
        RecentCall(task.skill or run.team, {"task": task.id}, each.reason, failed=True, turn=each.n)
        for each in task.attempts
        if each.ok is False and each.counted
    ]
    return Sight(
        kind="team run",
        id=run.id,
        about=task.id,
        calls=calls,
        steps=len(task.attempts),
        began_at=task.started_at or time.time(),
        last_at=max(max(each.began_at, each.ended_at) for each in task.attempts),
        can=frozenset({"tell", "cancel"}),
    )
