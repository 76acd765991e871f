"""Cures and distilling on every surface: the same answers, consent in the request, changes by who may run things."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ratchet.cli.app import cli
from ratchet.lessons.lessons import approve
from ratchet.lessons.mined import mine_session
from ratchet.recording.rows import row_of
from ratchet.records import Failure, Outcome, Row, Step
from ratchet.runtime import Runtime
from ratchet.testing.model_server import ModelServer
from ratchet.testing.wire import Reply

pytest.importorskip("fastapi")
pytest.importorskip("mcp")

from mcp.client.client import Client
from mcp_types import CallToolResult

from ratchet.serving.mcp.server import create
from support.api_client import bearer, client, runtime_of

REFUSED = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"
RULE = {"is_rule": True, "scope": "project", "when": "git push", "do": "Do not force a push.", "dont": "--force"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "CLAUDE.md").write_bytes(b"# Ours\r\n")
    return folder


def _push(name: str, project: Path, at: float, command: str, message: str = "", kind: str = "other") -> Row:
    failure = Failure(kind=kind, message=message, signature="x", template=message[:80]) if message else None
    step = Step(tool="Bash", head="git push", target="", input=command)
    return row_of(
        Outcome(
            id=name,
            agent="claude-code",
            ok=not message,
            started_at=at,
            duration_s=0.1,
            session="s",
            project=str(project),
            task="Bash",
            step=step,
            failure=failure,
        )
    )


def _taught(runtime: Runtime, project: Path) -> str:
    """A forced push was refused by a person, tried again in vain, and 60 plain ones were fine; the lesson's id."""
    rows = [_push("r", project, 1, "git push --force", f"{REFUSED}never force a push", "user_denied")]
    rows += [_push(f"f{at}", project, 10.0 + at, "git push --force", "rejected") for at in range(2)]
    rows += [_push(f"p{at}", project, 100.0 + at, f"git push origin b{at}") for at in range(60)]
    runtime.store.insert_new("outcomes", rows)
    mine_session(runtime.store, "s", now=1.0)
    (lesson,) = runtime.store.find("lessons", {"kind": "user_denied"}).rows
    return str(lesson["id"])


def shell(home: Path, *words: str) -> Any:
    done = CliRunner().invoke(cli, ["--home", str(home), *words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def tool(runtime: Runtime, name: str, **given: object) -> CallToolResult:
    async def ask() -> CallToolResult:
        async with Client(create(runtime)) as asked:
            result = await asked.call_tool(name, dict(given))
            assert isinstance(result, CallToolResult)
            return result

    return asyncio.run(asyncio.wait_for(ask(), 120))


def unfenced(text: str) -> str:
    return "\n".join(text.split("\n")[2:-1]) if text.startswith("<ratchet-data-") else text


def test_cures_are_the_same_on_every_surface_and_a_tool_only_proposes(home: Path, project: Path) -> None:
    with client(home) as held:
        runtime = runtime_of(held)
        lesson = _taught(runtime, project)
        approve(runtime.store, lesson, do="Do not force a push.")
        told = held.get("/v1/lessons/cures", params={"dir": str(project)}).json()
        assert {each["kind"] for each in told["items"]} >= {"notes", "check"}
        assert shell(home, "lessons", "cure", "--project", str(project)) == told["items"]
        one = held.get(f"/v1/lessons/{lesson}/cures", params={"dir": str(project)}).json()
        assert shell(home, "lessons", "cure", lesson, "--project", str(project)) == one
        proposed = tool(runtime, "propose_cures", project=str(project), lesson=lesson)
        assert isinstance(proposed.structured_content, dict)
        seen = [
            {name: unfenced(value) if isinstance(value, str) else value for name, value in each.items()}
            for each in proposed.structured_content["cures"]
        ]
        assert [each["diff"] for each in seen] == [each["diff"].rstrip("\n") for each in one]
        assert "a person makes it with `ratchet lessons cure" in str(proposed.content)
        assert not (project / ".claude").exists()


def test_a_cure_is_made_and_undone_by_a_token_that_may_run_things(home: Path, project: Path) -> None:
    before = (project / "CLAUDE.md").read_bytes()
    with client(home) as held:
        runtime = runtime_of(held)
        lesson = _taught(runtime, project)
        approve(runtime.store, lesson, do="Do not force a push.")
        writes, runs = (bearer(runtime.tokens.add(name, [name])) for name in ("write", "run"))
        asked = {"kind": "notes", "dir": str(project)}
        assert held.post(f"/v1/lessons/{lesson}/cures", json=asked, headers=writes).status_code == 403
        made = held.post(f"/v1/lessons/{lesson}/cures", json=asked, headers=runs)
        assert (made.status_code, made.json()["state"]) == (201, "open")
        assert b"Do not force a push." in (project / "CLAUDE.md").read_bytes()
        assert held.post(f"/v1/lessons/{lesson}/cures", json=asked, headers=runs).status_code == 409
        assert held.post(f"/v1/lessons/{lesson}/cures/undo", headers=writes).status_code == 403
        (undone,) = held.post(f"/v1/lessons/{lesson}/cures/undo", headers=runs).json()
        assert undone["id"] == made.json()["id"]
        assert (project / "CLAUDE.md").read_bytes() == before
        assert held.post(f"/v1/lessons/{lesson}/cures/undo", headers=runs).status_code == 404


def test_a_folder_outside_the_roots_is_neither_looked_at_nor_changed(home: Path, project: Path, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    with client(home, roots=(tmp_path / "root",)) as held:
        lesson = _taught(runtime_of(held), project)
        looked = held.get("/v1/lessons/cures", params={"dir": str(project)})
        made = held.post(f"/v1/lessons/{lesson}/cures", json={"kind": "notes", "dir": str(project)})
        assert (looked.status_code, made.status_code) == (422, 422), looked.text


@pytest.mark.parametrize("folder", ["/" + "a" * 300, "/" + "b/" * 1_900 + "c" * 190], ids=["name", "path"])
def test_a_folder_with_too_long_a_name_is_the_callers_mistake(home: Path, project: Path, folder: str) -> None:
    with client(home) as held:
        lesson = _taught(runtime_of(held), project)
        for kind in ("notes", "git", "pre-commit", "check", "permission"):
            made = held.post(f"/v1/lessons/{lesson}/cures", json={"kind": kind, "dir": folder})
            assert made.status_code < 500, made.text
        task = held.post("/v1/tasks", json={"check": "true", "dir": folder})
        assert 400 <= task.status_code < 500, task.text
        assert held.get("/v1/lessons/cures", params={"dir": folder}).status_code < 500


def test_what_would_be_sent_is_told_without_sending_and_a_run_takes_consent(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(Reply(text=json.dumps(RULE))) as server:
        monkeypatch.setenv("RATCHET_MODEL", "any")
        monkeypatch.setenv("RATCHET_MODEL_BASE_URL", server.openai_url)
        monkeypatch.setenv("RATCHET_MODEL_PRICES", "any=1/1")
        with client(home) as held:
            runtime = runtime_of(held)
            _taught(runtime, project)
            planned = held.get("/v1/lessons/distill", params={"project": str(project)}).json()
            assert planned["asked"] == 1
            assert shell(home, "lessons", "distill", "--dry-run", "--project", str(project)) == planned
            assert tool(runtime, "plan_distilling", project=str(project)).structured_content == planned
            unasked = held.post("/v1/lessons/distill", json={})
            denied = held.post("/v1/lessons/distill", json={"agreed": False})
            typed = held.post("/v1/lessons/distill", json={"agreed": True, "model": "command:cat"})
            assert [each.status_code for each in (unasked, denied, typed)] == [422, 422, 422]
            assert "only where it is typed" in typed.text
            for agreed in (False, True):  # an agent's word is no consent
                assert tool(runtime, "distill", agreed=agreed).is_error
            assert server.asked == []
            done = held.post("/v1/lessons/distill", json={"agreed": True, "project": str(project)}).json()
            assert (done["answered"], done["verified"], done["plan"]) == (1, 1, planned)
            (told,) = (event for event in runtime.timeline.since(0.0) if event["noun"] == "distill")
            assert (told["verb"], told["done"], told["of"]) == ("answered", 1, 1)
            assert len(server.asked) == 1
