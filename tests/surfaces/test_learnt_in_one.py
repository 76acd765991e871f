"""Learnt in one real coding agent, known in every other: no one but the first has met the failure before."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path
from sqlite3 import connect

import pytest

from support.clients import Claude, Codex, Machine, eventually, silence_the_start, where
from support.npm_clients import EVERY, Gemini, Qwen
from support.provider import Provider, Step

AGENTS: dict[str, type[Machine]] = {each.name: each for each in (Claude, Codex, *EVERY)}
SMALL = (Gemini.name, Qwen.name)
FAILURE = "unknown flag: --stat"
SCRIPT = f"""#!/bin/sh
if [ "$2" = --stat ]; then echo "{FAILURE}" >&2; exit 1; fi
echo a.txt
"""
ADVICE = "use `--name-only` instead of `--stat`"
DATABASE, SETTINGS = "ratchet.db", "ratchet.toml"
SESSIONS = 3
"""In which the fix has to work before anybody is told of it: nothing else vouches for the flag."""


@pytest.mark.parametrize(("one", "other"), [SMALL, SMALL[::-1]])
def test_what_one_agent_learnt_reaches_the_model_of_another(one: str, other: str, tmp_path: Path) -> None:
    learnt = taught_by(one, tmp_path)
    assert missing_from(other, learnt, tmp_path) == ""


@pytest.mark.soak
@pytest.mark.parametrize("one", AGENTS)
def test_what_an_agent_learnt_reaches_the_models_of_all_others(one: str, tmp_path: Path) -> None:
    learnt = taught_by(one, tmp_path)
    others = [other for other in AGENTS if other != one]
    missed = {other: said for other in others if (said := missing_from(other, learnt, tmp_path))}
    print(f"{one}: {len(others) - len(missed)} of {len(others)}")
    assert missed == {}


def taught_by(one: str, folder: Path) -> Machine:
    """The machine on which an agent failed, and mended it, in as many sessions as it takes."""
    machine = AGENTS[one](folder / "one")
    script = machine.project / "deploy.sh"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    machine.home.mkdir(exist_ok=True)
    (machine.home / SETTINGS).write_text("withheld_share = 0\n")
    machine.ratchet("install", one, "--hooks-only")
    for _ in range(SESSIONS):
        steps: list[Step] = [
            machine.run("./deploy.sh diff --stat"),
            machine.run("./deploy.sh diff --name-only"),
            "done",
        ]
        with Provider({"": steps}) as provider:
            machine.session(provider)
    eventually(lambda: knows(machine), "its history taught it")
    return machine


def knows(machine: Machine) -> bool:
    """Learn what a client has written by now, which it may do behind its end, and ask for the lesson."""
    machine.ratchet("learn")
    found = json.loads(machine.ratchet("lessons", "list", "--json"))
    return any(each["state"] == "active" and ADVICE in each["text"] for each in found)


def missing_from(other: str, learnt: Machine, folder: Path) -> str:
    """What is wrong where an agent of another person, who shares project and memory, has not the lesson in the request
    after the failure, or had it in one before; "" where all is right."""
    machine = AGENTS[other](folder / other)
    machine.project = learnt.project
    machine.home.mkdir(exist_ok=True)
    shutil.copy(learnt.home / SETTINGS, machine.home)
    with closing(connect(learnt.home / DATABASE)) as store, closing(connect(machine.home / DATABASE)) as copy:
        store.backup(copy)  # whole, though a session that has just ended may still be settled
    machine.ratchet("learn", str(folder / other))  # tells the hooks of this home what there is to tell
    machine.ratchet("install", other, "--hooks-only")
    silence_the_start(machine)
    with Provider({"": [machine.run("./deploy.sh diff --stat"), "done"]}) as provider:
        printed = machine.session(provider)
        failed, told = where(provider, FAILURE), where(provider, ADVICE)
    if failed and told[:1] == failed[:1]:
        return ""
    hook = machine.home / "hook" / "hook.log"
    log = hook.read_text() if hook.exists() else "none"
    return (
        f"failed in {failed}, told in {told} of {len(provider.requests)} requests; its hooks: {log[-2000:]}; "
        f"its memory: {machine.ratchet('lessons', 'list')}; it said: {printed[-2000:]}"
    )
