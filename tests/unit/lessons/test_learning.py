"""Reading history files into the store: odd names and odd contents cost themselves."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from pathlib import Path

import pytest

from ratchet import Ratchet
from ratchet.lessons import exposure
from ratchet.runtime import Runtime


def test_a_file_whose_name_is_no_utf_8_is_read_once_and_its_bad_line_is_named(home: Path, tmp_path: Path) -> None:
    folders = [os.path.join(os.fsencode(tmp_path), name) for name in (b"in\xff", b"in\xfe")]
    for number, folder in enumerate(folders):
        try:
            os.makedirs(folder)
        except OSError:
            pytest.skip("this file system takes UTF-8 names only")
        run = json.dumps({"task": f"t{number}", "success": False, "error": "Error: the frobnicator broke"})
        with open(os.path.join(folder, b"x.jsonl"), "w") as file:
            file.write(f"{run}\nno json\n")
    with Ratchet(home=home) as ratchet:
        first = ratchet.learn(*map(os.fsdecode, folders))
        assert (first.files, first.outcomes, len(first.quarantined)) == (2, 2, 2)
        again = ratchet.learn(*map(os.fsdecode, folders))
        assert (again.outcomes, len(again.quarantined)) == (0, 0)
        assert len(list(ratchet.outcomes())) == 2


def test_a_question_in_text_that_is_no_utf_8_is_answered(home: Path) -> None:
    with Ratchet(home=home) as ratchet:
        ratchet.record("a", error="boom")
        assert list(ratchet.outcomes(agent="\ud800")) == []
        assert ratchet.patterns(agent="\udcff") == []
        assert ratchet.recall("\ud800 boom").abstained


@pytest.mark.parametrize("bad", ["[" * 100_000, '{"a":' * 100_000, '"' + "x" * 200_000], ids=["list", "object", "cut"])
def test_a_first_line_that_is_long_and_broken_costs_itself_only(home: Path, tmp_path: Path, bad: str) -> None:
    good = json.dumps({"task": "t", "success": False, "error": "Error: the frobnicator broke"})
    (tmp_path / "x.jsonl").write_text(f'{{"task":"t","success":false,"context":{bad}\n{good}\n')
    with Ratchet(home=home) as ratchet:
        found = ratchet.learn(tmp_path / "x.jsonl")
        assert (found.outcomes, [each.line for each in found.quarantined]) == (1, [1])


@pytest.mark.slow
def test_a_small_archive_of_a_huge_blank_is_read_in_little_memory_and_linear_time(home: Path, tmp_path: Path) -> None:
    good = json.dumps({"task": "t", "success": False, "error": "Error: the frobnicator broke"}).encode()
    with gzip.open(tmp_path / "x.jsonl.gz", "wb", 9) as file:
        file.write(good + b"\n")
        for _ in range(8):
            file.write(b" " * 5_000_000)
    with Ratchet(home=home) as ratchet:
        tracemalloc.start()
        found = ratchet.learn(tmp_path / "x.jsonl.gz")
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert found.outcomes == 1
    assert held < 450_000_000


SECRET = "sk-ant-api03-" + "Ab9" * 30


def test_secrets_in_the_names_that_a_history_gives_stay_off_the_disk(home: Path, tmp_path: Path) -> None:
    names = dict.fromkeys(("agent", "session", "model", "tool", "task", "id"), f"{SECRET} jane.doe@example.com")
    run = json.dumps({**names, "success": False, "error": "Error: the frobnicator broke", "kind": SECRET})
    (tmp_path / "x.jsonl").write_text(run + "\n")
    text = {"stringValue": SECRET}
    attributes = [
        {"key": key, "value": text}
        for key in ("gen_ai.tool.name", "gen_ai.conversation.id", "gen_ai.agent.name", "error.type")
    ]
    attributes.append({"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}})
    span: dict[str, object] = {
        "traceId": "a",
        "spanId": "b",
        "name": "x",
        "startTimeUnixNano": "1",
        "endTimeUnixNano": "2",
    }
    span |= {"attributes": attributes, "status": {"code": 2, "message": "boom"}}
    resource: dict[str, object] = {"attributes": [{"key": "service.name", "value": text}]}
    traces = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span]}]}]}
    (tmp_path / "y.json").write_text(json.dumps(traces))
    (tmp_path / "drop").mkdir()
    (tmp_path / "drop" / "z.json").write_text(run)
    (tmp_path / "lessons.jsonl").write_text(
        json.dumps({"when": "the frobnicator broke", "do": "mend it", "tool": SECRET, "head": SECRET})
    )
    with Runtime.open(home=home) as runtime:
        assert runtime.learn([tmp_path / "x.jsonl", tmp_path / "y.json"]).outcomes == 2
        assert runtime.poll_folder(tmp_path / "drop").outcomes == 1
        assert runtime.lessons.load(tmp_path / "lessons.jsonl").imported == 1
        assert runtime.patterns()
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert b"Ab9Ab9" not in kept
    assert b"jane.doe@" not in kept


def test_learning_what_is_known_already_tells_the_hooks_the_share_in_force(tmp_path: Path) -> None:
    history = tmp_path / "runs.jsonl"
    history.write_text('{"agent": "a", "ok": true}\n')
    with Runtime.open(home=tmp_path / "home", withheld_share=0.0) as runtime:
        runtime.learn([history])
    with Runtime.open(home=tmp_path / "home", withheld_share=0.5) as runtime:
        runtime.learn([history])
    assert exposure.published(str(tmp_path / "home")).withheld == 0.5
