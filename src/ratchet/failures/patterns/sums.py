"""Sum up the tallies of each signature over all hours, and count the sessions that met it, so that a list of patterns
reads a row of each. Agent "" stands for all agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ratchet.records import Json, Row, number_in, text_in, whole_in

if TYPE_CHECKING:
    from ratchet.ports import Store

ALL = ""
"""The agent under which the sums of all agents stand."""


Met: TypeAlias = "Collection[tuple[str, str, str]]"
"""(signature, session, agent) of each sighting."""


def add_sums(store: Store, tallies: Iterable[Row], met: Met) -> None:
    """Add what a batch adds to tallies and sightings. Call it in its transaction, before the sightings are added."""
    sums = _summed(tallies)
    for agent, signature, count in _newly_met(store, met):
        _at(sums, agent, signature)["sessions"] = count
    store.add("signature_sums", list(sums.values()))


def sum_anew(store: Store, signatures: Sequence[str]) -> None:
    """Sum up again after tallies or sightings of these signatures went. Inside a transaction."""
    wanted: list[Json] = [*signatures]
    store.delete("signature_sums", {"signature": ("in", wanted)})
    names = ("n", "tokens", "duration_s", "min:min_at", "max:max_at")
    rows = store.sum_by("tallies", ("signature", "agent"), names, {"signature": ("in", wanted)})
    sums = _summed({name.rpartition(":")[2]: value for name, value in row.items()} for row in rows)
    for by in (("signature", "agent"), ("signature",)):
        for row in store.sum_by("sightings", by, ("distinct:session",), {"signature": ("in", wanted)}):
            held = _at(sums, text_in(row, "agent"), text_in(row, "signature"))
            held["sessions"] = row["distinct:session"]
    store.add("signature_sums", list(sums.values()))


def less_of_kinds(store: Store, rows: Iterable[Row]) -> None:
    """Take these counts (`hour`, `kind`, `n`, `duration_s`) out of those of kinds. Inside a transaction."""
    for row in rows:
        named = {"hour": row["hour"], "kind": row["kind"]}
        less: Row = {"n": -whole_in(row, "n"), "duration_s": -number_in(row, "duration_s")}
        store.add("kind_tallies", [named | less])
        store.delete("kind_tallies", named | {"n": ("<=", 0)})


def _at(sums: dict[tuple[str, str], Row], agent: str, signature: str) -> Row:
    return sums.setdefault((agent, signature), {"agent": agent, "signature": signature})


def _summed(tallies: Iterable[Row]) -> dict[tuple[str, str], Row]:
    """(agent, signature) -> sums, of each agent and of all."""
    found: dict[tuple[str, str], Row] = {}
    for row in tallies:
        signature, own = text_in(row, "signature"), text_in(row, "agent")
        for agent in (own, ALL):
            held = found.get((agent, signature))
            if held is None:
                found[agent, signature] = {
                    "agent": agent,
                    "signature": signature,
                    "n": row["n"],
                    "tokens": row["tokens"],
                    "sessions": None,
                    "duration_s": row["duration_s"],
                    "min_at": row["min_at"],
                    "max_at": row["max_at"],
                }
                continue
            held["n"] += row["n"]  # type: ignore[operator]
            held["tokens"] += row["tokens"]  # type: ignore[operator]
            held["duration_s"] += row["duration_s"]  # type: ignore[operator]
            if row["min_at"] < held["min_at"]:  # type: ignore[operator]
                held["min_at"] = row["min_at"]
            if row["max_at"] > held["max_at"]:  # type: ignore[operator]
                held["max_at"] = row["max_at"]
    return found


def _newly_met(store: Store, met: Met) -> Iterable[tuple[str, str, int]]:
    """(agent, signature, in how many sessions it was not met before)."""
    if not met:
        return
    asked: Mapping[str, tuple[str, Json]] = {
        name: ("in", [*dict.fromkeys(place[at] for place in met)]) for at, name in enumerate(("signature", "session"))
    }
    rows = store.sum_by("sightings", ("signature", "session", "agent"), (), asked)
    known = {(str(row["signature"]), str(row["session"]), str(row["agent"])) for row in rows}
    new = {*met} - known
    anywhere = {place[:2] for place in new} - {place[:2] for place in known}
    for (signature, agent), count in Counter([(signature, agent) for signature, _, agent in new]).items():
        yield agent, signature, count
    for signature, count in Counter([signature for signature, _ in anywhere]).items():
        yield ALL, signature, count
