"""Reads in a failing output what gives grounds for another step: the tool's own grammar, and what it says is missing.

Free prose gives none: `try --as-root` may be written by anybody whose text a tool prints. Neither is proof against an
output that was forged whole; what such a lesson then holds is an option that the tool is said to have, or a package of
the very name that the code asks for.
"""

from __future__ import annotations

import re
from functools import cached_property

from ratchet.lessons.grounding import missing_in, not_there
from ratchet.lessons.mining.causes import program_not_found
from ratchet.lessons.mining.generalise import bindings

# From here on an output lists what its tool takes.
_USAGE = re.compile(
    r"^\s*(?:usage|options|flags|arguments|(?:available |sub)?commands)\b[\w ]*:", re.IGNORECASE | re.MULTILINE
)
_BLAMES = re.compile(
    r"\b(?:unknown|unrecogni[sz]ed|invalid|illegal|unexpected|unsupported|ambiguous|no such|not defined"
    r"|not recogni[sz]ed|missing script|deprecated|replaced by|renamed)\b",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"\b(?:did you mean|similar (?:argument|option|command|name)|(?:perhaps|maybe) you meant|possible values"
    r"|choose from|(?:expected|must be|valid \w+ are|use) one of|replaced by|renamed to)\b",
    re.IGNORECASE,
)
_REQUIRES = re.compile(
    r"\b(?:missing|required|must (?:specify|provide|pass|supply)) (?:required )?(?:the )?"
    r"(?:(?:options?|flags?|arguments?|parameters?)\W{1,4})?(?=--?[A-Za-z])"
    r"|\barguments are required: |(?<![\w-])--?[A-Za-z][\w-]*['\"`]? (?:is|are) required\b",
    re.IGNORECASE,
)
# cobra: `required flag(s) "name", "size" not set`; urfave/cli: `Required flags "name, size" not set`; yargs.
_UNSET = re.compile(
    r"\b(?:required (?:flags?|flag\(s\)|options?)|missing required (?:flags?|options?|arguments?))\W{1,4}"
    r"([A-Za-z][\w-]*(?:['\"`]?, ?['\"`]?[A-Za-z][\w-]*)*)(?=['\"`]|$)",
    re.IGNORECASE | re.MULTILINE,
)
_NEAR_LINES = 3  # a correction stands right below what it corrects
_FACTS = frozenset(("branch", "port", "remote", "agent"))


class FailingOutput:
    """An output of a failed command, as grounds. `text` is all of it."""

    def __init__(self, text: str, failed: str) -> None:
        self.text = text
        names = [word.strip("'\"").partition("=")[0] for word in failed.split()[1:]]
        self._failed = {*names, *(name.lstrip("-") for name in names)}

    @cached_property
    def grammar(self) -> str:
        """All that the tool says it takes: its usage, what it requires, and what it takes in the place of a word of
        the failed command."""
        usage = _USAGE.search(self.text)
        lines = self._lines if usage is None else self.text[: usage.start()].split("\n")
        kept, blamed = [*unset_options("\n".join(lines))], -_NEAR_LINES
        for at, line in enumerate(lines):
            blamed = at if self._is_blaming(line) else blamed
            found = _REQUIRES.search(line) or (_CORRECTS.search(line) if at - blamed < _NEAR_LINES else None)
            if found is not None:
                kept.append(line[found.start() :])
        return "\n".join([*kept, self.text[usage.start() :] if usage is not None else ""])

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    def _is_blaming(self, line: str) -> bool:
        """Tell whether a line says that a word of the failed command is none."""
        return _BLAMES.search(line) is not None and any(len(word) > 1 and named(word, line) for word in self._failed)

    @cached_property
    def missing(self) -> frozenset[str]:
        """The modules, packages and programs that the output says are not there."""
        names = {value for value, kind in bindings(self.text, "") if kind == "module"}
        return frozenset(map(_plainly, names | {program_not_found(self.text)})) - {""}

    def is_missing(self, package: str) -> bool:
        """Tell whether a package, with its version or without, has the name of what is missing."""
        written = re.fullmatch(r"(@?[^@=<>~!]+)(?:(?:[=<>~!]=?|@)[\w.*]+)?", package)
        return written is not None and _plainly(written[1]) in self.missing

    def misses(self, path: str) -> bool:
        """Tell whether the output says of a path that it is not there."""
        return not_there(self.text) and any(
            each == path or each.endswith("/" + path.removeprefix("./")) for each in missing_in(self.text)
        )

    def blames(self, option: str) -> bool:
        """Tell whether the output speaks of an option of the failed command, with its dashes or without."""
        bare = option.lstrip("-")
        return named(option, self.text) or (
            len(bare) > 1 and any(named(bare, line) for line in self._lines if self._is_blaming(line))
        )

    def states(self, word: str) -> bool:
        """Tell whether the output names a word as a fact: in its grammar, as what is not there, as the branch, port or
        remote that it speaks of."""
        facts = {value for value, kind in bindings(self.text, "") if kind in _FACTS}
        return named(word, self.grammar) or word in facts or self.misses(word)


def unset_options(text: str) -> list[str]:
    """The options that an output names, without their dashes, as those it misses."""
    return [f"--{name}" for found in _UNSET.findall(text) for name in re.findall(r"[A-Za-z][\w-]*", found)]


def named(word: str, text: str) -> bool:
    """Tell whether a text names this very word."""
    return bool(word) and re.search(rf"(?<![\w/.-]){re.escape(word)}(?![\w/-])", text) is not None


def _plainly(name: str) -> str:
    """A name as package indexes compare it."""
    return re.sub(r"[_.]+", "-", name.lower())
