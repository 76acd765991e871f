"""Forgets sessions: their rows, texts, index and evidence, what was made of them, and proves it (`sessions.proof`).

Counts that they share with other sessions are taken back; a pattern that nobody else met goes, and a lesson that rests
on nothing else. A lesson that a person decided about stays, without its evidence. A skill may hold any word of what its
lesson rests on: it goes with all its versions, and can be made anew of what is left. What a client keeps of its own
histories is the client's: they are not read again here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.failures.patterns.ingest import uncount
from ratchet.failures.patterns.merging import drop
from ratchet.failures.patterns.patterns import pattern_count
from ratchet.failures.patterns.sums import sum_anew
from ratchet.lessons.calibration import calibrate
from ratchet.lessons.delivery import publish_facts
from ratchet.lessons.exposure import mirror_path, project_name
from ratchet.lessons.mined import recount
from ratchet.lessons.skills.rows import drop as drop_skill
from ratchet.recording.blanking import blank
from ratchet.recording.sources.lines import bare_carry
from ratchet.records import Json, Row, text_in, whole_in
from ratchet.sessions import proof
from ratchet.store.redis.beside import taken_out
from ratchet.store.retention import forget_before, remember_forgotten
from ratchet.store.sums import forget_sums

if TYPE_CHECKING:
    from ratchet.ports import Progress, Store

_TABLES = (
    "outcomes",
    "steps",
    "message_tokens",
    "session_models",
    "session_tallies",
    "sessions",
    "sayings",
    "moves",
    "resolutions",
    "habits",
    "endings",
    "facts",
    "spending",
    "exposures",
    "sightings",
)
"""Tables whose rows name their session."""
_NAMED: Mapping[str, str] = {
    **dict.fromkeys(_TABLES, "session"),
    "watches": "session",
    "interventions": "session",
    "team_runs": "id",  # a team's run is a session
    "team_tasks": "run",
    "team_mail": "run",
}
"""Table -> the column that names the session."""
_NOTES = ("forgotten", "retention", "evaluations", "redis", "distilled:")
"""Rows of `meta` that were computed from no session, by how their names begin: all others are made anew."""
_ABOUT: tuple[tuple[str, str, Mapping[str, Json], str], ...] = (
    ("events", "record", {"noun": "pattern"}, "patterns"),
    ("events", "record", {"noun": "lesson"}, "lessons"),
    ("triage", "pattern", {}, "patterns"),
    ("proposals", "pattern", {"trial": ""}, "patterns"),
)
"""What is said of a record: table, the column that names it, which rows, and the record's table."""
_BATCH = 500
_SAMPLE = 200  # ids of outcomes that the files of a home are searched for


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """Rows that went by table, patterns that nobody else met, lessons that rested on nothing else, and lessons that
    stay without their evidence. `left` counts rows that still name a session or a step, `quoting` are the other
    sessions whose rows those are, `traces` names files of the home in which one of the ids still stands, `folders`
    those of skills made of it that a person changed, which are theirs; all are empty when nothing is left. `beside`
    says why it may still stand in the Redis beside the store; "": it does not."""

    sessions: tuple[str, ...]
    removed: Mapping[str, int]
    patterns: int
    lessons: tuple[str, ...]
    kept_lessons: tuple[str, ...]
    left: Mapping[str, int]
    traces: tuple[str, ...]
    done: bool
    quoting: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    beside: str = ""


def forget(
    store: Store,
    home: Path,
    sessions: Sequence[str],
    *,
    before: float | None,
    dry_run: bool,
    changed: Callable[[], Sequence[str]],
    progress: Progress,
) -> Forgotten:
    """Forget these sessions; with `before` (Unix seconds) also outcomes of no session that are older. `dry_run` does so
    in one transaction that is undone, and counts. `changed` takes out of files what was made of lessons that are gone,
    tells the hooks which there are now, and gives the folders that stay. Sessions go one by one, each all or nothing:
    run again, it goes on. Raises StoreError."""
    tally = _Gone()
    if dry_run:
        with suppress(_UndoneError), store.transaction():
            _forget_rows(store, sessions, before, tally, progress)
            raise _UndoneError
        return tally.told(sessions)
    _forget_rows(store, sessions, before, tally, progress)
    calibrate(store)
    blank(store, home, [*sessions, *tally.sample])
    _forget_hooks(home, sessions)
    publish_facts(store, home)
    folders = tuple(changed())
    progress(len(sessions), len(sessions), "making the store smaller")
    store.compact()
    progress(len(sessions), len(sessions), "looking for what is left")
    beside = taken_out(store)
    left = proof.rows_left(store, sessions, tally.sample, _NAMED)
    return replace(
        tally.told(sessions),
        left=left.rows,
        traces=tuple(proof.files_left(home, sessions, tally.sample)),
        done=True,
        quoting=left.quoting,
        folders=folders,
        beside=beside,
    )


class _UndoneError(Exception):
    """Ends the transaction of a dry run."""


class _Gone:
    """Sums of what went."""

    def __init__(self) -> None:
        self.removed: dict[str, int] = {}
        self.patterns = 0
        self.gone: set[str] = set()
        self.kept: set[str] = set()
        self.sample: list[str] = []
        self.folders: set[str] = set()

    def add(self, table: str, count: int) -> None:
        self.removed[table] = self.removed.get(table, 0) + count

    def told(self, sessions: Sequence[str]) -> Forgotten:
        """The sums, before anybody looked whether anything is left."""
        return Forgotten(
            sessions=tuple(sessions),
            removed={name: count for name, count in self.removed.items() if count},
            patterns=self.patterns,
            lessons=tuple(sorted(self.gone)),
            kept_lessons=tuple(sorted(self.kept)),
            left={},
            traces=(),
            done=False,
        )


def _forget_rows(store: Store, sessions: Sequence[str], before: float | None, tally: _Gone, progress: Progress) -> None:
    patterns = pattern_count(store)
    for number, session in enumerate(sessions):
        progress(number, len(sessions), f"going through {session}")
        _forget_one(store, session, tally)
    progress(len(sessions), len(sessions), "taking out what was made of them")
    if before is not None:
        _forget_loose(store, before, tally)
    with store.transaction():
        _forget_derived(store, tally)
    tally.patterns = patterns - pattern_count(store)


def _batches(names: Sequence[str]) -> Iterable[list[Json]]:
    for start in range(0, len(names), _BATCH):
        yield list(names[start : start + _BATCH])


def _forget_one(store: Store, session: str, tally: _Gone) -> None:
    with store.transaction():
        rows = store.find("outcomes", {"session": session}).rows
        ids = [text_in(row, "id") for row in rows]
        tally.sample += ids[: max(0, _SAMPLE - len(tally.sample))]
        tally.folders |= {text_in(row, "project") for row in rows} - {""}
        resolved = store.find("resolutions", {"session": session}).rows
        projects = {text_in(row, "project") for row in store.find("moves", {"session": session}).rows}
        sighted = store.sum_by("sightings", ("signature",), (), {"session": session})
        uncount(store, rows)
        forget_sums(store, session)
        for some in _batches(ids):
            tally.add("step_places", store.delete("step_places", {"id": ("in", some)}))
        for table, column in _NAMED.items():
            tally.add(table, store.delete(table, {column: session}))
        _unname(store, session, tally)
        met = [name for row in sighted if (name := text_in(row, "signature"))]
        sum_anew(store, met)
        _drop_unseen(store, met)
        _unteach(store, session, set(ids), resolved, projects, tally)
        remember_forgotten(store, [session])


def _unname(store: Store, session: str, tally: _Gone) -> None:
    """Take a session's name out of what a reader remembers of a history, and lines of it that could not be used where
    it was nobody else's. The file's own name stays, so that it is not read again."""
    for row in store.find("cursors", {"identity": ("!=", None)}).rows:
        carry = row.get("carry")
        sessions = carry.get("sessions") if isinstance(carry, dict) else None
        if isinstance(carry, dict) and isinstance(sessions, dict) and session in sessions:
            others: Row = {name: True for name in sessions if name != session}
            left = {**carry, "sessions": others} if others else bare_carry(carry)
            store.swap("cursors", text_in(row, "path"), whole_in(row, "revision"), {**row, "carry": left})
            if not others:
                tally.add("quarantine", store.delete("quarantine", {"path": row["path"]}))


def _drop_unseen(store: Store, signatures: Sequence[str]) -> None:
    """Drop the signatures that no session and no tally has any more."""
    unseen = [
        each
        for each in signatures
        if not store.find("sightings", {"signature": each}, limit=1).rows
        and not store.find("outcomes", {"signature": each}, limit=1).rows
    ]
    for some in _batches(unseen):
        drop(store, [str(each) for each in some])


def _unteach(
    store: Store, session: str, ids: set[str], resolved: Iterable[Row], projects: set[str], tally: _Gone
) -> None:
    """Take a session's evidence from the lessons that rest on it."""
    touched = {text_in(row, "lesson_id") for row in resolved} - {""}
    known = {text_in(row, "id"): row for row in store.find("lessons").rows}
    resting = {name for name, row in known.items() if _rests_on(row, session, ids)}
    recount(store, [*touched, *(f"{of} in {project}" for project in projects for of in ("said", "imported"))])
    for lesson_id in (touched | resting) & known.keys():
        tally.add("skills", drop_skill(store, lesson_id))
        row = store.get("lessons", lesson_id)
        if row is None:
            tally.gone.add(lesson_id)
            continue
        if _rests_on(row, session, ids):
            store.swap("lessons", lesson_id, whole_in(row, "revision"), _without(row, session, ids))
            tally.kept.add(lesson_id)


def _rests_on(row: Row, session: str, ids: set[str]) -> bool:
    evidence, sessions = row.get("evidence"), row.get("sessions")
    named = isinstance(evidence, list) and not ids.isdisjoint(map(str, evidence))
    said = isinstance(sessions, list) and session in sessions
    return named or said or row.get("noted_in") == session or str(row.get("step")) in ids


def _without(row: Row, session: str, ids: set[str]) -> Row:
    """A lesson without what it has of a session: evidence, its example, an agent's note, the step it was said of."""
    evidence, sessions = row.get("evidence"), row.get("sessions")
    left: Row = {**row, "example": "", "failed": ""}
    if isinstance(evidence, list):
        left["evidence"] = [each for each in evidence if str(each) not in ids]
        if not left["evidence"]:  # what it was learnt from is known by its mask alone
            left["said"] = ""
            if row.get("group"):  # its counts were those of the sessions that taught it
                left |= dict.fromkeys(("tried", "worked", "wrote", "right", "wrong", "unknown"), 0)
    if isinstance(sessions, list):
        left["sessions"] = [each for each in sessions if each != session]
    if row.get("noted_in") == session:
        left |= {"note": "", "noted_in": ""}
    if str(row.get("step")) in ids:
        left["step"] = ""
    return left


def _forget_loose(store: Store, before: float, tally: _Gone) -> None:
    """Outcomes of no session from before a moment."""
    where: Mapping[str, Json | tuple[str, Json]] = {"session": None, "started_at": ("<", before)}
    while rows := store.find("outcomes", where, limit=_BATCH).rows:
        with store.transaction():
            uncount(store, rows)
            some: list[Json] = [text_in(row, "id") for row in rows]
            tally.add("outcomes", store.delete("outcomes", {"id": ("in", some)}))
            tally.add("steps", store.delete("steps", {"id": ("in", some)}))
            failed = {text_in(row.get("failure"), "signature") for row in rows} - {""}
            sum_anew(store, sorted(failed))
            _drop_unseen(store, sorted(failed))
    forget_before(store, before, time.time())


def _forget_derived(store: Store, tally: _Gone) -> None:
    """Remove what was made of what is gone: all that is computed over the whole store and kept, which the next reader
    makes anew; addresses of folders in which nothing else ran; and what is said of patterns and lessons that are no
    more."""
    computed: list[Json] = [
        name for row in store.find("meta").rows if not (name := text_in(row, "name")).startswith(_NOTES)
    ]
    store.delete("meta", {"name": ("in", computed)})
    for row in store.find("lessons").rows:
        if "saved_turns" in row:  # of a replay over sessions of which some are gone
            left = {name: value for name, value in row.items() if name != "saved_turns"}
            store.swap("lessons", text_in(row, "id"), whole_in(row, "revision"), left)
    ran_in = {
        text_in(row, "project")
        for name in ("outcomes", "session_tallies")
        for row in store.sum_by(name, ("project",), ())
    }
    deserted: list[Json] = [
        *{project_name(each) for each in tally.folders} - {project_name(each) for each in ran_in - {""}}
    ]
    tally.add("remotes", store.delete("remotes", {"folder": ("in", deserted)}))
    for table, column, about, whole in _ABOUT:
        asked = store.sum_by(table, (column,), (), about)
        for some in _batches([text_in(row, column) for row in asked]):
            held = {row["id"] for row in store.find(whole, {"id": ("in", some)}).rows}
            gone: list[Json] = [each for each in some if each and each not in held]
            tally.add(table, store.delete(table, {**about, column: ("in", gone)}))


def _forget_hooks(home: Path, sessions: Sequence[str]) -> None:
    """Delete what the hooks keep of these sessions, and their copy of a shared store's lessons, which is made anew."""
    from ratchet.ids import hex_of

    for session in sessions:
        for kept in (home / "hook").glob(f"*/{hex_of(session)[:24]}*"):
            kept.unlink(missing_ok=True)
    mirror = Path(mirror_path(str(home)))
    for kept in mirror.parent.glob(f"{mirror.name}*"):
        kept.unlink(missing_ok=True)
