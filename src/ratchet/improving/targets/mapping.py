"""An environment or any other mapping of texts as a target."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping, MutableMapping, Sequence

from ratchet.errors import Conflict, UsageError
from ratchet.improving.targets import edit as edits
from ratchet.ports import Edit, Held, Restored
from ratchet.records import Json


class MappingTarget:
    """Some keys of a mapping of texts, such as `os.environ`: `ports.Target`.

    Values are texts, as environments have them: True becomes "true", numbers their digits. The mapping is this
    process's; two that share one in one process must share the target.
    """

    def __init__(self, name: str, mapping: MutableMapping[str, str], keys: Sequence[str]) -> None:
        if isinstance(keys, str) or not keys:
            raise UsageError('name the keys that may be changed: keys=("TIMEOUT_S",)')
        self.name = f"mapping:{name}"
        self._mapping = mapping
        self._keys = tuple(keys)
        self._lock = threading.RLock()

    def read(self) -> Held:
        values: dict[str, Json] = {key: self._mapping[key] for key in self._keys if key in self._mapping}
        return Held(values=values, version=_version(values))

    def plan(self, change: Mapping[str, Json]) -> Edit:
        for key in change:
            if key not in self._keys:
                raise UsageError(f"{self.name}: {key!r} is not among the target's keys {', '.join(self._keys)}")
        after: dict[str, Json] = {key: _text_of(value, key) for key, value in change.items()}
        with self._lock:
            held = self.read()
        before = {key: held.values[key] for key in after if key in held.values}
        result = _version({**held.values, **after})
        return Edit(target=self.name, before=before, after=after, version=held.version, result=result)

    def apply(self, edit: Edit) -> None:
        with self._lock:
            version = self.read().version
            if version == edit.result:
                return
            if version != edit.version:
                raise Conflict(f"{self.name} was changed by somebody else since; nothing was set: look and try again")
            for key in edits.keys_of(edit):
                if key in edit.after:
                    self._mapping[key] = str(edit.after[key])
                else:
                    del self._mapping[key]

    def restore(self, edit: Edit) -> Restored:
        with self._lock:
            back = edits.way_back(edit, self.read().values)
            for key, value in back.put.items():
                self._mapping[key] = str(value)
            for key in back.out:
                del self._mapping[key]
            return Restored(version=self.read().version, restored=back.restored, kept=back.kept)


def _text_of(value: Json, key: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise UsageError(f"{key} is {type(value).__name__}; a mapping of texts takes text, numbers, True and False")


def _version(values: Mapping[str, Json]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
