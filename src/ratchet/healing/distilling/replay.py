"""Holds a model's answer against what really happened, before anybody sees it. Pure but for reading the store.

An answer that fails here is kept beside its evidence, so that nobody is asked twice, and shown to nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from ratchet.healing.distilling.items import EvidenceItem
from ratchet.lessons.mining.calls import ToolCall, calls_of
from ratchet.lessons.mining.checks import forbidden
from ratchet.ports import Store
from ratchet.records import Json, Row, text_in

MOST_ACCEPTED = 0.02
"""Share of a project's accepted calls that a rule may match: above it, it forbids what people want."""
LEAST_SHARED, MOST_OTHERS = 0.60, 0.05
"""A token must stand in so many fixes that the model did not see, and in at most so many of other findings."""
_DO_CHARS = 300
_LEAST_TOKEN = 2
_PLACE = re.compile(r"<\w{1,20}>")


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsAnswer:
    """A person's words as a rule. `when` is the command or tool at which it counts (`git commit`, `edit`), `dont` the
    literal part of a step that shall not be there, "" where the step as a whole shall not."""

    is_rule: bool
    scope: Literal["once", "project", "always"]
    when: str
    do: str
    dont: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HunksAnswer:
    """The common part of some fixes: a literal token of their added lines, and one sentence."""

    token: str
    do: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsAnswer:
    """Templates of the commands that failed and of those that worked, `<name>` for what differs."""

    failing: str
    working: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContraryAnswer:
    """Opinion on a lesson that something speaks against."""

    retire: bool
    why: str


Answer = WordsAnswer | HunksAnswer | StepsAnswer | ContraryAnswer
SHAPES: dict[str, type[Answer]] = {
    "words": WordsAnswer,
    "hunks": HunksAnswer,
    "steps": StepsAnswer,
    "contrary": ContraryAnswer,
}


def fault(store: Store, item: EvidenceItem, answer: Answer) -> str:
    """Why an answer is not shown, "" where replay bears it out. Raises StoreError."""
    if isinstance(answer, WordsAnswer):
        return _fault_of_words(store, item, answer)
    if isinstance(answer, HunksAnswer):
        return _fault_of_hunks(store, item, answer)
    if isinstance(answer, StepsAnswer):
        return _fault_of_steps(item, answer)
    return _fault_of_contrary(item, answer)


# -- a person's words -----------------------------------------------------------------------------------------------


def _fault_of_words(store: Store, item: EvidenceItem, answer: WordsAnswer) -> str:
    if not answer.is_rule or answer.scope == "once":
        return "it is no rule beyond its moment"
    if not answer.do.strip() or len(answer.do) > _DO_CHARS:
        return "it says nothing to do, or too much"
    if reason := forbidden(answer.do):
        return reason
    words = cast("list[Json]", item.shown[0]["words"])
    said_at = min(float(str((store.get("moves", str(word)) or {}).get("at", 0.0))) for word in words)
    accepted = matched = prevented = 0
    for call in _calls(store, item.project):
        hit = matches(call, answer.when, answer.dont)
        prevented += hit and call.at > said_at
        if call.ok:
            accepted += 1
            matched += hit
    if not prevented:
        return "no later call would have been prevented"
    if matched > MOST_ACCEPTED * accepted:
        return f"it would have stopped {matched} of {accepted} accepted calls"
    return ""


def matches(call: ToolCall, when: str, dont: str) -> bool:
    """Tell whether a call is one that a rule stops: of that command or tool, with that literal part."""
    when, dont = when.strip().lower(), dont.strip()
    if not when:
        return False
    if call.shell:
        return any(
            f"{piece.head.lower()} ".startswith(f"{when} ") and (not dont or _holds(piece.raw, dont))
            for piece in call.pieces
        )
    if when not in (call.head.lower(), call.tool.lower()):
        return False
    return not dont or _holds(call.new_text if call.writes else call.input, dont)


def _holds(text: str, part: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(part)}(?![\w-])", text) is not None


def _calls(store: Store, project: str) -> Iterable[ToolCall]:
    sessions = {text_in(row, "session") for row in store.sum_by("habits", ("session",), (), {"project": project})}
    for session in sorted(sessions):
        yield from calls_of(store.find("outcomes", {"session": session}).rows)


# -- hunks, steps, contrary -----------------------------------------------------------------------------------------


def _fault_of_hunks(store: Store, item: EvidenceItem, answer: HunksAnswer) -> str:
    token = answer.token.strip()
    if len(token) < _LEAST_TOKEN or not answer.do.strip() or len(answer.do) > _DO_CHARS:
        return "it names no token, or says too much"
    if reason := forbidden(f"{answer.do}\n{token}"):
        return reason
    share = _share(item.held_out, token)
    if share < LEAST_SHARED:
        return f"its token stands in {share:.0%} of the fixes that it did not see"
    others = store.find("resolutions", {"project": item.project, "key": ("!=", item.about)}, limit=2_000).rows
    rest = _share([row for row in others if row.get("way") == "edit" and row.get("added")], token)
    return f"its token stands in {rest:.0%} of other fixes, too" if rest > MOST_OTHERS else ""


def _share(rows: Sequence[Row], token: str) -> float:
    return sum(_adds(row, token) for row in rows) / len(rows) if rows else 0.0


def _adds(row: Row, token: str) -> bool:
    added, removed = ("\n".join(map(str, cast("list[Json]", row.get(name) or []))) for name in ("added", "removed"))
    return added.count(token) > removed.count(token)


def _fault_of_steps(item: EvidenceItem, answer: StepsAnswer) -> str:
    if reason := forbidden(answer.working, answer.failing):
        return reason
    failing, working = _pattern(answer.failing), _pattern(answer.working)
    if failing is None or working is None or answer.failing == answer.working:
        return "its templates have too few words of their own"
    rows = [*item.shown, *item.held_out]
    failed = [" ".join(text_in(row, "failed_input").split()) for row in rows]
    worked = [" ".join(text_in(row, "do").split()) for row in rows]
    if not all(failing.search(text) for text in failed) or any(failing.search(text) for text in worked):
        return "its template tells what failed and what worked not apart"
    if not all(working.search(text) for text in worked):
        return "its template does not say what worked"
    return ""


def _pattern(template: str) -> re.Pattern[str] | None:
    parts = _PLACE.split(" ".join(template.split()))
    if sum(len(re.findall(r"[\w-]{2,}", part)) for part in parts) < _LEAST_TOKEN:
        return None
    return re.compile(r".+?".join(map(re.escape, parts)))


def _fault_of_contrary(item: EvidenceItem, answer: ContraryAnswer) -> str:
    if not answer.retire:
        return "it holds"
    newest = item.held_out[0]
    return "it was right the last time" if newest.get("lesson_id") == item.about else ""
