"""`ratchet evolve` as a shell and a script see it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ratchet.evolving.bench.agents import agent_of
from ratchet.evolving.job import ProposalJob, Proposed
from ratchet.evolving.request import EvolveAsked, EvolveMeans
from ratchet.runtime import Runtime
from ratchet.testing.evolving import (
    SKILLS,
    ScriptedProposer,
    SyntheticMeasure,
    skills_text,
    synthetic_agent,
    synthetic_benchmark,
)
from ratchet.testing.proposing import Play

DECLARATION = """command = "true"
changes = ["skills.json"]

[knobs.tries]
type = "range"
low = 1
high = 9
integer = true
"""


def good(job: ProposalJob) -> Proposed:
    job.workspace.write(SKILLS, skills_text({"*": 1.0}).encode())
    return Proposed(status="proposed", hypothesis="always right", settings={"tries": 4})


class Shell:
    """Runs `ratchet` beside an agent, with a home and a benchmark of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        synthetic_agent(folder / "agent", {"*": 0.0})
        self.skills, self.declaration = folder / "agent" / SKILLS, folder / "agent" / "ratchet-agent.toml"
        self.declaration.write_text(DECLARATION)

    def ratchet(self, *words: str) -> subprocess.CompletedProcess[str]:
        environ = {
            "HOME": str(self.folder),
            "RATCHET_HOME": str(self.folder / "home"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "160",
        }
        return subprocess.run(
            ["ratchet", *words], cwd=self.folder, env=environ, capture_output=True, text=True, timeout=300, check=False
        )

    def told(self, done: subprocess.CompletedProcess[str], code: int = 0) -> str:
        assert done.returncode == code, done.stderr + done.stdout
        return done.stdout


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("evolve"))


@pytest.fixture(scope="module")
def run(shell: Shell) -> str:
    """A run that kept something, made with an agent of known truth; its id."""
    return evolved(shell, proposals=2)


def test_the_projects_beside_are_evidence_for_the_proposer(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    told: list[str] = []
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "cli.py").write_text(
        'import argparse\np = argparse.ArgumentParser()\np.add_argument("--undo")\n'
    )

    def asked(job: ProposalJob) -> Proposed:
        told.extend(f"{gap.name} {gap.cells['theirs'].place}" for gap in job.gaps)
        return Proposed(status="nothing", reason="only looked")

    evolved(shell, proposals=1, script=[asked], beside=(str(tmp_path / "theirs"),))
    assert told == ["--undo cli.py:3"]
    named = ("--agent", "agent", "--proposer", "settings", "--bench", "quick")
    lost = shell.ratchet("evolve", *named, "--beside", "nowhere")
    assert lost.returncode == 3
    assert "nowhere is neither a folder nor" in lost.stderr
    assert not json.loads(shell.told(shell.ratchet("evolve", "list", "--json")))[1:], "no run is begun for it"


def evolved(
    shell: Shell,
    *,
    proposals: int,
    script: Sequence[Mapping[str, str] | Play] | None = None,
    beside: tuple[str, ...] = (),
) -> str:
    with Runtime.open(home=shell.folder / "home") as runtime:
        asked = EvolveAsked(
            agent=agent_of("agent", cwd=shell.folder),
            benchmark=synthetic_benchmark(),
            proposer="settings",
            proposals=proposals,
        )
        proposer = ScriptedProposer(script or [{"agent.py": "x = 1\n"}, good])
        means = EvolveMeans(proposer=proposer, measure=SyntheticMeasure(), unsafe=True, beside=beside)
        return runtime.evolutions.run(asked, means).id


def test_a_run_is_listed_shown_and_drawn_as_a_tree(shell: Shell, run: str) -> None:
    (listed,) = json.loads(shell.told(shell.ratchet("evolve", "list", "--json")))
    assert listed["id"] == run
    shown = json.loads(shell.told(shell.ratchet("evolve", "show", run, "--json")))
    assert [each["state"] for each in shown["candidates"]] == ["baseline", "screened_out", "kept"]
    assert "agent.py" in shown["candidates"][1]["reason"]
    assert '+"*": 1.0' in shown["candidates"][2]["diff"]
    drawn = json.loads(shell.told(shell.ratchet("evolve", "tree", run, "--json")))
    assert [each["n"] for each in drawn["root"]["children"]] == [1, 2]
    for words in (("list",), ("show", run, "--diffs"), ("tree", run)):
        assert "always right" in shell.told(shell.ratchet("evolve", *words)) or words == ("list",)
    assert "+100.0 points" in shell.told(shell.ratchet("evolve", "show", run))


def test_a_run_of_one_proposal_says_so(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    told = shell.told(shell.ratchet("evolve", "show", evolved(shell, proposals=1)))
    assert "  1 proposal by " in told
    assert "the one proposal was tried" in told


def test_the_result_is_a_patch_and_applied_only_when_told_so(shell: Shell, run: str) -> None:
    patch = shell.told(shell.ratchet("evolve", "apply", run))
    assert '+"*": 1.0' in patch
    assert "+tries = 4" in patch
    assert json.loads(shell.skills.read_text()) == {"*": 0.0}
    assert f"ratchet evolve revert {run}" in shell.told(shell.ratchet("evolve", "apply", run, "--apply"))
    assert json.loads(shell.skills.read_text()) == {"*": 1.0}
    assert shell.declaration.read_text().startswith(DECLARATION)
    shell.told(shell.ratchet("evolve", "revert", run))
    assert json.loads(shell.skills.read_text()) == {"*": 0.0}
    assert shell.declaration.read_text() == DECLARATION


def test_wrong_calls_are_one_line_with_the_remedy(shell: Shell, run: str) -> None:
    for words, code, said in (
        (("evolve",), 2, "--agent"),
        (("evolve", "--agent", "agent", "--proposer", "nobody"), 2, "nobody"),
        (("evolve", "--agent", "agent", "--bench", "none", "--proposer", "settings"), 3, "none"),
        (("evolve", "show", "none"), 3, "ratchet evolve list"),
        (("evolve", "--resume", run), 5, "has ended"),
        (("evolve", "revert", run), 5, "not applied"),
        (("evolve", "apply", run, "--apply", "--branch", "x"), 2, "one of"),
    ):
        done = shell.ratchet(*words)
        assert done.returncode == code, (words, done.stderr)
        assert said in done.stderr
        assert len(done.stderr.strip().split("\n")) == 1
