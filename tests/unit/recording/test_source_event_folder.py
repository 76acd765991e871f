"""Folders that hold one conversation, an event a file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ratchet.recording.sources import source_for
from ratchet.recording.sources.find import find
from ratchet.records import Row
from support.histories import read


def ran(number: int, command: str, said: str, code: int) -> list[Row]:
    """A call and its result, as OpenHands writes them now."""
    key = f"call-{number}"
    return [
        {
            "kind": "ActionEvent",
            "source": "agent",
            "timestamp": f"2026-11-01T10:00:{number:02}",
            "tool_name": "terminal",
            "tool_call_id": key,
            "action": {"kind": "TerminalAction", "command": command},
        },
        {
            "kind": "ObservationEvent",
            "source": "environment",
            "timestamp": f"2026-11-01T10:00:{number + 1:02}",
            "tool_name": "terminal",
            "tool_call_id": key,
            "observation": {"content": [{"type": "text", "text": said}], "exit_code": code},
        },
    ]


def ran_before(number: int, command: str, said: str, code: int) -> list[Row]:
    """A call and its result, as OpenHands wrote them first."""
    at = "2025-03-01T10:00:00.000001"
    return [
        {"id": number, "timestamp": at, "source": "agent", "action": "run", "args": {"command": command}},
        {
            "id": number + 1,
            "timestamp": at,
            "source": "agent",
            "cause": number,
            "observation": "run",
            "content": said,
            "extras": {"metadata": {"exit_code": code}},
        },
    ]


def lay(folder: Path, events: list[Row], name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number, event in enumerate(events):
        (folder / name.format(number)).write_text(json.dumps(event))
    return folder


@pytest.mark.parametrize(
    ("made", "name"), [(ran, "event-{0:05}-0f3a-b{0}.json"), (ran_before, "{0}.json")], ids=["now", "first"]
)
def test_a_folder_of_events_is_one_session_in_the_order_of_their_numbers(
    tmp_path: Path, made: Callable[[int, str, str, int], list[Row]], name: str
) -> None:
    events = [event for at in range(0, 12, 2) for event in made(at, f"pytest -q t{at}", "done", int(at == 10))]
    folder = lay(tmp_path / "conv-1" / "events", events, name)
    (folder / "state.json").write_text('{"iteration": 3}')
    found = find([str(tmp_path)])
    assert found.files == [str(folder)]
    taught = read(source_for(str(folder)), folder)
    assert [outcome.ok for outcome in taught.outcomes] == [True] * 5 + [False]
    assert len({outcome.session for outcome in taught.outcomes}) == 1
    assert {outcome.agent for outcome in taught.outcomes} == {"openhands"}
    assert str(taught.outcomes[0].session).startswith("conv-1-")
    assert taught.outcomes[5].step is not None
    assert taught.outcomes[5].step.input is not None
    assert "pytest -q t10" in taught.outcomes[5].step.input


def test_an_event_that_comes_later_is_learnt_and_the_others_keep_their_ids(tmp_path: Path) -> None:
    events = ran(0, "make", "ok", 0) + ran(2, "make test", "no rule", 2)
    lay(tmp_path, events[:2], "event-{0:05}-a.json")
    carry: Row = {}
    source = source_for(str(tmp_path))
    first = [item for taken in source.read(str(tmp_path), 0, carry) for item in taken.items]
    assert not [item for taken in source.read(str(tmp_path), 0, carry) for item in taken.items]
    lay(tmp_path, events, "event-{0:05}-a.json")
    second = [item for taken in source.read(str(tmp_path), 0, carry) for item in taken.items]
    assert len(second) == 2
    assert second[0] == first[0]


def test_a_broken_event_costs_itself(tmp_path: Path) -> None:
    lay(tmp_path, ran(0, "make", "ok", 0) + ran(2, "make test", "no rule", 2), "event-{0:05}-a.json")
    (tmp_path / "event-00001-a.json").write_text('{"kind": "Observ')
    taught = read(source_for(str(tmp_path)), tmp_path)
    assert [outcome.ok for outcome in taught.outcomes] == [False]
    assert [Path(bad.path).name for bad in taught.bad] == ["event-00001-a.json"]


def test_numbered_documents_that_are_no_events_stay_files_of_their_own(tmp_path: Path) -> None:
    for number in range(3):
        said = {"role": "assistant", "content": "x", "tool_calls": []}
        (tmp_path / f"{number}.json").write_text(json.dumps({"messages": [said]}))
    assert len(find([str(tmp_path)]).files) == 3


def test_a_pipe_among_the_events_is_not_waited_for(tmp_path: Path) -> None:
    lay(tmp_path, ran(0, "make", "ok", 0) + ran(2, "make test", "no rule", 2), "event-{0:05}-a.json")
    for name in ("event-00001-a.json", "event-00003-a.json"):
        (tmp_path / name).unlink()
        os.mkfifo(tmp_path / name)
    assert len(find([str(tmp_path)]).files) == 2
    assert [bad.reason for bad in read(source_for(str(tmp_path)), tmp_path).bad][:2] == ["no regular file"] * 2
