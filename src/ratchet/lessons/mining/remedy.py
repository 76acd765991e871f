"""Remedy: what was done differently, as a value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Rule = Literal[
    "place",
    "made",
    "flag",
    "form",
    "through",
    "program",
    "wait",
    "never",
    "fields",
    "first",
    "instead",
    "stand_in",
    "again",
    "unclear",
]

PLACE = (
    "The shell does not stand in the project's folder: it stays where the last `cd` left it. Go back to the project's "
    "root first (`pwd` tells where it is), or name absolute paths; put no `cd` elsewhere before a path of the project."
)
ADVICE_CHARS = 400  # longer advice is a story about one case; nobody reuses it
_CODE = re.compile(r"<<|\n|(?:python\d?|node|ruby|perl|php|elixir|deno) (?:-\w )*-[ecr]\b|\bawk\b|\$\(")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """Difference between a call that failed and one that worked. `text` is the advice with placeholders; `do` what was
    done, byte for byte; `reason` why it must not be advice ("" when it may). What is not `reusable` (a program
    written for one case, a long story) becomes no lesson."""

    rule: Rule
    text: str
    do: str
    reusable: bool
    reason: str = ""
    form: str = ""  # what two remedies share that are the same, however the failed step was written ("": the text)


def evidence(rule: Rule, do: str) -> Remedy:
    """It worked, but why cannot be put as advice."""
    return Remedy(rule=rule, text="", do=do, reusable=False)


def is_code(command: str) -> bool:
    """Tell whether a command is a program of its own, written for one case."""
    return _CODE.search(command) is not None
