"""Optimizers keep what is proven: a real one, from the registry, on proposals of known worth.

`scripts/frameworks.sh newest gepa` installs it beside the project; without, the test is skipped.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".frameworks" / "gepa-newest" / "bin" / "python"
OPENEVOLVE = ROOT / ".frameworks" / "openevolve-newest" / "bin" / "python"
SCRIPTS = ROOT / "tests" / "support" / "optimizers"
SCRIPT = SCRIPTS / "gepa_run.py"
HELPING = [3, 9]


def kept(how: str, seed: int) -> dict[str, list[int]]:
    ended = subprocess.run([PYTHON, SCRIPT, how, str(seed)], capture_output=True, text=True, check=True)
    found: dict[str, list[int]] = json.loads(ended.stdout)
    return found


@pytest.mark.skipif(not PYTHON.exists(), reason="needs gepa: bash scripts/frameworks.sh newest gepa")
def test_gepa_keeps_what_helps_and_nothing_else() -> None:
    seeds = (1, 2, 3)
    assert [kept("gated", seed) for seed in seeds] == [{"kept": HELPING, "false": []}] * 3
    assert any(kept("own", seed)["false"] for seed in seeds)


@pytest.mark.skipif(not OPENEVOLVE.exists(), reason="needs openevolve: bash scripts/frameworks.sh newest openevolve")
def test_the_best_program_of_openevolve_holds_only_what_helps(tmp_path: Path) -> None:
    command = [str(OPENEVOLVE), str(SCRIPTS / "openevolve_run.py"), "gated", "1", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found["best"]
    assert set(found["best"]) <= set(HELPING)
    assert found["said"] == len(found["best"])  # a proven step each
    versions = {json.loads(line)["version"] for line in (tmp_path / "scores.jsonl").read_text().splitlines()}
    assert len(versions) > 6  # of worker processes, which share the table
