"""Sessions over HTTP, in the command line and over MCP: one answer, whoever asks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ratchet.runtime import Runtime
from support.api_client import client
from support.histories import SESSION
from support.shop import SECRET, SHOP, history

pytest.importorskip("mcp")

from surfaces.test_mcp import called, data


@pytest.fixture
def learnt(home: Path, tmp_path: Path) -> Path:
    """A home that knows one session."""
    with Runtime.open(home=home) as runtime:
        runtime.learn([history(tmp_path / "history.jsonl")])
    return home


def ran(home: Path, *words: str, code: int = 0, stdin: str = "") -> str:
    argv = [sys.executable, "-m", "ratchet", "--home", str(home), *words]
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stdout


def bare(value: Any) -> Any:
    """An answer without the fences that guard texts of earlier runs on their way to a model."""
    if isinstance(value, dict):
        return {name: bare(held) for name, held in value.items()}
    if isinstance(value, list):
        return [bare(held) for held in value]
    return bool(value) if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/v1/sessions", ("sessions", "list")),
        (f"/v1/sessions/{SESSION}", ("sessions", "show", SESSION)),
        ("/v1/search?q=make%20build", ("sessions", "search", "make", "build", "--limit", "20")),
        ("/v1/costs?by=tool", ("sessions", "cost", "--by", "tool")),
        ("/v1/ways?tool=make", ("sessions", "how", "make")),
        (f"/v1/handoff?session={SESSION}&to=codex", ("sessions", "handoff", SESSION, "--to", "codex")),
    ],
)
def test_a_route_and_its_command_give_the_same_answer(learnt: Path, path: str, words: tuple[str, ...]) -> None:
    told = json.loads(ran(learnt, *words, "--json"))
    with client(learnt) as held:
        answer = held.get(path)
    assert answer.status_code == 200
    assert answer.json() == told
    assert SECRET not in answer.text


def test_the_tools_of_an_agent_give_it_too(learnt: Path) -> None:
    with client(learnt) as held:
        found = held.get("/v1/search?q=make%20build&limit=8").json()
        opened = held.get(f"/v1/sessions/{SESSION}?limit=20").json()
    assert bare(data(called(learnt, "search_sessions", query="make build"))) == bare(found)
    assert bare(data(called(learnt, "get_session", id=SESSION[:8]))) == bare(opened)


def test_an_outcome_is_answered_whole(learnt: Path) -> None:
    with client(learnt) as held:
        newest = held.get("/v1/outcomes?ok=false&limit=1").json()
        assert newest["next"]
        step = newest["items"][0]["id"]
        whole = held.get(f"/v1/outcomes/{step}").json()
        digest = held.get("/v1/digest?since=0").json()
        missing = held.get("/v1/outcomes/o0")
    assert "No rule to make target" in whole["step"]["result"]
    assert json.loads(ran(learnt, "sessions", "show", step, "--json")) == whole
    assert (digest["calls"], digest["failures"], digest["sessions"]) == (5, 2, 1)
    assert missing.status_code == 404


def test_a_session_is_shown_as_a_person_reads_it(learnt: Path) -> None:
    shown = ran(learnt, "sessions", "show", SESSION[:6])
    for part in ("make the shop build", "1  Bash  make build", "No rule to make target", "5 steps  2 failed"):
        assert part in shown
    assert SECRET not in shown
    assert "POOL" in ran(learnt, "sessions", "search", "POOL")
    assert "waste by retry" in ran(learnt, "sessions", "cost")


def test_a_file_is_printed_or_put_back_as_it_was(learnt: Path, tmp_path: Path) -> None:
    assert ran(learnt, "sessions", "restore", "pool.py") == "POOL = 3\nSIZE = 1\n"


def test_forgetting_asks_first_and_proves_it(learnt: Path) -> None:
    ran(learnt, "forget", SESSION, code=130, stdin="n\n")
    assert "would forget 1 session" in ran(learnt, "forget", SHOP, "--dry-run")
    assert "proved" in ran(learnt, "forget", SESSION, stdin="y\n")
    assert json.loads(ran(learnt, "sessions", "list", "--json"))["items"] == []


def test_a_store_is_proved_against_its_histories_by_doctor(learnt: Path) -> None:
    assert "sound" in ran(learnt, "doctor", "--deep")
    with Runtime.open(home=learnt) as runtime:
        runtime.store.delete("outcomes", {"session": SESSION})
    assert "MISSING step" in ran(learnt, "doctor", "--deep", code=1)


def test_a_digest_is_written_as_markdown_or_as_a_page(learnt: Path) -> None:
    assert "2 of 5 steps failed (40.0 %)" in ran(learnt, "report", "--since", "2026-01-01")
    page = ran(learnt, "report", "--since", "2026-01-01", "--format", "html")
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "alerts" in json.loads(ran(learnt, "report", "--since", "7d", "--json"))
    ran(learnt, "report", "--since", "soon", code=2)
    ran(learnt, "report", "--often", "3", code=2)
