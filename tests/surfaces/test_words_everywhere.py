"""A task in words and what is still wrong with it: the command line, HTTP and MCP give the same answers."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ratchet.testing.model_server import Asked, ModelServer
from ratchet.testing.wire import Reply
from support.healing import needs_sandbox

pytest.importorskip("fastapi")
pytest.importorskip("mcp")

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from support.api_client import bearer, client, runtime_of

SHOP = "def total(prices, discount=0):\n    return sum(prices)\n"
WORDS, WISH = "Take the discount off, and deploy it", "a discount above 100 is refused"
OFF = "python -c 'from shop import total; assert total([200], 10) == 180, total([200], 10)'"
REFUSED = """python -c 'import shop
try: shop.total([1], 101)
except ValueError: pass
else: assert False'"""
FIRST, THEN = "return sum(prices)", "return sum(prices) * (100 - discount) / 100"
GUARD = f"if discount > 100:\n        raise ValueError(discount)\n    {THEN}"


def _answered(asked: Asked) -> Reply:
    """A model that plans and edits by what it is asked."""
    further = WISH in asked.text
    if "You plan work on a program" in asked.text:
        steps = [{"do": "Refuse it.", "check": REFUSED}] if further else [{"do": "Discount.", "check": OFF}]
        return Reply(text=json.dumps({"steps": [*steps, {"do": "Deploy it.", "check": ""}], "beyond": "How it looks."}))
    old, new = (THEN, GUARD) if further else (FIRST, THEN)
    return Reply(text=json.dumps({"cause": "c", "fix": "f", "edits": [{"file": "shop.py", "old": old, "new": new}]}))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "shop.py").write_text(SHOP)
    return folder


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(_answered) as server:
        monkeypatch.setenv("RATCHET_MODEL", "any")
        monkeypatch.setenv("RATCHET_MODEL_BASE_URL", server.openai_url)
        yield server


def _named() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("RATCHET_MODEL")}


def over_shell(home: Path, shop: Path) -> list[dict[str, Any]]:
    def ran(*words: str) -> dict[str, Any]:
        environ = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "RATCHET_HOME": str(home), **_named()}
        command = [sys.executable, "-m", "ratchet", "run", *words, "--json"]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    planned = ran(WORDS, "--in", str(shop), "--solver", "model", "--plan-only")
    resumed = ran("--resume", planned["id"])
    return [planned, resumed, ran("--resume", planned["id"], WISH)]


def over_http(home: Path, shop: Path) -> list[dict[str, Any]]:
    with client(home, workers=1) as held:

        def ended(answer: Any) -> dict[str, Any]:
            assert answer.status_code == 202, answer.text
            while (found := held.get(f"/v1/tasks/{answer.json()['id']}").json())["status"] in ("queued", "running"):
                time.sleep(0.1)
            assert found["status"] == found["result"]["status"], found
            episode: dict[str, Any] = found["result"]
            return {**episode, "queued": found["id"]}

        planned = ended(held.post("/v1/tasks", json={"instruction": WORDS, "dir": str(shop), "solver": "model"}))
        path = f"/v1/tasks/{planned.pop('queued')}/resume"
        return [planned, ended(held.post(path, json={})), ended(held.post(path, json={"words": WISH}))]


def over_mcp(home: Path, shop: Path) -> list[dict[str, Any]]:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-I", "-m", "ratchet", "--home", str(home), "mcp"],
        env={"HOME": str(home.parent), **_named()},
    )

    async def asked() -> list[dict[str, Any]]:
        async with Client(server) as held:

            async def ended(tool: str, **given: object) -> dict[str, Any]:
                queued = await held.call_tool(tool, given)
                assert not queued.is_error, queued.content
                task = (queued.structured_content or {})["id"]
                while True:
                    found = (await held.call_tool("task_status", {"id": task})).structured_content or {}
                    if found["status"] not in ("queued", "running"):
                        episode: dict[str, Any] = _unfenced(found["result"])
                        return {**episode, "queued": found["id"]}
                    await asyncio.sleep(0.1)

            planned = await ended("run_task", dir=str(shop), instruction=WORDS, solver="model")
            task = planned.pop("queued")
            return [planned, await ended("resume_task", id=task), await ended("resume_task", id=task, words=WISH)]

    return asyncio.run(asyncio.wait_for(asked(), 300))


def _unfenced(value: Any) -> Any:
    """An answer without the fences that a model gets to see foreign text in."""
    if isinstance(value, dict):
        return {name: _unfenced(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_unfenced(each) for each in value]
    text = value if isinstance(value, str) else ""
    return "\n".join(text.split("\n")[2:-1]) if text.startswith("<ratchet-data") else value


@pytest.mark.parametrize("surface", [over_shell, over_http, over_mcp])
def test_words_are_planned_carried_out_and_gone_on_with(
    surface: Callable[[Path, Path], list[dict[str, Any]]], home: Path, shop: Path, model: ModelServer
) -> None:
    needs_sandbox(home)
    planned, resumed, followed = surface(home, shop)
    assert [each["status"] for each in (planned, resumed, followed)] == ["planned", "passed", "passed"]
    assert [(each["do"], each["now"]) for each in planned["steps"]] == [("Discount.", "fails"), ("Deploy it.", "")]
    assert (planned["attempts"], planned["diff"]) == ([], "")
    assert "How it looks." in planned["beyond"]
    assert planned["id"] == resumed["id"] == followed["id"]
    assert "+    return sum(prices) * (100 - discount) / 100" in resumed["diff"]
    assert [each["do"] for each in followed["steps"]] == ["Discount.", "Deploy it.", "Refuse it."]
    assert "raise ValueError(discount)" in followed["diff"]
    assert (shop / "shop.py").read_text() == SHOP  # nothing of it is the project's before a person says so
    assert len(model.asked) == 4


def test_nothing_runs_without_the_scope_or_in_a_folder_that_no_root_allows(
    home: Path, shop: Path, tmp_path: Path, model: ModelServer
) -> None:
    needs_sandbox(home)
    (planned, *_) = over_shell(home, shop)
    asked = len(model.asked)
    with client(home, workers=1, roots=(tmp_path / "elsewhere",)) as held:
        runtime = runtime_of(held)
        reads = bearer(runtime.tokens.add("reader", ["read"]))
        runs = bearer(runtime.tokens.add("runner", ["run"]))
        path = f"/v1/tasks/{planned['id']}/resume"
        new = {"instruction": WORDS, "dir": str(shop)}
        assert held.post("/v1/tasks", json=new, headers=reads).status_code == 403
        assert held.post(path, json={"words": "more"}, headers=reads).status_code == 403
        outside = held.post(path, json={"words": "more"}, headers=runs)
        assert outside.status_code == 422
        assert "below" in outside.text
    with client(home, workers=1) as held:
        plugin = held.post(path, json={"words": "more", "solver": "os.path:join"}, headers=runs)
        assert plugin.status_code == 422
        over = held.post(path, json={}, headers=runs)  # it has passed: there is nothing to carry out
        assert over.status_code == 409
        both = {"instruction": WORDS, "dir": str(shop), "check": "false", "plan": [{"do": "x", "check": "false"}]}
        assert held.post("/v1/tasks", json=both, headers=runs).status_code == 422
        assert held.get("/v1/tasks", headers=runs).json()["items"] == []
    assert len(model.asked) == asked


def test_words_that_come_to_nothing_leave_the_task_as_it_was(home: Path, shop: Path) -> None:
    """Without a model, and with a plan of the asker's own in place of one."""
    needs_sandbox(home)
    with client(home, workers=1) as held:

        def ended(answer: Any) -> dict[str, Any]:
            assert answer.status_code == 202, answer.text
            while (found := held.get(f"/v1/tasks/{answer.json()['id']}").json())["status"] in ("queued", "running"):
                time.sleep(0.1)
            return dict(found)

        solver = f"command:sed -i 's,{FIRST},{THEN},' shop.py"
        plan = [{"do": "Discount.", "check": OFF}]
        new = {"instruction": WORDS, "dir": str(shop), "solver": solver, "plan": plan, "plan_only": False}
        done = ended(held.post("/v1/tasks", json=new))
        assert done["status"] == "passed", done
        path = f"/v1/tasks/{done['id']}/resume"
        lost = ended(held.post(path, json={"words": WISH, "check": "true"}))
        assert lost["status"] == "refused"
        assert "nothing that the plan checks fails" in lost["reason"]
        assert (lost["result"]["status"], lost["result"]["diff"]) == ("passed", done["result"]["diff"])
        mends = f"command:sed -i 's,{THEN},assert discount < 101 or 1 / 0,' shop.py"
        assert ended(held.post(path, json={"words": WISH, "check": REFUSED, "solver": mends}))["words"] == WISH
        again = ended(held.post(f"/v1/tasks/{done['id']}/retry"))
        assert (again["status"], again["words"]) == ("passed", "")  # the task as it was asked for first
