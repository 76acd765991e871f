"""An environment or any other mapping of texts as a target."""

from __future__ import annotations

from collections.abc import Collection, Mapping, MutableMapping, Sequence

from ratchet.errors import UsageError
from ratchet.improving.targets.held import HeldTarget, version_of
from ratchet.ports import Edit, Held
from ratchet.records import Json


class MappingTarget(HeldTarget):
    """Some keys of a mapping of texts, such as `os.environ`: `ports.Target`.

    Values are texts, as environments have them: True becomes "true", numbers their digits. The mapping is this
    process's; two that share one in one process must share the target.
    """

    def __init__(self, name: str, mapping: MutableMapping[str, str], keys: Sequence[str]) -> None:
        if isinstance(keys, str) or not keys:
            raise UsageError('name the keys that may be changed: keys=("TIMEOUT_S",)')
        super().__init__(f"mapping:{name}")
        self._mapping = mapping
        self._keys = tuple(keys)

    def read(self) -> Held:
        values: dict[str, Json] = {key: self._mapping[key] for key in self._keys if key in self._mapping}
        return Held(values=values, version=version_of(values))

    def plan(self, change: Mapping[str, Json]) -> Edit:
        for key in change:
            if key not in self._keys:
                raise UsageError(f"{self.name}: {key!r} is not among the target's keys {', '.join(self._keys)}")
        return self._planned({key: _text_of(value, key) for key, value in change.items()})

    def _write(self, _held: Held, /, put: Mapping[str, Json], out: Collection[str]) -> None:
        for key, value in put.items():
            self._mapping[key] = str(value)
        for key in out:
            del self._mapping[key]


def _text_of(value: Json, key: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise UsageError(f"{key} is {type(value).__name__}; a mapping of texts takes text, numbers, True and False")
