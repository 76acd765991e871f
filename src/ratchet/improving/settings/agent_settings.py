"""`ratchet.settings`: the handle through which an agent reads its live settings."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from ratchet.errors import UsageError
from ratchet.improving.calls.guarded import CallGuard, Options, Timing, Trim, guarded
from ratchet.improving.settings.builtin import check_builtin
from ratchet.improving.settings.knob import Knob, declared
from ratchet.improving.settings.live import Live
from ratchet.improving.settings.versions import StoredSettings, target_of
from ratchet.records import Version

if TYPE_CHECKING:
    from ratchet.ports import Store
    from ratchet.recording.run import Run

log = logging.getLogger(__name__)

Function = TypeVar("Function", bound=Callable[..., object])
Result = TypeVar("Result")

_NOTHING: Mapping[tuple[str, str], object] = MappingProxyType({})
_tried: ContextVar[Mapping[tuple[str, str], object]] = ContextVar("ratchet.tried", default=_NOTHING)
"""(target, knob) -> the value that the try under way has instead (the model that a call fell back to)."""
_TAKEN = frozenset(("who", "why", "expected", "version"))  # what `set` takes besides the knobs
_KEPT_VERSIONS = 16  # versions whose values are kept ready; a trial has two, a change makes one more


class Values(Mapping[str, Any]):
    """The values of one moment, `values.timeout_s` or `values["timeout_s"]`; ask `current()` again for later ones."""

    __slots__ = ("_held", "version")

    def __init__(self, held: Mapping[str, object], version: int) -> None:
        self._held = held
        self.version = version
        """Number of the version they come from (0: nothing was ever set)."""

    # What a knob holds is known to its declaration, which no type checker follows through a keyword's name.
    def __getattr__(self, name: str) -> Any:
        try:
            return self._held[name]
        except KeyError:
            raise AttributeError(f"no knob {name!r} was declared; there are {', '.join(sorted(self._held))}") from None

    def __getitem__(self, name: str) -> Any:
        return self._held[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __repr__(self) -> str:
        return f"Values(version={self.version}, {', '.join(f'{name}={value!r}' for name, value in self._held.items())})"


class AgentSettings:
    """The live settings of one agent.

    Made by `ratchet.settings`; costs nothing until it is used. Reading never fails and never waits: where the store is
    down, the values known last count. Safe under threads, asyncio and fork.
    """

    def __init__(
        self,
        agent: str,
        knobs: Mapping[str, Knob],
        *,
        live: Live,
        store: Callable[[], Store],
        enclosing: Callable[[str], Run | None],
        timing: Timing | None = None,
    ) -> None:
        if not isinstance(agent, str):
            raise UsageError('settings need the agent\'s name: settings("agent", ...)')
        self.agent = agent
        self.knobs = declared(knobs)
        for name, knob in self.knobs.items():
            check_builtin(name, knob)
            if name in _TAKEN or hasattr(Values, name):
                raise UsageError(f"a knob cannot be named {name!r}, which means something else here; rename it")
        self.name = target_of(agent)
        self._live = live
        self._store = store
        self._enclosing = enclosing
        self._ready: dict[tuple[int, float], tuple[Version, Values]] = {}
        self._guard = CallGuard(
            agent=agent,
            values=self.current,
            trying=self.trying,
            limits=live.limits(self.name),
            timing=timing or Timing(),
        )

    # -- reading -----------------------------------------------------------------------------------------------------

    def current(self) -> Values:
        """The values that count here and now.

        Inside a watched call they are those of the call's arm, the same from its first question to its end; outside,
        those in force.
        """
        values = self._values(self._version())
        tried = _tried.get()
        if not tried:
            return values
        own = {knob: value for (target, knob), value in tried.items() if target == self.name}
        return Values({**values, **own}, values.version) if own else values

    def _version(self) -> Version:
        run = self._enclosing(self.agent)
        if run is None:
            return self._live.parent(self.name, self.stored)
        held = run.arms.get(self.name)
        if held is None:
            parent = self._live.parent(self.name, self.stored)
            held = run.arms.setdefault(self.name, self._live.arm(self.name, lambda: run.unit) or parent)
        return held

    def _values(self, version: Version) -> Values:
        # By number alone two may differ: a trial gives its old arm what it found, whatever was set beside it since.
        key = (version.number, version.at)
        ready = self._ready.get(key)
        if ready is None or (ready[0] is not version and ready[0] != version):
            if len(self._ready) >= _KEPT_VERSIONS:
                self._ready.clear()
            checked = {name: self._checked(name, knob, version) for name, knob in self.knobs.items()}
            ready = self._ready[key] = (version, Values(checked, version.number))
        return ready[1]

    def _checked(self, name: str, knob: Knob, version: Version) -> object:
        """Return what the version sets, or the default where that is not (or no longer) within the knob's bounds."""
        if name not in version.values:
            return knob.default
        try:
            return knob.check(version.values[name])
        except Exception as fault:  # noqa: BLE001  (`check` may be a user's; a bad value must not stop the agent)
            log.warning("settings.value_refused", extra={"agent": self.agent, "knob": name, "fault": f"{fault}"[:200]})
            return knob.default

    @contextmanager
    def trying(self, **values: object) -> Iterator[None]:
        """Let `current()` give these values within the block, in this thread or task only."""
        token = _tried.set({**_tried.get(), **{(self.name, name): value for name, value in values.items()}})
        try:
            yield
        finally:
            _tried.reset(token)

    # -- acting ------------------------------------------------------------------------------------------------------

    @overload
    def guarded(
        self,
        function: Function,
        *,
        idempotent: bool | None = None,
        trim: Trim | None = None,
        is_empty: Callable[[object], bool] | None = None,
    ) -> Function: ...

    @overload
    def guarded(
        self,
        function: None = None,
        *,
        idempotent: bool | None = None,
        trim: Trim | None = None,
        is_empty: Callable[[object], bool] | None = None,
    ) -> Callable[[Function], Function]: ...

    def guarded(
        self,
        function: Function | None = None,
        *,
        idempotent: bool | None = None,
        trim: Trim | None = None,
        is_empty: Callable[[object], bool] | None = None,
    ) -> Function | Callable[[Function], Function]:
        """The function, made as the built-in knobs say at the time of each call (see "Live settings").

        Takes functions, coroutine functions, generators and async generators, also as a decorator with options. One
        that is not `idempotent` (False, or marked so by an attribute of the function) is never made twice; None repeats
        it where the failure proves that nothing happened. `trim` shortens the arguments of what did not fit the model's
        context, and `is_empty` says which answers count as none. What fails for good is raised as it came.
        """
        options = Options(idempotent=idempotent, trim=trim, is_empty=is_empty)
        if function is None:
            return lambda given: self._guarded(given, options)
        if not callable(function):
            raise UsageError(f"guarded takes a function, not {type(function).__name__}")
        return self._guarded(function, options)

    def run(
        self, function: Callable[..., Result], /, *args: object, idempotent: bool | None = None, **kwargs: object
    ) -> Result:
        """Call a function once as `guarded` would; of a coroutine function await what this returns."""
        return self._guarded(function, Options(idempotent=idempotent))(*args, **kwargs)

    def _guarded(self, function: Function, options: Options) -> Function:
        return cast("Function", functools.wraps(function)(guarded(self._guard, function, options)))

    # -- changing ----------------------------------------------------------------------------------------------------

    def stored(self) -> StoredSettings:
        """The settings as a target, for trials. Raises StoreError."""
        return StoredSettings(self._store(), self.agent, knobs=self.knobs)

    def set(self, *, who: str = "code", why: str = "", expected: int | None = None, **values: object) -> Version:
        """Change the settings at once and everywhere; the version that is now in force.

        Raises UsageError for an unknown knob or a value out of bounds, Conflict when the version in force is not
        `expected`, StoreError. Running watched calls keep the values they began with.
        """
        return self._told(self._declared().change(values, who=who, why=why, expected=expected))

    def revert(self, *, who: str = "code", why: str = "", to: int | None = None) -> Version:
        """Bring back what was in force before (or version `to`). Raises NotFound, UsageError, StoreError."""
        return self._told(self._declared().revert(who=who, why=why, to=to))

    def history(self) -> list[Version]:
        """All versions, newest first, with who and why. Raises StoreError."""
        return self._declared().history()

    def _declared(self) -> StoredSettings:
        stored = self.stored()
        stored.declare()
        return stored

    def _told(self, version: Version) -> Version:
        self._live.told(version, self.stored)
        return version
