"""`ratchet run --solver repair` and `--solver auto` remember together."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ratchet import tasks
from ratchet.errors import Refused
from ratchet.sandbox.choice import Sandboxes


@pytest.fixture
def home(tmp_path: Path) -> Path:
    try:
        Sandboxes(tmp_path / "home").chosen()
    except Refused as error:
        pytest.skip(str(error))
    return tmp_path / "home"


def healed(home: Path, project: Path, solver: str) -> dict[str, object]:
    """What `ratchet run` says of its first attempt."""
    done = subprocess.run(
        [sys.executable, "-m", "ratchet", "run", "--check", "python -m pytest -q", "--solver", solver, "--json"],
        cwd=project,
        env={**os.environ, "HOME": str(home.parent), "RATCHET_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    said = json.loads(done.stdout)
    assert said["status"] == "passed", (said, done.stderr)
    assert len(said["attempts"]) == 1
    first: dict[str, object] = said["attempts"][0]
    return first


@pytest.mark.parametrize(("first", "second"), [("repair", "auto"), ("auto", "repair")])
def test_a_failure_that_is_back_is_fixed_at_candidate_1_by_either(
    home: Path, tmp_path: Path, first: str, second: str
) -> None:
    project = tasks.task("counters").lay_out(tmp_path / "project")
    before = healed(home, project, first)
    again = healed(home, project, second)
    assert again["candidates"] == 1 < int(str(before["candidates"]))
    assert again["alternatives"] == 0 < int(str(before["alternatives"]))
    assert again["fix"] == before["fix"]
