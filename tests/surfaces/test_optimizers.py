"""Optimizers keep what is proven: real ones, from the registry, on proposals of known worth.

`scripts/frameworks.sh newest NAME` installs one beside the project; without, its tests are skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "tests" / "support" / "optimizers"
HELPING = [3, 9]


def python_of(name: str) -> Path:
    return ROOT / ".frameworks" / f"{name}-newest" / "bin" / "python"


def needs(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        not python_of(name).exists(), reason=f"needs {name}: bash scripts/frameworks.sh newest {name}"
    )


def found(python: Path | str, script: str, *words: str, at: Path) -> dict[str, Any]:
    """What a script printed in a folder of its own."""
    folder = at / "-".join((script, *words))
    folder.mkdir()
    command = [str(python), str(SCRIPTS / script), *words[:2], str(folder), *words[2:]]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    printed: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return printed


@needs("gepa")
def test_gepa_keeps_what_helps_and_nothing_else(tmp_path: Path) -> None:
    gated = [found(python_of("gepa"), "gepa_run.py", "gated", seed, at=tmp_path) for seed in "123"]
    assert [(each["kept"], each["false"]) for each in gated] == [(HELPING, [])] * 3
    assert any(found(python_of("gepa"), "gepa_run.py", "own", seed, at=tmp_path)["false"] for seed in "123")


@needs("openevolve")
def test_the_best_program_of_openevolve_holds_only_what_helps(tmp_path: Path) -> None:
    said = found(python_of("openevolve"), "openevolve_run.py", "gated", "1", at=tmp_path)
    assert said["kept"]
    assert set(said["kept"]) <= set(HELPING)
    assert said["said"] == len(said["kept"])  # a proven step each
    table = tmp_path / "openevolve_run.py-gated-1" / "scores.jsonl"
    versions = {json.loads(line)["version"] for line in table.read_text().splitlines()}
    assert len(versions) > 6  # of worker processes, which share the table


@needs("skillopt")
def test_a_skill_that_skillopt_trains_holds_only_what_helps(tmp_path: Path) -> None:
    gated = [found(python_of("skillopt"), "skillopt_run.py", "gated", seed, at=tmp_path) for seed in "12"]
    assert [(each["kept"], each["false"]) for each in gated] == [(HELPING, [])] * 2
    assert found(python_of("skillopt"), "skillopt_run.py", "own", "1", at=tmp_path)["false"]


@needs("skillopt")
def test_fifty_nights_of_skillopt_keep_nothing_that_harms(tmp_path: Path) -> None:
    gated = found(python_of("skillopt"), "skillopt_nights.py", "gated", "2", at=tmp_path)
    own = found(python_of("skillopt"), "skillopt_nights.py", "own", "2", at=tmp_path)
    assert gated["kept"]
    assert set(gated["kept"]) <= set(HELPING)
    assert len(own["false"]) > 3
    rows = (tmp_path / "skillopt_nights.py-gated-2" / "nights.jsonl").read_text().splitlines()
    assert sum(json.loads(row)["kept"] for row in rows) == len(gated["kept"])


@needs("dspy")
def test_a_program_that_dspy_optimizes_is_the_students_where_nothing_helps(tmp_path: Path) -> None:
    idle = [found(python_of("dspy"), "dspy_run.py", how, "1", "idle", at=tmp_path) for how in ("own", "gated")]
    assert [bool(each["false"]) for each in idle] == [True, False]
    helped = found(python_of("dspy"), "dspy_run.py", "gated", "1", at=tmp_path)
    assert helped["kept"]
    assert set(helped["kept"]) <= set(HELPING)


def test_a_loop_that_commits_keeps_the_commits_that_help(tmp_path: Path) -> None:
    gated = [found(sys.executable, "autoresearch_run.py", "gated", seed, at=tmp_path) for seed in "12"]
    assert [(each["kept"], each["false"]) for each in gated] == [(HELPING, [])] * 2
    assert found(sys.executable, "autoresearch_run.py", "own", "1", at=tmp_path)["false"]
