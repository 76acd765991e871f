"""The agents that are laid out to be evolved: what they know, and that their weaknesses are all that is wrong."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ratchet.demo import __main__ as laying_out
from ratchet.demo.laying import IDEAS, lay_out, lay_out_prompts
from ratchet.errors import UsageError
from ratchet.evolving.bench.agents import agent_of
from ratchet.evolving.bench.benchmark import BenchTask
from ratchet.evolving.bench.shipped import shipped
from ratchet.healing.models.prompts import NAMES, Prompts

FAULT = "line.strip() if mark != WHOLE else line"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(tmp_path_factory.mktemp("demo") / "agent")


def module(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def written(task: BenchTask, folder: Path) -> Path:
    for path, text in task.files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.parametrize("name", ["core", "quick"])
def test_without_its_weaknesses_the_agent_answers_every_task_rightly(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (folder / "reading.py").read_text(encoding="utf-8")
    assert FAULT in text
    (tmp_path / "reading.py").write_text(text.replace(FAULT, "line"), encoding="utf-8")
    (tmp_path / "agent.py").write_bytes((folder / "agent.py").read_bytes())
    monkeypatch.syspath_prepend(str(tmp_path))
    agent, reading = module(tmp_path / "agent.py", "demo_agent"), module(tmp_path / "reading.py", "demo_reading")
    known = json.loads((folder / "memory.json").read_text(encoding="utf-8"))
    for task in shipped(name).tasks:
        work = written(task, tmp_path / task.id)
        answer = known[agent.key_of(task.instruction.strip(), work)]
        made = reading.files_of(answer, work)
        assert {path: text for path, text in made.items() if text} == dict(task.reference), task.id
        assert {path for path, text in made.items() if not text} == {*task.removes}, task.id
    monkeypatch.delitem(sys.modules, "reading", raising=False)


def test_each_weakness_can_be_mended_where_it_is(folder: Path) -> None:
    agent = agent_of(str(folder), cwd=folder.parent)
    assert agent.changes == ("prompts/*.md", "agent.py", "reading.py")
    assert agent.settings["most_calls"] == 2
    assert "never write more than 25 lines" in (folder / "prompts" / "rules.md").read_text(encoding="utf-8")
    done = subprocess.run([sys.executable, "-B", "check.py"], cwd=folder, check=False)
    assert done.returncode == 0


@pytest.mark.slow
def test_every_idea_fits_the_agent_once(folder: Path, tmp_path: Path) -> None:
    tried: list[dict[str, str]] = []
    agent = tmp_path / "agent"
    while True:
        shutil.copytree(folder, agent, dirs_exist_ok=True)
        evidence = json.dumps({"tried": tried})
        done = subprocess.run(
            [sys.executable, str(IDEAS)], cwd=agent, input=evidence, capture_output=True, text=True, check=False
        )
        if done.returncode:
            break
        tried.append(json.loads(done.stdout))
    assert "out of ideas" in done.stderr
    hypotheses = [each["hypothesis"] for each in tried]
    assert len(hypotheses) == len({*hypotheses}) == IDEAS.read_text(encoding="utf-8").count("    DemoIdea(")
    assert sum(each.startswith("MEND") for each in hypotheses) == 3
    assert sum(each.startswith("CHEAT") for each in hypotheses) == 5


def test_an_agent_is_laid_out_into_a_new_folder_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="name a new folder"):
        lay_out(folder)
    assert laying_out.main([str(folder)]) == UsageError.exit_code
    assert "name a new folder" in capsys.readouterr().err
    assert laying_out.main([]) == 2
    assert laying_out.main(["--help"]) == 2


def test_our_own_prompts_are_laid_out_as_they_are_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert laying_out.main(["--prompts", str(tmp_path / "own")]) == 0
    assert "--bench repair" in capsys.readouterr().out
    agent = agent_of(str(tmp_path / "own"), cwd=tmp_path)
    assert agent.changes == ("prompts/*.md",)
    own, shipped_ones = Prompts(tmp_path / "own" / "prompts"), Prompts()
    for name in NAMES:
        assert own.text(name) == shipped_ones.text(name)
    with pytest.raises(UsageError):
        lay_out_prompts(tmp_path / "own")
