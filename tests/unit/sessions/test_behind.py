"""The steps behind a row of "what fails here" are those that were counted for it."""

from __future__ import annotations

from pathlib import Path

from ratchet.cli.demo import HISTORY
from ratchet.records import Json
from ratchet.runtime import Runtime
from support.histories import lines, result, use


def test_a_command_leads_to_its_own_failures_and_no_others(tmp_path: Path) -> None:
    with Runtime.open(home=tmp_path) as runtime:
        runtime.learn([HISTORY])
        rows = [each for each in runtime.failing.by("command") if each.failures]
        assert rows
        for row in rows:
            assert runtime.sessions.search("", command=row.name, limit=200).steps == row.failures, row.name
        assert runtime.sessions.search("", command="no such command").steps == 0


def test_a_file_leads_to_the_runs_of_checks_that_found_something_in_it(tmp_path: Path) -> None:
    found = "Exit code 1\nsrc/{}.py:3:1: F401 `os` imported but unused\nFound 1 error."
    ran = [("a", found.format("shop")), ("b", found.format("workshop")), ("c", "Exit code 1\nsrc/shop.pyc is stale")]
    records = [
        record
        for n, (key, said) in enumerate(ran)
        for record in (
            use(key, "Bash", {"command": "ruff check"}, 10.0 * n),
            result(key, said, 10.0 * n + 1, is_error=True),
        )
    ]
    lines(tmp_path / "s.jsonl", records)
    with Runtime.open(home=tmp_path / "home") as runtime:
        runtime.learn([tmp_path / "s.jsonl"])
        assert {each.name for each in runtime.failing.by("file")} == {"src/shop.py", "src/workshop.py"}
        for name in ("shop", "workshop"):
            for asked in (f"src/{name}.py", f"{name}.py"):
                (hit,) = runtime.sessions.search("", file=asked).hits
                assert f"src/{name}.py" in hit.text


def test_a_file_has_its_edits_by_its_path_and_by_its_end(tmp_path: Path) -> None:
    whole = "/repo/shop/src/shop.py"
    records = []
    for n, (key, path) in enumerate((("a", whole), ("b", "/repo/shop/src/workshop.py"))):
        given: Json = {"file_path": path, "old_string": f"price {n}", "new_string": f"cost {n}"}
        records += [use(key, "Edit", given, 10.0 * n), result(key, "edited", 10.0 * n + 1)]
    said = "Exit code 1\nsrc/shop.py:3:1: F401 `os` imported but unused"
    records += [use("c", "Bash", {"command": "ruff check"}, 30.0), result("c", said, 31.0, is_error=True)]
    lines(tmp_path / "s.jsonl", records)
    with Runtime.open(home=tmp_path / "home") as runtime:
        runtime.learn([tmp_path / "s.jsonl"])
        for asked in (whole, "src/shop.py", "shop.py"):
            edits = [each for each in runtime.sessions.search("", file=asked).hits if each.title == "Edit"]
            assert [whole in each.text for each in edits] == [True], asked
        assert [each.ok for each in runtime.sessions.search("", file="shop.py", failed=True).hits] == [False]
        assert runtime.sessions.search("", file="hop.py").steps == 0
        assert runtime.sessions.search("", file="shop.py", tool="Edit").steps == 1


def test_words_narrow_the_steps_of_a_command(tmp_path: Path) -> None:
    with Runtime.open(home=tmp_path) as runtime:
        runtime.learn([HISTORY])
        command = "pytest"
        every = runtime.sessions.search("", command=command).steps
        some = runtime.sessions.search("ModuleNotFoundError", command=command).steps
        assert 0 < some <= every
        assert runtime.sessions.search("zzyzx", command=command).steps == 0
