"""`ratchet models`: which model is asked for what, and whether it answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from ratchet.config import load
from ratchet.healing.episode import Attempt, Memo
from ratchet.healing.models.book import ModelBook
from ratchet.healing.models.choice import ModelChoice
from ratchet.healing.solvers.model import temperature_of
from ratchet.testing.model_server import ModelServer
from ratchet.testing.wire import Reply


def book(home: Path, **settings: str) -> ModelBook:
    config = load(home=home, environ={f"RATCHET_{name.upper()}": value for name, value in settings.items()})
    return ModelBook(config, ModelChoice(config, {}))


def test_each_kind_of_work_has_its_own_chain(home: Path) -> None:
    found = book(
        home, model="openai:gpt-4o", loop_model="vllm:own,openai:gpt-4o", fast_model="openai:gpt-4o-mini"
    ).list()
    held = {(each.asked_for, each.rank): each for each in found if each.asked_for != "nearby"}
    assert {place: each.name for place, each in held.items()} == {
        ("session", 1): "openai:gpt-4o",
        ("loop", 1): "vllm:own",
        ("loop", 2): "openai:gpt-4o",
        ("fast", 1): "openai:gpt-4o-mini",
    }
    assert held["loop", 1].usd_sent == 0.0
    assert (held["session", 1].usd_sent or 0) > (held["fast", 1].usd_sent or 0) > 0


def test_the_command_tells_a_server_that_answers_from_one_that_does_not(home: Path) -> None:
    with ModelServer(Reply(text="ready"), models=("mine",)) as server:
        environ = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "RATCHET_HOME": str(home)}
        environ |= {"RATCHET_MODEL": "mine", "RATCHET_MODEL_BASE_URL": server.openai_url}
        environ["RATCHET_LOOP_MODEL"] = "other"

        def ratchet(*words: str) -> subprocess.CompletedProcess[str]:
            asked = [sys.executable, "-m", "ratchet", "models", *words]
            return subprocess.run(asked, env=environ, capture_output=True, text=True, timeout=60, check=False)

        listed = json.loads(ratchet("list", "--json").stdout)
        reach = {each["name"]: each["reach"] for each in listed if each["asked_for"] != "nearby"}
        assert reach == {"openai-chat:mine": "answers", "openai-chat:other": "silent"}
        tested = ratchet("test", "mine")
        assert tested.returncode == 0, tested.stdout + tested.stderr
        assert "ready" in tested.stdout
        environ["RATCHET_MODEL_BASE_URL"] = "http://127.0.0.1:9/v1"
        failed = ratchet("test", "mine")
        assert (failed.returncode, "FAILED" in failed.stdout) == (1, True)


def test_what_mended_a_failure_before_is_asked_first_then_it_rises() -> None:
    memo = Memo(solver="model", signature="v1:a", kind="", task="t", note={"temperature": 0.8})
    tried = [Attempt(episode="e", n=n, status="failed", signature="v1:a") for n in (1, 2)]
    assert temperature_of([], "v1:a") == 0.2
    assert temperature_of([], "v1:a", [memo]) == 0.8
    assert temperature_of([], "v1:b", [memo]) == 0.2
    assert temperature_of(tried[:1], "v1:a", [memo]) == 0.5
    assert temperature_of(tried, "v1:a", [memo]) == 0.8
