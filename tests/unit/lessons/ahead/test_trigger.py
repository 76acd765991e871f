"""What is recognised before a step."""

from __future__ import annotations

from pathlib import Path

import pytest

from ratchet.failures.circles import RecentCall
from ratchet.lessons.ahead import trigger
from ratchet.lessons.ahead.importing import lacks
from ratchet.lessons.ahead.trigger import LEAST_LINES, Surroundings
from ratchet.records import Json
from support.triggers import a_trigger

SAME = trigger.marked("git push origin 7f3a9b2c1d")
LINES = "".join(f"x{at} = {at}\n" for at in range(LEAST_LINES))


@pytest.mark.parametrize(
    ("given", "tool", "asked", "met"),
    [
        ({}, "Bash", {"command": "cd a && golangci-lint run --out-format=json ./..."}, True),
        ({}, "Bash", {"command": "golangci-lint run"}, False),
        ({}, "Bash", {"command": "echo --out-format"}, False),
        ({}, "Read", {"file_path": "--out-format"}, False),
        ({"kind": "bare", "word": "pytest"}, "exec_command", {"cmd": "CI=1 pytest -q"}, True),
        ({"kind": "bare", "word": "pytest"}, "Bash", {"command": "uv run pytest -q"}, False),
        ({"kind": "bare", "word": "pytest"}, "Bash", {"command": "grep pytest a.txt"}, False),
        (
            {"kind": "path", "head": "go build", "word": "/nowhere/bin"},
            "Bash",
            {"command": "/nowhere/bin --help"},
            True,
        ),
        (
            {"kind": "path", "head": "go build", "word": "/nowhere/bin"},
            "Bash",
            {"command": "go build -o /nowhere/bin ."},
            False,
        ),
        ({"kind": "path", "head": "go build", "word": "there"}, "Bash", {"command": "cat there"}, False),
        ({"kind": "same", "word": SAME}, "Bash", {"command": "git push  origin 7f3a9b2c1d"}, True),
        ({"kind": "same", "word": SAME}, "Bash", {"command": "git push origin 0123456789ab"}, False),
        ({"kind": "value", "tool": "Task", "head": "agent", "word": "old"}, "Task", {"agent": "old"}, True),
        ({"kind": "value", "tool": "Task", "head": "agent", "word": "old"}, "Task", {"agent": "new"}, False),
        ({"kind": "field", "tool": "Read", "word": "path"}, "Read", {"path": "a"}, True),
        ({"kind": "tool", "tool": "mcp__db__query"}, "mcp__db__query", {}, True),
        ({"kind": "check", "head": "make lint"}, "Bash", {"command": "make lint 2>&1 | tail"}, True),
        ({"kind": "place"}, "Bash", {"command": "cat src/a.py"}, True),
        ({"kind": "place"}, "Bash", {"command": "cd .. && cat src/a.py"}, False),
        ({"kind": "place"}, "Bash", {"command": "cat src/new.py"}, False),
    ],
)
def test_a_step_is_recognised(given: dict[str, str], tool: str, asked: Json, met: bool, tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("")
    (tmp_path / "web" / "there").write_text("")
    around = Surroundings(str(tmp_path / "web"), str(tmp_path), lambda head: LEAST_LINES)
    assert bool(trigger.met([a_trigger(**given)], tool, asked, around)) is met


def test_a_check_counts_the_lines_added_since_it_last_ran() -> None:
    edit = RecentCall("Edit", {"old_string": "a", "new_string": "b\nc"}, "")
    vain = RecentCall("Edit", {"old_string": "a", "new_string": "b\nc"}, "", failed=True)
    check = RecentCall("Bash", {"command": "make lint | tail -5"}, "")
    look = RecentCall("Bash", {"command": "ls"}, "")
    assert trigger.added_since([edit, check, edit, None, look, vain, edit], "make lint") == 4
    write = RecentCall("Write", {"file_path": "a.py", "content": LINES}, "")
    assert trigger.added_since([write], "make lint") >= LEAST_LINES


def test_of_a_check_its_findings_are_named_together_and_of_other_steps_one_lesson() -> None:
    around = Surroundings("/p", "/p", lambda head: LEAST_LINES)
    checks = [a_trigger(kind="check", head="make lint", lesson=f"l-{at}", text=f"`rule{at}`") for at in range(9)]
    found = trigger.met(checks, "Bash", {"command": "make lint"}, around)
    assert len(found) == trigger.NAMED
    assert "`rule0`; `rule1`" in trigger.line(found, around)
    beside = a_trigger(kind="beside", head="make lint", lesson="l-9", text="`rule9`")
    assert beside in trigger.met([beside, checks[0]], "Bash", {"command": "make lint"}, around)
    assert trigger.met([beside], "Bash", {"command": "make lint"}, around) == [], "it brings no word of its own"
    flags = [a_trigger(lesson=f"l-{at}") for at in range(3)]
    assert len(trigger.met(flags, "Bash", {"command": "golangci-lint run --out-format x"}, around)) == 1


CART = 'package cmd\n\nimport (\n\t"fmt"\n{more})\n\n{rest}\n'


@pytest.mark.parametrize(
    ("more", "rest", "missing"),
    [
        ("", "func f() { fmt.Println(strings.ToLower(name)) }", True),
        ('\t"strings"\n', "func f() { fmt.Println(strings.ToLower(name)) }", False),
        ('\ttext "strings"\n', "func f() { fmt.Println(strings.ToLower(name)) }", False),
        ("", "func f(strings []Line) { fmt.Println(strings.Len()) }", False),
        ("", "func f() { lines, strings := g(); strings.Sort() }", False),
        ("", 'func f() { fmt.Println("strings.ToLower") } // strings.ToLower', False),
        ("", "func f() { fmt.Println(a.strings.Len()) }", False),
    ],
)
def test_a_check_will_miss_an_import_only_where_an_edited_file_does(
    more: str, rest: str, missing: bool, tmp_path: Path
) -> None:
    file = tmp_path / "cart.go"
    file.write_text(CART.replace("{more}", more).replace("{rest}", rest))
    edit = RecentCall("Edit", {"file_path": str(file), "old_string": "a", "new_string": "b"}, "")
    other = RecentCall("Read", {"file_path": str(tmp_path / "read.go")}, "")
    assert trigger.edited([other, edit, None, edit]) == [str(file)]
    around = Surroundings(str(tmp_path), str(tmp_path), lambda head: 0, lambda: trigger.edited([edit]))
    known = a_trigger(kind="import", head="go build", word="strings strings go", text="`strings` comes from `strings`")
    found = trigger.met([known], "Bash", {"command": "go build ./..."}, around)
    assert bool(found) is missing
    assert not trigger.met([known], "Bash", {"command": "go version"}, around)
    assert not trigger.met([a_trigger(kind="import", head="go build", word="strings strings py")], "Bash", {}, around)
    if found:
        assert "a name that `go build` will not know: `strings` comes" in trigger.line(found, around)


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "as " * 60_000 + " xPath.a",
        "from " * 60_000 + " xPath",
        "let " * 60_000 + " xPath",
        "\\'\"" * 60_000 + "Path.x",
        "Path," * 60_000,
        " " * 200_000 + "Path.x",
        "(" * 200_000 + "Path.",
        "Path = " * 40_000,
    ],
)
def test_a_line_made_to_keep_a_reader_busy_does_not(line: str, tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(line)
    assert lacks(str(file), "Path", "pathlib") in (True, False)  # or a hook waits for minutes


def test_a_name_that_lines_of_other_languages_know_is_not_missing(tmp_path: Path) -> None:
    file = tmp_path / "a"
    for text, name, module, missing in (
        ("import os\n\ndef f():\n    return json.dumps(1)\n", "json", "json", True),
        ("import os, json\n\ndef f():\n    return json.dumps(1)\n", "json", "json", False),
        ("from pathlib import (\n    Path,\n    PurePath,\n)\nx = Path(1)\n", "Path", "pathlib", False),
        ("def f():\n    return self.json.dumps(1)\n", "json", "json", False),
        ("const x = formatDate(1)\n", "formatDate", "./dates", True),
        ('import {\n  formatDate,\n} from "./dates"\nconst x = formatDate(1)\n', "formatDate", "./dates", False),
        ("function formatDate(x) {}\nconst x = formatDate(1)\n", "formatDate", "./dates", False),
    ):
        file.write_text(text)
        assert lacks(str(file), name, module) is missing, text
    assert not lacks(str(tmp_path), "json", "json")
    assert not lacks(str(tmp_path / "none"), "json", "json")


def test_lines_are_read_as_they_were_written_and_damage_costs_itself() -> None:
    lines = f"{a_trigger().written()}\nhalf a line\n--out-format\tflag\n".encode()
    assert [each.written() for each in trigger.near(lines, b"run --out-format", moved=True)] == [a_trigger().written()]
    assert trigger.near(lines, b"golangci-lint run", moved=True) == []
    place = a_trigger(kind="place", needle="").written().encode()
    assert len(trigger.near(place, b"ls", moved=True)) == 1
    assert trigger.near(place, b"ls", moved=False) == []
    with pytest.raises(ValueError, match="tab"):
        a_trigger(text="a\tb").written()
