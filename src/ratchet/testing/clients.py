"""The contract of a coding agent's client, for whoever writes one: `check(Mine(), samples)` raises AssertionError that
says what does not hold.

    from ratchet.testing.clients import Sample, check

    def test_my_client(tmp_path):
        check(Mine(), [Sample("afterTool", b'{"session": "s", ...}', fails=True)], tmp_path)

Samples are events as the client really sends them, at least one of a call that fails and one of a call that succeeds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ratchet.failures.signature import sign, template_of
from ratchet.integrations import hook_entries, install
from ratchet.integrations.clients.client import Client, InstallPlace
from ratchet.lessons import exposure
from ratchet.recording import wire
from ratchet.recording.live import failed_row
from ratchet.records import Row
from ratchet.store.sqlite import SqliteStore

ROLES = frozenset(("start", "subagent", "prompt", "before", "failed", "finished", "turn", "compacting", "end"))
SLOW = ("dataclasses", "typing", "logging", "pathlib", "inspect", "datetime", "sqlite3", "subprocess", "tomllib")
ADVICE = "do it as the contract says"


@dataclass(frozen=True, slots=True)
class Sample:
    """An event as the client sends it. `fails`: it tells of a call that failed."""

    event: str
    data: bytes
    fails: bool = False


def check(client: Client, samples: Sequence[Sample], folder: Path) -> None:
    """Try everything that the port asks of a client, in an empty folder."""
    names_itself(client)
    restores_its_files(client, folder / "files")
    loads_nothing_slow(client)
    survives_any_event(client)
    if client.events:
        tells_failures_from_successes(client, samples)
        delivers_a_lesson(client, samples, folder / "home")


def names_itself(client: Client) -> None:
    """See that it has a name, and that each of its events means something."""
    assert client.name, "a client has a name"
    assert client.title, "a client has a title"
    assert client.name == client.name.lower(), f"the name {client.name!r} is lower case"
    odd = set(client.events.values()) - ROLES
    assert not odd, f"no such role: {sorted(odd)}; known: {sorted(ROLES)}"
    assert client.prevents | client.matched <= set(client.events), "only its own events prevent or take a matcher"


def restores_its_files(client: Client, user: Path) -> None:
    """See that an installation can be taken out again, from files that were not there."""
    entries = client.entries(InstallPlace(user=str(user), project=None, environ={}))
    assert entries, "a client has a file that names us"
    for entry in entries:
        assert Path(entry.path).is_absolute(), f"{entry.path} is absolute"
    assert all(each.changed for each in install.changed(client, entries, home=user / "home"))
    assert not any(each.changed for each in install.changed(client, entries, home=user / "home")), "twice is once"
    install.removed(entries, entries, home=user / "home")
    left = [entry.path for entry in entries if Path(entry.path).exists()]
    assert not left, f"left behind: {left}"


def loads_nothing_slow(client: Client) -> None:
    """See that the hook's process, which lives for milliseconds, loads nothing slow with it."""
    module = type(client).__module__
    place = next(path for path in sys.path if _has(path, module))
    source = str(Path(exposure.__file__).parents[2])
    code = f"import sys;sys.path[:0]={[source, place]!r};import {module};print(*sys.modules)"
    bare = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(bare, capture_output=True, text=True, check=True)  # noqa: S603  (the client's own module)
    slow = set(done.stdout.split()) & set(SLOW)
    assert not slow, f"{module} loads {sorted(slow)}, which a hook has no time for: import it where it is used"


def _has(path: str, module: str) -> bool:
    below = Path(path or ".") / module.replace(".", os.sep)
    return below.with_suffix(".py").exists() or (below / "__init__.py").exists()


def survives_any_event(client: Client) -> None:
    """See that no event makes it raise, whatever stands in it."""
    odd: list[Row] = [{}, {"session_id": 7, "tool_input": [], "tool_calls": {}, "cwd": None}, {"tool_calls": [1, {}]}]
    for role in set(client.events.values()):
        for data in odd:
            client.event(role, data)
        client.is_worth_reading(role, b"\xff\xfe\x00")
    for event in client.events:
        assert ADVICE in wire.written(client.answer(event, ADVICE)), f"the answer to {event} holds the text"


def tells_failures_from_successes(client: Client, samples: Sequence[Sample]) -> None:
    """See that each sample is what it is said to be."""
    assert {sample.fails for sample in samples} == {True, False}, "samples of both: fails and does not"
    for sample in samples:
        assert sample.event in client.events, f"{sample.event} is an event of {client.name}"
        found = failures(client, sample)
        assert bool(found) == sample.fails, f"{sample.event}: {sample.data[:300]!r} is read as {found}"


def delivers_a_lesson(client: Client, samples: Sequence[Sample], home: Path) -> None:
    """See that the installed hook answers each failing sample with its lesson, once, and the others with nothing."""
    failing = {sample: failures(client, sample)[0] for sample in samples if sample.fails}
    teach(home, [_message(row) for row in failing.values()])
    for sample in samples:
        said = hook(client, sample, home)
        assert (ADVICE in said) == sample.fails, f"{sample.event} is answered with {said[:300]!r}"
        if sample.fails:
            json.loads(said)
            again = hook(client, sample, home)
            assert again == "" or not _is_named(client, sample), f"{sample.event} is answered once"


def failures(client: Client, sample: Sample) -> list[Row]:
    """The outcomes of the failed calls that a sample tells of, as they are journalled."""
    role = client.events[sample.event]
    if not client.is_worth_reading(role, sample.data):
        return []
    event = client.event(role, json.loads(sample.data))
    rows = [
        failed_row(
            client.agent or client.name, call.tool, call.input, call.said, session=event.session, key=call.id,
            flag=call.flag, exit_code=call.exit_code, kind=call.kind, thread=event.thread, project=event.project,
        )
        for call in event.calls
    ]  # fmt: skip
    return [row for row in rows if row is not None]


def _is_named(client: Client, sample: Sample) -> bool:
    """Tell whether the client names its calls: of one that does not, two alike are two."""
    return all(call.id for call in client.calls(client.events[sample.event], json.loads(sample.data)))


def hook(client: Client, sample: Sample, home: Path) -> str:
    """The installed hook's answer to a sample, "" for none."""
    command = hook_entries.command(sample.event, home=home, client=client)
    done = subprocess.run(["/bin/sh", "-c", command], input=sample.data, capture_output=True, check=True)  # noqa: S603
    return done.stdout.decode()


def teach(home: Path, errors: Sequence[str]) -> None:
    """Put a lesson for each error into a home whose coin shows them all."""
    store = SqliteStore(home / "ratchet.db")
    for number, template in enumerate(dict.fromkeys(template_of(error) for error in errors)):
        lesson: Row = {
            "id": f"l-{number}", "state": "active", "scope": "global", "signature": sign("other", template),
            "pattern": f"p-{number}", "kind": "other", "tool": "", "head": "", "target": "", "when_text": template,
            "text": f"{ADVICE} {number}", "tried": 2, "worked": 2, "uses": 0, "wins": 0, "created_at": 1.0,
            "updated_at": 1.0, "projects": [], "sessions": ["a", "b"], "failed": "", "example": "",
        }  # fmt: skip
        store.insert_new("lessons", [lesson])
    store.close()
    exposure.publish(str(home), active=len(errors), withheld=0.0, effects={})


def _message(row: Row) -> str:
    failure = row["failure"]
    assert isinstance(failure, dict)
    return str(failure["message"])
