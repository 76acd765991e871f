"""Forgets sessions: their rows, texts, index and evidence, and proves it by looking for what is left.

Counts that they share with other sessions are taken back; a pattern that nobody else met goes, and a lesson that rests
on nothing else. A lesson that a person decided about stays, without its evidence. A skill may hold any word of what its
lesson rests on: it goes with all its versions, and can be made anew of what is left. What a client keeps of its own
histories is the client's: they are not read again here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.failures.patterns.ingest import uncount
from ratchet.failures.patterns.merging import drop
from ratchet.failures.patterns.sums import sum_anew
from ratchet.lessons.exposure import mirror_path
from ratchet.lessons.mined import recount
from ratchet.lessons.skills.rows import drop as drop_skill
from ratchet.recording.sources.lines import bare_carry
from ratchet.records import Json, Row, text_in, whole_in
from ratchet.store.opening import STORE_NAME
from ratchet.store.redis.beside import taken_out
from ratchet.store.retention import forget_before, remember_forgotten
from ratchet.store.sums import forget_sums

if TYPE_CHECKING:
    from ratchet.ports import Store

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
_BATCH = 500
_SAMPLE = 200  # ids of outcomes that the files of a home are searched for
_CHUNK_BYTES = 1 << 24
_LEAST_NAME = 8  # characters; a shorter session's name is a word that stands anywhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """Rows that went by table, patterns that nobody else met, lessons that rested on nothing else, and lessons that
    stay without their evidence. `left` counts rows that still name a session, `traces` names files of the home in
    which one of its ids still stands, `folders` those of skills made of it that a person changed, which are theirs; all
    are empty when nothing is left. `beside` says why it may still stand in the Redis beside the store; "": it does
    not."""

    sessions: tuple[str, ...]
    removed: Mapping[str, int]
    patterns: int
    lessons: tuple[str, ...]
    kept_lessons: tuple[str, ...]
    left: Mapping[str, int]
    traces: tuple[str, ...]
    done: bool
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
) -> Forgotten:
    """Forget these sessions; with `before` (Unix seconds) also outcomes of no session that are older. `dry_run` only
    counts; `changed` takes out of files what was made of lessons that are gone, tells the hooks which there are now,
    and gives the folders that stay. Sessions go one by one, each all or nothing: run
    again, it goes on. Raises StoreError."""
    if dry_run:
        return Forgotten(
            sessions=tuple(sessions),
            removed=_counted(store, sessions),
            patterns=0,
            lessons=(),
            kept_lessons=(),
            left={},
            traces=(),
            done=False,
        )
    tally = _Gone()
    for session in sessions:
        _forget_one(store, session, tally)
    if before is not None:
        _forget_loose(store, before, tally)
    _forget_hooks(home, sessions)
    folders = tuple(changed())
    store.compact()
    beside = taken_out(store)
    return Forgotten(
        sessions=tuple(sessions),
        removed={name: count for name, count in tally.removed.items() if count},
        patterns=tally.patterns,
        lessons=tuple(sorted(tally.gone)),
        kept_lessons=tuple(sorted(tally.kept)),
        left=_counted(store, sessions),
        traces=tuple(_traces(home, tally.sample, sessions)),
        done=True,
        folders=folders,
        beside=beside,
    )


class _Gone:
    """Sums of what went."""

    def __init__(self) -> None:
        self.removed: dict[str, int] = {}
        self.patterns = 0
        self.gone: set[str] = set()
        self.kept: set[str] = set()
        self.sample: list[str] = []

    def add(self, table: str, count: int) -> None:
        self.removed[table] = self.removed.get(table, 0) + count


def _counted(store: Store, sessions: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for table, column in _NAMED.items():
        for some in _batches(sessions):
            rows = store.sum_by(table, (), ("count:*",), {column: ("in", some)})
            found[table] = found.get(table, 0) + whole_in(rows[0], "count:*")
    return {table: count for table, count in found.items() if count}


def _batches(names: Sequence[str]) -> Iterable[list[Json]]:
    for start in range(0, len(names), _BATCH):
        yield list(names[start : start + _BATCH])


def _forget_one(store: Store, session: str, tally: _Gone) -> None:
    with store.transaction():
        rows = store.find("outcomes", {"session": session}).rows
        ids = [text_in(row, "id") for row in rows]
        tally.sample += ids[: max(0, _SAMPLE - len(tally.sample))]
        resolved = store.find("resolutions", {"session": session}).rows
        projects = {text_in(row, "project") for row in store.find("moves", {"session": session}).rows}
        sighted = store.sum_by("sightings", ("signature",), (), {"session": session})
        uncount(store, rows)
        forget_sums(store, session)
        for some in _batches(ids):
            tally.add("step_places", store.delete("step_places", {"id": ("in", some)}))
        for table, column in _NAMED.items():
            tally.add(table, store.delete(table, {column: session}))
        _unname(store, session, set(ids))
        met = [name for row in sighted if (name := text_in(row, "signature"))]
        sum_anew(store, met)
        tally.patterns += _drop_unseen(store, met)
        _unteach(store, session, set(ids), resolved, projects, tally)
        remember_forgotten(store, [session])


def _unname(store: Store, session: str, ids: set[str]) -> None:
    """Take a session's names out of what others share: an agent's last outcomes, and what a reader remembers of a
    history. The file's own name stays, so that it is not read again."""
    for row in store.find("recents").rows:
        held = row.get("ids")
        if isinstance(held, list) and not ids.isdisjoint(map(str, held)):
            kept: list[Json] = ["" if str(each) in ids else each for each in held]
            store.swap("recents", text_in(row, "agent"), whole_in(row, "revision"), {**row, "ids": kept})
    for row in store.find("cursors", {"identity": ("!=", None)}).rows:
        carry = row.get("carry")
        sessions = carry.get("sessions") if isinstance(carry, dict) else None
        if isinstance(carry, dict) and isinstance(sessions, dict) and session in sessions:
            others: Row = {name: True for name in sessions if name != session}
            left = {**carry, "sessions": others} if others else bare_carry(carry)
            store.swap("cursors", text_in(row, "path"), whole_in(row, "revision"), {**row, "carry": left})


def _drop_unseen(store: Store, signatures: Sequence[str]) -> int:
    """Drop the signatures that no session and no tally has any more."""
    unseen = [
        each
        for each in signatures
        if not store.find("sightings", {"signature": each}, limit=1).rows
        and not store.find("outcomes", {"signature": each}, limit=1).rows
    ]
    return sum(drop(store, [str(each) for each in some]) for some in _batches(unseen))


def _unteach(
    store: Store, session: str, ids: set[str], resolved: Iterable[Row], projects: set[str], tally: _Gone
) -> None:
    """Take a session's evidence from the lessons that rest on it."""
    touched = {text_in(row, "lesson_id") for row in resolved} - {""}
    resting = {text_in(row, "id"): row for row in store.find("lessons").rows if _rests_on(row, session, ids)}
    recount(store, [*touched, *(f"{of} in {project}" for project in projects for of in ("said", "imported"))])
    for lesson_id in touched | set(resting):
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
            tally.patterns += _drop_unseen(store, sorted(failed))
    forget_before(store, before, time.time())


def _forget_hooks(home: Path, sessions: Sequence[str]) -> None:
    """Delete what the hooks keep of these sessions, and their copy of a shared store's lessons, which is made anew."""
    from ratchet.ids import hex_of

    for session in sessions:
        for kept in (home / "hook").glob(f"*/{hex_of(session)[:24]}*"):
            kept.unlink(missing_ok=True)
    mirror = Path(mirror_path(str(home)))
    for kept in mirror.parent.glob(f"{mirror.name}*"):
        kept.unlink(missing_ok=True)


def _traces(home: Path, steps: Sequence[str], sessions: Sequence[str]) -> Iterable[str]:
    """Files below the home in which one of these steps or sessions still stands. The store may name a history file,
    which is called by its session: there only steps are looked for."""
    for path in sorted(each for each in home.rglob("*") if each.is_file() and not each.is_symlink()):
        names = [*steps] if path.name.startswith(STORE_NAME) else [*steps, *sessions]
        if _holds(path, [name.encode() for name in names if len(name) >= _LEAST_NAME]):
            yield str(path.relative_to(home))


def _holds(path: Path, names: Sequence[bytes]) -> bool:
    longest = max(map(len, names), default=0)
    with path.open("rb") as file:
        tail = b""
        while chunk := file.read(_CHUNK_BYTES):
            held = tail + chunk
            if any(name in held for name in names):
                return True
            tail = held[-longest:]
    return False
