"""Finds lessons in the store as a hook must: read-only, by plain SQL, in a few milliseconds, without the store's code.

Every function gives active lessons that may be shown in the project, best first, as rows of table `lessons` with their
bodies opened, and raises sqlite3.Error when the store cannot be read. Lean: hook processes import this.
"""

from __future__ import annotations

import json
import os
import sqlite3

from ratchet import exposure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ratchet.records import Json, Row

BUSY_S = 0.2  # how long a look-up waits for a writer of the store
OFFERED = 64  # lessons from which a session start chooses: more than fit into its text
CANDIDATES = 64  # found by their words before they are compared, as in `memory.recall`
_COLUMNS = (
    *("id", "scope", "signature", "pattern", "kind", "tool", "head", "target"),
    *("when_text", "text", "tried", "worked", "body"),
)
_SELECT = "SELECT " + ", ".join([f"l.{name}" for name in _COLUMNS]) + " FROM lessons l "  # noqa: S608 (constants)
_BY_SIGNATURE = """WHERE l.state = 'active' AND (l.signature = ?1 OR (l.pattern <> '' AND l.pattern =
(SELECT s.pattern FROM signatures s WHERE s.signature = ?1)))"""
_BY_WORDS = """JOIN lessons_words w ON w.rowid = l.rowid_ WHERE lessons_words MATCH ? AND l.state = 'active'
ORDER BY w.rank LIMIT ?"""
_BY_STEP = "WHERE l.state = 'active' AND l.tool = ? AND l.head = ?"


def matching(home: str, failure: Row, *, tool: str, project: str) -> list[Row]:
    """Lessons for a failure: by its signature or that of its pattern, else by similarity above the threshold."""
    from ratchet.kinds import kind_of
    from ratchet.ranking import order, rank, words
    from ratchet.signature import sign, template_of

    text = str(failure.get("message") or "")
    template = template_of(text)
    if not template or not os.path.exists(exposure.store_path(home)):
        return []
    code = failure.get("exit_code")
    kind = str(failure.get("kind") or "") or kind_of(text, exit_code=code if isinstance(code, int) else None, tool=tool)
    found = _select(home, _BY_SIGNATURE, (sign(kind, template),), project)
    scored = [(1.0, lesson) for lesson in found]
    if not found:
        asked = " OR ".join([f'"{word}"' for word in words(template)])
        near = _select(home, _BY_WORDS, (asked, CANDIDATES), project) if asked else []
        scored = [(score, near[at]) for score, at in rank(template, [str(row["when_text"] or "") for row in near])]
    keys = [(score, True, _count(row, "tried"), _count(row, "worked"), str(row["id"])) for score, row in scored]
    return [scored[at][1] for at in order(keys)]


def repeated(home: str, tool: str, tool_input: Json, asked: str, *, project: str) -> list[Row]:
    """Lessons whose failed step was literally this one: the same tool and command, parameters aside."""
    from ratchet.intent import intent
    from ratchet.signature import mask

    head, _ = intent(tool, tool_input)
    masked = ""
    same = []
    for lesson in _select(home, _BY_STEP, (tool, head), project):
        failed = lesson.get("failed")
        if isinstance(failed, str) and failed:
            masked = masked or mask(asked)
            if mask(failed) == masked:
                same.append(lesson)
    same.sort(key=lambda lesson: (-_count(lesson, "worked"), str(lesson["id"])))
    return same


def top(home: str, project: str) -> list[Row]:
    """What a session in this project should know from its start: measured effect first, then how often it worked."""
    clauses = ["l.scope = 'global'"]
    values: list[str] = []
    folder = project.rstrip("/")
    while folder and folder != os.environ.get("HOME"):
        # As it stands in a body: this folder and those below it, then each folder above it.
        name = json.dumps(folder)
        clauses.append("instr(l.body, ?) > 0")
        values.append(name[:-1] if not values else name)
        folder = os.path.dirname(folder).rstrip("/")
    where = f"WHERE l.state = 'active' AND ({' OR '.join(clauses)}) ORDER BY l.worked DESC, l.id LIMIT {OFFERED}"
    lessons = _select(home, where, tuple(values), project)
    effects = exposure.published_effects(home)
    usual = effects.get("", 0.0)
    lessons.sort(key=lambda lesson: -effects.get(str(lesson["id"]), usual))
    return lessons


def _select(home: str, rest: str, values: tuple[str | int, ...], project: str) -> list[Row]:
    rows: list[Row] = []
    store = _opened(exposure.store_path(home))
    try:
        for held in store.execute(_SELECT + rest, values):
            row: Row = dict(zip(_COLUMNS, held, strict=True))
            body = row.pop("body")
            opened = json.loads(body) if isinstance(body, str) else {}
            lesson = {**opened, **row} if isinstance(opened, dict) else row
            if exposure.concerns(lesson, project):
                rows.append(lesson)
    finally:
        store.close()
    return rows


def _opened(path: str) -> sqlite3.Connection:
    """For reading only. In a folder that may not be written there is no room for the log's index: the file is then read
    as it stands, which is right while no log lies beside it."""
    escaped = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    for mode in ("mode=ro", "mode=ro&immutable=1"):
        store = sqlite3.connect(f"file:{escaped}?{mode}", uri=True, timeout=BUSY_S, isolation_level=None)
        try:
            store.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            store.close()
            if "immutable" in mode or "locked" in str(error) or os.path.exists(path + "-wal"):
                raise
        else:
            return store
    raise AssertionError("the second mode either returns or raises")


def _count(row: Row, name: str) -> int:
    value = row.get(name)
    return value if isinstance(value, int) else 0
