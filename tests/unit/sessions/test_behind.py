"""The steps behind a row of "what fails here" are those that were counted for it."""

from __future__ import annotations

from pathlib import Path

from ratchet.cli.demo import HISTORY
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
            (hit,) = runtime.sessions.search("", file=f"src/{name}.py").hits
            assert f"src/{name}.py" in hit.text


def test_words_narrow_the_steps_of_a_command(tmp_path: Path) -> None:
    with Runtime.open(home=tmp_path) as runtime:
        runtime.learn([HISTORY])
        command = "pytest"
        every = runtime.sessions.search("", command=command).steps
        some = runtime.sessions.search("ModuleNotFoundError", command=command).steps
        assert 0 < some <= every
        assert runtime.sessions.search("zzyzx", command=command).steps == 0
