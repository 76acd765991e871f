"""Tasks that wait for a server, as rows of the store: who may run one, and who runs it now. Values, and their moves.

A task is claimed by compare-and-set and held by a lease. A server that lives renews it; when it dies, the lease ends
and another server goes on with the same episode. Leases are times of the servers' clocks, which have to agree to within
seconds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from ratchet import ids
from ratchet.errors import Conflict, NotFound, Refused
from ratchet.healing import rows as episodes
from ratchet.healing.episode import Budget, EpisodeStatus, PlanStep
from ratchet.ports import Store
from ratchet.records import Json, Page, Row, as_row, record_of, whole_in
from ratchet.store.timeline import note

TaskKind = Literal["heal", "compare"]
TaskState = Literal["queued", "done", "error"] | EpisodeStatus
"""An episode's status; `queued` before, `done` for a comparison, `error` where the machine failed it."""
STATES: tuple[str, ...] = ("queued", "done", "error", *get_args(EpisodeStatus))
UNDER_WAY = ("queued", "running")

LEASE_S = 15.0
"""How long a server that died keeps its tasks: long enough for a collection of garbage or a slow disk, short enough for
who waits."""
MOST_CLAIMS = 5
"""How often a task is begun, before it is taken for what kills its servers."""
_LOOK = 8  # waiting tasks that a claim looks at: as many servers may want the first one


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Work asked for. `check` is a command; without one the instruction is words that a plan is made of, and without
    either it is the project's own check."""

    folder: str
    kind: TaskKind = "heal"
    instruction: str = ""
    check: tuple[str, ...] = ()
    solver: str = "auto"
    budget: Budget = field(default_factory=Budget)
    protected: tuple[str, ...] = ()
    seed: int = 0
    seeds: int = 1
    """Of a comparison: how often each task is run in each arm."""
    plan: tuple[PlanStep, ...] = ()
    """A plan of the asker's own for the words, in place of one that is made."""
    plan_only: bool = False
    """Leave it at the plan: the task ends as `planned`, and `resume` carries it out."""

    @property
    def in_words(self) -> bool:
        """Tell whether a plan is made of the instruction."""
        return self.kind == "heal" and bool(self.instruction) and not self.check


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """Going on with a task's episode, as the last to ask wanted it. `words` say what is still wrong; "" carries out the
    plan that there is."""

    words: str = ""
    heard: int = 0
    """Characters of the episode's instruction before these words: one that is longer has heard them."""
    plan: tuple[PlanStep, ...] = ()
    adds: bool = False
    """Whether these steps come after those that there are; else they are the whole plan."""
    plan_only: bool = False
    solver: str = ""
    budget: Budget = field(default_factory=Budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedTask:
    """One task as it stands. `episode` is the one that is, or will be, run for it; `earlier` were run before it was
    retried. `by` is who asked."""

    id: str
    work: Work
    state: TaskState
    episode: str = ""
    earlier: tuple[str, ...] = ()
    server: str = ""
    lease_until: float = 0.0
    claims: int = 0
    cancelled: bool = False
    reason: str = ""
    result: Mapping[str, Json] = field(default_factory=dict)
    resumed: Resumption | None = None
    by: str = ""
    created_at: float = 0.0
    started_at: float = 0.0
    ended_at: float = 0.0
    revision: int = 0

    @property
    def under_way(self) -> bool:
        """Tell whether somebody works on it, or will."""
        return self.state in UNDER_WAY


def add(store: Store, work: Work, *, by: str = "") -> QueuedTask:
    """Queue a task."""
    now = time.time()
    task = QueuedTask(id=f"task{ids.uuid7().replace('-', '')[:20]}", work=work, state="queued", by=by, created_at=now)
    with store.transaction():
        store.swap("queue", task.id, 0, _row(task))
        note(store, "task", task.id, "queued", now, kind=work.kind, by=by)
    return replace(task, revision=1)


def show(store: Store, task_id: str) -> QueuedTask:
    """One task. Raises NotFound."""
    row = store.get("queue", task_id)
    if row is None:
        raise NotFound(f"no task {task_id}; use the id that it was given when it was queued")
    return record_of(QueuedTask, row)


def page(
    store: Store, *, state: str | None = None, limit: int | None = None, cursor: str | None = None
) -> tuple[list[QueuedTask], str | None]:
    """Tasks, newest first, and the cursor of what follows."""
    where: dict[str, Json | tuple[str, Json]] = {} if state is None else {"state": state}
    found: Page = store.find("queue", where, order=("-created_at",), limit=limit, cursor=cursor)
    return [record_of(QueuedTask, row) for row in found.rows], found.cursor


def claim(store: Store, server: str, *, lease_s: float = LEASE_S) -> QueuedTask | None:
    """The oldest task that waits, or whose server died, now held by `server`; None where there is none."""
    now = time.time()
    free: dict[str, Json | tuple[str, Json]] = {"lease_until": ("<=", now)}
    for state in ("running", "queued"):  # who has begun comes first
        for row in store.find("queue", {**free, "state": state}, order=("created_at",), limit=_LOOK).rows:
            task = record_of(QueuedTask, row)
            if task.cancelled:
                _moved(store, task, "cancelled", state="cancelled", ended_at=now, server="")
                continue
            if task.claims >= MOST_CLAIMS:
                reason = f"{task.claims} servers ended while they ran it; POST /v1/tasks/{task.id}/retry begins anew"
                _moved(store, task, "given up", state="error", reason=reason, ended_at=now, server="")
                continue
            taken = _moved(
                store,
                task,
                "resumed" if state == "running" else "started",
                state="running",
                server=server,
                lease_until=now + lease_s,
                claims=task.claims + 1,
                episode=task.episode or episodes.new_id(),
                started_at=task.started_at or now,
            )
            if taken is not None:
                return taken
    return None


def renew(store: Store, task: QueuedTask, *, lease_s: float = LEASE_S) -> QueuedTask | None:
    """The task with its lease renewed; None when it is no longer this server's."""
    for _ in range(3):  # somebody may ask for its end at the same moment
        held = show(store, task.id)
        if held.server != task.server or held.state != "running":
            return None
        moved = _moved(store, held, "", lease_until=time.time() + lease_s)
        if moved is not None:
            return moved
    return None


def end(store: Store, task: QueuedTask, state: TaskState, *, reason: str = "", result: Row | None = None) -> bool:
    """Write how a task of this server ended; False when it is no longer this server's."""
    changes = {"state": state, "reason": reason, "result": result or {}, "ended_at": time.time(), "lease_until": 0.0}
    return _settled(store, task, "ended", changes)


def put_back(store: Store, task: QueuedTask, *, after_s: float = 0.0, failed: bool = False) -> bool:
    """Let any server go on with it, `after_s` from now on; False when it is no longer this server's. What was put back
    in order is no claim that ended badly; what `failed` is."""
    claims = task.claims if failed else task.claims - 1
    changes = {"state": "queued", "lease_until": time.time() + after_s if after_s else 0.0, "claims": claims}
    return _settled(store, task, "put back", changes)


def _settled(store: Store, task: QueuedTask, verb: str, changes: Mapping[str, object]) -> bool:
    for _ in range(5):
        held = show(store, task.id)
        if held.server != task.server or held.state != "running":
            return False
        if _moved(store, held, verb, server="", **changes) is not None:
            return True
    return False


def cancel(store: Store, task_id: str) -> QueuedTask:
    """Ask for its end: at once where it waits, within seconds where it runs. Raises NotFound, Conflict, and Refused for
    one that has ended."""
    task = show(store, task_id)
    if not task.under_way:
        raise Refused(f"task {task_id} has ended ({task.state}): there is nothing to cancel")
    if task.cancelled:
        return task
    if task.state == "queued":
        return _sure(store, task, "cancelled", state="cancelled", cancelled=True, ended_at=time.time())
    return _sure(store, task, "cancel asked", cancelled=True)


def retry(store: Store, task_id: str) -> QueuedTask:
    """Queue an ended task again: one that was cancelled or taken back goes on with its episode, any other gets a new
    one. Raises NotFound, Conflict, Refused while it is under way."""
    task = show(store, task_id)
    if task.under_way:
        raise Refused(f"task {task_id} is {task.state}: cancel it first, with POST /v1/tasks/{task_id}/cancel")
    held = store.get("episodes", task.episode) if task.episode else None
    goes_on = held is not None and held.get("status") in ("running", "cancelled", "planned")
    return _sure(
        store,
        task,
        "retried",
        resumed=task.resumed if goes_on else None,
        state="queued",
        cancelled=False,
        claims=0,
        reason="",
        result={},
        ended_at=0.0,
        lease_until=0.0,
        episode=task.episode if goes_on else "",
        earlier=task.earlier if goes_on or not task.episode else (*task.earlier, task.episode),
    )


def resume(store: Store, task: QueuedTask, how: Resumption) -> QueuedTask:
    """Queue a task that has ended once more, to go on with its episode; one that no server ever queued is written.
    Raises Conflict, Refused while it is under way."""
    if task.under_way and task.revision:
        raise Refused(f"task {task.id} is {task.state}: wait for its end, or cancel it first")
    begun: dict[str, object] = {"state": "queued", "cancelled": False, "claims": 0, "reason": "", "result": {}}
    return _sure(store, task, "resumed", **begun, resumed=how, ended_at=0.0, lease_until=0.0)


def taken_back(store: Store, task_id: str, *, to: int) -> QueuedTask:
    """Note that a task's episode was taken back. It waits for a retry: until then it counts as cancelled."""
    return _sure(store, show(store, task_id), "taken back", state="cancelled", reason=f"taken back to checkpoint {to}")


def counts(store: Store) -> dict[str, int]:
    """Count the tasks in each state."""
    return {str(row["state"]): whole_in(row, "count:*") for row in store.sum_by("queue", ("state",), ("count:*",))}


# -- rows --------------------------------------------------------------------------------------------------------------


def _sure(store: Store, task: QueuedTask, verb: str, **changes: object) -> QueuedTask:
    moved = _moved(store, task, verb, **changes)
    if moved is None:
        raise Conflict(f"task {task.id} was moved by somebody else meanwhile; look at it again")
    return moved


def _moved(store: Store, task: QueuedTask, verb: str, **changes: object) -> QueuedTask | None:
    """The task with these changes, stored with `verb` as an event; None when somebody else was first."""
    moved = replace(task, **changes)  # type: ignore[arg-type]
    with store.transaction():
        if not store.swap("queue", task.id, task.revision, _row(moved)):
            return None
        if verb:
            about = {"state": moved.state, "reason": moved.reason, "episode": moved.episode}
            note(store, "task", task.id, verb, time.time(), **about)
    return replace(moved, revision=task.revision + 1)


def _row(task: QueuedTask) -> Row:
    row = as_row(task)
    del row["revision"]
    return row
