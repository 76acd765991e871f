"""Facts of a team's run: its tasks, the attempts at them, what they cost. Values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from ratchet.arguments import need_number
from ratchet.errors import UsageError
from ratchet.ids import hex_of
from ratchet.records import Json

TaskStanding = Literal["waiting", "running", "done", "failed", "skipped", "over_budget", "cancelled", "unknown"]
"""`skipped`: a need of it did not end well. `unknown`: it began, its driver died, and it may not be repeated."""
RunState = Literal["running", "done", "failed", "over_budget", "stopped", "cancelled"]
"""`stopped`: by a signal; the next run of the same name goes on."""
ENDED: tuple[str, ...] = ("done", "failed", "skipped", "over_budget", "cancelled", "unknown")

LEAST_S = 0.001
"""Shortest limit of an attempt."""
MOST_BYTES = 8_388_608
"""Of one result, as JSON: more is a flood, as an endpoint's answer on a benchmark is."""
LONGEST_NAME = 100
_LONGEST_ID = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamTask:
    """One task of a run. `work` is what its worker is handed, `needs` names tasks whose results go with it."""

    id: str
    work: Json = None
    needs: tuple[str, ...] = ()
    skill: str = ""
    """The skill that a worker must declare; "" is for any worker."""
    attempts: int = 3
    timeout_s: float = 300.0
    """For one attempt."""
    cost_usd: float = 0.0
    """The most that one attempt may cost: set aside before it starts."""
    tokens: int = 0
    """... in tokens."""
    repeat: bool = True
    """Whether it may be begun again where an earlier attempt may have had effects: a timeout, a worker that died. With
    False only after a failure that its worker reported itself."""

    @property
    def digest(self) -> str:
        """Tells two tasks of one id apart that are not the same work."""
        import json

        return hex_of(json.dumps([self.work, [*self.needs], self.skill], sort_keys=True))[:24]


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamBudget:
    """Limits of a run, over all its processes. None is no limit."""

    seconds: float | None = None
    """Of this process's share of the run."""
    usd: float | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        """Raise UsageError for a limit that is none, which no spending would reach."""
        for name, limit in (("seconds", self.seconds), ("usd", self.usd), ("tokens", self.tokens)):
            if limit is not None:
                need_number(f"the budget's {name}", limit, why=", or None for no limit")


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamAttempt:
    """One attempt at a task. `ok` is None while it runs, or where nobody saw its end."""

    n: int
    worker: str
    began_at: float
    ended_at: float = 0.0
    ok: bool | None = None
    kind: str = ""
    reason: str = ""
    cost_usd: float = 0.0
    tokens: int = 0
    reserved_usd: float = 0.0
    reserved_tokens: int = 0
    adopted: bool = False
    """Whether its end was read after the driver had died meanwhile."""
    counted: bool = True
    """False for one that its driver ended in order, or that never began: it uses up no attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamRecord:
    """A task of a run, as far as it has come. `result` is what its worker brought, without secrets; `masked` says that
    one was taken out of it, `clipped` that it was too long to be kept whole."""

    run: str
    id: str
    state: TaskStanding = "waiting"
    digest: str = ""
    skill: str = ""
    needs: tuple[str, ...] = ()
    attempts: tuple[TeamAttempt, ...] = ()
    result: Json = None
    masked: bool = False
    clipped: bool = False
    reason: str = ""
    worker: str = ""
    started_at: float = 0.0
    ended_at: float = 0.0
    revision: int = 0

    @property
    def tries(self) -> int:
        """Attempts that count."""
        return sum(each.counted for each in self.attempts)

    @property
    def cost_usd(self) -> float:
        """Cost so far; one whose end nobody saw counts in full."""
        return sum(each.reserved_usd if each.ok is None else each.cost_usd for each in self.attempts)

    @property
    def tokens(self) -> int:
        return sum(each.reserved_tokens if each.ok is None else each.tokens for each in self.attempts)


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamRun:
    """A run of a team. `asked` is what somebody wants of it from outside: "", "pause" or "cancel"."""

    id: str
    team: str
    state: RunState = "running"
    reason: str = ""
    asked: Literal["", "pause", "cancel"] = ""
    driver: str = ""
    started_at: float = 0.0
    ended_at: float = 0.0
    budget: Mapping[str, Json] = field(default_factory=dict)
    """The limits of its last driver."""
    plans: tuple[Mapping[str, Json], ...] = ()
    """What a supervisor planned, round by round."""
    revision: int = 0
    tasks: tuple[TeamRecord, ...] = field(default=(), kw_only=True)

    @property
    def results(self) -> dict[str, Json]:
        """Task -> result, of those that are done."""
        return {each.id: each.result for each in self.tasks if each.state == "done"}

    @property
    def failures(self) -> dict[str, str]:
        """Task -> why it did not end well."""
        return {each.id: each.reason or each.state for each in self.tasks if each.state not in ("done", "waiting")}

    @property
    def cost_usd(self) -> float:
        return sum(each.cost_usd for each in self.tasks)

    @property
    def tokens(self) -> int:
        return sum(each.tokens for each in self.tasks)


def check_name(what: str, name: str, longest: int = LONGEST_NAME) -> None:
    """Raise UsageError for a name that cannot be shown on one line as it is: it is kept, listed and drawn on pages."""
    if not name or len(name) > longest or not name.isprintable():
        raise UsageError(f"{what} is {name!r:.80}: give 1 to {longest} printable characters")


def need_tasks(tasks: Sequence[TeamTask], known: Sequence[str] = ()) -> None:
    """Raise UsageError for an id that is none or stands twice, a need that is not there, a circle of needs, a number
    that makes no sense, work that JSON cannot say."""
    import json

    ids = {*known, *(task.id for task in tasks)}
    seen: set[str] = set()
    for task in tasks:
        check_name("a task's id", task.id, _LONGEST_ID)
        if task.skill:
            check_name(f"the skill of task {task.id!r}", task.skill)
        if task.id in seen:
            raise UsageError(f"two tasks are named {task.id!r}: give each an id of its own")
        seen.add(task.id)
        if isinstance(cast("object", task.needs), str):
            raise UsageError(f"task {task.id!r}: needs is a text: give the ids in a tuple, such as ({task.needs!r},)")
        for need in task.needs:
            if need not in ids:
                raise UsageError(f"task {task.id!r} needs {need!r}, which is no task of this run: add it, or drop it")
        need_number(f"attempts of task {task.id!r}", task.attempts, least=1, whole=True)
        need_number(f"timeout_s of task {task.id!r}", task.timeout_s, least=LEAST_S, finite=True)
        for name, most in (("cost_usd", task.cost_usd), ("tokens", task.tokens)):
            need_number(f"{name} of task {task.id!r}", most, finite=True, why=", the most that an attempt may use")
        try:
            json.dumps(task.work, allow_nan=False, sort_keys=True)
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"task {task.id!r}: its work is not JSON ({error}): hand over texts and numbers") from None
    _need_no_circle(tasks)


def _need_no_circle(tasks: Sequence[TeamTask]) -> None:
    import graphlib

    try:
        graphlib.TopologicalSorter({task.id: task.needs for task in tasks}).prepare()
    except graphlib.CycleError as error:
        raise UsageError(f"tasks need each other in a circle: {' -> '.join(error.args[1])}") from None
