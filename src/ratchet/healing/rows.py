"""Tasks, episodes, attempts and checkpoints as rows of the store. Each is written when it happens, never at the end."""

from __future__ import annotations

import base64
import hashlib
import time
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from ratchet import ids
from ratchet.arguments import named_row
from ratchet.errors import Conflict, NotFound
from ratchet.healing.episode import Attempt, Budget, Episode, Memo, Task
from ratchet.ports import Store
from ratchet.records import Json, Row, as_row, number_in, record_of, whole_in
from ratchet.sandbox.command import FileChange
from ratchet.store.timeline import note

MEMOS = 500
"""Edits that passed, handed back to their solver; older ones say little that newer ones do not."""
_TOLD = {"auto": ("repair", "model"), "repair": ("auto",), "model": ("auto",)}
"""Whose edits a solver is told of besides its own: `auto` passes its work on to the two others."""
_OUTPUT_CHARS = 20_000  # of a check's output that are kept in the store


def task_id_of(folder: str, check: Sequence[str], instruction: str) -> str:
    """The id of a task: the same work asked for again is the same task."""
    framed = "\0".join((folder, *check, "", instruction))
    return "t" + hashlib.sha256(framed.encode("utf-8", "surrogateescape")).hexdigest()[:16]


# -- rows --------------------------------------------------------------------------------------------------------------


def new_id() -> str:
    """An id for an episode to come."""
    return f"ep{ids.uuid7().replace('-', '')[:20]}"  # 48 bits of time, 26 of chance


def begin(
    store: Store,
    task: Task,
    budget: Budget,
    *,
    solver: str,
    asked: str = "",
    seed: int = 0,
    episode_id: str = "",
    wish: str = "",
) -> Episode:
    """Claim a task: a new episode of it, written; `episode_id` is a `new_id` that its asker wrote down before."""
    now = time.time()
    with store.transaction():
        held = store.get("tasks", task.id) or {}
        number = whole_in(held, "episodes") + 1
        row: Row = {
            "created_at": now,
            **held,
            "id": task.id,
            "folder": task.folder,
            "instruction": task.instruction,
            "check": [*task.check],
            "episodes": number,
            "updated_at": now,
        }
        _swap(store, "tasks", task.id, held, row)
        episode = Episode(
            id=episode_id or new_id(),
            task=task,
            number=number,
            status="running",
            budget=budget,
            solver=solver,
            asked=asked,
            seed=seed,
            wish=wish,
            started_at=now,
            revision=1,
        )
        store.insert_new("episodes", [_episode_row(episode)])
        note(store, "episode", episode.id, "started", now, task=task.id, solver=solver)
    return episode


def write(store: Store, held: Episode, verb: str = "", **changes: object) -> Episode:
    """Store an episode with these changes, and `verb` as an event of it. Raises Conflict."""
    moved = replace(held, **changes)  # type: ignore[arg-type]
    with store.transaction():
        if not store.swap("episodes", held.id, held.revision, _episode_row(moved)):
            raise Conflict(f"episode {held.id} is moved by another process; wait for it to end")
        if verb:
            note(store, "episode", held.id, verb, time.time(), status=moved.status, reason=moved.reason)
    return replace(moved, revision=held.revision + 1)


def keep(store: Store, attempt: Attempt, verb: str, **about: Json) -> Attempt:
    """Store an attempt as it stands, with an event; `about` is kept beside it for `memos`."""
    with store.transaction():
        key = (attempt.episode, str(attempt.n))
        held = store.get("attempts", key) or {}
        _swap(store, "attempts", key, held, {**held, **as_row(attempt), **about})
        note(store, "attempt", f"{attempt.episode}/{attempt.n}", verb, time.time(), reason=attempt.reason)
    return attempt


def episode(store: Store, episode_id: str) -> Episode:
    """One episode with its attempts. Raises NotFound."""
    row = named_row(store, "episodes", episode_id, "episode", "episodes list")
    return replace(_episode_of(row), attempts=tuple(attempts(store, str(row["id"]))))


def listed(store: Store, *, folder: str | None = None, limit: int | None = None) -> list[Episode]:
    """Episodes, newest first."""
    where: dict[str, Json | tuple[str, Json]] = {} if folder is None else {"folder": folder}
    return _episodes_of(store, store.find("episodes", where, order=("-started_at",), limit=limit).rows)


def page(store: Store, *, limit: int, cursor: str | None = None) -> tuple[list[Episode], str | None, int]:
    """Some episodes, newest first; the cursor of what follows; how many there are."""
    found = store.find("episodes", order=("-started_at",), limit=limit, cursor=cursor)
    counted = store.sum_by("episodes", (), ("count:*",))[0]["count:*"]
    return _episodes_of(store, found.rows), found.cursor, int(str(counted))


def _episodes_of(store: Store, rows: Iterable[Row]) -> list[Episode]:
    return [replace(each, attempts=tuple(attempts(store, each.id))) for each in map(_episode_of, rows)]


def attempts(store: Store, episode_id: str, *, dropped: bool = False) -> list[Attempt]:
    """Attempts in order; those that a person went back behind only when asked for."""
    rows = store.find("attempts", {"episode": episode_id}, order=("n",)).rows
    return [each for each in (record_of(Attempt, row) for row in rows) if dropped or each.status != "dropped"]


def memos(store: Store, solver: str, *, signature: str, but: str, tests: Sequence[str] = ()) -> list[Memo]:
    """Read what a solver (or one that works for it, or it for) asked to be remembered of attempts that passed: those
    that faced the same signature first (in whichever task: the failure is back), then those that mended one of these
    tests, then the newest of tasks other than `but`, of which a guess that nobody took teaches nothing."""
    where: dict[str, Json | tuple[str, Json]] = {
        "solver": ("in", [solver, *_TOLD.get(solver, ())]),
        "status": "passed",
    }
    rows = store.find("attempts", where, order=("-started_at",), limit=2 * MEMOS).rows
    found: list[Memo] = []
    for row in rows:
        said = row.get("memo")
        mended = tuple(map(str, cast("list[Json]", row.get("faced_tests") or [])))
        back = row.get("faced") == signature or not set(tests).isdisjoint(mended)
        own = row.get("task") == but and not back
        if not isinstance(said, dict) or not said or own or (not back and _is_guess(store, row)):
            continue
        found.append(
            Memo(
                solver=str(row.get("solver") or ""),
                signature=str(row.get("faced") or ""),
                kind=str(row.get("faced_kind") or ""),
                template=str(row.get("faced_template") or ""),
                task=str(row.get("task") or ""),
                project=str(row.get("folder") or ""),
                note=said,
                at=number_in(row, "started_at"),
                tests=mended,
            )
        )
    found.sort(key=lambda each: (each.signature != signature, set(tests).isdisjoint(each.tests), -each.at))
    return found[:MEMOS]


def _is_guess(store: Store, row: Row) -> bool:
    """Tell whether the search guessed an answer (`Episode.is_guess`)."""
    doubtful = row.get("standing") == "doubtful" and row.get("solver") == "repair"
    return doubtful and not (store.get("episodes", str(row["episode"])) or {}).get("applied")


# -- checkpoints -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A way back: the token in the episode's workspace, and the changes against the project as it was copied."""

    n: int
    token: str
    changes: tuple[FileChange, ...]


def keep_checkpoint(store: Store, episode_id: str, kept: Checkpoint, *, state: str) -> None:
    row: Row = {
        "episode": episode_id,
        "n": kept.n,
        "token": kept.token,
        "state": state,
        "at": time.time(),
        "files": [_change_row(each) for each in kept.changes],
    }
    held = store.get("checkpoints", (episode_id, str(kept.n))) or {}
    _swap(store, "checkpoints", (episode_id, str(kept.n)), held, row)


def checkpoint(store: Store, episode_id: str, n: int) -> Checkpoint:
    """The files after attempt `n` (0: as copied). Raises NotFound."""
    row = store.get("checkpoints", (episode_id, str(n)))
    if row is None:
        raise NotFound(f"episode {episode_id} has no checkpoint {n}; `ratchet episodes show {episode_id}` lists them")
    files = cast("list[Row]", row.get("files") or [])
    return Checkpoint(n=n, token=str(row.get("token") or ""), changes=tuple(map(_change_of, files)))


def checkpoints(store: Store, episode_id: str) -> list[Row]:
    """The ways back of an episode, in order: each `n`, `at`, `state`, and `paths` that differ from the beginning."""
    rows = store.find("checkpoints", {"episode": episode_id}, order=("n",)).rows
    return [
        {
            "n": row.get("n") or 0,
            "at": row.get("at") or 0.0,
            "state": row.get("state") or "",
            "paths": [each["path"] for each in cast("list[Row]", row.get("files") or [])],
        }
        for row in rows
    ]


def state_of(changes: Iterable[FileChange]) -> str:
    """A name for the content of all files, given what differs from the beginning."""
    hashed = hashlib.sha256()
    for each in sorted(changes, key=lambda change: change.path):
        content = b"-" if each.after is None else hashlib.sha256(each.after).digest()
        path = each.path.encode("utf-8", "surrogateescape")
        hashed.update(b"%d:%s%o:%s" % (len(path), path, each.after_mode, content))
    return "s" + hashed.hexdigest()[:24]


def _change_row(change: FileChange) -> Row:
    return {
        "path": change.path.encode("utf-8", "backslashreplace").decode(),
        "before": _packed(change.before),
        "after": _packed(change.after),
        "before_mode": change.before_mode,
        "after_mode": change.after_mode,
    }


def _change_of(row: Row) -> FileChange:
    return FileChange(
        path=str(row["path"]),
        before=_unpacked(row.get("before")),
        after=_unpacked(row.get("after")),
        before_mode=whole_in(row, "before_mode"),
        after_mode=whole_in(row, "after_mode"),
    )


def _packed(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(zlib.compress(content)).decode()


def _unpacked(text: Json) -> bytes | None:
    return None if text is None else zlib.decompress(base64.b64decode(str(text)))


# -- as they are stored ------------------------------------------------------------------------------------------------


def _swap(store: Store, table: str, key: str | tuple[str, ...], held: Row, row: Row) -> None:
    if not store.swap(table, key, whole_in(held, "revision"), row):
        raise Conflict(f"{table} {key} was changed by another process; wait for it to end")


def _episode_row(held: Episode) -> Row:
    first = held.first and replace(held.first, output=held.first.output[-_OUTPUT_CHARS:])
    row = as_row(replace(held, attempts=(), first=first))
    del row["attempts"]
    signature = first.signature if first else ""
    return {**row, "task": held.task.id, "folder": held.task.folder, "signature": signature, "work": row["task"]}


def _episode_of(row: Row) -> Episode:
    return record_of(Episode, row, task=record_of(Task, row["work"]))
