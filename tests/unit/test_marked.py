"""The end of all that carries a worker's mark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from ratchet.team.inside import marked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the environment of other processes")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"], env=marked.marked(dict(os.environ), "abad1dea")) as process:
        yield process
        process.kill()


def test_one_that_a_walk_missed_is_found_by_the_next(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    walks = [[], [sleeper.pid], [], [], [sleeper.pid]]
    monkeypatch.setattr(marked, "_processes", lambda: walks.pop(0))
    marked.end_marked("abad1dea")
    assert sleeper.wait(60) == -9
    assert len(walks) == 1  # after a find it looks twice again, and no more


def test_who_carries_another_mark_lives(sleeper: subprocess.Popen[bytes]) -> None:
    marked.end_marked("abad1de")
    assert sleeper.poll() is None
