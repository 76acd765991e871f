"""Skills over REST and as pages: seen, approved and retired, with what came of them; what others wrote stays theirs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ratchet import Ratchet
from ratchet.cli.app import cli

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

from support.api_client import client

HTML = {"Accept": "text/html"}
ERROR = "Error: listen EADDRINUSE: address already in use :::3000"
ADVICE = "Stop the old server first:\nnpm run stop\nnpm start"
HOSTILE = """---
name: pretty
description: Use when <script>alert(1)</script> & "quotes" fail
---

1. <img src=x onerror=alert(1)>
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    return tmp_path / "shop"


@pytest.fixture
def held(home: Path, shop: Path) -> Iterator[TestClient]:
    """A server over a home with one skill that waits for a person."""
    with Ratchet(home) as ratchet:
        lesson = ratchet.lessons.add(when=ERROR, do=ADVICE, project=str(shop), state="active").id
        ratchet.cures.make_skill(lesson, name="port-taken")
        ratchet.lessons.retire(lesson)
    with client(home) as opened:
        yield opened


def shell(home: Path, *words: str) -> Any:
    done = CliRunner().invoke(cli, ["--home", str(home), "lessons", "skills", *words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def test_a_skill_is_seen_alike_wherever_one_asks(held: TestClient, home: Path) -> None:
    (listed,) = held.get("/v1/skills").json()["items"]
    assert held.get("/v1/skills/port-taken").json() == listed == shell(home, "show", "port-taken")
    assert [listed] == shell(home, "list")
    assert held.get(f"/v1/skills/{listed['lesson']}").json() == listed
    assert held.get("/v1/skills/nothing").status_code == 404
    page = held.get("/ui/skills", headers=HTML).text
    whole = held.get(f"/ui/skills/{listed['lesson']}", headers=HTML).text
    assert "port-taken" in page
    assert "npm run stop" in whole
    assert "in no folder" in page


def test_it_is_approved_exported_measured_and_retired(held: TestClient, home: Path, shop: Path) -> None:
    assert held.get("/v1/skills/port-taken").json()["state"] == "retired"
    assert held.post("/v1/skills/port-taken/approve").json()["state"] == "active"
    shell(home, "export", "port-taken", "--project", str(shop))
    folder = shop / ".claude" / "skills" / "port-taken"
    assert (folder / "SKILL.md").is_file()
    (export,) = held.get("/v1/skills/port-taken").json()["exports"]
    assert (export["folder"], export["state"]) == (str(folder), "open")
    assert export["helped"] == {"before": 0, "sessions_before": 0, "since": 0, "sessions_since": 0}
    whole = held.get("/ui/skills/port-taken", headers=HTML).text
    assert "the failure came in 0 of 0 sessions since, in 0 of 0 before" in whole
    gone = held.post("/v1/skills/port-taken/retire", json={"reason": "the port is free now"}).json()
    assert (gone["state"], gone["reason"]) == ("retired", "the port is free now")
    assert not folder.exists()


def test_a_person_decides_on_the_page(held: TestClient, home: Path) -> None:
    lesson = held.get("/v1/skills/port-taken").json()["lesson"]
    assert "Approve: agents may be told of it" in held.get(f"/ui/skills/{lesson}", headers=HTML).text
    done = held.post(f"/ui/skills/{lesson}/approve", headers=HTML, follow_redirects=False)
    assert (done.status_code, done.headers["location"]) == (303, f"/ui/skills/{lesson}")
    assert shell(home, "show", "port-taken")["state"] == "active"
    held.post(f"/ui/skills/{lesson}/retire", headers=HTML, data={"reason": "no use"})
    assert shell(home, "show", "port-taken")["state"] == "retired"
    assert shell(home, "approve", "port-taken")["state"] == "active"


def test_what_others_wrote_is_shown_as_text_and_trusted_nowhere_but_at_its_files(
    held: TestClient, home: Path, shop: Path
) -> None:
    folder = shop / ".claude" / "skills" / "pretty"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(HOSTILE)
    read = shell(home, "read", "--project", str(shop))
    (found,) = read["skills"]
    for path in ("/ui/skills", f"/ui/skills/{found['lesson']}"):
        page = held.get(path, headers=HTML)
        assert page.status_code == 200
        assert "pretty" in page.text
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
    refused = held.post(f"/v1/skills/{found['lesson']}/approve")
    assert refused.status_code in (403, 409, 422)
    assert "ratchet lessons skills trust pretty" in refused.text
    assert not shell(home, "read", "--project", str(shop))["skills"][0]["trusted"]
