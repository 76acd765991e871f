"""Puts the facts of a project into words: what an agent or a person should know before a session."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ratchet.lessons.facts import CallCounts, ProjectFacts

SESSIONS = 3
"""Sessions that make a fact of something seen in them: fewer may be one person's mood."""
AGAIN_SESSIONS = 2
_SHARE_CALLS = 5  # runs below which a share says nothing
_WILSON_Z = 1.96  # 95 %
_OFTEN = 0.1  # a share that is news though the other steps fail as often: then all of them are
_NAME_CHARS = 70  # of a finding in a sentence


def lines(found: ProjectFacts, *, limit: int = 8, acting: bool = False) -> list[str]:
    """The facts that an agent or a person should know, in words, at most `limit` lines; `acting` for who can only act
    on them: how often a command failed is none of these."""
    said = (
        () if acting else _most_lines(found),
        _checked_lines(found),
        _way_lines(found),
        _finding_lines(found),
        _never_lines(found),
        _refused_lines(found),
        _left_lines(found),
    )
    return [line for each in said for line in each][:limit]


def is_news(each: CallCounts, found: ProjectFacts) -> bool:
    """Tell whether one would not expect what became of these calls: they fail oftener than the project's other steps,
    never work, run checks of their own, or are refused."""
    known = {one.head for one in (*found.never, *found.refused, *(checked.step for checked in found.checked))}
    return each.head in known or _stands_out(each, found)


def _stands_out(each: CallCounts, found: ProjectFacts) -> bool:
    """Tell whether it fails oftener than the project's other steps, or than one in ten, by the lower end of Wilson's
    interval (1927, JASA 22:209): a tool of which 2 % fail is no news, however often it runs."""
    if each.failures < SESSIONS or not _again(each, found):
        return False
    others = (found.failures - each.failures) / max(1, found.calls - each.calls)
    n, z, share = each.runs, _WILSON_Z, each.failures / each.runs
    low = (share + z * z / (2 * n) - z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))) / (1 + z * z / n)
    return low > min(others, _OFTEN)


def _most_lines(found: ProjectFacts) -> Iterator[str]:
    most = [each for each in found.ran if _stands_out(each, found)][:5]
    if most:
        named = ", ".join(f"{_quoted(each)} {each.failures:,} of {each.runs:,} runs" for each in most)
        yield f"fails most: {named}"


def _again(each: CallCounts, found: ProjectFacts) -> bool:
    """Tell whether more than one session ran it, where there are more: what one alone ran and saw fail may be the
    program that it built, tried for its messages."""
    return each.sessions >= min(AGAIN_SESSIONS, found.sessions)


def _checked_lines(found: ProjectFacts) -> Iterator[str]:
    for each in found.checked[:2]:
        by = ", ".join(map(_quoted_text, each.by[:4]))
        counts = f"{each.step.failures:,} of {each.step.runs:,} runs failed"
        yield f"{_quoted(each.step)} runs checks ({counts}): run {by} before it"


def _way_lines(found: ProjectFacts) -> Iterator[str]:
    for way in found.ways:
        others = [each for each in way.others if each.runs >= SESSIONS and _program(each) != _program(way.usual)]
        usual = f"{way.check}: {_quoted_text(way.written)}, {way.usual.runs} runs{_ended(way.usual)}"
        yield "; ".join([usual, *(f"{_quoted(each)} {each.runs} times{_ended(each)}" for each in others[:2])])


def _finding_lines(found: ProjectFacts) -> Iterator[str]:
    """Say what a check fails of: rules and compilers' messages that two sessions met."""
    by_head = {head: named for head in {each.head for each in found.findings} if (named := fails_of(found, head))}
    for head, named in sorted(by_head.items(), key=lambda each: (-len(each[1]), each[0]))[:2]:
        yield f"{_quoted_text(head)} fails most of (sessions): {', '.join(named[:6])}"


def fails_of(found: ProjectFacts, head: str) -> list[str]:
    """Findings that a check shows again and again, each with the sessions that met it."""
    named = ((_finding_name(each.finding), each) for each in found.findings if each.head == head)
    return [f"{name} ({each.sessions})" for name, each in named if name and each.sessions >= AGAIN_SESSIONS]


def _finding_name(key: str) -> str:
    """A rule by its name, a compiler's or git's message by its words; "" of other errors: those are patterns."""
    if key[:2] in ("e:", "t:", "w:") or key[:3] == "py:":
        return ""
    name = (key.partition(":")[2] if " " in key else key).replace("<>", "…")
    return name if len(name) <= _NAME_CHARS else name[: _NAME_CHARS - 1] + "…"


def _ended(each: CallCounts) -> str:
    return f", {100 * each.share:.0f} % ok" if each.runs >= _SHARE_CALLS else ""


def _program(each: CallCounts) -> str:
    return each.head.partition(" ")[0]


def _quoted(each: CallCounts) -> str:
    return f"`{each.name}`"


def _never_lines(found: ProjectFacts) -> Iterator[str]:
    for each in found.never[:3]:
        yield f"never worked here: {_quoted(each)}, 0 of {each.runs} runs in {each.sessions} sessions"


def _refused_lines(found: ProjectFacts) -> Iterator[str]:
    for each in found.refused[:3]:
        yield f"people refuse {_quoted(each)}: {each.refused} of {each.calls} times"


def _left_lines(found: ProjectFacts) -> Iterator[str]:
    if found.left:
        first = found.left[0]
        named = _finding_name(first.finding) or first.finding
        more = f", and {len(found.left) - 1} more of this kind" if len(found.left) > 1 else ""
        yield (
            f"not yours: {_quoted_text(first.head)} shows `{named}` in {first.file}; "
            f"nobody touched it in {first.sessions} sessions{more}"
        )


def _quoted_text(text: str) -> str:
    return f"`{text}`"
