"""Targets held in this process: a change is made at once, and only to the version that it was planned on."""

from __future__ import annotations

import hashlib
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping

from ratchet.errors import Conflict
from ratchet.improving.targets import edit as edits
from ratchet.ports import Edit, Held, Restored
from ratchet.records import Json


class HeldTarget(ABC):
    """The half of `ports.Target` that is the same for all of them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.RLock()

    @abstractmethod
    def read(self) -> Held: ...

    @abstractmethod
    def _write(self, held: Held, /, put: Mapping[str, Json], out: Collection[str]) -> None:
        """Set the values of `put` and take the keys of `out` away; `held` is what was read."""

    def apply(self, edit: Edit) -> None:
        with self._lock:
            held = self.read()
            if held.version == edit.result:
                return
            if held.version != edit.version:
                raise Conflict(f"{self.name} was changed by somebody else since; nothing was set: look and try again")
            self._write(held, edit.after, edit.before.keys() - edit.after.keys())

    def restore(self, edit: Edit) -> Restored:
        with self._lock:
            held = self.read()
            back = edits.way_back(edit, held.values)
            if back.restored:
                self._write(held, back.put, back.out)
            return Restored(version=self.read().version, restored=back.restored, kept=back.kept)

    def _planned(self, after: Mapping[str, Json]) -> Edit:
        with self._lock:
            held = self.read()
        before = {key: held.values[key] for key in after if key in held.values}
        result = version_of({**held.values, **after})
        return Edit(target=self.name, before=before, after=after, version=held.version, result=result)


def version_of(values: Mapping[str, Json]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
