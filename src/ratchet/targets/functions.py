"""A pair of the user's functions as a target: whatever can be got and set."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping

from ratchet import edits
from ratchet.errors import BackendError, Conflict, RatchetError
from ratchet.ports import Edit, Held, Restored
from ratchet.records import Json

WHOLE = "value"
"""The key of a value that is not an object."""


class FunctionTarget:
    """What `get` returns and `put` takes: `ports.Target`.

    An object (dict) is changed key by key; any other JSON value is one key, `value`. `put` is given the whole new value
    and must make `get` return it. What they raise becomes a BackendError.
    """

    def __init__(self, name: str, *, get: Callable[[], Json], put: Callable[[Json], object]) -> None:
        self.name = f"function:{name}"
        self._get = get
        self._put = put
        self._lock = threading.RLock()

    def read(self) -> Held:
        whole = self._got()
        values = whole if isinstance(whole, dict) else {WHOLE: whole}
        return Held(values=values, version=_version(values))

    def plan(self, change: Mapping[str, Json]) -> Edit:
        after = edits.plain_values(change, self.name)
        held = self.read()
        before = {key: held.values[key] for key in after if key in held.values}
        result = _version({**held.values, **after})
        return Edit(target=self.name, before=before, after=after, version=held.version, result=result)

    def apply(self, edit: Edit) -> None:
        with self._lock:
            held = self.read()
            if held.version == edit.result:
                return
            if held.version != edit.version:
                raise Conflict(f"{self.name} was changed by somebody else since; nothing was set: look and try again")
            kept = {key: value for key, value in held.values.items() if key not in edit.before or key in edit.after}
            self._set({**kept, **edit.after})

    def restore(self, edit: Edit) -> Restored:
        with self._lock:
            held = self.read()
            back = edits.way_back(edit, held.values)
            if back.restored:
                self._set({**{key: value for key, value in held.values.items() if key not in back.out}, **back.put})
            return Restored(version=self.read().version, restored=back.restored, kept=back.kept)

    def _got(self) -> Json:
        try:
            return edits.plain_values({WHOLE: self._get()}, self.name)[WHOLE]
        except RatchetError:
            raise
        except Exception as error:
            raise BackendError(f"{self.name}: get raised {type(error).__name__}: {error}") from error

    def _set(self, values: Mapping[str, Json]) -> None:
        is_object = isinstance(self._got(), dict)
        try:
            self._put(dict(values) if is_object else values[WHOLE])
        except RatchetError:
            raise
        except Exception as error:
            raise BackendError(f"{self.name}: put raised {type(error).__name__}: {error}") from error


def _version(values: Mapping[str, Json]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
