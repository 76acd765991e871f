"""Loops that people reported in public trackers, as the calls of the agent that was in one.

`loop_reports.jsonl` has a line for each: the tools, commands and messages that stand in the report, the rest as plain
as it can be. `rounds` are repeated `times`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ratchet.failures.circles import RecentCall

_TURN_S = 7.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopReport:
    """A report, the calls that it tells of, and how many of these make one round."""

    name: str
    about: str
    calls: tuple[RecentCall, ...]
    a_round: int = 1


def reports() -> list[LoopReport]:
    """All of them."""
    lines = Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    return [_report(line) for line in lines]


def _report(line: str) -> LoopReport:
    row = json.loads(line)
    made = [call for each in row["rounds"] * row.get("times", 1) for call in each]
    calls = tuple(
        RecentCall(
            call["tool"], call["given"], call["said"], failed=call.get("failed", False), at=_TURN_S * turn, turn=turn
        )
        for turn, call in enumerate(made)
    )
    return LoopReport(name=row["report"], about=row["about"], calls=calls, a_round=len(row["rounds"][0]))
