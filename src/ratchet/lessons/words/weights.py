"""Points for a person's words: how much speaks for a rule that holds beyond the moment.

Measured on the sessions of one project (626 words, 17 of them rules by hand): being refused says that it was a
correction, being stopped says so less surely (who stops an agent may only go on), an act that others see says that it
will come again, the project's notes say that it is to be kept. Words weigh less, and are told in a dozen languages; a
language that is not there loses only their points.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ratchet.lessons.mining.calls import ToolCall
from ratchet.lessons.mining.findings import check_of

SHOWN_POINTS = 6
"""Points from which on words are shown as a candidate: below it they are kept and counted only."""
_REFUSED, _STOPPED, _ACT, _NAMES_NOTES, _NOTES, _ALWAYS, _CONTRAST, _STATED, _AGAIN = 3, 2, 3, 4, 2, 2, 2, 1, 2
_LONG_CHARS = 300
_NOTE_CHARS = 60  # "add this to the notes" says nothing by itself

# Heads of an agent's own tools that change nothing outside the conversation and its working copy.
_WITHIN = re.compile(
    "edit|write|read|grep|glob|ls|task|agent|todowrite|webfetch|websearch|askuserquestion|exitplanmode|enterplanmode"
    "|skill|task(?:output|create|update|get|list|stop)|toolsearch|notebookedit|update_plan|write_stdin|view_image|unknown"
)
_LOOKS = re.compile(
    r"git (?:status|log|diff|show|branch|blame|rev-parse|grep|ls-files)|gh \w+ (?:view|list|status|diff)"
)
_PLANS = frozenset(("exitplanmode", "update_plan", "askuserquestion"))
# Files in which projects keep rules for agents and people.
_NOTES_FILE = re.compile(
    r"\b(?:CLAUDE|AGENTS|AGENT|GEMINI|QWEN|CONTRIBUTING|CONVENTIONS)(?:\.local)?\.md\b|\.cursorrules|\.windsurfrules"
    r"|copilot-instructions|\.mdc\b"
)
_QUESTION = re.compile("[?？؟]")


def _table(*languages: str) -> re.Pattern[str]:
    """One pattern of many languages' words; a script without blanks has no word ends."""
    spaced = [word for each in languages for word in each.split("|") if word.isascii() or not _is_wide(word)]
    wide = [word for each in languages for word in each.split("|") if _is_wide(word)]
    return re.compile(rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w)" + (f"|{'|'.join(wide)}" if wide else ""), re.IGNORECASE)


def _is_wide(word: str) -> bool:
    return any("\u2e80" <= letter <= "\u9fff" or "\uac00" <= letter <= "\ud7af" for letter in word)


_ALWAYS_WORDS = _table(
    "always|never|every time|each time|from now on|in (?:the )?future",
    "immer|nie|niemals|künftig|ab jetzt",
    "toujours|jamais|désormais",
    "siempre|nunca|a partir de ahora",
    "sempre|a partir de agora|d'ora in poi|mai",
    "altijd|nooit|voortaan",
    "zawsze|nigdy|всегда|никогда|завжди|ніколи",
    "her zaman|asla|luôn|đừng bao giờ|selalu|jangan",
    "总是|永远|每次|必须|以后|必ず|決して|今後|항상|절대|앞으로",
)
_CONTRAST_WORDS = _table(
    "not|no|don't|do not|doesn't|didn't|isn't|shouldn't|can't|instead|rather than|stop|undo|revert",
    "nicht|kein|keine|nein|statt|stattdessen|sondern",
    "pas|non|plutôt|au lieu",
    "en vez de|en lugar de|sino",
    "não|em vez de|invece|niet|geen",
    "zamiast|не|нет|вместо|замість|değil|yerine|không|thay vì|bukan",
    "不要|不是|别|而不是|ではなく|しないで|말고|아니",
)


def points(way: str, text: str, met: ToolCall, then: Sequence[ToolCall]) -> tuple[int, tuple[str, ...]]:
    """(points, what they are for). `then` are the agent's next calls."""
    why: list[str] = []
    total = 0

    def add(many: int, reason: str, *, when: bool) -> None:
        nonlocal total
        if when:
            total += many
            why.append(reason)

    stopped = way in ("refused", "interrupted")
    add(_REFUSED, "the person refused the step", when=way == "refused")
    add(_STOPPED, "the person stopped the step", when=way == "interrupted")
    add(_ACT, f"it met an act: {met.head}", when=stopped and acts(met))
    add(-_REFUSED, "it met a plan", when=met.head in _PLANS)
    named = len(text) > _NOTE_CHARS and bool(_NOTES_FILE.search(text))
    noted = any(call.writes and _NOTES_FILE.search(call.target) for call in then)
    add(_NAMES_NOTES, "it names the project's notes", when=named)
    add(_NOTES, "the project's notes were changed after it", when=noted and not named)
    add(_ALWAYS, "it says always or never", when=bool(_ALWAYS_WORDS.search(text)))
    add(_CONTRAST, "it says what not to do", when=bool(_CONTRAST_WORDS.search(text)))
    add(_STATED, "it is no question", when=not _QUESTION.search(text))
    add(-1, "it is long", when=len(text) > _LONG_CHARS)
    return total, tuple(why)


def again(sessions: int) -> int:
    """Points for the same words in more than one session."""
    return _AGAIN * (sessions - 1)


def acts(met: ToolCall) -> bool:
    """Tell whether a step does something that others see: a command that changes things, or a service's tool; neither
    a look at something nor a check."""
    if met.shell:
        return not check_of(met.head.split()) and (
            met.piece is None or not (met.piece.noise or _LOOKS.fullmatch(met.head))
        )
    return not _WITHIN.fullmatch(met.head)
