"""What a watched call costs while a trial is open on its settings, at a small and at a large history.

    python benchmarks/guard_call.py [--size 1000000] [--history DIR]

CPU time of the call with everything that belongs to it: the coin, the exposure journalled before the arm acts, the
values of its arm, the outcome. The baseline is `os.write(fd, json.dumps(record))` with the same fields, in turns.
The peer, self-improving-loop, looks through its history at each call, so it is measured at a smaller one.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from figures import Figure, at_most, publish
from hot_path import Bare, best_us, self_improving_loop_us, success, synthesise
from ratchet import Range, Ratchet

SMALL = 10_000
PEER_SIZE = 5_000
CALLS = 3_000


def call_us(home: Path) -> tuple[float, float, float]:
    """CPU microseconds of a bare write, of a watched call without a trial, and of one with an open trial."""
    bare = Bare(home)
    with Ratchet(home, drain_interval_s=0) as ratchet:
        settings = ratchet.settings("support", max_retries=Range(0, 5, default=1), timeout_s=Range(1, 60, default=30))
        fields = success("t")
        del fields["session"]  # so that each call is a unit of its own, which costs most

        def answer(question: str) -> str:
            settings.current()
            return question

        watched = ratchet.watch("support", fields=fields)(answer)
        watched("why")
        without = best_us([lambda: bare.write(success("t")), lambda: watched("why")], CALLS)
        trial = ratchet.trials.open("settings:support", {"max_retries": 3})
        time.sleep(1.1)  # a process looks for open trials once a second
        written, tried = best_us([lambda: bare.write(success("t")), lambda: watched("why")], CALLS)
        assert ratchet.trials.show(trial.id).evidence.exposures >= CALLS
        ratchet.trials.stop(trial.id)
    return written, without[1], tried


def at_size(history: Path | None, size: int) -> tuple[float, float, float]:
    """The same in a home with a history of that many outcomes (a copy, so that it can be used again)."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home")
        if history is not None:
            synthesise(history, size)
            shutil.copytree(history, home)
        else:
            synthesise(home, size)
        return call_us(home)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--history", type=Path)
    given = parser.parse_args()
    _, _, few = at_size(None, SMALL)
    written, without, many = at_size(given.history, given.size)
    figures = [
        at_most(
            f"a watched call with an open trial at {given.size:,}",
            many / written,
            10,
            baseline=f"bare write {written:.1f} us",
        ),
        Figure(name=f"a watched call with an open trial at {given.size:,}, us", measured=f"{many:.1f}"),
        Figure(name="the same without a trial, us", measured=f"{without:.1f}"),
        at_most(
            f"a call at {given.size:,} outcomes of history", many / few, 1.3, baseline=f"at {SMALL:,}: {few:.1f} us"
        ),
    ]
    with tempfile.TemporaryDirectory() as folder:
        try:
            peer = self_improving_loop_us(Path(folder), PEER_SIZE)[0]
        except ImportError:  # the extra `bench` is not installed
            peer = 0.0
    if peer:
        figures.append(
            Figure(
                name=f"a call of self-improving-loop 0.1.3 at {PEER_SIZE:,}",
                measured=f"{peer:,.0f} us",
                baseline=f"{peer / many:,.0f} x ratchet",
            )
        )
    publish("guard_call", figures)


if __name__ == "__main__":
    main()
