"""A replay that is killed goes on where it was, and ends in the same figures."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons.backtest.counted import KeptCounts
from ratchet.lessons.mined import mine_session
from ratchet.runtime import Runtime
from support.sessions import call, session, shell

START = 1_700_000_000.0
SESSIONS = 8
FOUND = (
    "cmd/cart.go:{0}:9: error returned from external package is unwrapped: sig: func os.Open (wrapcheck)\n\treturn e"
)

# Replays a home, writing down each session at once, and is killed before the one of that number.
KILLED = """
import os, signal, sys
from ratchet.lessons.backtest import counted
from ratchet.runtime import Runtime

counted.KEPT_EVERY_S = 0.0

def killing(done, total, what):
    if done == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

with Runtime.open(home=sys.argv[1]) as runtime:
    runtime.lessons.backtest(progress=killing)
"""


def _taught(runtime: Runtime, number: int) -> None:
    line = 3 + 7 * number
    edit = {
        "file_path": "/w/shop/cmd/cart.go",
        "old_string": "\treturn err",
        "new_string": f'\treturn fmt.Errorf("at {line}: %w", err)',
    }
    said = FOUND.format(line)
    calls = [shell("golangci-lint run", said), shell("golangci-lint run", said), call("Edit", {**edit})]
    calls.append(shell("golangci-lint run"))
    ingest(runtime.store, session(calls, f"s{number}", start=START + 3_600 * number))
    mine_session(runtime.store, f"s{number}")


@pytest.mark.parametrize("at", [1, 4, SESSIONS - 1])
def test_a_killed_replay_goes_on_and_ends_in_the_same_figures(home: Path, at: int) -> None:
    with Runtime.open(home=home) as runtime:
        for number in range(SESSIONS):
            _taught(runtime, number)
        whole = runtime.lessons.backtest()
    assert whole.saved_before.turns
    killed = subprocess.run([sys.executable, "-c", KILLED, str(home), str(at)], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with Runtime.open(home=home) as runtime:
        assert [*KeptCounts(runtime.store).known] == [f"s{number}" for number in range(at)]
        assert runtime.lessons.backtest() == whole
        assert not KeptCounts(runtime.store).known


def test_what_was_counted_before_the_sessions_changed_is_not_taken(home: Path) -> None:
    with Runtime.open(home=home) as runtime:
        for number in range(SESSIONS):
            _taught(runtime, number)
    subprocess.run([sys.executable, "-c", KILLED, str(home), "5"], capture_output=True, check=False)
    with Runtime.open(home=home) as runtime:
        assert KeptCounts(runtime.store).known
        _taught(runtime, SESSIONS)
        assert not KeptCounts(runtime.store).known
        assert runtime.lessons.backtest().sessions == SESSIONS + 1
