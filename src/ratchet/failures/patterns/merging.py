"""Which pattern a signature belongs to: findings of one rule are one pattern, else near-identical templates of one kind
are merged online, and every merge is a row that a person can undo.

The grouping itself is `failures.grouping`, in memory and rebuilt from the stored signatures; the store's word counts. A
signature that was split off is pinned: it is never compared again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from ratchet.arguments import whole_id
from ratchet.errors import Conflict, NotFound, UsageError
from ratchet.failures.patterns.sums import less_of_kinds
from ratchet.ids import hex_of, uuid7
from ratchet.records import Json, Row, text_in, whole_in

if TYPE_CHECKING:
    from ratchet.failures.grouping import Grouper
    from ratchet.failures.patterns.ruled import BrokenRule
    from ratchet.ports import Store


class _Known(NamedTuple):
    """The groups of a store as this process knows them, and from how many signatures."""

    grouper: Grouper
    signatures: int


_known: WeakKeyDictionary[Store, _Known] = WeakKeyDictionary()


def assign(
    store: Store, signatures: Mapping[str, tuple[str, str]], *, now: float, messages: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The pattern of each signature (given with kind and template); new ones are stored. `messages` holds what a tool
    said where one spoke: its rule groups them. Inside a transaction."""
    if not signatures:
        return {}
    wanted: list[Json] = [*signatures]
    # Grouped, though nothing is summed up: no row is read whole for it.
    held = store.sum_by("signatures", ("signature", "pattern"), (), {"signature": ("in", wanted)})
    found = {str(row["signature"]): str(row["pattern"]) for row in held}
    new = [signature for signature in signatures if signature not in found]
    if new:
        from ratchet.failures.patterns.ruled import first_rule

        known = _groups(store)
        placed = _Placed(store, known.grouper, now)
        for signature in new:
            rule = first_rule((messages or {}).get(signature, ""))
            found[signature] = placed.place(signature, *signatures[signature], rule)
        placed.write()
        _known[store] = known._replace(signatures=known.signatures + len(new))
        if placed.absorbed:
            found = {name: current(store, pattern) for name, pattern in found.items()}
    return found


class _Placed:
    """New signatures on their way to the store, written together: the first history brings hundreds."""

    def __init__(self, store: Store, grouper: Grouper, now: float) -> None:
        self.absorbed = False
        self._store = store
        self._grouper = grouper
        self._now = now
        self._signatures: list[Row] = []
        self._patterns: list[Row] = []
        self._merged: list[tuple[str, str]] = []
        self._ruling: dict[str, Row] = {}

    def place(self, signature: str, kind: str, template: str, rule: BrokenRule | None) -> str:
        """The pattern of a signature that was never seen."""
        if rule is not None:
            return self._ruled(signature, kind, template, rule)
        added = self._grouper.add(template, kind)
        pattern = added.group
        said: Row = {"kind": kind, "template": template, "created_at": self._now, "revision": 1}
        self._signatures.append({**said, "signature": signature, "pattern": pattern})
        if added.is_new:
            self._patterns.append({**said, "id": pattern, "signature": signature})
        else:
            self._merged.append((pattern, signature))
        if added.merged:
            self.write()
            self.absorbed = True
            for former in added.merged:
                _absorb(self._store, former, pattern, self._now)
        return pattern

    def _ruled(self, signature: str, kind: str, template: str, rule: BrokenRule) -> str:
        """The pattern of a finding's rule, whatever else the run said."""
        pattern = pattern_of_rule(rule.key)
        said: Row = {"kind": kind, "rule": rule.key, "created_at": self._now, "revision": 1}
        self._signatures.append({**said, "template": template, "signature": signature, "pattern": pattern})
        held = self._ruling.get(pattern) or self._store.get("patterns", pattern)
        if held is None:
            held = {**said, "template": rule.template, "id": pattern, "signature": signature}
            self._patterns.append(held)
        else:
            self._merged.append((pattern, signature))
            self._title(held, rule)
        self._ruling[pattern] = held
        return pattern

    def _title(self, held: Row, rule: BrokenRule) -> None:
        """Title a linter's rule by what its findings share: the first names only what it found itself."""
        from ratchet.failures.patterns.ruled import shared

        title = text_in(held, "template")
        if title.partition(": ")[0] not in rule.key.split(":") or (said := shared(title, rule.template)) == title:
            return
        held["template"] = said
        if any(each is held for each in self._patterns):  # it is not written yet
            return
        if not self._store.swap("patterns", text_in(held, "id"), whole_in(held, "revision"), held):
            raise Conflict(f"pattern {held['id']} changed meanwhile; try again")
        held["revision"] = whole_in(held, "revision") + 1

    def write(self) -> None:
        if len(self._store.insert_new("signatures", self._signatures)) < len(self._signatures):
            raise Conflict("a signature was stored by somebody else meanwhile; try again, inside a transaction")
        self._store.insert_new("patterns", self._patterns)
        for pattern, signature in self._merged:
            _record(self._store, pattern, signature, "merged", self._now)
        self._signatures, self._patterns, self._merged = [], [], []


def _groups(store: Store) -> _Known:
    """The groups, rebuilt when the store holds other signatures than this process knows (another one wrote, or a
    transaction was rolled back)."""
    count = int(str(store.sum_by("signatures", (), ("count:*",), {"pinned": None})[0]["count:*"]))
    known = _known.get(store)
    if known is None or known.signatures != count:
        rows = store.find("signatures", {"pinned": None}, order=("created_at",)).rows
        from ratchet.failures.grouping import Grouper

        known = _Known(Grouper(_remembered(row) for row in rows if not row.get("rule")), count)
    return known


def _remembered(row: Row) -> Row:
    return {"template": row.get("template", ""), "scope": row["kind"], "group": row["pattern"]}


def _found_pattern(store: Store, pattern: str, signature: str, kind: str, template: str, now: float) -> None:
    held = store.get("patterns", pattern) or {}
    row: Row = {"signature": signature, "kind": kind, "template": template, "created_at": now}
    if not store.swap("patterns", pattern, whole_in(held, "revision"), row):
        raise Conflict(f"pattern {pattern} changed meanwhile; try again")


def _absorb(store: Store, former: str, pattern: str, now: float) -> None:
    """All of `former` (but what is pinned to it) now belongs to `pattern`."""
    for row in store.find("signatures", {"pattern": former, "pinned": None}).rows:
        _move(store, row, pattern, pinned=False)
        _record(store, pattern, str(row["signature"]), "merged", now)
    held = store.get("patterns", former)
    if held is not None:
        store.swap("patterns", former, whole_in(held, "revision"), {**held, "merged_into": pattern})


def _move(store: Store, row: Row, pattern: str, *, pinned: bool) -> None:
    moved: Row = {**row, "pattern": pattern}
    if pinned:
        moved["pinned"] = True
    if not store.swap("signatures", str(row["signature"]), whole_in(row, "revision"), moved):
        raise Conflict(f"signature {row['signature']} changed meanwhile; try again")


def _record(store: Store, pattern: str, signature: str, verb: str, now: float) -> None:
    """One row in `merges` (undone by a split) and one line of the timeline."""
    merge = f"{pattern}+{signature}"
    held = store.get("merges", merge) or {}
    row: Row = {"pattern": pattern, "signature": signature, "undone": verb == "split", "at": now}
    store.swap("merges", merge, whole_in(held, "revision"), row)
    event: Row = {"id": uuid7(), "noun": "pattern", "record": pattern, "verb": verb, "at": now, "signature": signature}
    store.insert_new("events", [event])


def pattern_of_rule(key: str) -> str:
    """The id of the pattern of a rule, by the key of its findings."""
    return "p" + hex_of(f"rule {key}")[:16]


def split(store: Store, pattern: str, signature: str, *, now: float) -> str:
    """Undo a merge: the signature leaves the pattern for one of its own, whose id is returned, and stays apart.

    Raises NotFound when the pattern does not hold the signature, UsageError when it holds no other.
    """
    with store.transaction():
        pattern = current(store, pattern)
        row = store.get("signatures", signature)
        if row is None or row["pattern"] != pattern:
            raise NotFound(f"pattern {pattern} holds no signature {signature}; see `ratchet patterns show {pattern}`")
        if len(members(store, pattern)) == 1:
            raise UsageError(f"pattern {pattern} holds only {signature}: there is nothing to split")
        own = "p" + hex_of(f"split {signature}")[:16]
        _move(store, row, own, pinned=True)
        _found_pattern(store, own, signature, str(row["kind"]), str(row["template"]), now)
        _record(store, pattern, signature, "split", now)
        _known.pop(store, None)
    return own


def members(store: Store, pattern: str) -> list[str]:
    """The signatures of a pattern, oldest first."""
    rows = store.find("signatures", {"pattern": pattern}, order=("created_at",)).rows
    return [str(row["signature"]) for row in rows]


def current(store: Store, pattern: str) -> str:
    """The id under which a pattern goes today: its own, or of what it was merged into; the beginning of an id will do.
    Raises NotFound, UsageError where several begin so."""
    pattern = whole_id(store, "patterns", pattern)
    met: set[str] = set()
    while pattern not in met:
        met.add(pattern)
        row = store.get("patterns", pattern)
        if row is None:
            raise NotFound(f"no pattern {pattern}; `ratchet patterns` lists them")
        pattern = str(row.get("merged_into") or pattern)
    return pattern


def drop(store: Store, signatures: Sequence[str]) -> int:
    """Delete signatures with all that is counted of them, and the patterns that have no other; how many patterns went.
    Inside a transaction."""
    wanted: list[Json] = [*signatures]
    held = store.find("signatures", {"signature": ("in", wanted)}).rows
    kinds = {text_in(row, "signature"): row["kind"] for row in held}
    gone = store.sum_by("tallies", ("signature", "hour"), ("n", "duration_s"), {"signature": ("in", [*kinds])})
    less_of_kinds(store, ({**row, "kind": kinds[text_in(row, "signature")]} for row in gone))
    for table in ("tallies", "signature_sums", "sightings", "merges", "signatures"):
        store.delete(table, {"signature": ("in", wanted)})
    patterns = {str(row["pattern"]) for row in held}
    empty: list[Json] = [each for each in patterns if not store.find("signatures", {"pattern": each}, limit=1).rows]
    _known.pop(store, None)
    return store.delete("patterns", {"id": ("in", empty)}) if empty else 0
