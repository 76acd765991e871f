"""Weighs the words of a masked text: how likely each names the cause, and not what it happened to.

Whatever holds a placeholder is one blank. Of the rest a word in quotes, behind a noun that a name follows ("branch X"),
behind `--` or `=` and at the end behind a colon is more likely a parameter; classes of exceptions, errnos and codes are
surely none. The weights were chosen by hand on the sets of `benchmarks/recall.py`. Lean: hook processes import this.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled
from ratchet.lessons.ranking_containment import CLASS, LEVEL, PARAMETER, WORD, MessageLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from re import Match

    from ratchet.lessons.ranking_containment import Word

    Bag = dict[str, float]
    Part = tuple[Bag, float, MessageLine]

_LEAST_SAID = 2.0  # weight of what a value at the end of a line must follow
_BLANK = "#"
# It starts only where a run of its characters does: from within one, a long run would be read once per character.
_ATOM = compiled(
    r"(?<![\w$@/+\-])(?<![\w$@/+\-]\.)(?:[\w.\-]+[=~!<>]=)?"
    r"(?:[\w$@/+\-]|\.(?!\.))*<[a-z]{2,6}>(?:[\w.$@/+:\-]*<[a-z]{2,6}>)*[\w.$@/+\-]*"
)
_BETWEEN = compiled(r"\bbetween [\w./<>\-]{1,80} and [\w./<>\-]{1,80}")
_WHOM = compiled(r"\b(for|by) (?!the\b)[A-Za-z_][\w.\-]*(?= (?:from|by|via)\b| \[)")  # "password for bob from"
_FAILED = compiled(r"\b[\w.]{1,60}(?= failed due to )")
_PLACED = compiled(r"(?:at )?\b(?:character|line|position|offset|column|byte|index):? #")
_REDACTED = compiled(r"\[redacted[\w:.\-]*\]")
WORDS_OF = compiled(r"[^\W\d_][\w$]*(?:[.$@/-]\w[\w$]*)*")
_ENDED = compiled(r"(?i)exit(?:ed with)? (?:code|status)\b")  # that something failed, not what
ANNOUNCES = compiled(r"\berrors? (?:for|in|occurred)\b|:$")  # what went wrong is told below
_CLASS_ENDS = ("Error", "Exception", "Warning")


_FILLER_WORDS = (
    "a an the of in on at to for from by with is are was were be been it its this that these those as and or has have "
    "had into your you please if when while then there here will would should may any some"
)
# After these a name follows, which differs from run to run.
_NAMING_WORDS = (
    "user branch module named host class table column key package file command image service container database schema "
    "directory remote endpoint script pod namespace deployment bucket queue topic tag target tool function option flag "
    "requirement setting organization project refspec ref plugin extension argument parameter property attribute "
    "variable var use provider"
)
_ERRNO_WORDS = (
    "eacces eaddrinuse eagain ebusy econnaborted econnrefused econnreset eexist eisdir emfile enoent enomem enospc "
    "enotdir enotempty enotfound eperm epipe eresolve erofs etimedout exdev"
)
_ERRNOS = frozenset(_ERRNO_WORDS.split())
_DIGITS = frozenset("0123456789")
_STATE_WORDS = "not no does did cannot can could must down up full busy exists exist missing already only"
_STATE_ENDS = ("ed", "ing", "able", "ible")
_ENDS = frozenset(("timeout", "eof", "denied", "full", "exhausted", "interrupt", "overload"))
_STATES = frozenset(_STATE_WORDS.split())
FILLERS = frozenset(_FILLER_WORDS.split())
_NAMING = frozenset(_NAMING_WORDS.split())
_GENERIC = frozenset(("error", "err", "errors", "failed", "fatal", "failure", "exception", "warning"))
_LEVEL_WORDS = "critical panic severe warn info debug http bash zsh sh dash ksh eval"  # also: a shell says so
_LEVELS = _GENERIC.difference(("failed", "failure")).union(_LEVEL_WORDS.split())
_QUOTES = frozenset(("'", '"', "`"))
_AROUND = frozenset(("--", "=("))
_CONSTANTS = frozenset(("true", "false", "null", "none", "nil", "yes", "nan"))


def blanked(masked: str) -> str:
    """A masked text with every word that holds a placeholder as one blank."""
    text = masked
    if "[redacted" in text:
        text = _REDACTED.sub("<secret>", text)
    if " between " in text:
        text = _BETWEEN.sub(rf"between {_BLANK} and {_BLANK}", text)
    if " from " in text or " via " in text or " [" in text:
        text = _WHOM.sub(_nobody, text)
    if " failed due to " in text:
        text = _FAILED.sub(_BLANK, text)
    text = _ATOM.sub(_blank, text)
    return _PLACED.sub(_BLANK, text) if _BLANK in text else text


def _nobody(match: Match[str]) -> str:
    return f"{match[1]} {_BLANK}"


def _blank(match: Match[str]) -> str:
    """A word that holds a placeholder varies; only the name of a class at its end says what happened."""
    last = match[0].rpartition(".")[2]
    return f"{_BLANK} {last}" if last.isalpha() and last[0].isupper() else _BLANK


def parts_of(texts: Iterable[str]) -> list[Part]:
    """The bags of those texts that have words, each with its weight and its words in order."""
    return [part for part in map(_part, texts) if part[0]]


def _part(line: str) -> Part:
    """The words of one line with their weights."""
    bag: Bag = {}
    words: list[Word] = []
    frame = line.startswith("in ") and line.endswith(")")  # where, not what
    scale = 0.3 if frame or _ENDED.search(line) else 1.0
    before = ""
    stop = 0
    last, end = line.rfind(": ") + 2, len(line.rstrip(" .)]>"))  # where a clause of one word would stand
    for found in WORDS_OF.finditer(line):
        word = found[0]
        if word.endswith(_CLASS_ENDS):
            word = word.rpartition(".")[2]
        start = found.start()
        if _BLANK in line[stop:start]:
            before = ""  # the name that it announced is there
        stop = found.end()
        low = word.lower()
        weight = _weight(word, low)
        named = word.endswith(_CLASS_ENDS) or (low.startswith("http") and low[4:].isdigit())
        role = LEVEL if low in _LEVELS else CLASS if named else WORD
        opening = line[max(0, start - 1) : start]
        if opening == "=" or (opening in _QUOTES and not line[max(0, start - 2) : start - 1].isalnum()):
            weight *= 0.4
            if _names(line, start, found.end()):
                role = PARAMETER
        elif "-> " in line[max(0, start - 3) : found.end() + 4] or (
            before in _NAMING and low not in FILLERS and not _says(low)
        ):
            weight *= 0.1
            role = PARAMETER
        elif line[max(0, start - 2) : start] in _AROUND or line[found.end() : found.end() + 2] == ")=":
            weight *= 0.4  # an option, a key (name)=(value)
            role = PARAMETER
        elif low in _CONSTANTS or "@" in word or (before == "for" and ANNOUNCES.search(line[:start])):
            role = PARAMETER
        elif (
            start == last
            and found.end() >= end
            and before != "found"  # "command not found: jq" is about jq alone
            and _is_value(word, low)
            and sum([each[1] for each in words]) >= _LEAST_SAID
        ):
            weight *= 0.4
            role = PARAMETER
        bag[low] = bag.get(low, 0.0) + weight * scale
        words.append((low, weight * scale, role, start, found.end()))
        before = low
    return bag, sum(bag.values()), MessageLine(line, words)


def _names(line: str, start: int, end: int) -> bool:
    """Tell whether the word in quotes, or behind an option's `=`, is a name and not the start of a quoted sentence."""
    quote = line[start - 1]
    if quote == "=":
        return "--" in line[:start].rpartition(" ")[2]
    return line[end : end + 1] != " " or line[end : end + 4] == f" v{_BLANK}{quote}"


def _is_value(word: str, low: str) -> bool:
    """Tell whether a word that ends a text behind a colon is what it was about ("no such tool: jq")."""
    is_said = word.istitle() or word.isupper()  # "Conflict", "EOF"
    return not (is_said or _says(low) or low in _ENDS or low in _GENERIC)


def _says(word: str) -> bool:
    """Tell whether a word after a noun tells what became of it, rather than which one it is."""
    return word in _STATES or word.endswith(_STATE_ENDS)


def _weight(word: str, low: str) -> float:
    """Weigh how likely a word names the cause and not a parameter; `low` is the word in lower case."""
    if low in _CONSTANTS:
        return 0.1
    if low in FILLERS:
        return 0.3
    if low in _GENERIC:
        return 0.5
    if word.endswith(_CLASS_ENDS) or low in _ERRNOS or (word[-1] in _DIGITS and word.isupper()):
        return 2.0
    weight = 1.0
    if "." in word or "/" in word or "@" in word:
        weight = 0.3 if "/" in word or word.count(".") > 1 else 0.6
    elif "-" in word:
        weight = 0.7 if word.count("-") == 1 else 1.5  # two hyphens make a sentence of a word
    elif "_" in word and low == word:
        weight = 0.6
    return weight
