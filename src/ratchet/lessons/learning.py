"""Learn from histories: read each file on from where it stood, store what it holds, mine what fixed what failed.

A crash between any two steps repeats work and loses none: a file's offset moves in the transaction of its rows, and a
session stays pending until it was mined at its newest revision.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from ratchet.errors import BackendError, StoreError
from ratchet.failures.health import EXCUSED
from ratchet.failures.intent import intent
from ratchet.failures.patterns.ingest import Ingested, ingest
from ratchet.failures.patterns.loops import loops
from ratchet.lessons.exposure import project_name
from ratchet.lessons.indexing import keep_index, keep_unmined
from ratchet.lessons.mined import keep_evidence, recount
from ratchet.lessons.mining.calls import calls_of
from ratchet.lessons.mining.facts import facts, turns_of
from ratchet.lessons.mining.facts import row_of as fact_row
from ratchet.lessons.mining.spending import is_loop, is_mined
from ratchet.lessons.repositories import keep_remotes
from ratchet.lessons.words.kept import hear
from ratchet.ports import Progress, Source, Store
from ratchet.recording.collecting import held_back
from ratchet.recording.keeping import StepPlace, file_identity, keep_places, keep_tokens
from ratchet.recording.rows import row_of
from ratchet.recording.sources.calls import UNRETURNED
from ratchet.recording.sources.lines import bare_carry
from ratchet.records import (
    Json,
    LessonState,
    MessageTokens,
    Outcome,
    Quarantined,
    Row,
    Saying,
    text_in,
    whole_in,
)
from ratchet.store.retention import forgotten, hash_of
from ratchet.store.sums import add_facts

STATES: tuple[LessonState, ...] = ("active", "candidate", "quarantined", "retired")
Settle: TypeAlias = Callable[[Store, Sequence[Row]], object]
"""Tells the trials of new outcomes how their units did (`settle_units`)."""
BATCH_ROWS = 2_000  # rows a transaction: large enough to be quick, small enough to show progress and free memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """Report of one run of `learn`. `failures` are the agents' own; `unflagged` of them were called a success by their
    source, `of_model` are calls of the model, not of a tool; cascades and refusals are counted apart. `notes` say of
    well-formed files why they taught nothing; `unread` counts files that could not be read at all. `loops` says which
    calls went round in circles, and in which session; `projects` are those (by name) whose sessions grew; `corrections`
    counts candidates that are a person's words."""

    files: int
    unread: int
    sessions: int
    outcomes: int
    failures: int
    unflagged: int
    of_model: int
    cascades: int
    user_denied: int
    quarantined: tuple[Quarantined, ...]
    notes: tuple[Quarantined, ...]
    patterns: int
    lessons: Mapping[LessonState, int]
    loops: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    corrections: int = 0


@dataclass(slots=True)
class Tally:
    """Counts a run as it goes."""

    sessions: set[str] = field(default_factory=set)
    patterns: set[str] = field(default_factory=set)
    outcomes: int = 0
    failures: int = 0
    unflagged: int = 0
    of_model: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    quarantined: list[Quarantined] = field(default_factory=list)
    notes: list[Quarantined] = field(default_factory=list)
    unreturned: list[Row] = field(default_factory=list)

    def count(self, found: Ingested) -> None:
        self.outcomes += len(found.new)
        for row in found.new:
            failure = row.get("failure")
            if isinstance(failure, dict):
                kind = str(failure.get("kind"))
                self.kinds[kind] += 1
                if kind not in EXCUSED:
                    self.failures += 1
                    self.unflagged += failure.get("flagged") is False
                    self.of_model += row.get("task") == "model"
        self.patterns |= found.patterns

    def learned(self, *, files: int, lessons: Mapping[LessonState, int], loops: Sequence[str]) -> Learned:
        return Learned(
            files=files,
            sessions=len(self.sessions),
            outcomes=self.outcomes,
            failures=self.failures,
            unflagged=self.unflagged,
            of_model=self.of_model,
            cascades=self.kinds["cascade"],
            user_denied=self.kinds["user_denied"],
            unread=len({bad.path for bad in self.quarantined if not bad.line}),
            quarantined=tuple(self.quarantined),
            notes=tuple(self.notes),
            patterns=len(self.patterns),
            lessons={state: lessons.get(state, 0) for state in STATES},
            loops=tuple(loops),
        )


def learn_files(
    store: Store,
    files: Sequence[str],
    source_of: Callable[[str], Source],
    settle: Settle,
    progress: Progress,
) -> Tally:
    """Store what the files hold. A file that cannot be read costs itself: it is quarantined with its reason. Progress
    is told in bytes. A call without a result counts once all files are read, since another one may hold it."""
    tally = Tally()
    sizes = [_size(path) for path in files]
    done = 0
    for path, size in zip(files, sizes, strict=True):

        def at(offset: int, *, before: int = done, size: int = size, path: str = path) -> None:
            progress(before + min(offset, size), sum(sizes), path)

        at(0)
        try:
            with held_back():
                read_file(store, path, source_of(path), tally, settle, at)
        except StoreError:  # ours, not the file's: it would fail for the next file as well
            raise
        except (OSError, BackendError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            _quarantine(store, tally, [Quarantined(path=path, line=0, reason=reason)], path)
        done += size
    tally.count(take(store, tally.unreturned, settle))
    named: list[Json] = [*tally.sessions]
    known = store.sum_by("session_tallies", ("session",), (), {"session": ("in", named)}) if named else []
    tally.sessions = {text_in(row, "session") for row in known}  # those in which anything was done
    progress(done, done, "")
    return tally


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:  # said when it is read
        return 0


def read_file(store: Store, path: str, source: Source, tally: Tally, settle: Settle, at: Callable[[int], None]) -> None:
    """Store one file from where it stood, a batch a transaction; `at` is told the offset reached."""
    cursor = store.get("cursors", _key(path)) or {}
    offset = whole_in(cursor, "offset")
    carry_held = cursor.get("carry")
    carry: Row = dict(carry_held) if isinstance(carry_held, dict) else {}
    batch: list[Outcome | Saying | MessageTokens | Quarantined] = []
    places: list[StepPlace] = []
    for read in source.read(path, offset, carry):
        batch.extend(read.items)
        places += [
            StepPlace(item.id, item.started_at, read.start, read.digest)
            for item in read.items
            if isinstance(item, Outcome)
        ]
        tally.sessions.update(read.sessions)
        if read.note:
            tally.notes.append(Quarantined(path=path, line=0, reason=read.note))
        offset = read.offset
        if len(batch) >= BATCH_ROWS:
            at(offset)
            _keep(store, path, source, batch, places, offset, carry, tally, settle)
            batch, places = [], []
    _keep(store, path, source, batch, places, offset, carry, tally, settle)


def _keep(
    store: Store,
    path: str,
    source: Source,
    items: Sequence[Outcome | Saying | MessageTokens | Quarantined],
    places: Sequence[StepPlace],
    offset: int,
    carry: Row,
    tally: Tally,
    settle: Settle,
) -> None:
    rows = [row_of(item) for item in items if isinstance(item, Outcome) and UNRETURNED not in item.context]
    tally.unreturned += [row_of(item) for item in items if isinstance(item, Outcome) and UNRETURNED in item.context]
    bad = [item for item in items if isinstance(item, Quarantined)]
    with store.transaction():
        found = take(store, rows, settle)
        gone = forgotten(store)
        told = [item for item in items if not isinstance(item, Quarantined) and not _is_forgotten(item.session, gone)]
        hear(store, (item for item in told if isinstance(item, Saying)))
        _pend(store, keep_tokens(store, (item for item in told if isinstance(item, MessageTokens))))
        here = {item.id for item in told if isinstance(item, Outcome)} if gone else None
        keep_places(store, _key(path), [place for place in places if here is None or place.step in here])
        cursor = store.get("cursors", _key(path)) or {}
        moved: Row = {"source": source.name, "offset": offset, "carry": _memory(carry, gone), "at": time.time()}
        moved |= {"identity": file_identity(_key(path)), "file": _key(str(Path(path).absolute()))}
        # Another process that reads the same file may move the cursor too: the rows are idempotent either way.
        store.swap("cursors", _key(path), whole_in(cursor, "revision"), moved)
        _quarantine(store, tally, bad, source.name)
    tally.count(found)
    tally.sessions.update(str(row["session"]) for row in rows if row.get("session"))


def _memory(carry: Row, gone: frozenset[str]) -> Row:
    """The carry as it is stored: of a file of forgotten sessions only what tells that it is the same file."""
    sessions = carry.get("sessions")
    if gone and isinstance(sessions, dict) and all(_is_forgotten(each, gone) for each in sessions):
        return bare_carry(carry)
    return dict(carry)


def _is_forgotten(session: str, gone: frozenset[str]) -> bool:
    return bool(gone) and hash_of(session) in gone


def _key(path: str) -> str:
    """The name of a file's cursor: its path, bytes that are no UTF-8 escaped, since no database takes them."""
    return path.encode("utf-8", "backslashreplace").decode()


def take(store: Store, rows: Sequence[Row], settle: Settle) -> Ingested:
    """Ingest rows, settle the units that they end, and mark their sessions to be searched for resolutions."""
    with store.transaction():
        gone = forgotten(store)
        kept = [row for row in rows if not _is_forgotten(str(row.get("session")), gone)]
        found = ingest(store, [_told_apart(row) for row in kept])
        settle(store, found.new)
        keep_remotes(store, found.new)
        add_facts(store, _uncounted(found.new))
        keep_unmined(store, found.new)
        _pend(store, Counter(str(row["session"]) for row in found.new if is_mined(row)))
    return found


def _pend(store: Store, grown: Counter[str]) -> None:
    """Mark sessions that grew by so many steps to be mined."""
    for session, count in sorted(grown.items()):
        held = store.get("sessions", session) or {}
        more: Row = {"new": whole_in(held, "new") + count, "mined": whole_in(held, "mined")}
        store.swap("sessions", session, whole_in(held, "revision"), {"pending": True, "at": time.time(), **more})


def _uncounted(rows: Sequence[Row]) -> list[Row]:
    """Facts of new outcomes that nothing is mined of: they are counted as they come."""
    by_folder: dict[str, list[Row]] = {}
    for row in rows:
        if not is_mined(row) and not is_loop(row):
            by_folder.setdefault(str(row.get("project") or ""), []).append(row)
    return [
        {**fact_row(each), "session": "", "project": project_name(folder)}
        for folder, held in sorted(by_folder.items())
        for each in facts(calls_of(held), folder, turns=turns_of(held), apart=True)
    ]


def _told_apart(row: Row) -> Row:
    """The row with what its step tries, where whoever recorded it named only the tool and its input."""
    step = row.get("step")
    if not isinstance(step, dict) or step.get("head") or not step.get("tool"):
        return row
    given: Json = step.get("input") or ""
    if isinstance(given, str) and given.startswith("{"):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):  # cut, or no JSON after all: the words of a command, then
            given = str(given)
    head, target = intent(step["tool"], given)
    return {**row, "step": {**step, "head": head, "target": step.get("target") or target}}


def _quarantine(store: Store, tally: Tally, bad: Iterable[Quarantined], source: str) -> None:
    pieces = list(bad)
    rows: list[Row] = [
        {"path": piece.path, "line": piece.line, "reason": piece.reason, "source": source, "at": time.time()}
        for piece in pieces
    ]
    store.insert_new("quarantine", rows)
    tally.quarantined.extend(pieces)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gained:
    """Report of mining: the lessons that changed, by state, the new loops in words, and the projects whose facts
    are others now."""

    lessons: Counter[LessonState] = field(default_factory=Counter)
    loops: tuple[str, ...] = ()
    projects: frozenset[str] = frozenset()


def mine_pending(store: Store, progress: Progress, *, grown: float = 0.0, keep_steps: bool = False) -> Gained:
    """Search grown sessions for loops and for what fixed what failed. Those that grew by less than the share `grown`
    since they were last searched wait. With `keep_steps` the results of steps that worked are kept, too.

    Sessions stay pending until the lessons that they touch are counted anew: a crash between repeats work.
    """
    waiting = [
        row
        for row in store.find("sessions", {"pending": True}, order=("at",)).rows
        if whole_in(row, "new") >= grown * whole_in(row, "mined")
    ]
    touched: set[str] = set()
    projects: set[str] = set()
    circles: list[str] = []
    mined: dict[str, int] = {}
    for done, held in enumerate(waiting):
        session = str(held["session"])
        progress(done, len(waiting), "mining " + session)
        with store.transaction(), held_back():
            rows = store.find("outcomes", {"session": session}, order=("started_at",)).rows
            mined[session] = len(rows)
            circles += [
                f"{text_in(loop.get('failure'), 'message')} (session {session})"
                for loop in ingest(store, loops(rows)).new
            ]
            kept = keep_evidence(store, session, rows)
            touched |= kept.touched
            projects.add(kept.project)
            keep_index(store, session, rows, kept.project, keep_steps=keep_steps)
    with store.transaction():
        changed = recount(store, touched)
        for held in waiting:
            # Fails when the session grew meanwhile: then it stays pending, and mining is idempotent.
            done_with: Row = {"pending": False, "at": held["at"], "new": 0, "mined": mined[str(held["session"])]}
            store.swap("sessions", str(held["session"]), whole_in(held, "revision"), done_with)
    return Gained(lessons=Counter(changed.values()), loops=tuple(circles), projects=frozenset(projects))
