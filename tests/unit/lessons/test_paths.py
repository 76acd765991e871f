"""Of a path that is not there it is known where the project's files are, by what its sessions opened."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from ratchet.cli import show_patterns
from ratchet.failures.patterns.ingest import ingest
from ratchet.failures.patterns.patterns import pattern as pattern_at
from ratchet.lessons import lookup
from ratchet.lessons.lessons import by_pattern, listed, retire
from ratchet.lessons.mined import mine_session
from ratchet.lessons.paths import GROUP, missing_path, placed
from ratchet.lessons.recall import recall
from ratchet.records import Row
from ratchet.store.sqlite import SqliteStore
from support.sessions import call, session

OPENED = (
    "cmd/cart.go",
    "cmd/cart_test.go",
    "cmd/pay.go",
    "lib/total.go",
    "lib/tax/total.go",
    "lib/tax/vat.go",
    "go.mod",
    *(f"web/{name}/index.go" for name in ("cart", "pay", "login", "home")),
)
GONE = "File does not exist."


def reads(*files: str) -> list[Row]:
    return [call("Read", {"file_path": file if file[:1] == "/" else f"/w/shop/{file}"}) for file in files]


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    store = SqliteStore(tmp_path / "ratchet.db")
    tried = call("Read", {"file_path": "/w/shop/cmd/basket.go"}, GONE)
    learn(store, "s0", reads(*OPENED, "cmd/pay.go", "/etc/hosts"))
    assert not listed(store)  # nothing was missed yet
    learn(store, "s1", [tried, *reads("cmd/cart.go")])
    return store


def learn(store: SqliteStore, name: str, calls: list[Row]) -> None:
    ingest(store, session(calls, name))
    mine_session(store, name)


def test_a_person_reads_what_the_lesson_tells_by_an_example(store: SqliteStore) -> None:
    (lesson,) = listed(store)
    assert "For example: `cart.go` is `cmd/cart.go` here." in lesson.text, "it was opened most, and its name is alone"
    assert "total.go" not in lesson.text


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ("/w/shop/pay.go", "`pay.go` is `cmd/pay.go` here."),
        ("/w/shop/src/a.mod", ""),  # a file of the root itself is known by no folder
        ("/w/shop/cmd/cartridge.go", "Of `cmd` sessions opened `cart.go`, `cart_test.go`, `pay.go`."),
        ("/home/else/shop/lib/tax", "`lib/tax` is in this project; the path begins elsewhere."),
        ("/w/shop/src/total.go", "`total.go` is `lib/total.go` or `lib/tax/total.go` here."),
        ("/w/shop/lib/taxes/total.go", "`total.go` is `lib/total.go` or `lib/tax/total.go` here."),
        ("/w/shop/lib/orders/total.go", "`total.go` is `lib/total.go` here."),  # orders may have one, as tax does
        ("tax/total.go", "`total.go` is `lib/tax/total.go` here."),  # the shell stands elsewhere
        ("/w/shop/cmd/cart", "Of `cmd` sessions opened `cart.go`, `cart_test.go`."),  # it was a folder
        ("/w/shop/cmd/css", ""),
        ("/w/shop/src/index.go", ""),  # it may be any of four
        ("/w/shop/lib/tax", ""),  # its name is right: what is not there is what it was
        ("/w/shop/cmd/pay.go", ""),  # it was there once
        ("/w/shop/docs/pay.md", ""),
        ("lib/tax", ""),  # it is there: the shell stands elsewhere
        ("/w/shop/bin/cart.sh", ""),  # of one file nobody knows what else is there
        ("/etc/hosts", ""),
    ],
)
def test_a_missing_path_is_answered_by_what_was_opened(store: SqliteStore, missing: str, told: str) -> None:
    found = recall(store, f"Path does not exist: {missing}", project="/w/shop", states=("active",))
    assert [each.text for each in found.lessons] == ([told] if told else [])
    asked = f'{{"file_path":"{missing}"}}'
    home = str(Path(store.path).parent)
    shown = lookup.matching(home, {"message": GONE}, project="/w/shop", asked=asked, tool="Read")
    assert [row["text"] for row in shown] == ([told] if told else [])


def test_what_is_no_more_there_is_not_named(tmp_path: Path) -> None:
    row: Row = {"group": GROUP, "text": "x", "lines": {"cmd": ["pay.go", "cart.go"]}}
    missing, root = "/w/shop/pay.go", tmp_path / "shop"
    root.mkdir()
    assert not placed([row], missing, str(root))
    (root / "cmd").mkdir()
    (root / "cmd" / "pay.go").touch()
    assert [each["text"] for each in placed([row], missing, str(root))] == ["`pay.go` is `cmd/pay.go` here."]


@pytest.mark.parametrize(
    ("message", "asked", "path"),
    [
        (GONE, "", ""),
        (GONE, '{"file_path":"/w/a.go"}', "/w/a.go"),
        ("<tool_use_error>Path does not exist: /w/a. Note: your folder is /w</tool_use_error>", "{}", "/w/a"),
        ("Exit code 1\nls: lib/b.go: No such file or directory", "ls lib/b.go", "lib/b.go"),
        ("EISDIR: illegal operation on a directory, read", '{"file_path":"/w/a"}', ""),
        ("3 tests failed\nopen lib/b.go: no such file or directory", "go test ./...", ""),  # it is about something else
    ],
)
def test_a_message_that_says_nothing_else_names_the_path_or_its_call_does(message: str, asked: str, path: str) -> None:
    assert missing_path(message, asked) == path


def test_nothing_is_said_of_no_path_nor_after_a_person_said_no(store: SqliteStore) -> None:
    assert recall(store, GONE, project="/w/shop").abstained
    (lesson,) = [each for each in listed(store) if each.state == "active"]
    retire(store, lesson.id)
    learn(store, "s2", reads("lib/new.go"))
    assert recall(store, "Path does not exist: /w/shop/pay.go", project="/w/shop", states=("active",)).abstained


@pytest.mark.parametrize(
    ("said", "what"),
    [
        (GONE, "say where this project has that file"),
        ("sed: cmd/basket.go: No such file or directory", "say where this project has that file"),
        ("String to replace not found in file.\nString: total()", "Says where in the file"),
    ],
)
def test_what_is_worked_out_at_a_failure_stands_at_its_pattern_and_is_found(
    store: SqliteStore, capsys: pytest.CaptureFixture[str], said: str, what: str
) -> None:
    tool = "Edit" if said.startswith("String") else "Bash" if said.startswith("sed") else "Read"
    given = {"command": "sed -n 3p cmd/basket.go"} if tool == "Bash" else {"file_path": "/w/shop/cmd/cart.go"}
    failed = call(tool, {**given, "old_string": "a", "new_string": "b"}, said)
    learn(store, "s2", [failed])
    signature = cast("dict[str, str]", failed["failure"])["signature"]
    pattern = str((store.get("signatures", signature) or {})["pattern"])
    (lesson,) = by_pattern(store, [pattern])[pattern]
    assert what in lesson.text
    found = recall(store, said.partition("\n")[0].replace("cmd/basket.go", "cmd/nothing/that.go"))
    assert (found.silent, [each.id for each in found.possibly][:1]) == ("looked_up", [lesson.id])
    assert not found.lessons, "no agent is handed words that only a person can use"
    show_patterns.patterns([replace(pattern_at(store, pattern, now=2e9), lessons=(lesson,))])
    assert "active, worked out where the step fails" in capsys.readouterr().out
