"""The queue of jobs that workers of this machine pull."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ratchet.evolving.cluster.pulling import JobQueue

DRIVER = """
import pickle, sys
from ratchet.evolving.cluster.pulling import JobQueue
queue = JobQueue(pickle.dumps)
print(queue.place, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = Path(tempfile.mkdtemp())  # short: a socket's path has 107 characters
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


@pytest.mark.slow
def test_the_folder_of_a_killed_driver_is_swept_by_the_next_and_that_of_a_living_one_is_not(place: Path) -> None:
    killed, living = (
        subprocess.Popen([sys.executable, "-c", DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    )
    with killed, living:
        assert killed.stdout
        assert living.stdout
        left, held = (Path(each.stdout.readline().strip()).parent for each in (killed, living) if each.stdout)
        foreign = place / "ratchet-jobs-notes"
        foreign.write_text("not a folder")
        assert left.is_dir()
        killed.kill()
        killed.wait()
        queue = JobQueue(pickle.dumps)
        try:
            assert not left.exists()
            assert held.is_dir()
            assert Path(queue.place).parent.is_dir()
            assert foreign.exists()
        finally:
            queue.end("over")
            living.kill()
    assert not Path(queue.place).parent.exists()
