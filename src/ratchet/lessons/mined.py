"""Keeps what sessions teach: their resolutions and runs as evidence, and the lessons that the evidence makes.

Evidence of a session replaces what was kept of it before; a lesson is computed anew from all of its evidence whenever
a part of that changed. So the order in which sessions are read, and how often, changes nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import cast

from ratchet.failures.patterns.ruled import named_by
from ratchet.failures.signature import sign, template_of
from ratchet.lessons import credit
from ratchet.lessons.citing import cited
from ratchet.lessons.generic import recount_generic
from ratchet.lessons.imports import OPENED, recount_edits, recount_imports, recount_paths
from ratchet.lessons.lessons import distinct, noted, put
from ratchet.lessons.mining.calls import ToolCall, calls_of
from ratchet.lessons.mining.checks import forbidden
from ratchet.lessons.mining.drafts import Draft, draft, group_of
from ratchet.lessons.mining.facts import HOUR_S, Fact, facts, row_of, turns_of
from ratchet.lessons.mining.habits import HeadRun, ProjectRuns, runs
from ratchet.lessons.mining.mining import Resolution, resolved
from ratchet.lessons.mining.shared_words import filled
from ratchet.lessons.mining.spending import is_mined
from ratchet.lessons.mining.triggers import lesson_id_of
from ratchet.lessons.repositories import known_as
from ratchet.lessons.words.kept import keep_moves
from ratchet.lessons.words.notes import note_for, notes_of
from ratchet.lessons.words.rules import RULE, recount_rules
from ratchet.ports import Store
from ratchet.recording.keeping import note_files
from ratchet.records import Json, LessonState, Row, number_in, text_in, whole_in
from ratchet.store.sums import replace_facts

_EVIDENCE = 20  # outcome ids that are named; the rest is counted
_RUNS = 8_000  # of a project's newest runs that are looked at: some 200 sessions
_RIVALS = 400  # newest failures of one key that are looked at for what else ended them
# How a project is named among touched lessons whose people said something new, whose edits imported, or whose calls
# opened files.
_SAID_IN, _IMPORTED_IN, _OPENED_IN = "said in ", "imported in ", "opened in "
_TUPLES = frozenset(("keys", "forms", "removed", "added"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mined:
    """Additions by mining: new resolutions, and the lessons whose counts or state it changed."""

    resolutions: int = 0
    changed: Mapping[str, LessonState] = field(default_factory=dict)


def mine_session(store: Store, session: str, *, now: float | None = None) -> Mined:
    """Keep what a session teaches, and bring the lessons that it speaks for or against up to date.

    All or nothing; joins the caller's transaction. `now` is Unix seconds. Raises StoreError.
    """
    with store.transaction():
        rows = store.find("outcomes", {"session": session}, order=("started_at",)).rows
        kept = keep_evidence(store, session, rows)
        return Mined(resolutions=kept.new, changed=recount(store, kept.touched, now=now))


# -- evidence -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionKept:
    """Report of keeping a session's evidence: how many of its resolutions are new, the lessons that it speaks for or
    against, and its project's name."""

    new: int = 0
    touched: frozenset[str] = frozenset()
    project: str = ""


def keep_evidence(store: Store, session: str, rows: Sequence[Row]) -> SessionKept:
    """Put a session's resolutions, runs and facts in the place of those kept of it before."""
    calls = calls_of(rows)
    turns = [row for row in turns_of(rows) if is_mined(row)]
    folders = [*(call.project for call in calls), *(text_in(row, "project") for row in turns)]
    root = next(filter(None, folders), "")
    project = known_as(store, root)
    _keep_facts(store, session, project, facts(calls, root, turns=turns), rows)
    if not calls:
        return SessionKept(project=project)
    found = _noted(store, session, [_row_of(each, project) for each in resolved(calls, root)], calls)
    note_files(store, found, "failed_id")
    since = calls[0].at  # what is older was forgotten as an outcome, not as evidence
    held = store.find("resolutions", {"session": session, "at": (">=", since)}).rows
    touched = {str(row["lesson_id"]) for row in (*held, *found)}
    known = {str(row["id"]) for row in held}
    if set(map(_kept, held)) != set(map(_kept, found)):
        store.delete("resolutions", {"session": session, "at": (">=", since)})
        store.insert_new("resolutions", found)
    ran = [_run_row(each, session, project, since) for each in runs(calls)]
    store.delete("habits", {"session": session})
    store.insert_new("habits", ran)
    touched |= _touched_by_keys(store, {str(row["key"]) for row in (*held, *found)})
    touched |= _touched_by_heads(store, project, {str(row["head"]) for row in ran})
    ways = {str(row["form"]) for row in ran if not row["head"]}
    touched |= {lesson_id_of("mined", project, f"step {form}") for form in ways}
    touched |= _touched_by_ways(store, project, ways)
    if any(form.startswith("import ") for form in ways):
        touched.add(_IMPORTED_IN + project)
    if any(call.head in OPENED for call in calls):
        touched.add(_OPENED_IN + project)
    if keep_moves(store, session, calls, project):
        touched.add(_SAID_IN + project)
    new = len({str(row["id"]) for row in found} - known)
    return SessionKept(new=new, touched=frozenset(touched - {""}), project=project)


def _keep_facts(store: Store, session: str, project: str, found: Iterable[Fact], rows: Sequence[Row]) -> None:
    kept = [{**row_of(each), "session": session, "project": project} for each in found]
    if rows:
        since = min(number_in(row, "started_at") for row in rows)  # what is older was forgotten as an outcome
        replace_facts(store, session, kept, since_hour=int(since // HOUR_S))
        store.delete("endings", {"session": session})
        ended = credit.endings(rows) if credit.is_untold(store, session) else {}
        store.add(
            "endings",
            [{"session": session, "head": head, "met": n, "overcome": ok} for head, (n, ok) in ended.items()],
        )


def _kept(row: Row) -> tuple[Json, ...]:
    return row["id"], row.get("project"), row.get("note"), row.get("file")


def _noted(store: Store, session: str, found: list[Row], calls: Sequence[ToolCall]) -> list[Row]:
    """The resolutions, with what the agent said of them."""
    if any(row["way"] == "edit" for row in found):
        notes = notes_of(found, store.find("sayings", {"session": session, "who": "agent"}).rows, calls)
        for row in found:
            if note := notes.get(str(row["id"])):
                row["note"] = note
                row["silences"] = bool(forbidden("\n".join([note, *map(str, cast("list[Json]", row["added"]))])))
    return found


def _row_of(each: Resolution, project: str) -> Row:
    row: Row = {name: getattr(each, name) for name in _NAMES}
    for name in _TUPLES:
        row[name] = list(getattr(each, name))
    group = group_of(each)
    row |= {
        "folder": each.project,
        "project": project,
        "key": each.keys[0] if each.keys else "",
        "group": group,
        "lesson_id": lesson_id_of("mined", project, group) if group else "",
    }
    if not each.worked:  # it cost nothing that is not counted already, and resolves nothing
        row["signature"] = ""
        row["own_signature"] = each.signature
    return row


def resolution_of(row: Row) -> Resolution:
    """The resolution that a row of the store holds."""
    told: dict[str, object] = {}
    for name in _NAMES:
        value = row.get(name)
        told[name] = tuple(map(str, cast("list[Json]", value or []))) if name in _TUPLES else value
    told["project"] = row.get("folder") or row.get("project") or ""
    told["signature"] = row.get("signature") or row.get("own_signature") or ""
    return Resolution(**told)  # type: ignore[arg-type]


_NAMES = tuple(each.name for each in fields(Resolution))
_RUN_NAMES = tuple(each.name for each in fields(HeadRun))


def _run_row(each: HeadRun, session: str, project: str, at: float) -> Row:
    return {**{name: getattr(each, name) for name in _RUN_NAMES}, "session": session, "project": project, "at": at}


def run_of(row: Row) -> HeadRun:
    """The runs of one command in one session that a row of the store holds."""
    return HeadRun(**{name: row[name] for name in _RUN_NAMES})  # type: ignore[arg-type]


def _touched_by_keys(store: Store, keys: Iterable[str]) -> set[str]:
    """Lessons that answer one of these findings: however it ended this time speaks for or against them."""
    asked = sorted(set(keys) - {""})
    return {str(row["lesson_id"]) for row in store.find("answers", {"key": ("in", [*asked])}).rows} if asked else set()


def _touched_by_heads(store: Store, project: str, heads: Iterable[str]) -> set[str]:
    """Lessons of the project about commands that ran, since the plain step may have worked, and those that wait for
    what its runs vouch for."""
    waiting = store.find("lessons", {"project": project, "state": "candidate"}).rows
    rows = [row for row in waiting if str(row.get("group")).startswith("step ")]
    asked = sorted(set(heads) - {""})
    rows += store.find("lessons", {"project": project, "head": ("in", [*asked])}).rows if asked else ()
    return {str(row["id"]) for row in rows if row.get("rule") != RULE}


def _touched_by_ways(store: Store, project: str, ways: Iterable[str]) -> set[str]:
    """Lessons of the project about findings of linters, where a session's edits switched rules off: how many did so is
    evidence for each of them."""
    off = any(form.startswith("suppress ") for form in ways)
    rows = store.find("lessons", {"project": project}).rows if off else []
    return {str(row["id"]) for row in rows if str(row.get("group")).startswith("edit ")}


# -- lessons --------------------------------------------------------------------------------------------------------


def recount(store: Store, touched: Iterable[str], *, now: float | None = None) -> dict[str, LessonState]:
    """Compute these lessons anew from their evidence; return those that changed, with their state. Of a project in
    which people said something new it is what they said, of one whose edits import names whence they do, of one whose
    calls opened files where those are."""
    at = time.time() if now is None else now
    ran = _Ran(store)
    changed: dict[str, LessonState] = {}
    moved: list[Row] = []
    names = set(touched)
    said = {name for name in names if name.startswith(_SAID_IN)}
    recount_rules(store, (name.removeprefix(_SAID_IN) for name in said), now=at)
    imported = {name for name in names if name.startswith(_IMPORTED_IN)}
    for name in sorted(imported):
        project = name.removeprefix(_IMPORTED_IN)
        changed |= recount_imports(store, project, ran.of(project), now=at)
    opened = {name for name in names if name.startswith(_OPENED_IN)}
    for name in sorted(opened):
        changed |= recount_paths(store, name.removeprefix(_OPENED_IN), now=at) | recount_edits(store, now=at)
    for lesson_id in sorted(names - said - imported - opened):
        held = store.get("lessons", lesson_id)
        rows = store.find("resolutions", {"lesson_id": lesson_id}).rows
        made = _draft(store, rows, ran) if rows else None
        if made is None:
            if held is not None and held.get("group") and not held.get("decided") and not held.get("generic"):
                _forget(store, lesson_id)
                moved.append(held)
            continue
        row = _lesson_row(store, held or {}, lesson_id, made, rows, at)
        if held is not None and all(held.get(name) == value for name, value in row.items() if name != "updated_at"):
            continue
        _write(store, row, held)
        moved += [row, held] if held is not None else [row]
        if held is None or held.get("state") != row["state"]:
            noted(store, lesson_id, str(row["state"]), str(row.get("reason") or ""), at)
        changed[lesson_id] = cast(LessonState, row["state"])
    return changed | recount_generic(store, moved, now=at)


class _Ran:
    """Runs of each project's sessions, read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: dict[str, ProjectRuns] = {}

    def of(self, project: str) -> ProjectRuns:
        found = self._held.get(project)
        if found is None:
            rows = self._store.find("habits", {"project": project}, order=("-at",), limit=_RUNS).rows
            by_session: dict[str, list[HeadRun]] = {}
            for row in rows:
                by_session.setdefault(str(row["session"]), []).append(run_of(row))
            found = self._held[project] = ProjectRuns()
            for session, each in by_session.items():
                found.add(session, each)
        return found


def _draft(store: Store, rows: Sequence[Row], ran: _Ran) -> Draft | None:
    own = [resolution_of(row) for row in rows]
    group, project = str(rows[0]["group"]), str(rows[0]["project"])
    if group.startswith("edit "):
        return draft(group, own, (), ran.of(project))
    keys: list[Json] = [*sorted({key for each in own for key in each.keys})]
    asked = store.find("resolutions", {"key": ("in", keys), "project": project}, order=("-at",), limit=_RIVALS)
    return draft(group, own, map(resolution_of, asked.rows), ran.of(project))


def _lesson_row(store: Store, held: Row, lesson_id: str, made: Draft, rows: Sequence[Row], now: float) -> Row:
    """The lesson's row as its evidence makes it; what persons and credit wrote into it stays."""
    verdict, seen = made.verdict, made.seen
    edit = made.group.startswith("edit ")
    basis = [each for each in seen if each.worked] or list(seen)
    basis = [each for each in basis if not edit or verdict.forms[0] & set(each.forms)] or basis  # of what is told
    latest = basis[-1]
    template = template_of(named_by(made.keys[0], made.when) if edit else made.when)
    signature = sign(latest.kind, template) if edit else _trigger(basis).signature
    state, reason = _decided(held) or _outdated(held, verdict.worked) or (verdict.state, verdict.reason)
    row: Row = {
        "scope": "project",
        "uses": 0,
        "wins": 0,
        "created_at": now,
        **held,
        "id": lesson_id,
        "group": made.group,
        "keys": list(made.keys),
        "rule": "edit" if edit else latest.rule,
        "signature": signature,
        "pattern": "" if edit else str((store.get("signatures", signature) or {}).get("pattern") or ""),
        "kind": latest.kind,
        "tool": latest.tool,
        "head": latest.head,
        "target": "" if edit else latest.target,
        "when_text": template,
        "met": filled(template, [(each.session, each.message) for each in seen], verdict.text),
        "said": "" if edit else _trigger(basis).said,
        "source": "session",
        "text": verdict.text,
        "example": "" if edit or latest.do == verdict.text else latest.do,
        "failed": "" if edit or latest.rule in ("place", "form", "wait", "never") else latest.failed_input,
        "told": [[*sorted(forms)] for forms in verdict.forms],
        **made.asks,
        "tried": verdict.tried,
        "worked": verdict.worked,
        "wrote": verdict.wrote,
        "right": verdict.right,
        "wrong": verdict.wrong,
        "unknown": verdict.unknown,
        "says_itself": verdict.says_itself,
        "known": verdict.known,
        "wasted_s": sorted(number_in(each, "wasted_s") for each in rows)[len(rows) // 2],
        "updated_at": now,
        "project": rows[0]["project"],
        "projects": distinct(row.get("folder") for row in rows),
        "evidence": _evidence(basis),
        "provenance": "mined from sessions of " + ", ".join(map(str, distinct(row.get("agent") for row in rows))),
        "state": state,
        "reason": reason,
        "never": verdict.reason if verdict.state == "quarantined" else "",
        "seen_at": seen[-1].at,
        **note_for(sorted(rows, key=lambda each: (number_in(each, "at"), str(each["id"]))), verdict.forms),
    }
    if held.get("seen_at") != row["seen_at"] or "rests" not in held:
        row["rests"] = _rests(made, latest)
    return row


def _rests(made: Draft, latest: Resolution) -> list[Json]:
    """Write down what the lesson rests on, as it is at its last sighting."""
    linter = made.keys[0].partition(":")[0] if latest.way == "edit" and made.keys else ""
    modules = _MODULE.findall(made.verdict.text)
    tools = [linter, latest.head.partition(" ")[0], *modules]
    advice = f"{made.verdict.text.partition(', for example:')[0]}\n{latest.do}"
    return cited(folder=latest.project, advice=advice, said=latest.said, tools=[each for each in tools if each])


_MODULE = re.compile(r'"((?:[\w-]+\.)+[a-z]{2,}/[\w.-]+/[\w.-]+)')  # an import's module, without its packages


def _trigger(basis: Sequence[Resolution]) -> Resolution:
    """The sighting with the shortest text: it holds what all of them share, and least of the one case."""
    return min(basis, key=lambda each: (len(each.template), each.template, each.id))


def _decided(held: Row) -> tuple[LessonState, str] | None:
    """Return what a person decided about the lesson, None for nothing."""
    decided = str(held.get("decided") or "")
    return (cast(LessonState, decided), str(held.get("reason") or "")) if decided else None


def _outdated(held: Row, worked: int) -> tuple[LessonState, str] | None:
    """Return what a model said of a lesson that something speaks against, until it worked in one more session."""
    told = held.get("distilled")
    if not isinstance(told, dict) or not told.get("retire") or whole_in(told, "worked") < worked:
        return None
    return "retired", str(held.get("reason") or "")


def _evidence(basis: Sequence[Resolution]) -> list[Json]:
    """The latest failures with what resolved them: one of each session before a session's others."""
    newest = [*reversed(basis)]
    first = {each.session: each for each in reversed(newest)}
    others = [each for each in newest if first[each.session] is not each]
    some = [*sorted(first.values(), key=lambda each: -each.at), *others][: _EVIDENCE // 2]
    named: list[Json] = [name for each in sorted(some, key=_at) for name in (each.failed_id, each.worked_id)]
    return list(dict.fromkeys(named))


def _at(each: Resolution) -> tuple[float, str]:
    return each.at, each.id


def _forget(store: Store, lesson_id: str) -> None:
    """Delete a lesson whose evidence is gone: its sessions, read to their end, say otherwise."""
    store.delete("answers", {"lesson_id": lesson_id})
    store.delete("skills", {"lesson": lesson_id})
    store.delete("lessons", {"id": lesson_id})


def _write(store: Store, row: Row, held: Row | None) -> None:
    put(store, row, held)
    if held is None or held.get("keys") != row["keys"]:
        lesson_id, keys = str(row["id"]), cast("list[Json]", row["keys"])
        store.delete("answers", {"lesson_id": lesson_id})
        store.insert_new("answers", [{"key": key, "lesson_id": lesson_id} for key in keys])
