"""Outcomes into the store, and everything that is counted about them, in one transaction.

Failures are classified and signed here, once; tallies, sightings, activity and the agents' last outcomes move with the
insert, so that no analysis ever scans history. An outcome that is known already changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ratchet.failures.excerpt import LONG, SHORT, deciding
from ratchet.failures.health import EXCUSED
from ratchet.failures.kinds.kind import kind_of, own_words
from ratchet.failures.kinds.table import KINDS
from ratchet.failures.patterns.health import Ran, drop_recent, keep_recent
from ratchet.failures.patterns.merging import assign
from ratchet.failures.patterns.sums import add_sums, less_of_kinds
from ratchet.failures.signature import mask, sign, template_of
from ratchet.failures.waiting import own_s
from ratchet.ports import Store
from ratchet.records import Json, Row, number_in, text_in, whole_in

DERIVED = "ratchet-loop"
"""Source of outcomes that analysis itself adds: counted as patterns, but no calls of an agent."""

_HOUR_S = 3600
_LEAST_KEPT_S = 86_400.0  # the shortest time that a policy may keep outcomes
_MEMO = 2048  # messages remembered: a failing loop repeats itself; more costs memory (at most 8 MB) and finds little

_Amounts: TypeAlias = "tuple[int, float, float]"
"""Tokens, seconds, USD; of a failure without the time in which a person was waited for."""
Sums: TypeAlias = "list[float]"
"""Counters and extremes of one key, in the order of its table's columns below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """Rows that were new: the rows as stored (failures classified and signed) and the patterns that the agents' own
    failures among them belong to."""

    new: list[Row] = field(default_factory=list)
    patterns: set[str] = field(default_factory=set)


def ingest(store: Store, rows: Sequence[Row], *, now: float | None = None) -> Ingested:
    """Store those outcomes that are new and move every tally with them, all or nothing.

    Joins the caller's transaction where one is open. `now` (Unix seconds) dates new patterns. Raises StoreError.
    """
    signed = [row if row.get("ok") else _signed(row) for row in rows]
    with store.transaction():
        signed = _not_forgotten(store, signed, time.time() if now is None else now)
        new = [signed[position] for position in store.insert_new("outcomes", signed)]
        if not new:
            return Ingested()
        counts = _Counts()
        for row in new:
            counts.count(row)
        said = {name: text for name, text in counts.messages.items() if counts.kinds[name][0] not in EXCUSED}
        pattern_of = assign(store, counts.kinds, now=time.time() if now is None else now, messages=said)
        counts.keep(store)
    own = {pattern_of[name] for name, (kind, _) in counts.kinds.items() if kind not in EXCUSED}
    return Ingested(new=new, patterns=own)


def _not_forgotten(store: Store, rows: list[Row], now: float) -> list[Row]:
    """Without outcomes from before what is kept: they may have been counted, and forgotten, already."""
    least = now - _LEAST_KEPT_S
    if all(row["started_at"] >= least for row in rows):  # type: ignore[operator]
        return rows
    before = (store.get("meta", "retention") or {}).get("before")
    if not isinstance(before, float):
        return rows
    return [row for row in rows if float(row["started_at"]) >= before]  # type: ignore[arg-type]


def _signed(row: Row) -> Row:
    """The row with its failure classified and signed."""
    held = row.get("failure")
    failure: Row = held if isinstance(held, dict) else {}
    if failure.get("signature") and failure.get("template") and failure.get("kind") in KINDS:
        return row
    step = row.get("step")
    message, kind = text_in(failure, "message"), text_in(failure, "kind")
    classes = _classes(failure)
    if not message:
        return {**row, "failure": {**failure, **_silent(row, failure, kind, classes)}}
    kind, template, signature = _read(
        message,
        kind if kind in KINDS else "",
        classes,
        text_in(failure, "code"),
        _whole(failure.get("status")),
        _whole(failure.get("exit_code")),
        text_in(step, "tool"),
    )
    return {**row, "failure": {**failure, "kind": kind, "template": template, "signature": signature}}


def _classes(failure: Row) -> tuple[str, ...]:
    """The raised class and its bases, narrowest first."""
    bases = failure.get("bases")
    named = (failure.get("type"), *(bases if isinstance(bases, list) else ()))
    return tuple(name for name in named if isinstance(name, str) and name)


def _silent(row: Row, failure: Row, kind: str, classes: tuple[str, ...]) -> Row:
    """A failure without a text is told apart by its class, status or exit code, and its task; one with nothing but a
    score was judged wrong, though nothing raised."""
    status, exit_code = _whole(failure.get("status")), _whole(failure.get("exit_code"))
    if kind not in KINDS and (classes or status or exit_code):
        kind = kind_of("", exception=classes, code=text_in(failure, "code"), status=status, exit_code=exit_code)
    elif kind not in KINDS:
        kind = "other" if row.get("score") is None else "wrong_output"
    what = classes[0] if classes else str(status or exit_code or "")
    template = " ".join(filter(None, ("no error text:", what, mask(text_in(row, "task"))))).rstrip(": ")
    return {"message": "", "kind": kind, "template": template, "signature": sign(kind, template)}


def _read(
    message: str, kind: str, classes: tuple[str, ...], code: str, status: int | None, exit_code: int | None, tool: str
) -> tuple[str, str, str]:
    whole = own_words(message, tool) == message  # else lines may be chosen of what it only quotes
    said = deciding(message, LONG if exit_code else SHORT) if whole else ""
    known = (said or message, not said, kind, classes, code, status, exit_code, tool)
    found = _memo.get(known)
    if found is None:
        if len(_memo) >= _MEMO:
            _memo.clear()
        if not kind:
            kind = kind_of(message, exception=classes, code=code, status=status, exit_code=exit_code, tool=tool)
        template = template_of(message)
        found = _memo[known] = kind, template, sign(kind, template)
    return found


_memo: dict[tuple[object, ...], tuple[str, str, str]] = {}


def uncount(store: Store, rows: Iterable[Row]) -> None:
    """Take stored outcomes out of the tallies that they share with others. Call it in the transaction that deletes
    them; when a tally was first and last moved stays as it was."""
    counts = _Counts()
    for row in rows:
        counts.count(row)
    counts.take_back(store)


class _Counts:
    """Amounts that one batch adds to the tallies, summed up before it is written: one row per key and batch."""

    def __init__(self) -> None:
        self.kinds: dict[str, tuple[str, str]] = {}  # signature -> kind, template
        self.messages: dict[str, str] = {}  # signature -> what its first failure said
        self._tallies: dict[tuple[str, str, int], Sums] = {}
        self._sightings: dict[tuple[str, str, str], Sums] = {}
        self._activity: dict[tuple[str, int], Sums] = {}
        self._sessions: dict[str, tuple[Row, Sums]] = {}
        self._ran: dict[str, list[Ran]] = {}

    def count(self, row: Row) -> None:
        agent, at = str(row["agent"]), float(row["started_at"])  # type: ignore[arg-type]
        hour = int(at // _HOUR_S)
        tokens, duration_s, cost_usd = row.get("tokens") or 0, row.get("duration_s") or 0.0, row.get("cost_usd") or 0.0
        took = tokens, duration_s, cost_usd
        kind = "" if row["ok"] else self._failed(row, agent, at, hour, took)  # type: ignore[arg-type]
        if row.get("source") == DERIVED:
            return
        session = row.get("session")
        if session:
            self._sighted(("", str(session), agent), at)
            self._took_part(str(session), row, at, kind, took)  # type: ignore[arg-type]
        excused = kind in EXCUSED
        held = self._activity.get((agent, hour))
        if held is None:
            held = self._activity[agent, hour] = [0, 0, 0, 0, 0.0, 0.0, at, at]
        held[0] += 1
        if kind:
            held[2 if excused else 1] += 1
        held[3] += tokens  # type: ignore[operator]
        held[4] += duration_s  # type: ignore[operator]
        held[5] += cost_usd  # type: ignore[operator]
        if at < held[6]:
            held[6] = at
        elif at > held[7]:
            held[7] = at
        if not excused:
            ran = self._ran.get(agent)
            if ran is None:
                ran = self._ran[agent] = []
            ran.append([at, row["id"], 0 if kind else 1])

    def _took_part(self, session: str, row: Row, at: float, kind: str, took: _Amounts) -> None:
        found = self._sessions.get(session)
        if found is None:
            found = self._sessions[session] = {}, [0, 0, 0, 0, 0.0, at, at]
        named, held = found
        for name in _NAMED:
            if name not in named and row.get(name):
                named[name] = row[name]
        held[0] += 1
        if kind:
            held[2 if kind in EXCUSED else 1] += 1
        held[3] += took[0]
        held[4] += took[2]
        if at < held[5]:
            held[5] = at
        elif at > held[6]:
            held[6] = at

    def _failed(self, row: Row, agent: str, at: float, hour: int, took: _Amounts) -> str:
        failure = row["failure"]
        assert isinstance(failure, dict)  # `_signed` saw to it
        kind, signature = str(failure["kind"]), str(failure["signature"])
        if signature not in self.kinds:
            self.kinds[signature] = kind, str(failure["template"])
        step = row.get("step")
        if step and signature not in self.messages:
            self.messages[signature] = text_in(failure, "message")
        key = (signature, agent, hour)
        held = self._tallies.get(key)
        if held is None:
            held = self._tallies[key] = [0, 0, 0.0, 0.0, at, at]
        tokens, duration_s, cost_usd = _repeated(row) if row.get("source") == DERIVED else took
        if step:
            duration_s = own_s(text_in(step, "tool"), text_in(step, "head"), duration_s)
        held[0] += 1
        held[1] += tokens
        held[2] += duration_s
        held[3] += cost_usd
        if at < held[4]:
            held[4] = at
        elif at > held[5]:
            held[5] = at
        if row.get("session"):
            self._sighted((signature, str(row["session"]), agent), at)
        return kind

    def _sighted(self, key: tuple[str, str, str], at: float) -> None:
        held = self._sightings.get(key)
        if held is None:
            self._sightings[key] = [1, at, at]
            return
        held[0] += 1
        if at < held[1]:
            held[1] = at
        elif at > held[2]:
            held[2] = at

    def keep(self, store: Store) -> None:
        """Add the sums to the store's; call it in the transaction of the insert."""
        # In the order of their keys, in which a clustered table takes rows fastest, and sums are the same each time.
        self._tallies = dict(sorted(self._tallies.items()))
        tallies, sightings = _rows(self._tallies.items(), _TALLY), _rows(sorted(self._sightings.items()), _SIGHTING)
        keep_recent(store, self._ran)  # first what reads: what is only added may then travel together
        add_sums(store, tallies, [place for place in self._sightings if place[0]])
        store.add("tallies", tallies)
        store.add("kind_tallies", self._of_kinds())
        store.add("sightings", sightings)
        store.add("activity", _rows(sorted(self._activity.items()), _ACTIVITY))
        store.add("session_tallies", [self._session_row(session) for session in sorted(self._sessions)])

    def take_back(self, store: Store) -> None:
        """Subtract the sums from the store's; those of signatures are summed up anew by who deletes the sightings."""
        drop_recent(store, self._ran)
        less_of_kinds(store, self._of_kinds())
        for table, sums, names in (("tallies", self._tallies, _TALLY), ("activity", self._activity, _ACTIVITY)):
            rows = _rows(sorted(sums.items()), names)
            store.add(table, [_negated(row) for row in rows])
        for row in _rows(sorted(self._tallies.items()), _TALLY):
            store.delete("tallies", {"signature": row["signature"], "n": ("<=", 0)})
        for row in _rows(sorted(self._activity.items()), _ACTIVITY):
            store.delete("activity", {"agent": row["agent"], "hour": row["hour"], "calls": ("<=", 0)})

    def _of_kinds(self) -> list[Row]:
        found: dict[tuple[int, str], Sums] = {}
        for (signature, _, hour), held in self._tallies.items():
            key = hour, self.kinds[signature][0]
            sums = found.get(key)
            if sums is None:
                found[key] = [held[0], held[2]]
            else:
                sums[0] += held[0]
                sums[1] += held[2]
        return _rows(found.items(), ("hour", "kind", "n", "duration_s"))

    def _session_row(self, session: str) -> Row:
        named, held = self._sessions[session]
        return {"session": session, **named, **dict(zip(_SESSION, held, strict=True))}


_NAMED = ("agent", "project", "model")
_TALLY = ("signature", "agent", "hour", "n", "tokens", "duration_s", "cost_usd", "min_at", "max_at")
_SIGHTING = ("signature", "session", "agent", "n", "min_at", "max_at")
_SESSION = ("calls", "failures", "excused", "tokens", "cost_usd", "min_at", "max_at")
_ACTIVITY = (
    "agent",
    "hour",
    "calls",
    "failures",
    "excused",
    "tokens",
    "duration_s",
    "cost_usd",
    "min_at",
    "max_at",
)


def _repeated(row: Row) -> _Amounts:
    """Amounts of the calls that analysis found repeated, as its outcome says: its own would count each call twice."""
    said = row.get("context")
    return whole_in(said, "tokens"), number_in(said, "duration_s"), number_in(said, "cost_usd")


def _rows(sums: Iterable[tuple[tuple[str | int, ...], Sums]], names: Sequence[str]) -> list[Row]:
    return [dict(zip(names, [*key, *held], strict=True)) for key, held in sums]


def _negated(row: Row) -> Row:
    """A row of a tally that takes away what the row adds."""
    counted = {name: value for name, value in row.items() if name not in ("min_at", "max_at")}
    return {
        name: -value if isinstance(value, int | float) and name != "hour" else value for name, value in counted.items()
    }


def _whole(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
