"""Says whether a tool call may be made, must be asked about, or must be confirmed, by the class of its risk.

The class follows from what the call does: a shell's from its programs, as Ratchet knows them for lessons; any other
tool's from its name. What is unknown is asked about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from ratchet.failures import steps
from ratchet.failures.intent import intent
from ratchet.failures.programs import SHELL_TOOLS
from ratchet.records import Json

RiskClass = Literal["read", "mutate", "destructive", "external_write", "financial", "unknown"]
Approval = Literal["ALLOW", "PROMPT", "CONFIRM"]

# In a shell, whichever program comes first: what it takes away does not come back.
_DESTRUCTIVE = re.compile(
    r"\brm\s+(?:-\S*\s+)*-\S*[rf]|\bgit\s+push\b[^|;&]*(?:\s-f\b|--force)|\bgit\s+(?:reset\s+--hard|clean\s+-\S*f|branch\s+-D)"
    r"|\b(?:mkfs\S*|shred|truncate|wipefs)\b|\bdd\s[^|;&]*\bof=|>\s*/dev/(?!null)|\bdrop\s+(?:table|database|schema)\b"
    r"|\bdelete\s+from\s+\w+\s*(?:;|$)|\bkubectl\s+delete\b|\bterraform\s+destroy\b|\bdocker\s+(?:system|volume)\s+prune\b",
    re.IGNORECASE,
)
_OUTWARD = re.compile(
    r"\bgit\s+push\b|\b(?:npm|cargo|poetry|twine|gem)\s+(?:publish|upload|push)\b|\bdocker\s+push\b|\bgh\s+(?:pr|issue|release)"
    r"\s+(?:create|comment|merge|close|edit)\b|\bcurl\b[^|;&]*(?:\s-X\s*(?:POST|PUT|PATCH|DELETE)|\s--?d(?:ata\S*)?\b)"
    r"|\b(?:scp|rsync|sendmail|mail)\s|\bkubectl\s+apply\b|\bterraform\s+apply\b",
    re.IGNORECASE,
)
_NAMES: tuple[tuple[RiskClass, str], ...] = (
    ("financial", "pay trade order buy sell transfer withdraw deposit refund charge invoice"),
    ("destructive", "delete destroy drop purge wipe kill terminate revoke remove"),
    ("external_write", "send post publish message mail email tweet notify comment upload login"),
    ("mutate", "write edit update create insert set reset move rename patch apply save add"),
    ("read", "read get list search find fetch show view grep glob query look status"),
)
_ENDINGS = ("", "s", "ed", "ing", "ment", "ments")
_PIECES = re.compile(r"&&|\|\||[;|\n&]")
_WITHIN = re.compile(r"\$\(|`|<\(")  # a command within a command


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskPolicy:
    """Approvals by class. `main_agent` may change files unasked; a payment below `limit_usd` is allowed.
    `overrides` name another approval for a class; what is destructive is always confirmed."""

    main_agent: bool = False
    limit_usd: float = 500.0
    overrides: dict[RiskClass, Approval] = field(default_factory=dict)

    def approval(self, tool: str, given: Json = None, *, amount_usd: float | None = None) -> Approval:
        """The approval that a call needs."""
        found = risk_class(tool, given)
        if found == "destructive":
            return "CONFIRM"
        if found in self.overrides:
            return self.overrides[found]
        if found == "financial":
            return "ALLOW" if amount_usd is not None and amount_usd < self.limit_usd else "CONFIRM"
        return {
            "read": "ALLOW",
            "mutate": "ALLOW" if self.main_agent else "PROMPT",
            "external_write": "CONFIRM",
            "unknown": "PROMPT",
        }[found]


def risk_class(tool: str, given: Json = None) -> RiskClass:
    """The class of a tool call."""
    name = steps.plain(tool)
    if name not in SHELL_TOOLS:
        words = set(re.sub(r"(?<=[a-z])(?=[A-Z])|[_\W]+", " ", tool.rpartition("__")[2]).lower().split())
        return next((found for found, named in _NAMES if words & _forms(named)), "unknown")
    command = given.get("command") if isinstance(given, dict) else given
    asked = command if isinstance(command, str) else ""
    if _DESTRUCTIVE.search(asked):
        return "destructive"
    if _OUTWARD.search(asked):
        return "external_write"
    if not asked.strip() or _WITHIN.search(asked):
        return "mutate"
    pieces = [each.strip() for each in _PIECES.split(steps.trimmed(asked)) if each.strip()]
    only = all(steps.looks(name, intent(name, {"command": each})[0], each) for each in pieces)
    return "read" if only and not steps.writes("", asked) else "mutate"


def _forms(words: str) -> set[str]:
    return {word + ending for word in words.split() for ending in _ENDINGS}
