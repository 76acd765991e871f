"""Tells whether a lesson is about this very failure, and says more than the failure's own message.

A masked text fits every path and every name. What an advice names (`go build -o /tmp/shop`) must therefore stand in
the failure that asks, or be a constant of the project in a failure about the same name. Lean: hooks import this.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled
from ratchet.failures.gated import Gated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ratchet.records import Row

_NOT_THERE = Gated(
    r"(?i)no such file|not found|does not exist|cannot find|can't find|ENOENT|not a git repository|no rule to make"
    r"|missing script|no tests? (?:ran|found)|outside|not in the working tree|does not contain main module"
)
_PATH_IN = compiled(r"(?<![\w@.<~…-])((?:[~…]?\.{0,2}/|[\w@.-]+/)[\w@./+-]*[\w@+-])")
_DOUBLED = compiled(r"((?:/[^/]+){2,})\1(?=/|$)")  # a relative path behind the folder below which it begins
_ABSOLUTE = ("/", "~", "…", "$")
_USAGE = r"(?im)^\s*usage\b"
_NAMES_FLAG = r"(?im)^(?!\s*usage\b).*\b(?:unknown|unrecogni[sz]ed|invalid|unexpected)\b.{0,40}(?<![\w-])--?[A-Za-z]"
_VALUE = r"[\w./:@-]*[\w/]"
_MARKS = ".,:;()'\"`<>[]"


def names(text: str, word: str) -> bool:
    """Tell whether a text holds a word or a path by itself, not as a part of a longer one."""
    import re  # a hook meets few words that a text may hold

    return re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text) is not None


def answers(
    lesson: Mapping[str, object],
    *,
    message: str,
    tool: str = "",
    asked: str = "",
    root: str = "",
    away: bool = True,
) -> bool:
    """Tell whether a lesson that was found is about this failure: about what its command holds and its error names,
    and about the folder only where the shell stands in another one. `asked` is the command that failed and `tool` what
    ran it, "" where they are not known; `away` says that the shell stood elsewhere than in the project's `root`."""
    if not _is_of_tool(lesson, message, tool):
        return False
    needs = lesson.get("needs")
    if isinstance(needs, str) and needs not in (asked or _said_of(lesson, message, needs)):
        return False
    said = f"{message}\n{asked}"
    if not all(names(said, word) for word in _words(lesson, "named")):
        return False
    if asked and not all(names(asked, word) for word in _words(lesson, "ran")):
        return False
    subjects = _words(lesson, "subjects")
    if subjects and not any(names(said, word) for word in subjects):
        return False
    return lesson.get("rule") != "place" or _stands_elsewhere(message, tool, asked, root, away=away)


def _said_of(lesson: Mapping[str, object], message: str, needs: str) -> str:
    """The text that must hold a flag or a value, of a failure whose command is not known: an error that names one. A
    way to write a command, or a flag of which only the usage is told, is named by none."""
    rule = lesson.get("rule")
    return message if rule == "fields" or (rule == "flag" and compiled(_NAMES_FLAG).search(message)) else needs


def _is_of_tool(lesson: Mapping[str, object], message: str, tool: str) -> bool:
    """Tell whether a lesson that warns of a tool met that tool: as what ran, or, where that is not known, named by the
    error or known by its very words. Words like them say nothing of other tools."""
    _, warns, of = str(lesson.get("group") or "").partition("step never ")
    if tool or not warns:
        return not warns or tool == of
    from ratchet.failures.signature import template_of

    return names(message, of) or template_of(message) == lesson.get("when_text")


def _words(lesson: Mapping[str, object], name: str) -> list[str]:
    held = lesson.get(name)
    return [str(word) for word in held] if isinstance(held, list | tuple) else []


def _stands_elsewhere(message: str, tool: str, asked: str, root: str, *, away: bool) -> bool:
    """Tell whether a missing thing may be missing since the shell stands in another folder."""
    if not asked:
        whole = [path for path in missing_in(message) if path.startswith(_ABSOLUTE) and not _DOUBLED.search(path)]
        return not whole and "<tool_use_error>" not in message
    from ratchet.failures.intent import commands, is_shell

    if tool and not is_shell(tool):
        return False
    parts = [words for words, _ in commands(asked)]
    went = [words[1].rstrip("/") for words in parts if words[0] in ("cd", "pushd") and len(words) > 1]
    elsewhere = went[-1] not in (root.rstrip("/"), ".") if went else away
    return elsewhere and relative(message, [word for words in parts for word in words])


def relative(message: str, words: Sequence[str]) -> bool:
    """Tell whether a command failed of a path that depends on the folder: the one that its error names, where the
    command names that; else any of its paths, or none (as `make`)."""
    missing = [path.rstrip("/") for path in missing_in(message)]
    blamed = [word for word in words if word.rstrip("/") in missing or word.removeprefix("./").rstrip("/") in missing]
    paths = blamed or [word for word in words if "/" in word or "." in word[1:-1]]
    return not paths or any(not word.startswith(_ABSOLUTE) and "://" not in word for word in paths)


def missing_in(message: str) -> list[str]:
    """The paths in those lines of an output that say something is not there, in order."""
    lines = [line for line in message[:4000].split("\n") if _NOT_THERE.search(line)]
    return [path for line in lines for path in _PATH_IN.findall(line)]


def not_there(message: str) -> bool:
    """Tell whether an output says that something is not there."""
    return _NOT_THERE.search(message) is not None


def restates(lesson: Row, message: str) -> bool:
    """Tell whether a mined lesson says at this failure what its message says. What a person wrote never does."""
    if not lesson.get("group"):
        return False
    if lesson.get("rule") == "edit":  # a rule's message is always the same: it was asked of all sightings
        return bool(lesson.get("says_itself"))
    value = str(lesson.get("example") or "") if lesson.get("rule") == "fields" else ""
    return says(str(lesson.get("text") or ""), message, value)


def says(advice: str, message: str, value: str = "") -> bool:
    """Tell whether a message holds every word that an advice quotes (its usage text, which lists all there is, aside),
    or lists the `value` that it says works."""
    if value and value in compiled(_VALUE).findall(message):
        return True
    quoted = _spoken(" ".join(advice.split("`")[1::2]))
    usage = compiled(_USAGE).search(message)
    return bool(quoted) and quoted <= _spoken(message[: usage.start()] if usage is not None else message)


def _spoken(text: str) -> set[str]:
    return {word.strip(_MARKS) for word in text.split()} - {""}
