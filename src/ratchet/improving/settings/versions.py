"""The live settings of an agent in the store: a target whose every state is a numbered version with who and why."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from ratchet.errors import Conflict, NotFound, UsageError
from ratchet.failures.redaction.text import clean
from ratchet.ids import uuid7
from ratchet.improving.settings.knob import Knob, described_knob
from ratchet.improving.targets import edit as edits
from ratchet.ports import Edit, Held, Restored, Store
from ratchet.records import Json, Row, Version, as_row, record_of, whole_in

PREFIX = "settings:"
_LABEL, _REASON = 200, 1000  # characters kept of who and why


def target_of(agent: str) -> str:
    """The name of an agent's settings as a target."""
    return PREFIX + agent


class StoredSettings:
    """The settings of one agent: `ports.Target`, and what people do with them.

    Versions are only ever added. One row says which of them is in force, and moves by compare-and-set, so that of two
    who change at once the second is told. With `knobs` every value is checked against them, else against what the
    agent's own process declared.
    """

    def __init__(
        self,
        store: Store,
        agent: str,
        *,
        knobs: Mapping[str, Knob] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._agent = agent
        self._knobs = knobs
        self._clock = clock
        self.name = target_of(agent)

    # -- reading -----------------------------------------------------------------------------------------------------

    def current(self) -> Version:
        """The version in force (number 0: nothing was ever set)."""
        head = self._store.get("settings", self.name)
        return self.version(whole_in(head, "version")) if head is not None else Version(target=self.name, number=0)

    def version(self, number: int) -> Version:
        """One version, drafts included. Raises NotFound."""
        if number == 0:
            return Version(target=self.name, number=0)
        row = self._store.get("versions", f"{self.name}@{number}")
        if row is None:
            raise NotFound(f"{self._agent} has no version {number}; see `ratchet settings history {self._agent}`")
        return record_of(Version, row)

    def history(self) -> list[Version]:
        """All versions, newest first."""
        return [
            record_of(Version, row)
            for row in self._store.find("versions", {"target": self.name}, order=("-number",)).rows
        ]

    def knobs(self) -> dict[str, Knob]:
        """The declared knobs. Raises NotFound where the agent never declared any."""
        if self._knobs is not None:
            return dict(self._knobs)
        head = self._store.get("settings", self.name)
        if head is None:
            raise NotFound(
                f'no settings of {self._agent!r} are known; its process declares them with ratchet.settings("'
                f'{self._agent}", ...) and its first use of them'
            )
        rows = head.get("knobs")
        described = rows.items() if isinstance(rows, dict) else ()
        return {name: described_knob(row) for name, row in described if isinstance(row, dict)}

    def values(self, version: Version | None = None) -> dict[str, Json]:
        """The value of every knob: what the version (default: the one in force) sets, else the default."""
        held = (version or self.current()).values
        defaults = edits.plain_values({name: knob.default for name, knob in self.knobs().items()}, self.name)
        return {**defaults, **held}

    # -- changing ----------------------------------------------------------------------------------------------------

    def declare(self) -> None:
        """Keep what this process declared, so that others can show and bound it."""
        knobs: Row = {name: knob.described() for name, knob in (self._knobs or {}).items()}
        while True:
            head = self._store.get("settings", self.name)
            if head is not None and head.get("knobs") == knobs:
                return
            row: Row = {"version": 0, **(head or {}), "target": self.name, "agent": self._agent, "knobs": knobs}
            if self._store.swap("settings", self.name, whole_in(head, "revision"), {**row, "at": self._clock()}):
                return

    def change(
        self,
        values: Mapping[str, object],
        *,
        who: str,
        why: str = "",
        unset: tuple[str, ...] = (),
        expected: int | None = None,
    ) -> Version:
        """Set some knobs and let others (`unset`) fall back to their default; the new version is in force at once.

        Raises UsageError for an unknown knob or a value out of its bounds, Conflict when the version in force is not
        `expected` (None: any).
        """
        checked = self._checked(values, unset)
        with self._store.transaction():
            parent = self.current()
            if expected is not None and parent.number != expected:
                raise self._moved(expected, parent.number)
            after = {name: value for name, value in {**parent.values, **checked}.items() if name not in unset}
            if edits.same(after, dict(parent.values)):
                return parent
            return self._put_in_force(self._drafted(after, parent.number, who=who, why=why), parent.number)

    def revert(self, *, who: str, why: str = "", to: int | None = None) -> Version:
        """Bring back what was in force before the present version (or version `to`), as a new version.

        Raises NotFound for an unknown version, UsageError where there is nothing to go back to.
        """
        with self._store.transaction():
            present = self.current()
            if to is None and present.number == 0:
                raise UsageError(f"{self._agent} was never changed; there is nothing to revert")
            wanted = self.version(present.parent if to is None else to)
            why = why or f"back to version {wanted.number}"
            return self._put_in_force(self._drafted(wanted.values, present.number, who=who, why=why), present.number)

    # -- as a target -------------------------------------------------------------------------------------------------

    def read(self) -> Held:
        """Read what is set (not the defaults), and the number of the version in force."""
        current = self.current()
        return Held(values=current.values, version=str(current.number))

    def plan(self, change: Mapping[str, Json], *, who: str = "ratchet", why: str = "") -> Edit:
        """Draft the version that this change makes. The draft's number is `result`: a trial gives it to its new arm."""
        checked = self._checked(change, ())
        with self._store.transaction():
            parent = self.current()
            draft = self._drafted({**parent.values, **checked}, parent.number, who=who, why=why)
        before = {name: parent.values[name] for name in checked if name in parent.values}
        return Edit(
            target=self.name,
            before=before,
            after=checked,
            version=str(parent.number),
            result=str(draft.number),
        )

    def apply(self, edit: Edit) -> None:
        """Put the draft in force. Raises Conflict when somebody changed the settings since it was planned."""
        with self._store.transaction():
            present = self.current()
            if str(present.number) == edit.result:
                return
            if str(present.number) != edit.version:
                raise self._moved(edit.version, present.number)
            self._put_in_force(self.version(int(edit.result)), present.number)

    def restore(self, edit: Edit) -> Restored:
        """Undo the edit's own keys, as a new version; see `ports.Target`."""
        with self._store.transaction():
            present = self.current()
            back = edits.way_back(edit, present.values)
            if back.restored:
                values = {name: value for name, value in {**present.values, **back.put}.items() if name not in back.out}
                draft = self._drafted(values, present.number, who="ratchet", why=f"undo version {edit.result}")
                present = self._put_in_force(draft, present.number)
        return Restored(version=str(present.number), restored=back.restored, kept=back.kept)

    # -- rows --------------------------------------------------------------------------------------------------------

    def _checked(self, values: Mapping[str, object], unset: tuple[str, ...]) -> dict[str, Json]:
        knobs = self.knobs()
        for name in (*values, *unset):
            if name not in knobs:
                raise UsageError(f"{self._agent} has no knob {name!r}; it has {', '.join(sorted(knobs))}")
        checked = {}
        for name, value in values.items():
            try:
                checked[name] = knobs[name].check(value)
            except Exception as error:  # a user's own `check` may raise whatever it likes
                raise UsageError(f"{self._agent}, {name}: {error}") from error
        return edits.plain_values(checked, self._agent)

    def _drafted(self, values: Mapping[str, Json], parent: int, *, who: str, why: str) -> Version:
        """A new version, written and not in force. Runs inside a transaction, which makes its number its own."""
        newest = self._store.find("versions", {"target": self.name}, order=("-number",), limit=1).rows
        number = 1 + (whole_in(newest[0], "number") if newest else 0)
        draft = Version(
            target=self.name,
            number=number,
            values=values,
            parent=parent,
            who=clean(who, _LABEL),
            why=clean(why, _REASON),
            at=self._clock(),
        )
        self._store.insert_new("versions", [_row_of(draft)])
        return draft

    def _put_in_force(self, version: Version, parent: int) -> Version:
        now = self._clock()
        applied = Version(
            target=version.target,
            number=version.number,
            values=version.values,
            parent=parent,
            who=version.who,
            why=version.why,
            at=version.at,
            applied_at=now,
        )
        stored = self._store.get("versions", f"{self.name}@{version.number}")
        head = self._store.get("settings", self.name)
        row: Row = {**(head or {"target": self.name, "agent": self._agent, "knobs": {}}), "version": version.number}
        moved = self._store.swap("settings", self.name, whole_in(head, "revision"), {**row, "at": now})
        written = self._store.swap(
            "versions", f"{self.name}@{version.number}", whole_in(stored, "revision"), _row_of(applied)
        )
        if not (moved and written):  # a store whose transactions are weaker than ours
            raise self._moved(parent, "another")
        event: Row = {
            "id": uuid7(),
            "noun": "settings",
            "record": self.name,
            "verb": "changed",
            "at": now,
            "version": version.number,
            "who": version.who,
        }
        self._store.insert_new("events", [{**event, "reason": version.why} if version.why else event])
        return applied

    def _moved(self, expected: int | str, found: int | str) -> Conflict:
        return Conflict(
            f"the settings of {self._agent} are at version {found}, not {expected}: somebody changed them; "
            "look at the history and decide again"
        )


def agents(store: Store) -> Iterator[str]:
    """Agents whose settings are known, by name."""
    for row in store.find("settings", order=("target",)).rows:
        yield str(row.get("agent", ""))


def _row_of(version: Version) -> Row:
    return {**as_row(version), "id": f"{version.target}@{version.number}", "revision": 1}
