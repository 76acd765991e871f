"""Refuses remedies that must never become advice: they switch a check off, hide a failure, destroy work or speak to the
agent. They get a failing step past its check, so mining finds them again and again.
"""

from __future__ import annotations

import re

from ratchet.failures.intent import commands
from ratchet.lessons.mining import refused

_LIMIT = 20_000  # characters looked at; the remedies of lessons are far shorter
_QUOTED = re.compile(r"`([^`\n]{2,1000})`")


def forbidden(remedy: str, failed: str = "") -> str:
    """Why `remedy` (a command, a code change or a sentence with commands in it) must not be advice, or "".

    `failed` is the command that failed: what stood there already is not held against the remedy, but for what takes
    something away, forces it, or speaks to the agent, since advice that repeats it spreads it.
    """
    text, had = remedy[:_LIMIT], failed[:_LIMIT].lower()
    for reason, pattern in refused.TEXTS:
        for found in pattern.finditer(text):
            if reason.startswith(_ALWAYS) or found.group().lower() not in had:
                return _named(reason, found.group())
    hidden = refused.HIDES_OUTPUT.search(text)
    if hidden and not refused.HIDES_OUTPUT.search(failed):
        return _named("hides the error output", hidden.group())
    options = {word for words, _ in commands(failed[:_LIMIT]) for word in words if word[:1] == "-"}
    for span in (text, *_QUOTED.findall(text)):
        for words, _piped in commands(span):
            reason = _command_reason(words)
            if reason and not reason.startswith(_ALWAYS):
                reason = _command_reason([word for word in words if word not in options])
            if reason:
                return _named(reason, " ".join(words))
    return ""


_ALWAYS = ("speaks", "forces", "destroys", "deletes", "opens", "ends", "disables", "runs", "touches")


def drops_check(failed: str, remedy: str) -> str:
    """Why a command that only left out what made it strict must not be advice, or ""."""
    for found in refused.STRICT.finditer(failed[:_LIMIT]):
        name = found.group().rstrip("= ")
        if name not in remedy:
            return _named("drops a check", name)
    return ""


def _named(reason: str, text: str) -> str:
    shown = " ".join(text.split())[:60].replace("`", "'")
    return f"{reason}: `{shown}`"


def _command_reason(words: list[str]) -> str:
    """Why one simple command must not be advice: what only its program can tell."""
    program = words[0].rpartition("/")[2]
    if program == "git":
        return _git_reason(words)
    if program in ("rm", "unlink"):
        return _removal_reason(words)
    if program == "chmod" and any(refused.OPEN_MODE.match(word) for word in words[1:]):
        return "opens permissions to everyone"
    if program == "curl" and _has_short(words, "k", until="oHdXuFAbTwKmEex"):
        return "disables TLS checks"
    if "-1" in words[2:] and program in ("kill", "pkill"):
        return "ends processes broadly"
    if program in ("make", "gmake") and _has_short(words, "i", until="CfIjlo"):
        return "hides the failure"
    return _skipped_reason(program, words) or _force_reason(program, words)


def _git_reason(words: list[str]) -> str:
    at = 1
    while at < len(words) and words[at][:1] == "-":
        at += 2 if words[at] in ("-C", "-c") else 1
    if at >= len(words):
        return ""
    sub, rest = words[at], words[at + 1 :]
    if sub == "commit" and _has_short(rest, "n", until="mFCct"):
        return "skips the hooks"
    if sub in refused.GIT_FORCED and _has_short(rest, "f", until="mubBo"):
        return "forces"
    if sub == "push" and any(word[:1] in "+:" for word in rest if word):
        return "forces"
    if sub == "clean" and _has_short(rest, "f", until="e"):
        return "destroys work"
    if refused.GIT_DESTROYS.get(sub, frozenset()).intersection(rest):
        return "destroys work"
    if sub == "rm" and any(refused.TEST_FILE.search(word) for word in rest):
        return "deletes tests"
    return ""


def _removal_reason(words: list[str]) -> str:
    operands = [word for word in words[1:] if word[:1] != "-"]
    if any(refused.TEST_FILE.search(word) and not refused.REBUILT.search(word) for word in operands):
        return "deletes tests"
    recursive = "--recursive" in words or _has_short(words, "r") or _has_short(words, "R")
    if recursive and not all(refused.REBUILT.search(word) for word in operands):
        return "destroys work"
    return ""


def _skipped_reason(program: str, words: list[str]) -> str:
    """Name what a checker or test runner is told not to look at."""
    names = {program, *(word for word in words[1:4] if word[:1] != "-")}
    if names & refused.CHECKERS:
        if any(refused.LOOKS_AWAY.match(word) for word in words[1:]) or (program == "shellcheck" and "-e" in words):
            return "silences a checker"
        if "clippy" in names and "-A" in words:
            return "silences a checker"
        if program in ("jest", "vitest") and "-u" in words:
            return "accepts any output as right"
    if program in ("gradle", "gradlew") and not {"-x", "--continue"}.isdisjoint(words):
        return "skips tests"
    if program in ("make", "gmake", "ninja", "mvn", "mvnw") and not {"--keep-going", "-fae", "-fn"}.isdisjoint(words):
        return "hides the failure"
    if program == "go" and any(word.startswith(("-skip", "-vet=off", "-short")) for word in words):
        return "skips tests"
    if "mix" in names and "test" in names and "--exclude" in words:
        return "skips tests"
    return ""


def _force_reason(program: str, words: list[str]) -> str:
    if "-f" not in words:
        return ""
    if program in refused.HARMLESS_F:
        forced = program not in ("rm", "gh") and not refused.FORCED_BELOW.isdisjoint(words[1:4])
    else:
        at = words.index("-f")
        forced = program in refused.FORCE_BY_F or at + 1 == len(words) or words[at + 1][:1] == "-"
    return "forces" if forced else ""


def _has_short(words: list[str], letter: str, until: str = "") -> bool:
    """Tell whether a cluster of short options holds `letter` (`-anm` holds n); what follows one of `until` is its
    value."""
    for word in words:
        if word == "--":
            return False
        if word[:1] == "-" and word[:2] != "--":
            for char in word[1:]:
                if char == letter:
                    return True
                if char in until:
                    break
    return False
