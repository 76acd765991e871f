"""The port of all workers: a request, and the reply to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, cast

from ratchet.errors import UsageError
from ratchet.records import Json
from ratchet.team.handed import Handed, need_amount
from ratchet.team.values import MOST_BYTES, TeamTask

USAGE = ("cost_usd", "tokens")
_ANSWER = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRequest:
    """One attempt at a task. `told` is what the context is made of (see `Handed`), `spool` the file in which a process
    of its own leaves what came of it."""

    task: TeamTask
    told: Mapping[str, Json]
    spool: str = ""
    begun: Callable[[], None] = lambda: None
    """Called when the work itself begins: a process that has to start first takes none of its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReply:
    """Reply to a request. With an `error` it failed; `sick` says that the worker broke, not its task: a crash, a
    flood, silence. `reported` is False where nobody knows what happened before the end."""

    value: Json = None
    error: str = ""
    type: str = ""
    """The class of the exception that it was."""
    kind: str = ""
    exit_code: int | None = None
    status: int | None = None
    cost_usd: float = 0.0
    tokens: int = 0
    sick: bool = False
    reported: bool = True
    letters: tuple[tuple[str, Json], ...] = ()
    """(to, body) of what it wrote to others."""
    clipped: bool = False
    """Whether the value is not all that the worker brought: it was read from where only a part was kept."""

    @property
    def said(self) -> str:
        """The error as people read it."""
        return f"{self.type.rpartition('.')[2]}: {self.error}" if self.type else self.error


class Hands(Protocol):
    """Does the work of one worker. A call that is cancelled leaves nothing running."""

    async def do(self, request: WorkRequest) -> WorkerReply:
        """The reply; nothing that the work does is raised."""

    async def close(self) -> None:
        """End what is left, within seconds."""


@dataclass(slots=True)
class Notes:
    """Collects what a worker says to its context while it works."""

    letters: list[tuple[str, Json]] = field(default_factory=list)
    cost_usd: float = 0.0
    tokens: int = 0

    def context(self, told: Mapping[str, Json]) -> Handed:
        return Handed(told, write=self._write, spend=self._spend)

    def _write(self, to: str, body: Json) -> None:
        self.letters.append((to, body))

    def _spend(self, cost_usd: float, tokens: int) -> None:
        self.cost_usd += cost_usd
        self.tokens += tokens


def reply_of(value: object, notes: Notes | None = None) -> WorkerReply:
    """The reply that a returned value is: the value itself, or {"answer": ..., "cost_usd": ..., "tokens": ...}."""
    kept = notes or Notes()
    usd, tokens, letters = kept.cost_usd, kept.tokens, tuple(kept.letters)
    if isinstance(value, Mapping) and _ANSWER in value and set(value) <= {_ANSWER, *USAGE}:
        try:
            more_usd, more_tokens = used(value)
        except UsageError as error:
            return unclear(error, letters)
        usd, tokens, value = usd + more_usd, tokens + more_tokens, value[_ANSWER]
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        said = f"its result is no JSON ({error}): return texts, numbers, lists and mappings of them"
        return WorkerReply(error=said, kind="malformed_output", cost_usd=usd, tokens=tokens, letters=letters)
    if len(text) > MOST_BYTES:
        return WorkerReply(error=flooded(len(text)), sick=True, cost_usd=usd, tokens=tokens, letters=letters)
    return WorkerReply(value=json.loads(text), cost_usd=usd, tokens=tokens, letters=letters)


def flooded(size: int) -> str:
    return f"it flooded: {size:,} bytes, and {MOST_BYTES:,} are taken"


def used(answer: Mapping[str, object]) -> tuple[float, int]:
    """USD and tokens that an answer says were used, 0 where it says nothing. Raises UsageError where it says NaN."""
    found = {name: amount for name in USAGE if (amount := answer.get(name)) is not None}
    for name, amount in found.items():
        need_amount(name, amount)
    return float(cast("float", found.get("cost_usd", 0.0))), int(cast("float", found.get("tokens", 0)))


def unclear(error: UsageError, letters: tuple[tuple[str, Json], ...] = ()) -> WorkerReply:
    """The reply where nobody can say what was used: the most that the attempt may use counts."""
    return WorkerReply(error=f"its answer: {error}", kind="malformed_output", reported=False, letters=letters)
