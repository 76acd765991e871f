"""The facts that Ratchet keeps, as frozen values, and `Row`, their form on disk; one file, since all speak in them."""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from os import PathLike
from types import UnionType
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, TypeVar, cast, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Row: TypeAlias = dict[str, Json]
LessonState = Literal["candidate", "active", "quarantined", "retired"]
Scope = Literal["project", "global"]
Trend = Literal["new", "rising", "steady", "falling", "quiet"]
Decided = Literal["open", "resolved", "ignored", "muted"]
TriageState = Literal["open", "regressed", "resolved", "ignored", "muted"]
TrialState = Literal["planned", "open", "paused", "kept", "reverted", "undecided"]
TrialMode = Literal["coin", "switchback", "advisory"]
Metric = Literal["success", "latency", "cost", "score"]
UnitKind = Literal["call", "session", "unit"]
ProposalState = Literal["open", "trial", "kept", "reverted", "undecided", "rejected", "closed"]


@dataclass(frozen=True, slots=True)
class Page:
    """Rows in order, and the cursor that continues after them (None: no more)."""

    rows: list[Row]
    cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call of a tool by an agent.

    `head` and `target` are the intent (`failures.intent`): two steps with the same tool, head and target try the
    same thing. `input` is the redacted, capped text of the tool's input (for a shell the command itself); `change`
    is what an edit did, when the step was one (`- old` and `+ new` lines).
    """

    tool: str
    head: str = ""
    target: str = ""
    input: str = ""
    change: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Failure of one run. `message` is redacted and capped (head and tail kept)."""

    message: str
    kind: str = ""  # empty until classified at the drain; a name of `kinds.KINDS` after
    type: str = ""  # exception class name, with its module where known
    status: int | None = None  # HTTP status
    exit_code: int | None = None
    flagged: bool = True  # False: the source called it a success, its text says otherwise
    signature: str = ""
    template: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One finished run of anything. Never edited once stored.

    `session` is the root session: a subagent's outcomes carry its parent's, with `thread` naming the subagent.
    `started_at` is Unix seconds (UTC). `score` lies in [0, 1], higher is better."""

    id: str
    agent: str
    ok: bool
    started_at: float
    task: str = ""
    score: float | None = None
    duration_s: float | None = None
    first_item_s: float | None = None
    cost_usd: float | None = None
    tokens: int | None = None
    model: str = ""
    source: str = ""
    session: str = ""
    thread: str = ""
    unit: str = ""
    project: str = ""
    failure: Failure | None = None
    step: Step | None = None
    context: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """Words in a history: a person's, or an agent's own while a failure stood. Evidence, never an instruction.

    `text` is redacted and capped, `chars` the length before; `after` is the outcome that ended last before it.
    """

    id: str
    who: Literal["person", "agent"]
    way: Literal["typed", "interrupted", "review"]
    agent: str
    session: str
    at: float
    text: str
    chars: int
    thread: str = ""
    project: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageTokens:
    """Tokens of one answer, once; `step` is the first call that it made, "" for none. `cached` ones come from a cache,
    `stored` written to it, `stored_hour` of these for an hour; `begun` is 1 where `made` is told only as it began."""

    id: str
    agent: str
    session: str
    at: float
    model: str = ""
    thread: str = ""
    project: str = ""
    step: str = ""
    given: int = 0
    stored: int = 0
    stored_hour: int = 0
    cached: int = 0
    made: int = 0
    begun: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """A unit met a change or a lesson: journalled before the arm acts, also when withheld (`arm` = "control"). `trial`
    is the lesson's or trial's id, `unit` who met it, `share` the probability of the `new` arm."""

    trial: str
    unit: str
    arm: Literal["new", "control"]
    share: float
    at: float
    session: str = ""
    pattern: str = ""
    channel: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A piece of input that could not be read; it costs itself, never the rest. `line` counts from 1, 0 = the file."""

    path: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """Retrievable advice: when this fails, do that."""

    id: str
    text: str  # byte-exact outside `<placeholders>`
    state: LessonState
    scope: Scope
    signature: str
    kind: str
    tried: int
    worked: int
    when: str = ""  # the masked error text that triggers it
    example: str = ""  # one real instance of `text`, byte-exact
    tool: str = ""
    head: str = ""
    target: str = ""
    projects: tuple[str, ...] = ()
    reason: str = ""  # why it is quarantined or retired
    evidence: tuple[str, ...] = ()  # outcome ids
    provenance: str = ""
    foreign: bool = False  # written elsewhere: agents are shown its `parts`, never its words
    parts: tuple[str, ...] = ()  # the commands, flags and paths of a foreign one
    note: str = ""  # an agent's own sentence about the fix: its account, not a proof
    noted_in: str = ""  # the session that the note is of
    quote: str = ""  # the words of a person that it is made of
    step: str = ""  # the outcome that those words met
    sessions: tuple[str, ...] = ()  # in which they were said
    stale: str = ""  # why it no longer holds where it was learnt: it is told to nobody there
    seen_at: float = 0.0  # when it was met last
    replaces: tuple[str, ...] = ()  # lessons of people for the same failure that it contradicts; it is newer
    met: str = ""  # `when` with what all who met it share filled in, as it is shown
    project: str = ""  # the name under which its evidence counts, as facts and recall have it
    place: tuple[int, int, int, float, int] = (0, 0, 0, 0.0, 0)  # among lessons of its state (`lessons.standing`)
    unsaid: str = ""  # why it is not told ahead of its failure
    is_habit: bool = False  # it says that the project silences a check
    wrote: int = 0  # sessions that made it a habit, for this failure or along with something else
    is_edit: bool = False  # mined from edits of files: its text ends in a hunk
    right: int = 0  # by replay: later sessions whose failure ended as it says
    wrong: int = 0  # whose failure ended otherwise
    unknown: int = 0  # of which nobody can say
    saved_turns: int = 0  # failed calls of those sessions whose finding it ends
    skill: str = ""  # the name of the skill that is its long form
    steps: tuple[str, ...] = ()  # of that skill
    changes: tuple[str, ...] = ()  # hunks that ended it (`lessons.changes`), where one lesson alone is asked for
    revision: int = 0

    @property
    def is_quote(self) -> bool:
        """Tell whether its advice is a person's words as they were said: nobody has made a rule of them yet."""
        return bool(self.quote) and self.text == " ".join(self.quote.split())

    @property
    def proof(self) -> str:
        """Say in how many sessions the advice was seen to work."""
        met = f"{self.tried} session{'s' * (self.tried != 1)}"
        if not self.worked:
            return f"seen to fail in {met}" if self.tried else "not tried yet"
        if self.is_habit and self.wrote > self.worked:
            return f"a habit here, in {self.wrote} sessions, in {self.worked} of them after this finding"
        verb = "a habit here," if self.is_habit else "passed" if self.state == "quarantined" else "worked"
        every = {1: "the only session that met it", 2: "both sessions"}.get(self.tried, f"all {met}")
        return f"met in {met}, {verb} in {self.worked} of them" if self.worked < self.tried else f"{verb} in {every}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Triage:
    """A person's decision about a pattern, as it stands now: a `resolved` one that failed since is `regressed`, a
    `muted` one whose `until` (Unix seconds) is over is `open`. `at` is when it was decided, 0 for never."""

    state: TriageState = "open"
    at: float = 0.0
    until: float = 0.0
    assigned: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Failures with the same cause: grouped by signature, then merged by similarity (reversible)."""

    id: str
    signature: str
    kind: str
    template: str
    count: int
    sessions: int
    agents: tuple[str, ...]
    first_seen: float
    last_seen: float
    trend: Trend
    recurring: bool
    wasted_s: float
    wasted_tokens: int
    impact: float
    lessons: tuple[Lesson, ...] = ()
    triage: Triage = field(default_factory=Triage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A proposed edit of one target: its new values by key, and why.

    `fix` is the class of the edit (`retry_logic`, `routing_config`, `threshold_tuning`, or any other word); `metric` is
    what it is meant to better. `neutral_ok` declares one that need only do no harm (cheaper, simpler): it may be kept
    when at most `margin` worse. `trade` names other metrics that it may worsen, by which factor at most.
    """

    target: str
    new: Mapping[str, Json]
    agent: str = ""
    reason: str = ""
    origin: str = ""
    fix: str = ""
    pattern: str = ""
    metric: Metric = "success"
    neutral_ok: bool = False
    margin: float = 0.02
    trade: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A change being tested: written before it is applied, settled by the gate.

    `edit` is the change as its target planned it (`edits.edit_of`), `base` all that the target held then. `mode` says
    how the second sample comes about: `coin` per unit, `switchback` per block of time, or `advisory` (before and after,
    which proves nothing). `share` is the probability of the new arm now, `deadline_s` the age at which an exposure
    without an outcome counts as failed, `quiet_s` the silence after which a unit of several calls has ended. `before`
    is (ok, total) of the agent's history. `decision` is what was decided, written before it is carried out. `attempt`
    counts trials of the same edit: each spends an alpha. What failed before `resumed_at` is an outage that is over.
    """

    id: str
    change: Change
    state: TrialState
    edit: Mapping[str, Json] = field(default_factory=dict)
    base: Mapping[str, Json] = field(default_factory=dict)
    mode: TrialMode = "coin"
    unit: UnitKind = "call"
    alpha: float = 0.05
    share: float = 0.5
    ramp: tuple[tuple[int, float], ...] = ()
    deadline_s: float = 600.0
    quiet_s: float = 600.0
    before: tuple[int, int] = (0, 0)
    metrics: tuple[Metric, ...] = ("success",)
    salt: str = ""
    attempt: int = 1
    created_at: float = 0.0
    opened_at: float = 0.0
    paused_at: float = 0.0
    resumed_at: float = 0.0
    closed_at: float = 0.0
    decision: Literal["", "keep", "revert", "give up"] = ""
    reason: str = ""
    figures: Mapping[str, Json] = field(default_factory=dict)
    revision: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A fix that was thought of for a pattern. Without `change` it is advice that a person carries out."""

    id: str
    agent: str
    pattern: str
    kind: str
    title: str
    fix: str
    state: ProposalState
    change: Change | None = None
    trial: str = ""
    reason: str = ""
    evidence: Mapping[str, Json] = field(default_factory=dict)
    created_at: float = 0.0
    updated_at: float = 0.0
    revision: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """The live settings of an agent as they were set at one moment.

    `values` holds what was set; a knob that is not among them has its declared default. Number 0 is "nothing set".
    `applied_at` is None for a draft: a version that a trial offers to one of its arms, and that may never be in force.
    """

    target: str
    number: int
    values: Mapping[str, Json] = field(default_factory=dict)
    parent: int = 0
    who: str = ""
    why: str = ""
    at: float = 0.0
    applied_at: float | None = None


class Fields(TypedDict, total=False):
    """Fields of `record` besides the agent. Times are seconds; `started_at` is Unix seconds or a datetime.

    `ok`, `score` in [0, 1] or `quality` from 1 to 5 say how it went; `error` is a text or an exception; `id` is the
    caller's own key: the same key in the same session is the same outcome. `session`, `thread`, `unit` and `project`
    say where it belongs, `step` which tool call it was, `context` anything else that is JSON. `trials` names the unit
    that met each open trial; watched calls say it by themselves.
    """

    task: str
    ok: bool | None
    score: float | None
    quality: float | None
    error: str | BaseException | None
    status: int | None
    exit_code: int | None
    kind: str | None
    started_at: float | datetime | None
    duration_s: float | None
    first_item_s: float | None
    cost_usd: float | None
    tokens: int | None
    model: str
    session: str
    thread: str
    unit: str
    project: str | PathLike[str]
    id: str | None
    source: str
    step: Step | Mapping[str, Json] | None
    context: Mapping[str, object] | None
    trials: Mapping[str, Json]


def to_row(outcome: Outcome) -> Row:
    """The outcome as it is written: absent fields left out, nested records as dicts."""
    row: Row = {}
    for name in names_of(Outcome):
        value = getattr(outcome, name)
        if value is None or value == "":
            continue
        if isinstance(value, str | float | int):
            row[name] = value
        elif isinstance(value, Failure | Step):
            row[name] = _present(value)
        elif value:
            row[name] = dict(value)
    return row


def outcome_of(row: Row) -> Outcome:
    """The outcome that a row holds. Fields of a newer version are ignored."""
    failure, step = row.get("failure"), row.get("step")
    return record_of(
        Outcome,
        row,
        failure=record_of(Failure, {"message": "", **failure}) if isinstance(failure, dict) else failure,
        step=record_of(Step, {"tool": "", **step}) if isinstance(step, dict) else step,
    )


def _present(value: Failure | Step) -> dict[str, Json]:
    """The fields that say something: all but the defaults."""
    return {name: held for name, default in _DEFAULTS[type(value)] if (held := getattr(value, name)) != default}


_DEFAULTS = {kind: [(f.name, f.default) for f in fields(kind)] for kind in (Failure, Step)}


def text_in(row: Json | Mapping[str, Json], name: str) -> str:
    """The text under a name; "" where there is none, or nothing to look in."""
    value = row.get(name) if type(row) is dict or isinstance(row, Mapping) else None  # nearly all are plain ones
    return value if isinstance(value, str) else ""


def number_in(row: Json | Mapping[str, Json], name: str, default: float = 0.0) -> float:
    """The number under a name; `default` where there is none, or nothing to look in."""
    value = row.get(name) if type(row) is dict or isinstance(row, Mapping) else None
    return float(value) if type(value) in (int, float) and abs(cast("float", value)) <= 1e308 else default  # type: ignore[arg-type]


def whole_in(row: Json | Mapping[str, Json], name: str) -> int:
    """The number under a name without its fraction; 0 where there is none, or nothing to look in."""
    value = row.get(name) if type(row) is dict else None
    return value if type(value) is int else int(number_in(row, name))


@functools.cache
def names_of(kind: type[DataclassInstance]) -> tuple[str, ...]:
    """The names of a record's fields, in order."""
    return tuple(each.name for each in fields(kind))


def as_row(record: DataclassInstance) -> Row:
    """A record as a row: records within it become objects, tuples lists."""
    return {name: _plain(getattr(record, name)) for name in names_of(type(record))}


def record_of(kind: type[T], row: Json | Mapping[str, Json], **given: object) -> T:
    """The record that a row holds, with the records within it. Fields of a newer version are ignored; None means the
    default. What is `given` counts instead of what the row says. Raises TypeError where a required field is missing."""
    if not isinstance(row, Mapping):
        raise TypeError(f"{kind.__name__} is read from an object, not from {row!r:.40}")
    held = {
        name: value if read is None else read(value)
        for name, read in _readers(cast("Hashable", kind)).items()
        if name not in given and (value := row.get(name)) is not None
    }
    return kind(**held | given)


def _plain(value: object) -> Json:
    if isinstance(value, tuple | list):
        return [*map(_plain, value)]
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return as_row(value) if is_dataclass(value) and not isinstance(value, type) else cast("Json", value)


@functools.cache
def _readers(kind: Hashable) -> dict[str, Callable[[Json], object] | None]:
    hints = get_type_hints(kind)
    return {name: _reader(hints[name]) for name in names_of(cast("type[DataclassInstance]", kind))}


def _reader(hint: object) -> Callable[[Json], object] | None:
    """From the JSON of a field's type to its value; None where they are the same."""
    within = [each for each in get_args(hint) if each not in (type(None), Ellipsis)]
    if get_origin(hint) is tuple:
        read = _reader(within[0]) if len(set(within)) == 1 else None
        return (lambda value: tuple(map(read, cast("list[Json]", value)))) if read else _tuple
    if get_origin(hint) in (typing.Union, UnionType) and len(within) == 1:
        return _reader(within[0])
    if isinstance(hint, type) and is_dataclass(hint):
        return functools.partial(record_of, hint)
    return bool if hint is bool else None  # a database has 0 and 1


def _tuple(value: Json) -> object:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value
