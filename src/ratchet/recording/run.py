"""One watched run under way: what is known of it, and its recording when it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, Unpack

from ratchet.failures.redaction.text import clean
from ratchet.ids import CALL, uuid7

if TYPE_CHECKING:
    from ratchet.records import Fields, Json, Version

_WHO = ("self", "agent")  # neither a judge nor a note may rename who ran
_LABEL = 200  # characters of a unit's name, as `recorder` keeps
Deferred = TypeVar("Deferred")
Trials: TypeAlias = "Callable[[str, str, Collection[str]], dict[str, Json]]"
"""(agent, unit, targets that were asked for) -> the trials that the unit met, by id: `arms.OpenTrials.met_by`."""
_current: ContextVar[Run | None] = ContextVar("ratchet.run", default=None)


class Record(Protocol):
    """Taker of a finished run: `Recorder.record`, or anything with its contract of never raising."""

    def __call__(self, agent: str, **given: Unpack[Fields]) -> str: ...


class Run:
    """One watched run under way.

    `arms` holds the version of each target that the run has asked for: it is the same from the first question to the
    end. `trials` tells, when the run ends, which trials it was a unit of.
    """

    __slots__ = (
        "_began",
        "_fields",
        "_first_item",
        "_noted",
        "_record",
        "_started_at",
        "_token",
        "_trials",
        "_unit",
        "agent",
        "arms",
        "id",
        "last_item",
        "outer",
    )

    def __init__(self, record: Record, agent: str, fields: Fields, trials: Trials | None = None) -> None:
        self.agent = agent
        self.arms: dict[str, Version] = {}
        self._trials = trials
        self._unit = ""
        self.id = ""
        """The outcome's id, once the run has ended."""
        self.last_item: object = None
        self._record = record
        self._fields = fields
        self._noted: Fields = {}
        self._first_item: float | None = None
        self.outer: Run | None = None
        """The run around this one, while it is under way."""
        self._token: Token[Run | None] | None = None
        self._started_at = time.time()
        self._began = time.perf_counter()

    def note(self, **fields: Unpack[Fields]) -> None:
        """Say more about this run, in the words of `record`: score, cost_usd, tokens, ok, error, context, ..."""
        self._noted.update(fields)

    @property
    def unit(self) -> str:
        """Name who meets a change: the unit or else the session that is known of this run, else the run itself."""
        if not self._unit:
            for source in (self._noted, self._fields):
                given = source.get("unit") or source.get("session")
                if isinstance(given, str) and given:
                    self._unit = clean(given, _LABEL)  # as its outcome will name it
                    break
            else:
                self._unit = CALL + uuid7()
        return self._unit

    def item(self, item: object) -> None:
        """A stream has yielded: the first time counts as `first_item_s`."""
        if self._first_item is None:
            self._first_item = time.perf_counter() - self._began
        self.last_item = item

    def enter(self) -> None:
        """Be the current run of this thread or task."""
        self.outer = _current.get()
        self._token = _current.set(self)

    def started(
        self, function: Callable[..., Deferred], args: tuple[object, ...], kwargs: dict[str, object]
    ) -> Deferred:
        """Start the function, and return what it hands out to be run; a call with the wrong arguments is a run that
        failed."""
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            self.end(error)
            raise

    def leave(self) -> None:
        token, self._token = self._token, None
        if token is not None:
            try:
                _current.reset(token)
            except ValueError:  # entered in another context, which then keeps its own value
                return

    def end(self, error: BaseException | None = None, said: Fields | None = None) -> None:
        """Record the run. `said` is what the judge said of its value."""
        fields: Fields = {"started_at": self._started_at, "duration_s": time.perf_counter() - self._began}
        if self._first_item is not None:
            fields["first_item_s"] = self._first_item
        told = told_by(error) if error is not None else {}
        context: dict[str, object] = {}
        for source in (self._fields, said, told, self._noted):
            if source:
                fields.update(source)
                said_besides = source.get("context")
                # What is none is left in `fields`, where `record` names it as not usable.
                if isinstance(said_besides, dict):
                    context.update(said_besides)
        if self._trials is not None and (self.arms or self._unit or "unit" in fields or "session" in fields):
            self._tell_unit(fields)
        if context:
            fields["context"] = context
        if "error" in told:
            fields["ok"] = False  # whatever was noted before it
        self.last_item = None
        try:
            for name in _WHO:
                fields.pop(name, None)  # type: ignore[misc]
            self.id = self._record(self.agent, **fields)
        except Exception:  # noqa: BLE001  (the edge to the host, whose value must not be lost to bookkeeping)
            log_fault("watch(%r): the run could not be recorded", self.agent)

    def _tell_unit(self, fields: Fields) -> None:
        """Name the unit and its trials, so that the outcome settles their exposures."""
        assert self._trials is not None
        met = self._trials(self.agent, self.unit, self.arms)
        if met:
            fields["trials"] = met


def current() -> Run | None:
    """The innermost run under way in this thread or task."""
    return _current.get()


def enclosing(agent: str) -> Run | None:
    """The run whose unit a question about this agent's settings belongs to: the outermost one of the agent, since a
    call within a call is part of it; else the innermost of any."""
    run = found = _current.get()
    while run is not None:
        if run.agent == agent:
            found = run
        run = run.outer
    return found


def told_by(error: BaseException | None) -> Fields:
    """Read what an exception that ended a run says about it."""
    if isinstance(error, GeneratorExit):  # who consumed the stream had enough, which is no failure
        return {"context": {"closed_early": True}}
    if isinstance(error, SystemExit):
        if error.code in (None, 0):
            return {}
        return {"error": error, "exit_code": error.code} if isinstance(error.code, int) else {"error": error}
    # By name: asyncio, concurrent.futures, anyio and trio have a class each, and none is imported for this.
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, KeyboardInterrupt) or not names.isdisjoint(("CancelledError", "Cancelled")):
        return {"error": error, "kind": "cancelled"}
    return {"error": error}


def log_fault(message: str, agent: str) -> None:
    """Log the exception being handled: the host goes on without it."""
    import logging  # costs a process a millisecond, and only faults are logged

    try:
        logging.getLogger("ratchet.watch").exception(message, agent)
    except Exception:  # noqa: BLE001  (a host's own handler or filter; there is nobody left to tell)
        return
