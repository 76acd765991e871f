"""The hook as a whole process against `python -c pass`, in a fresh environment that holds only the product.

Every figure is CPU time of the command as the host runs it, shell included, as a multiple of the baseline's in the same
run; medians over interleaved rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from figures import Figure, at_most, publish

ROOT = Path(__file__).resolve().parent.parent
PROJECT = "/p/shop"
LESSONS = 10_000
KNOWN = "Exit code 128\nfatal: The current branch feature-x has no upstream branch."

# Runs in the fresh environment: builds the two homes and prints the command of each event.
_PREPARE = """
import json, sys
from pathlib import Path
from ratchet.failures.kinds.kind import kind_of
from ratchet.failures.signature import sign, template_of
from ratchet.integrations import hook_entries as install
from ratchet.lessons import exposure
from ratchet.store.sqlite import SqliteStore

root, count, project, known = Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]
verbs = "open close lift drop turn bend fold send read find mend join part hold keep lock".split()
things = "shelf wheel gear spring valve crane drum hose pump belt chain bolt plate disk fan coil".split()

def lesson(number, text):
    template = template_of(text)
    signature = sign(kind_of(text, exit_code=128 if number == 0 else None, tool="Bash"), template)
    return {"id": f"l-{number}", "state": "active", "scope": "project", "signature": signature,
            "pattern": f"p-{number}", "kind": "command_failed", "tool": "Bash", "head": f"tool{number % 97} run",
            "target": "", "when_text": template, "text": f"run with --{verbs[number % 16]} {number}", "tried": 3,
            "worked": 2, "uses": 0, "wins": 0, "created_at": 1.0, "updated_at": 1.0, "projects": [project],
            "sessions": ["a", "b"], "evidence": ["o1", "o2"], "example": "x", "failed": f"tool{number % 97} run"}

texts = [known] + [
    f"error: cannot {verbs[i % 16]} {things[i // 16 % 16]} number {i}: the {things[i // 256 % 16]} of pile "
    f"{verbs[i // 4096 % 16]} does not {verbs[(i * 7) % 16]} while bucket {i} waits" for i in range(1, count)]
store = SqliteStore(root / "full" / "ratchet.db")
store.insert_new("lessons", [lesson(i, text) for i, text in enumerate(texts)])
store.close()
for name, active in (("full", count), ("empty", 0)):
    exposure.publish(str(root / name), active=active, withheld=0.0, effects={})
    exposure.salt_of(str(root / name))
commands = {name: {event: install.command(event, home=root / name) for event in
      ("SessionStart", "PostToolUseFailure", "PreToolUse")} for name in ("full", "empty")}
print(json.dumps({"commands": commands, "similar": "npm notice\\n" + texts[count // 2] + "\\ngiving up"}))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=41)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="hook-bench-") as folder:
        root = Path(folder)
        python = _fresh_environment(root / "venv")
        arguments = [python, "-c", _PREPARE, folder, str(LESSONS), PROJECT, KNOWN]
        made = subprocess.run(arguments, check=True, capture_output=True, text=True)
        prepared = json.loads(made.stdout)
        commands, similar = prepared["commands"], prepared["similar"]
        cases: dict[str, tuple[list[str], bytes]] = {
            "python -c pass": ([python, "-c", "pass"], b""),
            "start, no lessons": (_shell(commands["empty"]["SessionStart"]), _event()),
            "start, lessons": (_shell(commands["full"]["SessionStart"]), _event()),
            "failure, exact": (_shell(commands["full"]["PostToolUseFailure"]), _event(error=KNOWN)),
            "failure, similar": (_shell(commands["full"]["PostToolUseFailure"]), _event(error=similar)),
            "failure, no lessons": (_shell(commands["empty"]["PostToolUseFailure"]), _event(error=KNOWN)),
            "before a step, no match": (_shell(commands["full"]["PreToolUse"]), _event()),
        }
        for name in ("start, lessons", "failure, exact", "failure, similar"):
            assert b"run with" in _run(*cases[name])[1], f"{name}: not answered"
        taken = _interleaved(cases, rounds)
    base = taken["python -c pass"]
    baseline = f"python -c pass: {base:.1f} ms"

    def ratio(name: str) -> float:
        return taken[name] / base

    return publish(
        "hook",
        [
            at_most("session start, no lessons", ratio("start, no lessons"), 2, baseline=baseline),
            at_most(f"session start, {LESSONS:,} lessons", ratio("start, lessons"), 3, baseline=baseline),
            at_most(f"failure, exact match of {LESSONS:,}", ratio("failure, exact"), 3, baseline=baseline),
            at_most(f"failure, similar of {LESSONS:,}", ratio("failure, similar"), 4.5, baseline=baseline),
            *(
                Figure(name=name, measured=f"{ratio(name):.3g} x", baseline=baseline)
                for name in ("failure, no lessons", "before a step, no match")
            ),
        ],
    )


def _fresh_environment(folder: Path) -> str:
    """A virtual environment that holds only the product."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    subprocess.run([*install, str(ROOT)], check=True)
    subprocess.run([*install[:3], "uninstall", "--quiet", "--yes", "pip", "setuptools"], check=True)
    return python


def _shell(command: str) -> list[str]:
    return ["/bin/sh", "-c", command]


def _event(**changed: object) -> bytes:
    event = {
        "session_id": "0192f0c1-aaaa-4bbb-8ccc-0123456789ab",
        "transcript_path": "/nowhere/s-1.jsonl",
        "cwd": PROJECT,
        "tool_name": "Bash",
        "tool_input": {"command": "git push", "description": "Push the branch"},
        "tool_use_id": "toolu_01ABCDEFGHIJKLMNOPQRSTUV",
        **changed,
    }
    return json.dumps(event).encode()


def _run(command: list[str], stdin: bytes) -> tuple[float, bytes]:
    """(CPU milliseconds of the process and its children, its output)."""
    asked, told = os.pipe()
    answer, said = os.pipe()
    os.write(told, stdin)
    os.close(told)
    moves = [(os.POSIX_SPAWN_DUP2, asked, 0), (os.POSIX_SPAWN_DUP2, said, 1)]
    child = os.posix_spawn(command[0], command, os.environ, file_actions=moves)
    os.close(asked)
    os.close(said)
    output = b"".join(iter(lambda: os.read(answer, 65536), b""))
    os.close(answer)
    _, status, usage = os.wait4(child, 0)
    assert status == 0, (command, status)
    return (usage.ru_utime + usage.ru_stime) * 1000, output


def _interleaved(cases: dict[str, tuple[list[str], bytes]], rounds: int) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            taken[name].append(_run(*case)[0])
    median: Callable[[list[float]], float] = statistics.median
    return {name: median(values) for name, values in taken.items()}


if __name__ == "__main__":
    main()
