"""Tells what an edit does to a checker instead of to the code: it switches a rule off at a place, or it ends a finding
while all that runs stays as it was.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ratchet.failures.gated import Gated

_SUPPRESSES = Gated(
    r"//\s?nolint(?::(?P<go>[\w,-]+))?|#\s?noqa(?::\s?(?P<noqa>[A-Z0-9, ]+))?"
    r"|#\s?type:\s?ignore(?:\[(?P<type>[\w, -]+)\])?"
    r"|#\s?pyright:\s?ignore(?:\[(?P<pyright>\w+)\])?|#\s?pylint:\s?disable=(?P<pylint>[\w,-]+)"
    r"|eslint-disable(?:-next)?(?:-line)?(?:\s+(?P<eslint>[@\w/-]+))?|@ts-(?P<ts>ignore|expect-error|nocheck)"
    r"|#!?\[allow\((?P<rust>[\w:, ]+)\)\]|@SuppressWarnings\((?P<java>[^)]*)\)|@Suppress\((?P<kotlin>[^)]*)\)"
    r"|rubocop:disable\s+(?P<rubocop>[\w/, ]+)|shellcheck disable=(?P<shell>SC\d+)"
    r"|credo:disable-for-[\w-]+(?P<credo>[^\n]*)"
    r"|#\s?nosec(?: (?P<bandit>[A-Z]\d+))?|biome-ignore (?P<biome>[\w/]+)"
)


def suppressions(removed: Sequence[str], added: Sequence[str]) -> set[str]:
    """List the rules that a hunk switches off, each as `suppress TOOL:RULE`, `silence ...` without a reason."""
    before, after = (
        Counter(name for match in _SUPPRESSES.finditer(text) for name in _suppressed(match, text))
        for text in ("\n".join(removed), "\n".join(added))
    )
    return set(after - before)


_TOOL_OF = {
    "go": "nolint",
    "type": "type: ignore",
    "ts": "@ts",
    "rust": "allow",
    "eslint": "eslint-disable",
    "rubocop": "rubocop:disable",
    "shell": "shellcheck disable",
}
_REASON = re.compile(r"[^\n]{0,80}?(?://|#|--|—)\s?\w[^\n]{5,}")
_REASON_BEGINS = re.compile(r"(?://|#|--|—)\s?(?=\w)")
_COMMENT = re.compile(r"\s*(?://|#|--|/?\*)\s*\w")


def _suppressed(match: re.Match[str], text: str) -> list[str]:
    """`suppress TOOL:RULE` for each rule that is switched off at this place with a reason, `silence ...` without one,
    or where all rules are."""
    start = text.rfind("\n", 0, match.start()) + 1
    above = text[text.rfind("\n", 0, max(0, start - 1)) + 1 : start]
    reasoned = _REASON.match(text, match.end()) is not None or _COMMENT.match(above) is not None
    for group, value in match.groupdict().items():
        if value:
            rules = [rule.strip() for rule in value.split(",")] if group != "credo" else [value.strip()]
            verb = "suppress" if reasoned and group != "ts" else "silence"
            return [f"{verb} {_TOOL_OF.get(group, group)}:{rule}" for rule in rules if rule]
    return ["silence " + match.group().strip("/# ")]


def without_reason(line: str) -> str:
    """A line that switches a rule off with a placeholder for the reason: that is of its own place alone, and none to
    copy."""
    match = next(iter(_SUPPRESSES.finditer(line)), None)
    reason = _REASON_BEGINS.search(line, match.end()) if match is not None else None
    return f"{line[: reason.end()]}<the reason, at this place>" if reason is not None else line


def without_silencing(text: str) -> str:
    """Take out of a text what switches rules of checkers off at a place."""
    return _SUPPRESSES.sub("", text)


# -- what a checker is made to believe --------------------------------------------------------------------------------

# What a compiler takes on trust and forgets: a type that is claimed instead of checked, a result that is thrown away.
_DISCARDS = r"(?<![\w.,])(?:let\s+)?_\s*=(?![=>])"
_TRUSTED = {
    (".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte"): (
        r"\bas\s+(?!const\b)[A-Za-z_$][\w.$]*(?:<[^=;\n]*>)?(?:\[\])*|(?<=[\w)\]])!(?![=\w])|\bvoid\s+(?=[\w(])"
    ),
    (".py", ".pyi"): r"\bcast\(\s*[^,\n]+,",
    (".rs",): r"\bunsafe\b",
}
_TYPE = r"(?::|->)\s*[A-Za-z_$][\w.$]*(?:[<\[][^=()\n]*[>\]])?(?:\s*\|\s*[A-Za-z_$][\w.$]*)*"
_WIDEST = re.compile(r"(?::|->)\s*(?:any|Any|unknown|object)$")
_SIGNS = re.compile(r"[\s()\[\]{};,]")
_WORD_BEHIND = re.compile(r"\s*(?://|#|--\s|/\*|<!--)\s*\S")
_ASKS_FOR_WORDS = re.compile(r"comment|\bdoc", re.IGNORECASE)
_WORDS = 2  # of a comment, by which another one is the same


def claimed(name: str, removed: Sequence[str], added: Sequence[str], said: str) -> str:
    """The mark by which a hunk of a file of that name ends a finding (it `said`) and leaves all that runs as it was;
    "" where it changed the code."""
    return _trusted(name, "\n".join(removed), "\n".join(added)) or (
        "" if _ASKS_FOR_WORDS.search(said) else _word_behind(removed, added)
    )


def _trusted(name: str, old: str, new: str) -> str:
    """The claim, widest type or discarded result that is all that came."""
    ending = next((each for each in _TRUSTED if name.endswith(each)), ())
    claims = re.compile("|".join([_DISCARDS, *([_TRUSTED[ending]] if ending else [])]))
    types = re.compile(_TYPE if ending else r"(?!)")
    was, now = (_SIGNS.sub("", types.sub("", claims.sub("", text))) for text in (old, new))
    if not was or was != now:
        return ""
    came = Counter(claims.findall(new)) - Counter(claims.findall(old))
    wide = Counter(filter(_WIDEST.match, types.findall(new))) - Counter(filter(_WIDEST.match, types.findall(old)))
    return " ".join(next(iter([*came, *wide]), "").lstrip(":->").partition("(")[0].split())


def _word_behind(removed: Sequence[str], added: Sequence[str]) -> str:
    """The first words of the comments that were put behind lines, which are all that came."""
    if len(removed) != len(added):
        return ""
    behind = [new[len(old.rstrip()) :] for old, new in zip(removed, added, strict=True) if old != new]
    held = all(new.startswith(old.rstrip()) for old, new in zip(removed, added, strict=True))
    if not behind or not held or not all(map(_WORD_BEHIND.match, behind)):
        return ""
    return " ".join(behind[0].split()[: 1 + _WORDS])[:40]
