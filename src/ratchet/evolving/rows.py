"""Evolve runs, their candidates and evaluations as rows of the store. Each is written when it happens."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ratchet import ids
from ratchet.arguments import named_row
from ratchet.errors import Conflict
from ratchet.evolving.bench.benchmark import Evaluation
from ratchet.evolving.candidate import ArchiveTally, Candidate, Evolution
from ratchet.ports import Store
from ratchet.records import Json, Row, as_row, record_of
from ratchet.store.paging import rows_of
from ratchet.store.timeline import note


def version_id(tree: str, settings: Mapping[str, Json]) -> str:
    """The id of a version: the same files and settings have the same one, in every run."""
    text = json.dumps([tree, dict(settings)], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return "v" + hashlib.sha256(text.encode()).hexdigest()[:16]


# -- runs --------------------------------------------------------------------------------------------------------------


def begin(store: Store, made: Evolution, baseline: Candidate) -> Evolution:
    """Write a new run and the agent as it was. `made` is given its id here."""
    now = time.time()
    held = replace(made, started_at=now, incumbent=baseline.id, revision=1)
    with store.transaction():
        store.insert_new("evolutions", [as_row(held)])
        store.insert_new("candidates", [as_row(replace(baseline, run=held.id, created_at=now, revision=1))])
        note(store, "evolution", held.id, "started", now, benchmark=held.benchmark, proposer=held.proposer)
    return held


def new_id() -> str:
    return f"ev{ids.uuid7().replace('-', '')[:16]}"


def write(store: Store, held: Evolution, verb: str = "", **changes: object) -> Evolution:
    """Store a run with these changes, and `verb` as an event of it. Raises Conflict."""
    moved = replace(held, **changes)  # type: ignore[arg-type]
    with store.transaction():
        if not store.swap("evolutions", held.id, held.revision, as_row(moved)):
            raise Conflict(f"evolve run {held.id} is moved by another process; wait for it to end")
        if verb:
            note(store, "evolution", held.id, verb, time.time(), state=moved.state, reason=moved.reason)
    return replace(moved, revision=held.revision + 1)


def evolution(store: Store, run: str) -> Evolution:
    """One run. Raises NotFound."""
    return record_of(Evolution, named_row(store, "evolutions", run, "evolve run", "evolve list"))


def listed(store: Store, *, limit: int | None = None) -> list[Evolution]:
    """Runs, newest first."""
    return [record_of(Evolution, row) for row in store.find("evolutions", order=("-started_at",), limit=limit).rows]


# -- candidates --------------------------------------------------------------------------------------------------------


def add(store: Store, candidate: Candidate) -> Candidate:
    """Write a new candidate, with an event."""
    held = replace(candidate, created_at=time.time(), revision=1)
    with store.transaction():
        if not store.insert_new("candidates", [as_row(held)]):
            raise Conflict(f"candidate {held.run}/{held.n} was written by another process; wait for it to end")
        _told(store, held)
    return held


def move(store: Store, candidate: Candidate, **changes: object) -> Candidate:
    """Store a candidate with these changes, and its state as an event. Raises Conflict."""
    moved = replace(candidate, **changes)  # type: ignore[arg-type]
    with store.transaction():
        key = (candidate.run, str(candidate.n))
        if not store.swap("candidates", key, candidate.revision, as_row(moved)):
            raise Conflict(
                f"candidate {candidate.run}/{candidate.n} was changed by another process; wait for it to end"
            )
        _told(store, moved)
    return replace(moved, revision=candidate.revision + 1)


def candidates(store: Store, run: str) -> list[Candidate]:
    """The archive of a run, in the order in which they were proposed."""
    return [record_of(Candidate, row) for row in store.find("candidates", {"run": run}, order=("n",)).rows]


def tallied(store: Store, runs: Sequence[str]) -> dict[str, ArchiveTally]:
    """Count what each of these runs tried. One query, whatever their number."""
    asked: list[Json] = [*runs]
    held: dict[str, list[Candidate]] = {run: [] for run in runs}
    for row in store.find("candidates", {"run": ("in", asked)}, order=("n",)).rows if asked else ():
        held[str(row["run"])].append(record_of(Candidate, row))
    return {run: tally(some) for run, some in held.items()}


def tally(archive: Sequence[Candidate]) -> ArchiveTally:
    """Count what an archive tried and kept."""
    kept = [each for each in archive if each.state == "kept"]
    tried = sum(1 for each in archive if each.n and not each.retry_of)
    return ArchiveTally(tried=tried, kept=len(kept), last=kept[-1] if kept else None)


def _told(store: Store, held: Candidate) -> None:
    note(store, "candidate", f"{held.run}/{held.n}", held.state, time.time(), reason=held.reason, version=held.id)


# -- evaluations -------------------------------------------------------------------------------------------------------


def measured(store: Store, made: Evaluation) -> bool:
    """Write an evaluation; False where it is known already."""
    return bool(store.insert_new("evaluations", [evaluation_row(made)]))


def evaluations(store: Store, run: str, *, limit: int | None = None) -> Iterator[Evaluation]:
    """All evaluations of a run, in the order in which they ended."""
    return map(evaluation_of, rows_of(store, "evaluations", {"run": run}, order=("at",), limit=limit))


def evaluation_row(made: Evaluation) -> Row:
    return {name: value for name, value in as_row(made).items() if value not in ("", [])}


def evaluation_of(row: Row) -> Evaluation:
    return record_of(Evaluation, row)
