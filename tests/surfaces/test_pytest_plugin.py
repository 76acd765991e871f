"""`pytest --ratchet`: records what fails, says what is known; without the flag it does nothing and costs nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ratchet

TESTS = """\
import pytest

def test_passes(): pass

def test_fails():
    raise RuntimeError("database db-7 is locked by pid 4711, password=hunter2")

@pytest.mark.skip
def test_skipped(): raise RuntimeError("never")

@pytest.mark.xfail
def test_expected(): raise RuntimeError("known")

@pytest.fixture
def broken(): raise ValueError("no such plug: 230V")

def test_of_fixture(broken): pass
"""


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    plugins = ["-p", "ratchet.integrations.pytest_plugin", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, *options]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "test_it.py").write_text(TESTS)
    return folder


def test_failures_are_recorded_with_their_session_and_without_secrets(home: Path, project: Path) -> None:
    done = run(project, "--ratchet")
    assert done.returncode == 1
    with ratchet.Ratchet(home=home) as r:
        found = {each.task: each for each in r.outcomes(agent="pytest")}
    assert set(found) == {"test_it.py::test_fails", "test_it.py::test_of_fixture"}
    failure = found["test_it.py::test_fails"].failure
    assert failure is not None
    assert "hunter2" not in failure.message
    assert len({each.session for each in found.values()}) == 1
    assert found["test_it.py::test_of_fixture"].context["phase"] == "setup"
    assert "ratchet: 2 recorded, advice for 0" in done.stdout


def test_a_lesson_stands_under_the_traceback_that_it_is_about(home: Path, project: Path) -> None:
    with ratchet.Ratchet(home=home) as r:
        r.lessons.add(
            when="RuntimeError: database db-1 is locked by pid 12, password=hunter3",
            do="Stop the `worker` first.",
            state="active",
            project=str(project),
        )
    done = run(project, "--ratchet")
    _, _, under = done.stdout.partition("database db-7 is locked")
    assert "Ratchet: what is known about this failure" in under
    assert "- Stop the `worker` first." in under
    assert done.stdout.count("Stop the `worker`") == 1
    assert "ratchet: 2 recorded, advice for 1" in done.stdout


def test_what_healed_a_check_stands_under_the_test_that_fails_so_again(home: Path, project: Path) -> None:
    (project / "test_it.py").write_text("def test_sum():\n    total = 1 - 2\n    assert total == 3\n")
    checked = run(project).stdout  # what `ratchet run` sees of the failure, and distills its lesson from
    with ratchet.Ratchet(home=home) as r:
        r.lessons.add(when=checked, do="arithmetic at sums.py:2: `-` became `+`", project=str(project))
    assert "- arithmetic at sums.py:2: `-` became `+`" in run(project, "--ratchet").stdout


def test_another_home_can_be_named(home: Path, project: Path, tmp_path: Path) -> None:
    run(project, "--ratchet", "--ratchet-home", str(tmp_path / "other"))
    assert not home.exists()
    with ratchet.Ratchet(home=tmp_path / "other") as r:
        assert len(list(r.outcomes())) == 2


def test_without_the_flag_nothing_is_recorded_or_loaded(home: Path, project: Path) -> None:
    done = run(project)
    assert "ratchet" not in done.stdout
    assert not home.exists()
    (project / "test_it.py").write_text(
        "import sys\ndef test_light():\n"
        "    ours = {m for m in sys.modules if m.startswith('ratchet.')}\n"
        "    assert ours == {'ratchet.integrations', 'ratchet.integrations.pytest_plugin'}\n"
    )
    assert run(project).returncode == 0, run(project).stdout


def test_the_plugin_is_registered_with_pytest() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\nratchet = "ratchet.integrations.pytest_plugin"\n' in text
