"""Is an agent that goes round in circles told in time, and who works honestly left alone?

The overseer's judgement of every call of loops that people reported, and of real sessions (`--histories DIR` holds
transcripts of Claude Code). `--rsi-loop FILE` puts the detector of github.com/clawinfra/rsi-loop beside it
(`rsi_loop/doom_loop_detector.py`; the version on PyPI has none).
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from figures import Figure, at_least, at_most, publish
from ratchet.failures.circles import RecentCall
from ratchet.integrations.clients.claude_code import made
from ratchet.team.overseer.judging import Sight, judge
from ratchet.team.overseer.sources import as_told
from ratchet.testing.loop_reports import reports

_SEEN = 150  # calls, as many as the end of a transcript holds

Detector = Callable[[Sequence["RecentCall | None"]], str]
"""Names what is wrong with the last of these calls, the same as long as it is the same; "" where nothing is."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=Path)
    parser.add_argument("--rsi-loop", type=Path)
    given = parser.parse_args()
    detectors: dict[str, Detector] = {"the overseer": ours}
    if given.rsi_loop:
        detectors["rsi-loop"] = theirs(given.rsi_loop)
    told = {name: in_time(detector) for name, detector in detectors.items()}
    beside = ", ".join(f"{name}: {len(found)}" for name, found in told.items() if name != "the overseer")
    every = reports()
    figures = [
        at_least(
            "reported loops told by the fourth round",
            len(told["the overseer"]),
            len(every),
            unit=f"of {len(every)}",
            baseline=beside,
        )
    ]
    for each in every:
        at = told["the overseer"].get(each.name, "-")
        print(f"{each.name}: told at call {at} of {4 * each.a_round} in four rounds: {each.about}")
    if given.histories:
        sessions = [*read(given.histories)]
        calls = len(
            {(call.tool, call.input, call.mark) for session in sessions for call in session if call is not None}
        )
        alarms = {name: alarming(detector, sessions) for name, detector in detectors.items()}
        for line in alarms["the overseer"]:
            print(f"told in a real session: {line}")
        rate = {name: 1000 * len(found) / calls for name, found in alarms.items()}
        beside = ", ".join(f"{name}: {each:.2f}" for name, each in rate.items() if name != "the overseer")
        figures.append(
            at_most(
                "told of, a thousand real calls", rate["the overseer"], 1, unit=f"of {calls:,} calls", baseline=beside
            )
        )
        figures.append(Figure(name="sessions", measured=f"{len(sessions)}"))
    publish("overseer", figures)


def ours(calls: Sequence[RecentCall | None]) -> str:
    judged = judge(Sight(kind="session", id="s", calls=calls), now=0.0)
    return judged.key if judged.judgement == "looping" else ""


def theirs(path: Path) -> Detector:
    """The peer's detector, asked before each call as it wants to be, without what it sends over the network."""
    spec = importlib.util.spec_from_file_location("doom_loop_detector", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["doom_loop_detector"] = module
    spec.loader.exec_module(module)
    setattr(module, "_emit_telemetry", lambda *_: None)  # noqa: B010  (it is not ours)

    def detect(calls: Sequence[RecentCall | None]) -> str:
        *before, last = [
            {
                "tool": call.tool,
                "args": call.given if isinstance(call.given, dict) else {"input": call.given},
                "errored": call.failed,
            }
            for call in calls
            if call is not None
        ]
        module.reset_session_counter("s")
        answer = module.check_before_tool_call("s", last["tool"], last["args"], before)
        return f"{answer['pattern']} {last['tool']} {last['args']}" if answer["detected"] else ""

    return detect


def in_time(detector: Detector) -> dict[str, int]:
    """Report -> the call at which it was told of, where that is at its fourth round at the latest."""
    found = {}
    for report in reports():
        seen = [as_told(call) for call in report.calls]
        at = next((n for n in range(1, len(seen) + 1) if detector(seen[:n])), None)
        if at is not None and at <= 4 * report.a_round:
            found[report.name] = at
    return found


def read(histories: Path) -> Iterator[list[RecentCall | None]]:
    for path in sorted(histories.rglob("*.jsonl")):
        calls = [call and as_told(call) for call in made(b"\n" + path.read_bytes(), set())]
        if calls:
            yield calls


def alarming(detector: Detector, sessions: Sequence[Sequence[RecentCall | None]]) -> list[str]:
    """What is told of in real sessions, once for each trouble of a session. Whether it was one is for people to see:
    here each counts as a false alarm."""
    found = []
    for session in sessions:
        told: set[str] = set()
        for n in range(1, len(session) + 1):
            last = session[n - 1]
            if last is None:
                continue
            key = detector(session[max(0, n - _SEEN) : n])
            if key and key not in told:
                told.add(key)
                found.append(f"{last.tool}: {last.input[:110]}")
    return found


if __name__ == "__main__":
    main()
