"""`ratchet run` with a model, as a person runs it, against a server that speaks like the providers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.sandbox.beneath import remove_tree
from ratchet.testing.model_server import ModelServer
from ratchet.testing.wire import Reply

PROGRAM = "def add(a, b):\n    return a - b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"


def edit(old: str, new: str) -> Reply:
    edits = [{"file": "calc.py", "old": old, "new": new}]
    return Reply(text=json.dumps({"cause": "a minus", "fix": "a plus", "edits": edits}))


WRONG, RIGHT = edit("a - b", "a * b"), edit("a - b", "a + b")


@pytest.fixture
def project() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="model-run-"))
    folder.chmod(0o755)
    (folder / "calc.py").write_text(PROGRAM, encoding="utf-8")
    (folder / "test_calc.py").write_text(TEST, encoding="utf-8")
    yield folder
    remove_tree(folder)


def ratchet(
    home: Path, *words: str, server: ModelServer | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    named = {"RATCHET_MODEL": "any", "RATCHET_MODEL_BASE_URL": server.openai_url} if server else {}
    return subprocess.run(
        [sys.executable, "-m", "ratchet", *words],
        env={"PATH": os.environ["PATH"], "HOME": str(home.parent), "RATCHET_HOME": str(home), **named, **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def healed(
    home: Path, project: Path, *more: str, server: ModelServer | None = None, **environ: str
) -> tuple[dict[str, object], subprocess.CompletedProcess[str]]:
    words = ("run", "--in", str(project), "--check", f"{sys.executable} -m pytest -q", "--json", *more)
    done = ratchet(home, *words, server=server, **environ)
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found, done


def test_a_model_heals_a_project_that_stays_untouched(home: Path, project: Path) -> None:
    with ModelServer(WRONG, RIGHT) as server:
        found, done = healed(home, project, "--solver", "model", server=server)
        said = server.asked
    assert (found["status"], done.returncode) == ("passed", 0)
    assert "+    return a + b" in str(found["diff"])
    assert (project / "calc.py").read_text(encoding="utf-8") == PROGRAM
    assert "a * b" in said[1].text  # what was tried in vain is told


def test_whatever_a_model_says_the_episode_ends_in_a_status(home: Path, project: Path) -> None:
    bad = (Reply(text="}{"), Reply(raw=b"\x00\xff"), Reply(text="no", ended="refusal"), Reply(text="[]", cut_after=1))
    with ModelServer(*bad, Reply(text='{"edits": [{}]}')) as server:
        found, done = healed(home, project, "--solver", "model", "--attempts", "3", server=server)
    assert found["status"] in ("failed", "breaker")
    assert "Traceback" not in done.stderr
    assert done.returncode == 1


def test_a_budget_that_does_not_reach_one_call_ends_the_episode(home: Path, project: Path) -> None:
    with ModelServer(RIGHT) as server:
        prices = {"RATCHET_MODEL_PRICES": "any=1000/1000"}
        found, _done = healed(home, project, "--solver", "model", "--budget-usd", "0.5", server=server, **prices)
        assert server.asked == []
    assert found["status"] == "budget"
    assert found["cost_usd"] == 0.0


def test_a_model_that_nobody_named_is_a_refusal_with_the_remedy(home: Path, project: Path) -> None:
    found, done = healed(home, project, "--solver", "model")
    assert (found["status"], done.returncode) == ("refused", 5)
    assert "RATCHET_MODEL" in json.dumps(found)


def test_a_second_opinion_may_doubt_what_passes(home: Path, project: Path) -> None:
    doubt = Reply(text='{"right": false, "reason": "it special-cases 3"}')
    with ModelServer(RIGHT, doubt) as server:
        found, _done = healed(home, project, "--solver", "model", "--attempts", "1", "--second-opinion", server=server)
    assert found["status"] == "failed"
    assert "it special-cases 3" in json.dumps(found)


def test_no_file_of_a_project_says_where_prompts_go(home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "ratchet.toml").write_text('model_base_url = "https://elsewhere.invalid/v1"\n', encoding="utf-8")
    monkeypatch.chdir(project)
    done = ratchet(home, "patterns")
    assert done.returncode == 0
    assert "RATCHET_MODEL_BASE_URL" in done.stderr


def test_doctor_says_which_models_are_named(home: Path) -> None:
    done = ratchet(home, "doctor", "--json", RATCHET_MODEL="ollama:qwen3, anthropic:claude-sonnet-5")
    (models,) = (each for each in json.loads(done.stdout) if each["check"] == "models")
    assert models["ok"]
    assert models["found"].startswith("ollama:qwen3, anthropic:claude-sonnet-5; ")
