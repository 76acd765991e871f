"""A pair of the user's functions as a target: whatever can be got and set."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping

from ratchet.errors import BackendError, RatchetError
from ratchet.gate.bets import positive
from ratchet.improving.calls.threads import in_thread
from ratchet.improving.targets import edit as edits
from ratchet.improving.targets.held import HeldTarget, version_of
from ratchet.ports import Edit, Held
from ratchet.records import Json

WHOLE = "value"
"""The key of a value that is not an object."""
LIMIT_S = 30.0
"""How long a function may take: one that hangs must not hold up the trials of all other targets."""


class FunctionTarget(HeldTarget):
    """A target of two functions: what `get` returns, `put` takes: `ports.Target`.

    An object (dict) is changed key by key; any other JSON value is one key, `value`. `put` is given the whole new value
    and must make `get` return it. What they raise becomes a BackendError, and so does taking longer than `limit_s`
    seconds: they run in a thread of their own, which is left behind then.
    """

    def __init__(
        self, name: str, *, get: Callable[[], Json], put: Callable[[Json], object], limit_s: float = LIMIT_S
    ) -> None:
        super().__init__(f"function:{name}")
        self._get = get
        self._put = put
        self._limit_s = positive("limit_s", limit_s)

    def read(self) -> Held:
        whole = self._got()
        values = whole if isinstance(whole, dict) else {WHOLE: whole}
        return Held(values=values, version=version_of(values))

    def plan(self, change: Mapping[str, Json]) -> Edit:
        return self._planned(edits.plain_values(change, self.name))

    def _got(self) -> Json:
        return edits.plain_values({WHOLE: self._called("get", self._get)}, self.name)[WHOLE]

    def _write(self, held: Held, /, put: Mapping[str, Json], out: Collection[str]) -> None:
        values = {**{key: value for key, value in held.values.items() if key not in out}, **put}
        whole: Json = values if isinstance(self._got(), dict) else values[WHOLE]
        self._called("put", lambda: self._put(whole))

    def _called(self, which: str, function: Callable[[], object]) -> object:
        returned = threading.Event()

        def call() -> object:
            try:
                return function()
            finally:
                returned.set()

        try:
            return in_thread(call, self._limit_s, after=_nothing, name=self.name)
        except RatchetError:
            raise
        except Exception as error:
            if isinstance(error, TimeoutError) and not returned.is_set():
                raise BackendError(f"{self.name}: {which} did not return within {self._limit_s:g} s") from error
            raise BackendError(f"{self.name}: {which} raised {type(error).__name__}: {error}") from error


def _nothing() -> None:
    """No slot is held by a target's function."""
