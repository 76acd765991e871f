"""Ports: what can be replaced, as Protocols that loops call and backends implement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from ratchet.records import Json, Page  # `Json`: the types of an `Edit` are read when a row becomes one

if TYPE_CHECKING:
    from ratchet.records import MessageTokens, Metric, Outcome, Quarantined, Row, Saying, Version
    from ratchet.sandbox.command import Command, FileChange, Guarantee, Isolation, Killed, Limits, Ran, View

Where = Mapping[str, "Json | tuple[str, Json]"]
"""Column -> value (equality), or (operator, value) with operator one of `= != < <= > >= in`. Conditions are ANDed."""


class Changes(Protocol):
    """Hears that somebody wrote to a store. For one thread: whoever serves many asks once and tells them all."""

    def wait(self, timeout_s: float) -> bool:
        """Tell whether anything may have changed since the last call (the first: since this was made); waits for it at
        most `timeout_s`. Raises StoreError while the store is down; the first call after that says yes."""

    def close(self) -> None: ...


class Store(Protocol):
    """Typed tables, declared once in `store.schema`. Verbs join the open transaction of their thread, else run in one
    of their own. Every write transaction is immediate: it sees the newest state and cannot fail to upgrade."""

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing. Nested use joins the outer one."""

    def insert_new(self, table: str, rows: Sequence[Row]) -> list[int]:
        """Insert rows whose key is new; return the positions (in `rows`) of those that were."""

    def get(self, table: str, key: str | tuple[str, ...]) -> Row | None:
        """The row of that key (a tuple where the key has several columns)."""

    def find(
        self,
        table: str,
        where: Where | None = None,
        *,
        order: Sequence[str] = (),
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page:
        """`order` names columns, `-name` for descending; the key breaks ties, so a cursor never skips or repeats."""

    def sum_by(self, table: str, by: Sequence[str], sums: Sequence[str], where: Where | None = None) -> list[Row]:
        """GROUP BY `by`; each of `sums` is `column` (sum), `min:column`, `max:column`, `count:*` or `distinct:column`;
        the result's key is that very string."""

    def add(self, table: str, rows: Sequence[Row]) -> None:
        """Upsert tallies: on an existing key, counter columns are added, `min_`/`max_` columns kept as extremes."""

    def match(
        self, table: str, weights: Mapping[str, float], where: Where | None = None, *, limit: int = 64
    ) -> list[Row]:
        """Rows that have any of these terms, by the sum of their weights, the highest first. Costs a step for each row
        of each term: leave common ones out (`spread`)."""

    def having(
        self,
        table: str,
        words: Sequence[str],
        where: Where | None = None,
        *,
        without: Sequence[str] = (),
        limit: int = 50,
    ) -> list[Row]:
        """Rows that have all of these words and none of those in `without`, those written last first. Costs a step for
        each row that it gives, and some for those that have only a few of the words; `where` is asked of each row that
        has all."""

    def spread(self, table: str, terms: Sequence[str]) -> dict[str, int]:
        """Count the rows that have each of these terms, "" standing for any; without those that none has."""

    def swap(self, table: str, key: str | tuple[str, ...], revision: int, row: Row) -> bool:
        """Compare-and-set: write `row` iff the stored revision is `revision` (0: iff absent); stores revision + 1."""

    def swap_many(self, table: str, rows: Sequence[Row]) -> int:
        """`swap` for each of `rows`, which hold their keys and the revisions that they were read at; how many were
        written. No key may occur twice."""

    def delete_before(self, table: str, column: str, value: float) -> int: ...

    def delete(self, table: str, where: Where) -> int:
        """Delete the rows that `find` would give; how many there were. Raises UsageError without a condition."""

    def derive(self) -> None:
        """Make anew, in one transaction, what is only computed from other rows: sums, and the terms of patterns."""

    def compact(self) -> None:
        """Give the space of deleted rows back to the disk. May take as long as reading everything."""

    def changes(self) -> Changes:
        """Tells when anybody writes, in this process or another, for as long as it is not closed."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Content of one piece of a file: outcomes, words that were said, and lines that could not be used. Store `items`,
    `offset` and the source's `carry` together, before the next piece is asked for: then a later read continues exactly
    there.

    `items` is empty where a piece (always the last one) only moves the offset. The last one also tells the `sessions`
    of the file, those without any outcome included, and in `note` why a well-formed file taught nothing. A piece that
    is a line says where it begins (`start`, in bytes) and what it hashes to, so that it can be read again by itself.
    """

    items: tuple[Outcome | Saying | MessageTokens | Quarantined, ...]
    offset: int
    start: int = -1
    digest: str = ""
    sessions: tuple[str, ...] = ()
    note: str = ""


class Source(Protocol):
    """Reads one foreign history format."""

    @property
    def name(self) -> str: ...

    def claims(self, head: bytes) -> bool:
        """Tell whether this is its format, decided by content (the first 64 kB of it), never by the name."""

    def read(self, path: str, offset: int, carry: Row) -> Iterator[Read]:
        """Yield what the file holds from `offset` on (from its start when it was replaced since). `carry` is the
        source's own JSON-serialisable memory of the part before (open calls, token counts), updated in place and
        stored with the offset. Ids come from the content, so a piece met twice is stored once.

        Raises OSError or BackendError when the file cannot be opened; a bad line is a `Quarantined`, never raised.
        A non-empty file that yields nothing it understands yields a `Quarantined` of line 0.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Content of a target: the values of its keys (absent ones left out), and the version of what was read."""

    values: Mapping[str, Json]
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of some keys of a target, complete enough to be undone by another process after a crash: write it down
    (`records.as_row`) before it is applied.

    A key that is missing from `before` did not exist; one missing from `after` is taken out. `version` is what the
    edit was planned on, `result` what the target is at once it is applied, `undo` the target's own JSON for an exact
    way back.
    """

    target: str
    before: Mapping[str, Json]
    after: Mapping[str, Json]
    version: str
    result: str
    undo: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """Result of `Target.restore`: keys put back, and keys left as a person set them since, with the value found (None
    where the person took the key out)."""

    version: str
    restored: tuple[str, ...]
    kept: Mapping[str, Json]


class Target(Protocol):
    """Something with a version that can be read, changed and put back; only its own keys are ever touched.

    Everything raises BackendError where the target cannot be reached, and Refused where it has a shape that cannot be
    edited without damage; nothing is then changed. A reader never sees half a change.
    """

    @property
    def name(self) -> str:
        """Identifies the target on this machine: two trials on one name exclude each other."""

    def read(self) -> Held: ...

    def plan(self, change: Mapping[str, Json]) -> Edit:
        """Plan what setting these keys to these values would do. Changes nothing that anybody reads.

        Raises UsageError for a key or value that the target does not take."""

    def apply(self, edit: Edit) -> None:
        """Do it if the target is still at `edit.version` (nothing when done already). Raises Conflict."""

    def restore(self, edit: Edit) -> Restored:
        """Undo an edit, whether or not it was applied: keys that still hold what the edit gave them get back what they
        had; a key that a person changed since keeps the person's value. Again: nothing more. Raises Conflict when the
        target changes under its hands; then call again."""


class Arms(Protocol):
    """Says which version of a target a unit gets, and journals its exposure before it answers."""

    def arm_of(self, target: str, unit: str) -> Version | None:
        """None: no trial is open, the parent version counts. Called once for each watched run; must be quick and the
        same for the life of the unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Recurring failure, as a proposer is asked about it.

    `count` failures of this pattern in the last `window_s`, of `calls` calls. `values` are the agent's settings in
    force and `knobs` what they may be (`Knob.described`); both are empty for an agent without live settings. `tried`
    holds the new values that trials of this target have tried already, with what became of them.
    """

    agent: str
    kind: str
    pattern: str
    template: str
    count: int
    calls: int
    window_s: float
    values: Mapping[str, Json]
    knobs: Mapping[str, Mapping[str, Json]]
    tried: tuple[tuple[Mapping[str, Json], str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """Suggestion of a proposer. Without `new` it is advice for a person.

    `fix` is its class: `retry_logic`, `routing_config` and `threshold_tuning` may start by themselves. `target` is the
    agent's settings unless named. `metric`, `trade` and `neutral_ok` are those of a Change.
    """

    title: str
    fix: str
    new: Mapping[str, Json] = field(default_factory=dict)
    target: str = ""
    metric: Metric = "success"
    trade: Mapping[str, float] = field(default_factory=dict)
    neutral_ok: bool = False


class Proposer(Protocol):
    """Suggests fixes: rules, a model, a function. What it suggests is data; only the gate decides what stays."""

    def __call__(self, problem: Problem, /) -> Iterable[Fix]:
        """The best first; nothing when it has no idea. May raise: that is noted, and the others are asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something that a person should hear of. `record` is the id of what it is about, `at` Unix seconds."""

    title: str
    text: str = ""
    level: Literal["info", "warning", "error"] = "info"
    record: str = ""
    at: float = 0.0


class Sandbox(Protocol):
    """Runs a command so that it reaches nothing but its view. Safe to call from many threads."""

    @property
    def name(self) -> str: ...

    @property
    def overlays(self) -> bool:
        """Tell whether it takes views with layers."""

    def run(
        self,
        command: Command,
        *,
        cancelled: Callable[[], bool] | None = None,
        paused: Callable[[], bool] | None = None,
        on_output: Callable[[str, bytes], None] | None = None,
    ) -> Ran:
        """Run it to its end, or to the first limit; then nothing of it is left, whatever it started. `cancelled` and
        `paused` are asked about ten times a second; `on_output` gets ("stdout" or "stderr", bytes) as they come.

        While `paused` says so every process of the command stands still where it is, and time does not count against
        its limits; once it says no they go on. A paused command can be cancelled, and ends with this process.

        Raises SandboxError where the sandbox cannot be set up, Refused for a view that it must not be given.
        """


class Workspace(Protocol):
    """Files to work on with a way back. Its project is never touched."""

    @property
    def id(self) -> str: ...

    def view(self) -> View:
        """Return what to hand to a sandbox. One command at a time."""

    def checkpoint(self) -> str:
        """A token for the state that the files have now."""

    def restore(self, token: str) -> None:
        """Bring the files back. Raises NotFound."""

    def fork(self, token: str) -> Workspace:
        """Another workspace that starts from a checkpoint of this one. Raises NotFound."""

    def forks(self, token: str, count: int) -> list[Workspace]:
        """So many of them at once: all, or none. Raises NotFound."""

    def diff(self, since: str | None = None) -> list[FileChange]:
        """List what changed since a checkpoint (the beginning, unless given), by path. Raises NotFound."""

    def read(self, path: str, *, limit_bytes: int = 1_048_576) -> bytes:
        """Content of a plain file. Raises NotFound, and Refused for anything else than a plain file below the cap."""

    def write(self, path: str, content: bytes, *, mode: int = 0o644) -> None:
        """Create or replace a plain file, its folders made. Raises Refused where the path leads elsewhere."""

    def export(self, objects: Path) -> str:
        """Write the files as git objects into an objects folder; return the tree's id."""

    def close(self) -> None:
        """Remove it, and what only it used."""


class Notifier(Protocol):
    """One way to reach a person. Texts arrive redacted and capped."""

    @property
    def name(self) -> str: ...

    def send(self, notice: Notice) -> None:
        """Deliver it, within seconds. Raises BackendError without any secret in its message."""


class Progress(Protocol):
    """Told about long work; a progress bar or nothing."""

    def __call__(self, done: int, total: int, what: str) -> None: ...


_OF_COMMANDS = ("Command", "FileChange", "Guarantee", "Isolation", "Killed", "Limits", "Ran", "View")


def __getattr__(name: str) -> object:
    """Values of the port `Sandbox`, which lie with the sandbox: loaded for the authors of backends who ask here."""
    if name not in _OF_COMMANDS:
        raise AttributeError(f"module 'ratchet.ports' has no attribute {name!r}")
    return getattr(import_module("ratchet.sandbox.command"), name)


__all__ = [
    "Arms",
    "Changes",
    "Command",
    "Edit",
    "FileChange",
    "Fix",
    "Guarantee",
    "Held",
    "Isolation",
    "Killed",
    "Limits",
    "Notice",
    "Notifier",
    "Page",
    "Problem",
    "Progress",
    "Proposer",
    "Ran",
    "Read",
    "Restored",
    "Sandbox",
    "Source",
    "Store",
    "Target",
    "View",
    "Where",
    "Workspace",
]
