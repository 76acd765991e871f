"""How often are agents told of a circle that is none? Every call of real sessions is looked at as a hook would at it.

`--histories DIR` holds transcripts of Claude Code. What is told is printed: people judge whether it was a circle.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from figures import Figure, at_most, publish
from ratchet.failures.circles import Circle, RecentCall, circle
from ratchet.failures.verdict import failure_row
from ratchet.integrations.clients.claude_code import made

_SEEN = 150  # calls, as many as the end of a transcript holds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=Path, required=True)
    given = parser.parse_args()
    told: dict[str, Circle] = {}
    seen: set[tuple[str, str, str]] = set()  # copies of a session are one
    spent_s = 0.0
    for path in sorted(given.histories.rglob("*.jsonl")):
        calls: list[RecentCall | None] = []
        for call in made(b"\n" + path.read_bytes(), set()):
            if call is None:
                calls.append(None)
                continue
            calls.append(as_told(call))
            begun = time.perf_counter()
            found = circle(calls[-_SEEN:])
            spent_s += time.perf_counter() - begun
            seen.add((call.tool, call.input, call.mark))
            if found is not None:
                told[f"{path} {found.key}"] = found
    for each in told.values():
        print(f"{each.times}x {each.call.tool}: {each.call.input[:120]}")
    rate = 1000 * len(told) / len(seen)
    figures = [
        at_most("circles told of, a thousand real calls", rate, 1, unit=f"of {len(seen):,} calls"),
        Figure(name="CPU of a look", measured=f"{1e6 * spent_s / len(seen):.0f} us"),
    ]
    publish("circles", figures)


def as_told(call: RecentCall) -> RecentCall:
    """The call as the hook that just met it knows it: also a failure that nobody flagged is one."""
    failure = failure_row(call.said, flag=call.failed or None, tool=call.tool, head=call.head, given=call.input)
    return RecentCall(call.tool, call.given, call.said, failed=failure is not None, at=call.at, turn=call.turn)


if __name__ == "__main__":
    main()
