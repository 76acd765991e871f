"""A lesson answers only a failure about the names that its advice holds, and about the folder only where it may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons.grounding import answers
from ratchet.lessons.lookup import matching
from ratchet.lessons.mined import mine_session
from ratchet.lessons.recall import recall
from ratchet.records import Row
from ratchet.store.sqlite import SqliteStore
from support.sessions import session, shell

ROOT = "/w/shop"
GONE = "./run.sh: line 3: {0}: No such file or directory"
PLACE: Row = {"rule": "place"}


def learnt(home: Path, *sessions: list[Row]) -> None:
    store = SqliteStore(home / "ratchet.db")
    for number, calls in enumerate(sessions):
        ingest(store, session(calls, f"s{number}", start=1_700_000_000.0 + 3_600 * number))
        mine_session(store, f"s{number}")
    store.close()


def told(home: Path, error: str, asked: str, tool: str = "Bash") -> list[str]:
    found = matching(str(home), {"message": error}, project=ROOT, asked=asked, tool=tool)
    return [str(row["text"]) for row in found]


def test_what_makes_one_file_is_not_said_of_another(tmp_path: Path) -> None:
    build = shell("go build -o /tmp/shop-bin ./cmd/shop")
    learnt(tmp_path, [shell("./run.sh", GONE.format("/tmp/shop-bin")), build, shell("./run.sh")])
    assert told(tmp_path, GONE.format("/tmp/shop-bin"), "./run.sh")
    assert told(tmp_path, GONE.format("/opt/data/model.bin"), "./run.sh") == []
    assert told(tmp_path, GONE.format("/tmp/shop-bin2"), "./run.sh") == []
    store = SqliteStore(tmp_path / "ratchet.db")
    assert recall(store, GONE.format("/opt/data/model.bin"), project=ROOT, states=("active",)).abstained
    store.close()


def test_an_operand_of_the_project_is_said_only_of_what_it_was_about(tmp_path: Path) -> None:
    refused = "Error: {0} refuses the connection: is it not running?"
    calls = [shell("shopctl ls", refused.format("db_one")), shell("shopctl start stock"), shell("shopctl ls")]
    learnt(tmp_path, calls, calls, calls)  # so often that the project itself vouches for `stock`
    assert "start stock" in "".join(told(tmp_path, refused.format("db_one"), "shopctl ls"))
    assert told(tmp_path, refused.format("db_two"), "shopctl ls") == []


@pytest.mark.parametrize(
    ("tool", "asked", "message", "away", "said"),
    [
        ("Bash", "cd cmd && go test", "(eval):cd:1: no such file or directory: cmd", False, True),
        ("Bash", "cat cmd/a.go", "cat: cmd/a.go: No such file or directory", True, True),
        ("Bash", "cat cmd/a.go", "cat: cmd/a.go: No such file or directory", False, False),
        ("Bash", "cd /tmp/test-repo && ls", "(eval):cd:1: no such file or directory: /tmp/test-repo", True, False),
        ("Bash", "cat /etc/shop a.go", "cat: /etc/shop: No such file or directory", True, False),
        ("Bash", "cd /w/shop && cat b/c", "cat: b/c: No such file or directory", True, False),
        ("Grep", '{"pattern": "cd x", "path": "b/c"}', "Path does not exist: b/c", True, False),
        ("Bash", "make", "make: *** No rule to make target", True, True),
        ("", "", "Path does not exist: /w/shop/b", True, False),
        ("", "", "stat /w/shop/cmd/cart/cmd/cart: directory not found", True, True),
        ("", "", "cat: cmd/a.go: No such file or directory", True, True),
    ],
)
def test_the_folder_is_spoken_of_only_where_a_relative_path_failed_in_a_shell(
    tool: str, asked: str, message: str, away: bool, said: bool
) -> None:
    assert answers(PLACE, message=message, tool=tool, asked=asked, root=ROOT, away=away) is said


@pytest.mark.parametrize(
    ("tool", "message", "said"),
    [
        ("mcp__ide__run", "TypeError: parse is not a function", True),
        ("mcp__ide__list", "TypeError: parse is not a function", False),
        ("Bash", "TypeError: parse is not a function", False),
        ("", "TypeError: read is not a function", False),
        ("", "TypeError: parse is not a function", True),
        ("", "mcp__ide__run: TypeError: parse is not a function", True),
        ("", "mcp__ide__run_all: TypeError: parse is not a function", False),
    ],
)
def test_a_tool_that_never_worked_is_warned_of_at_that_tool_only(tool: str, message: str, said: bool) -> None:
    lesson = {"rule": "never", "group": "step never mcp__ide__run", "when_text": "TypeError: parse is not a function"}
    assert answers(lesson, message=message, tool=tool) is said
