"""Live settings as people see and set them: the operations behind `ratchet settings`."""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ratchet.errors import UsageError
from ratchet.improving.settings.knob import Knob
from ratchet.improving.settings.versions import StoredSettings, agents
from ratchet.ports import Store
from ratchet.records import Json, Row, Version


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobValue:
    """One knob as it stands. `is_set` is False where the declared default counts; `bounds` is what its declaration says
    of the values that there are."""

    name: str
    value: Json
    is_set: bool
    bounds: Row


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsView:
    """The live settings of one agent."""

    agent: str
    version: Version
    knobs: tuple[KnobValue, ...]


class SettingsBook:
    """The live settings of all agents of one store. Every change is a version with who and why."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store

    def list(self) -> list[SettingsView]:
        """The settings of every agent that declared some, by its name."""
        return [self.show(agent) for agent in agents(self._store())]

    def show(self, agent: str) -> SettingsView:
        """Show what is in force. Raises NotFound for an agent that declared no settings."""
        stored = self._stored(agent)
        version, knobs = stored.current(), stored.knobs()
        values = stored.values(version)
        return SettingsView(
            agent=agent,
            version=version,
            knobs=tuple(
                KnobValue(name=name, value=values[name], is_set=name in version.values, bounds=knob.described())
                for name, knob in sorted(knobs.items())
            ),
        )

    def set(
        self,
        agent: str,
        values: Mapping[str, object],
        *,
        why: str = "",
        who: str = "",
        unset: Sequence[str] = (),
        expected: int | None = None,
    ) -> Version:
        """Set knobs; running processes follow within a second. `unset` ones fall back to their default.

        Raises NotFound, UsageError for an unknown knob or a value out of its bounds, and Conflict when the version in
        force is not `expected`.
        """
        stored = self._stored(agent)
        return stored.change(values, who=who or person(), why=why, unset=tuple(unset), expected=expected)

    def read_assignments(self, agent: str, texts: Sequence[str]) -> dict[str, object]:
        """`KNOB=VALUE` texts as values: JSON where the knob takes that, else the text itself. Raises UsageError."""
        knobs = self._stored(agent).knobs()
        values: dict[str, object] = {}
        for text in texts:
            name, equals, said = text.partition("=")
            if not equals:
                raise UsageError(f"{text!r} sets nothing; write it as KNOB=VALUE")
            values[name] = _read(knobs.get(name, Knob(None)), said)
        return values

    def history(self, agent: str) -> Sequence[Version]:
        """All versions, newest first, drafts of trials included. Raises NotFound."""
        stored = self._stored(agent)
        stored.knobs()
        return stored.history()

    def revert(self, agent: str, *, to: int | None = None, why: str = "", who: str = "") -> Version:
        """Bring back what was in force before, or version `to` (0: the defaults), as a new version.

        Raises NotFound, and UsageError where nothing was ever changed.
        """
        stored = self._stored(agent)
        stored.knobs()
        return stored.revert(who=who or person(), why=why, to=to)

    def _stored(self, agent: str) -> StoredSettings:
        return StoredSettings(self._store(), agent)


def person() -> str:
    """The OS user's name."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no name is known for this user id
        return "somebody"


def _read(knob: Knob, said: str) -> object:
    try:
        value = json.loads(said)
    except ValueError:
        return said
    try:
        knob.check(value)
    except UsageError:
        try:
            knob.check(said)  # a choice among texts that look like numbers
        except UsageError:
            return value
        return said
    return value
