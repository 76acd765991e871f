"""Lessons as people write, list and decide them; what sessions teach is kept by `lessons.mined`."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from ratchet import ids
from ratchet.arguments import whole_id
from ratchet.errors import Conflict, NotFound, Refused, UsageError
from ratchet.failures.patterns.merging import pattern_of_rule
from ratchet.failures.searching import words_in
from ratchet.lessons.exposure import concerns
from ratchet.lessons.rows import lesson_of, told
from ratchet.lessons.standing import PROVEN_SESSIONS, without_repeats
from ratchet.records import Json, Lesson, LessonState, Row, Scope, text_in, whole_in

if TYPE_CHECKING:
    from ratchet.ports import Store, Where

WrittenBy: TypeAlias = Literal["person", "report", "conversation"]
STATES: tuple[LessonState, ...] = ("active", "candidate", "quarantined", "retired")
"""All states, in the order in which lessons are listed."""


# -- decided by a person --------------------------------------------------------------------------------------------


_NAME_CHARS, _NEAR = 80, 3  # of a word given for an id; lessons that are named for it
_UNTRIED: Row = {"pattern": "", "tool": "", "head": "", "target": "", "tried": 0, "worked": 0, "uses": 0, "wins": 0}


def add(
    store: Store,
    *,
    when: str,
    do: str,
    scope: Scope = "project",
    state: LessonState = "candidate",
    project: str = "",
    source: WrittenBy = "person",
    provenance: str = "written by a person",
    now: float | None = None,
) -> Lesson:
    """Write a lesson: when an error like `when` occurs, do `do` (kept verbatim, secrets aside).

    The same `when` and `do` again is the same lesson, and so is another wording of the remedy; a project is added to
    it, and a candidate becomes active when asked so. An active one takes the place of what people wrote before for the
    same failure and that says otherwise (`replaces`). Advice that switches a check off is kept as quarantined, with the
    reason. Raises UsageError.
    """
    from ratchet.failures.features import KEPT
    from ratchet.failures.kinds.kind import kind_of
    from ratchet.failures.redaction.text import clean
    from ratchet.failures.signature import sign, template_of
    from ratchet.lessons.finding import quoted_names
    from ratchet.lessons.mining.checks import forbidden
    from ratchet.lessons.mining.triggers import lesson_id_of

    text, said = clean(do.strip("\n")), clean(when, KEPT)
    template = template_of(said)
    _need_whole(text, template, state, scope)
    at = time.time() if now is None else now
    lesson_id, kind = lesson_id_of("written", text, template, scope), kind_of(when)
    signature = sign(kind, template)
    failed = _failed_step(store, signature)
    if (reason := forbidden(text, failed)).startswith("speaks") and state == "active":
        reason = ""  # a person's own words to the agent; they reach it fenced like any other lesson
    row: Row = _UNTRIED | {
        "id": lesson_id,
        "state": "quarantined" if reason else state,
        "scope": scope,
        "signature": signature,
        "kind": kind,
        "when_text": template,
        **told(said, source),
        "text": text,
        "created_at": at,
        "updated_at": at,
        "example": text,
        "failed": failed,
        "names": [*quoted_names(said)],
        "projects": [project] if project else [],
        "reason": reason,
        "evidence": [],
        "provenance": provenance,
        "approved": state == "active",
    }
    return show(store, _kept(store, row, at))


def _kept(store: Store, row: Row, at: float) -> str:
    """Write a person's lesson, or join it with the one that says the same; return its id."""
    from ratchet.lessons.written import rivals, same_remedy

    with store.transaction():
        row["pattern"] = str((store.get("signatures", str(row["signature"])) or {}).get("pattern") or "")
        held = store.get("lessons", str(row["id"]))
        others = rivals(store, row)
        again = next((each for each in others if same_remedy(str(each["text"]), str(row["text"]))), None)
        if (same := held or again) is not None:
            row = _joined(same, row)
        if row["state"] == "active":
            row["replaces"] = [*map(str, _outdone(store, row, others, at))]
        put(store, row, same)
        noted(store, str(row["id"]), "added", str(row["reason"]), at)
    return str(row["id"])


def _outdone(store: Store, row: Row, others: Sequence[Row], at: float) -> list[str]:
    """Retire what people wrote before for the same failure and that says otherwise: the newer word counts."""
    older = [each for each in others if each["id"] != row["id"] and each["state"] == "active"]
    for each in older:
        reason = f"{row['id']} was written later for the same failure and says otherwise"
        put(store, {**each, "state": "retired", "approved": False, "reason": reason, "updated_at": at}, each)
        noted(store, str(each["id"]), "retired", reason, at)
    return [str(each["id"]) for each in older]


def _need_whole(text: str, template: str, state: str, scope: str) -> None:
    if not text.strip() or not template.strip():
        raise UsageError("a lesson needs both: `when`, the error text, and `do`, what to do then")
    if state not in ("candidate", "active") or scope not in ("project", "global"):
        raise UsageError(f"a lesson starts as candidate or active, in scope project or global, not {state}/{scope}")


def _failed_step(store: Store, signature: str) -> str:
    """Return the command that last failed so, "" where none is known: what it had already, advice does not add."""
    met = store.find("outcomes", {"signature": signature}, order=("-started_at",), limit=1).rows
    return text_in(met[0].get("step"), "input") if met else ""


def _joined(held: Row, row: Row) -> Row:
    """A lesson written again: what was decided about it stays, but for a candidate that is asked to be active."""
    projects = distinct(name for each in (held, row) for name in cast("list[Json]", each.get("projects") or []))
    joined: Row = {**held, "projects": projects, "updated_at": row["updated_at"]}
    if held.get("state") == "candidate" and row["state"] == "active":
        joined |= {"state": "active", "approved": True}
    return joined


def show(store: Store, lesson_id: str) -> Lesson:
    """One lesson. Raises NotFound."""
    return lesson_of(_held(store, lesson_id))


def listed(
    store: Store,
    *,
    states: Collection[LessonState] = STATES,
    project: str | None = None,
    worked: int = 0,
    limit: int | None = None,
) -> list[Lesson]:
    """Lessons in these states, active ones first, then by what they save. `project` keeps those that count in
    that folder: its own and global ones; `worked` those that so many sessions saw work."""
    where: Where = {"state": ("in", list(states)), **({"worked": (">=", worked)} if worked else {})}
    rows = store.find("lessons", where).rows
    if project is not None:
        from ratchet.lessons.repositories import known_as

        name = known_as(store, project)
        rows = [row for row in rows if row.get("project") == name or concerns(row, project)]
    found = [lesson_of(row) for row in rows]
    found.sort(key=by_merit)
    return found if limit is None else found[:limit]


def by_pattern(store: Store, patterns: Collection[str]) -> dict[str, tuple[Lesson, ...]]:
    """Each of these patterns by its id -> the lessons about its failures, in the order of `listed`; retired ones are
    left out, and candidates that one session saw work, or less than half of those that met them. One that answers a
    rule stands at that rule's pattern, whatever else its runs showed; of several projects' that say the same the first
    does."""
    pattern_of = {
        str(row["signature"]): str(row["pattern"]) for row in _having(store, "signatures", "pattern", patterns)
    }
    met: dict[str, set[str]] = defaultdict(set)  # lesson -> patterns whose failures it stands for
    for row in _having(store, "lessons", "signature", pattern_of):
        met[str(row["id"])].add(pattern_of[str(row["signature"])])
    asked: Where = {"signature": ("in", [*sorted(pattern_of)]), "lesson_id": ("!=", "")}
    for row in store.sum_by("resolutions", ("signature", "lesson_id"), (), asked):
        met[str(row["lesson_id"])].add(pattern_of[str(row["signature"])])
    named = _having(store, "patterns", "id", patterns)
    ruled = {str(row["rule"]): str(row["id"]) for row in named if row.get("rule")}
    answers: dict[str, set[str]] = defaultdict(set)  # lesson -> the patterns of the rules that it answers
    for row in _having(store, "answers", "key", ruled):
        answers[str(row["lesson_id"])].add(ruled[str(row["key"])])
    for lesson, pattern in _looked_up(store, named):
        met[lesson].add(pattern)
    elsewhere = _answering_a_rule(store, met.keys() - answers.keys())
    found: dict[str, list[Lesson]] = defaultdict(list)
    about = map(lesson_of, _having(store, "lessons", "id", met.keys() | answers.keys()))
    for each in sorted(filter(_advises, about), key=by_merit):
        for pattern in answers.get(each.id, () if each.id in elsewhere else met[each.id].difference(ruled.values())):
            found[pattern].append(each)
    return {pattern: tuple(first for first, _ in without_repeats(each)) for pattern, each in found.items()}


def _looked_up(store: Store, patterns: Iterable[Row]) -> Iterator[tuple[str, str]]:
    """The lessons whose words are worked out at the failure, each with the patterns whose failures it answers."""
    groups = {str(row["id"]): looked_up(text_in(row, "template")) for row in patterns}
    asked: list[Json] = [*sorted({*groups.values()} - {""})]
    for row in store.find("answers", {"key": ("in", asked)}).rows if asked else ():
        for pattern, group in groups.items():
            if group == row["key"]:
                yield str(row["lesson_id"]), pattern


def looked_up(message: str) -> str:
    """The group of the lesson that works out at the failure what to say of this error, "" for none: of an edit whose
    text is not in its file, and of a file that is not there."""
    from ratchet.failures.wordings import ABSENT, MISSING, in_one_wording

    said = in_one_wording(message.strip().removesuffix("Note: your current working directory is <path>.").strip())
    if said.startswith(ABSENT):
        from ratchet.lessons import edits

        return edits.GROUP
    if not any(words in said.lower() for words in ("no such file", "not exist", "enoent")):
        return ""
    from ratchet.lessons import paths

    return paths.GROUP if said.startswith(MISSING) or paths.missing_path(said.replace("<path>", "/a/b.c")) else ""


def _advises(each: Lesson) -> bool:
    """Tell whether what a lesson says may be read as advice beside its failure."""
    if each.state != "candidate" or not each.tried:
        return each.state != "retired"
    return each.worked >= PROVEN_SESSIONS and 2 * each.worked >= each.tried


def _having(store: Store, table: str, column: str, values: Collection[str]) -> Sequence[Row]:
    """Read the rows whose column holds one of these values."""
    return store.find(table, {column: ("in", [*sorted(values)])}).rows if values else ()


def _answering_a_rule(store: Store, lessons: Collection[str]) -> set[str]:
    """Return those of these lessons that answer a rule which has a pattern."""
    keys = [(str(row["lesson_id"]), str(row["key"])) for row in _having(store, "answers", "lesson_id", lessons)]
    rules = {pattern_of_rule(key) for _, key in keys}
    known = {str(row["id"]) for row in _having(store, "patterns", "id", rules)}
    return {lesson for lesson, key in keys if pattern_of_rule(key) in known}


_QUOTES = 99  # a tier behind all others


def by_merit(lesson: Lesson) -> tuple[int, int, float, float, float, float, str]:
    """The key that orders lessons: active ones first, in the order of `standing.place`. Candidates by their evidence:
    sessions, then what they would have been right in, less wrong; of equals those that would save most. What people
    said comes behind what was mined: it is no advice yet."""
    tier, saved, lacks, worth, tried = lesson.place
    if lesson.state == "candidate":
        evidence = lesson.worked + (1 + lesson.right) / (2 + lesson.right + lesson.wrong)
        return STATES.index(lesson.state), _QUOTES if lesson.is_quote else tier, 0, 0, -evidence, worth, lesson.id
    return STATES.index(lesson.state), tier, saved, lacks, worth, tried, lesson.id


def approve(store: Store, lesson_id: str, *, do: str = "", globally: bool = False, now: float | None = None) -> Lesson:
    """Make a lesson active whatever its counts, and with `globally` in every project; `do` is its advice from now
    on. The words of one that others wrote are this home's own from then on.

    Raises NotFound; Refused for one that switches a check off, or for a quote without `do`; Conflict when it changed
    meanwhile.
    """
    from ratchet.failures.redaction.text import clean
    from ratchet.lessons.mining.checks import forbidden

    held = _held(store, lesson_id)
    failed = text_in(held, "failed") or _failed_step(store, text_in(held, "signature"))
    reason = forbidden(text_in(held, "text"), failed) or forbidden(text_in(held, "example"), failed) or _never(held)
    if reason and (held.get("state") == "quarantined" or not do.strip()):
        raise Refused(
            f"lesson {lesson_id} stays {held.get('state')} ({reason}): such a step is never advice, whoever approves "
            "it. Write what should be done instead: `ratchet lessons add --when ERROR --do FIX --active`"
        )
    if not do.strip() and lesson_of(held).is_quote:
        raise Refused(
            f"lesson {lesson_id} is a person's words, and no rule yet. Say what agents should do: "
            f"`ratchet lessons approve {lesson_id} --do 'the rule in your words'`"
        )
    # Whoever approves one of others takes its words over, and those alone: another wording is another lesson.
    change: Row = {"state": "active", "decided": "active", "approved": True, "reason": "", "foreign": False}
    if do.strip():
        if refusal := forbidden(clean(do), failed):
            raise Refused(f"lesson {lesson_id} is not changed ({refusal}): such a step is never advice")
        text = clean(do.strip("\n"))
        change["text"] = text
        change["earlier"] = distinct([*cast("list[Json]", held.get("earlier") or []), held.get("text")])
    if globally:
        change["scope"] = "global"
    return _decide(store, held, change, "approved", "", now)


def retire(store: Store, lesson_id: str, *, reason: str = "", now: float | None = None) -> Lesson:
    """Hand a lesson to nobody any more; mining does not bring it back. Raises NotFound, Conflict."""
    from ratchet.failures.redaction.text import clean

    why = clean(reason) or "retired by a person"
    change: Row = {"state": "retired", "decided": "retired", "approved": False, "reason": why}
    return _decide(store, _held(store, lesson_id), change, "retired", why, now)


def quarantine(store: Store, lesson_id: str, *, reason: str, now: float | None = None) -> Lesson:
    """Mark a lesson as harmful. Raises NotFound, Conflict, UsageError without a reason."""
    from ratchet.failures.redaction.text import clean

    why = clean(reason).strip()
    if not why:
        raise UsageError(f"quarantining lesson {lesson_id} needs a reason; it is shown wherever the lesson is")
    change: Row = {"state": "quarantined", "decided": "quarantined", "approved": False, "reason": why}
    return _decide(store, _held(store, lesson_id), change, "quarantined", why, now)


def undo(store: Store, lesson_id: str = "", *, now: float | None = None) -> Lesson:
    """Take the last decision about a lesson back, of the one decided about last unless one is named: it is again as it
    was before. Raises NotFound, UsageError where nothing was decided, Conflict."""
    held = _held(store, lesson_id or _last_decided(store))
    before = held.get("undo")
    if not isinstance(before, dict):
        raise UsageError(f"nothing was decided about lesson {held['id']} that could be taken back")
    return _decide(store, held, {**before, "undo": None}, "undone", "", now)


_LOOKED_AT = 200  # of the newest decisions, for one that still stands
_DECISIONS = ("approved", "retired", "quarantined")


def _last_decided(store: Store) -> str:
    """Return the lesson about which a person decided last, as far as that still stands. Raises UsageError for none."""
    asked: Where = {"noun": "lesson", "verb": ("in", [*_DECISIONS])}
    for event in store.find("events", asked, order=("-at", "-id"), limit=_LOOKED_AT).rows:
        held = store.get("lessons", text_in(event, "record")) or {}
        if isinstance(held.get("undo"), dict):
            return text_in(held, "id")
    raise UsageError("nothing was decided about any lesson that could be taken back")


def _never(held: Row) -> str:
    """Return why the miner found that a lesson switches a check off, "" where it did not. What a person decided since
    hides the lesson's state, and not what its edits do."""
    if held.get("state") == "quarantined" and not held.get("decided"):
        return text_in(held, "reason")
    return text_in(held, "never")


def _held(store: Store, lesson_id: str) -> Row:
    held = store.get("lessons", whole_id(store, "lessons", lesson_id))
    if held is None:
        words = words_in(lesson_id) if len(lesson_id) <= _NAME_CHARS else []
        near = store.having("lessons", words, limit=_NEAR) if words else []
        said = f"; that word stands in {' and '.join(text_in(row, 'id') for row in near)}" if near else ""
        raise NotFound(f"no lesson {lesson_id}{said}; `ratchet lessons list` names those that there are")
    return held


def _decide(store: Store, held: Row, change: Row, verb: str, reason: str, now: float | None) -> Lesson:
    at = time.time() if now is None else now
    with store.transaction():
        before: Row = {name: held.get(name) for name in change}
        put(store, {**held, "undo": before, "never": _never(held), **change, "updated_at": at}, held)
        noted(store, str(held["id"]), verb, reason, at)
    return show(store, str(held["id"]))


def put(store: Store, row: Row, held: Row | None) -> None:
    """Write a lesson that was read as `held` (None: that was not there). Raises Conflict."""
    revision = whole_in((held or {}), "revision")
    if not store.swap("lessons", str(row["id"]), revision, row):
        raise Conflict(f"lesson {row['id']} was changed by another process; read it again and repeat")


def noted(store: Store, lesson_id: str, verb: str, reason: str, now: float) -> None:
    """Tell the timeline what became of a lesson."""
    event: Row = {"id": ids.uuid7(), "noun": "lesson", "record": lesson_id, "verb": verb, "at": now}
    store.insert_new("events", [{**event, "reason": reason} if reason else event])


def distinct(values: Iterable[Json]) -> list[Json]:
    """The values that are not empty, each once, in order of their letters."""
    return [*sorted({str(value) for value in values if value})]
