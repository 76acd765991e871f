"""Every surface that counts the same thing on the same real history says the same number."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ratchet.lessons.mining.blame import blamed
from ratchet.lessons.mining.calls import calls_of
from ratchet.runtime import Runtime
from support.api_client import client

pytest.importorskip("mcp")

from surfaces.test_mcp import called, data

ALL = "2025-01-01"
Numbers = tuple[int, int]
"""(steps, failed)"""


@pytest.fixture(scope="module")
def learnt(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A home that has read the larger of the real histories, and what `learn` said of it."""
    home = tmp_path_factory.mktemp("home")
    return home, told(home, "learn", str(shared / "data" / "claude-code-more" / "cli"))


def told(home: Path, *words: str) -> str:
    argv = [sys.executable, "-m", "ratchet", "--home", str(home), *words]
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=600).stdout


def said(home: Path, *words: str) -> Any:
    return json.loads(told(home, *words, "--json"))


def counted(text: str, form: str) -> tuple[int, ...]:
    """The numbers of a sentence."""
    found = re.search(form, " ".join(text.split()))
    assert found is not None, (form, text[:2_000])
    return tuple(int(each.replace(",", "")) for each in found.groups())


def wasted_time(page: str, form: str) -> str:
    found = re.search(form, page)
    assert found is not None, form
    return found[1]


def summed(rows: list[dict[str, Any]]) -> Numbers:
    return sum(row["calls"] for row in rows), sum(row["failures"] for row in rows)


def test_steps_and_failed_steps_are_the_same_everywhere(learnt: tuple[Path, str]) -> None:
    home, text = learnt
    sessions, steps, failed = counted(text, r"([\d,]+) sessions: ([\d,]+) new steps, ([\d,]+) failed\.")
    listed = said(home, "sessions", "list", "--limit", "1000")["items"]
    cost = said(home, "sessions", "cost")
    digest = said(home, "report", "--since", ALL)
    facts = said(home, "lessons", "facts")
    found: dict[str, tuple[int, ...]] = {
        "sessions list": summed(listed),
        "lessons facts": summed(facts),
        "report --since": (digest["calls"], digest["failures"]),
        "cost": (cost["total"]["calls"], cost["total"]["wasted_calls"]),
        "MCP by model": summed(data(called(home, "what_fails", by="model"))["rows"]),
    }
    listed_as = {
        each["name"]: (each["calls"], each["failures"]) for each in said(home, "patterns", "--by", "project")["rows"]
    }
    assert {each["project"]: (each["calls"], each["failures"]) for each in facts} == listed_as
    table = told(home, "patterns", "--by", "project", "--limit", "1000")
    runs = sum(each["calls"] - each["excused"] for each in said(home, "patterns", "--by", "project")["rows"])
    shown = [counted(table, re.escape(name[:40]) + r"\S*\s+[\d,]+\s+\d+%\s+([\d,]+)")[0] for name in listed_as]
    assert sum(shown) == runs, "what a person refused is no run"
    for by in ("project", "model", "hour"):
        found[f"patterns --by {by}"] = summed(said(home, "patterns", "--by", by, "--limit", "1000")["rows"])
    with client(home) as held:
        for by in ("project", "model", "hour"):
            found[f"REST by {by}"] = summed(held.get(f"/v1/patterns/by/{by}").json()["rows"])
        page = held.get("/?range=all", headers={"Accept": "text/html"}).text
        found["overview"] = counted(page, r"<dt>Failures</dt><dd>([\d,]+)<small>of ([\d,]+) steps")[::-1]
        wasted = wasted_time(page, r"<dt>Time wasted</dt><dd>([^<]+)<small>")
        page = held.get("/ui/cost?range=all", headers={"Accept": "text/html"}).text
        assert wasted == wasted_time(page, r"<dt>Tool time</dt><dd>[^<]+<small>([^<]+) wasted<")
        found["page of cost"] = (*counted(page, r"<dt>Steps</dt><dd>([\d,]+)"), failed)
        opened = [held.get(f"/v1/sessions/{each['id']}?limit=1").json() for each in listed[:5]]
    assert {name: numbers for name, numbers in found.items() if numbers != (steps, failed)} == {}
    assert len(listed) == digest["sessions"] == sessions
    for whole, each in zip(opened, listed, strict=False):
        assert whole["calls"] == each["calls"]
        assert sum(thread["calls"] for thread in whole["threads"]) == each["calls"]
        assert sum(thread["failures"] for thread in whole["threads"]) == each["failures"]


def test_failed_calls_of_tools_and_runs_of_commands_are_the_same_everywhere(learnt: tuple[Path, str]) -> None:
    home, text = learnt
    of_tools, of_model = counted(text, r"([\d,]+) failed calls of tools, ([\d,]+) of the model itself")
    by_tool = said(home, "patterns", "--by", "tool", "--limit", "1000")["rows"]
    by_command = said(home, "patterns", "--by", "command", "--limit", "1000")["rows"]
    model = next(row for row in said(home, "sessions", "cost", "--by", "tool")["rows"] if row["name"] == "model")
    spent = {row["name"]: row["calls"] for row in said(home, "sessions", "cost", "--by", "tool")["rows"]}
    listed = {row["name"] for row in by_command}
    with Runtime.open(home=home) as runtime:
        calls = calls_of(runtime.store.find("outcomes", {"ok": False}).rows)
    shells = [each for each in calls if each.shell and each.failed and not each.excused]
    of_none = sum(blamed(each) not in listed for each in shells)  # what the shell itself failed of
    assert 0 < of_none < 10
    assert summed(by_tool)[1] == summed(by_command)[1] + of_none == of_tools
    assert model["calls"] == of_model
    assert {row["name"]: row["calls"] for row in by_tool} == {
        name: calls for name, calls in spent.items() if name not in ("", "model", "unknown")
    }
    runs: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    sessions: Counter[str] = Counter()
    for project in said(home, "lessons", "facts"):
        for row in project["ran"]:
            runs[row["name"]] += row["calls"]
            failed[row["name"]] += row["failures"]
            sessions[row["name"]] += row["sessions"]
    assert {row["name"]: (row["calls"], row["failures"], row["sessions"]) for row in by_command} == {
        name: (runs[name], failed[name], sessions[name]) for name in runs if name
    }


def test_time_in_tools_is_the_same_by_tool_wherever_it_is_counted(learnt: tuple[Path, str]) -> None:
    home, _ = learnt
    cost = {row["name"]: row["duration_s"] for row in said(home, "sessions", "cost", "--by", "tool")["rows"]}
    fails = {
        row["name"]: row["duration_s"] for row in said(home, "patterns", "--by", "tool", "--limit", "1000")["rows"]
    }
    assert fails == {name: pytest.approx(cost[name], abs=0.01) for name in fails}


def test_the_first_page_counts_and_orders_patterns_as_their_list_does(learnt: tuple[Path, str]) -> None:
    home, _ = learnt
    listed = said(home, "patterns", "--limit", "8")
    wanted = [(each["id"], each["count"], each["sessions"]) for each in listed]
    with client(home) as held:
        for page in ("/?range=all", "/ui/patterns"):
            shown = held.get(page, headers={"Accept": "text/html"}).text
            rows = re.findall(r"<tr\b.*?</tr>", shown.split('id="rows"', 1)[1], re.DOTALL)[:8]
            found = []
            for row in rows:
                name = re.search(r"/ui/patterns/(\w+)", row)
                count, sessions = (re.search(rf'data-name="{each}">([\d,]+)', row) for each in ("times", "sessions"))
                assert name is not None, row
                assert count is not None, row
                assert sessions is not None, row
                found.append((name[1], int(count[1].replace(",", "")), int(sessions[1])))
            assert found == wanted, page
