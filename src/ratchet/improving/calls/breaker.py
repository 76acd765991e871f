"""Circuit breakers: what failed equally in several calls in a row is left alone for a while, then probed by one call.

After "circuit breaker" of Nygard, Release It! (2007), chapter 5: closed, open, half-open.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from ratchet.errors import BackendError

DEAD = frozenset(("network", "timeout", "server_error", "overloaded", "auth", "quota_exhausted", "model_not_found"))
"""Kinds of failure that the next call to the same target meets as well, whatever it asks for."""
_MOST = 256
"""Targets that are remembered; the longest unused is forgotten first."""
_PROBE_S = 60.0
"""A probe that has not ended by then was abandoned (a generator never closed): another call may probe."""
_NAMES = ("model", "deployment", "endpoint", "base_url", "url", "host", "server", "queue", "region")
"""Arguments and attributes that say where a call goes."""


@dataclass(slots=True)
class _State:
    cause: str = ""
    """Kind and signature of the last failure."""
    count: int = 0
    """Calls in a row that ended with it."""
    error: Exception | None = None
    until: float | None = None
    """When the next call may probe, in monotonic seconds; None while the circuit is closed."""


class Breakers:
    """The circuits of one agent in this process, one a target. Shared by threads and event loops."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._states: OrderedDict[str, _State] = OrderedDict()

    def admit(self, target: str, *, now: float) -> tuple[bool, BackendError | None]:
        """Ask before a call whether it is the probe of an open circuit, and for the error to raise in its place."""
        if self._pid != os.getpid():  # a forked child: another thread of its parent may have held the lock
            self._begin()
        with self._lock:
            state = self._states.get(target)
            if state is None or state.until is None:
                return False, None
            if now < state.until:
                return False, _open(target, state, state.until - now)
            state.until = now + _PROBE_S  # until this one has ended, the others are still turned away
            return True, None

    def ended(self, target: str) -> None:
        """Close the circuit: a call came back, or failed over its own input, so the target answers."""
        with self._lock:
            self._states.pop(target, None)

    def abandoned(self, target: str, *, now: float) -> None:
        """Let another call probe: the one that did was cancelled."""
        with self._lock:
            state = self._states.get(target)
            if state is not None and state.until is not None:
                state.until = now

    def failed(self, target: str, error: Exception, cause: str, *, now: float, failures: int, open_s: float) -> bool:
        """Count a call that failed for good; tell whether the circuit is open now.

        `failures` equal ones in a row open it for `open_s` seconds, and so does the failure of a probe.
        """
        with self._lock:
            state = self._states.setdefault(target, _State())
            self._states.move_to_end(target)
            while len(self._states) > _MOST:
                self._states.popitem(last=False)
            probed = state.until is not None
            state.count = state.count + 1 if state.cause == cause else 1
            state.cause = cause
            state.error = _bare(error)
            if probed or state.count >= failures:
                state.until = now + open_s
            return state.until is not None


def _bare(error: Exception) -> Exception:
    """The same error without its traceback, which would keep the frames of the call alive; its caller needs it, so it
    stays on the error itself."""
    try:
        bare = type(error).__new__(type(error), *error.args)
        if isinstance(bare, OSError):  # one with an __init__ of its own reads its number there, and not when it is made
            OSError.__init__(bare, *error.args)
        bare.args = error.args
        vars(bare).update(vars(error))
    except Exception:  # noqa: BLE001  (a class of the host's, made in a way of its own: better its frames than nothing)
        return error
    bare.__cause__, bare.__context__ = error.__cause__, error.__context__
    bare.__suppress_context__ = error.__suppress_context__
    return bare


def _open(target: str, state: _State, left_s: float) -> BackendError:
    where = f" to {target}" if target else ""
    error = BackendError(
        f"circuit breaker is open{where}: {max(state.count, 1)} calls in a row failed equally"
        f" ({f'{state.error}'[:200] or type(state.error).__name__}); a call in {max(left_s, 0.0):.0f} s probes it"
    )
    error.__cause__ = state.error
    return error


def target_in(args: tuple[object, ...], kwargs: Mapping[str, object]) -> str:
    """Name the target of a call as far as its arguments do; "" where they name none.

    That is the host of each address among them, what one named like a target says, and the client object that
    a method belongs to.
    """
    found = [str(kwargs[name])[:200] for name in _NAMES if isinstance(kwargs.get(name), str)]
    found += [_named_by(value) for value in (*args, *(value for name, value in kwargs.items() if name not in _NAMES))]
    return " ".join(filter(None, (_host(each) or each for each in found)))[:500]


def _named_by(value: object) -> str:
    if isinstance(value, str):
        return _host(value)
    if value is None or isinstance(value, bytes | int | float | complex | list | tuple | dict | set | frozenset):
        return ""
    held = getattr(value, "__dict__", {})
    named = [str(held[name]) for name in _NAMES if held.get(name) is not None]
    return " ".join(_host(each) or each for each in named)[:200] or (f"{type(value).__name__}@{id(value):x}")


def _host(text: str) -> str:
    """The host and port of an address, without what may be secret in it."""
    if "://" not in text[:40]:
        return ""
    try:
        return urlsplit(text[:500]).netloc.rpartition("@")[2]
    except ValueError:  # no address after all
        return ""
