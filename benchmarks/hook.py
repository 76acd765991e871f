"""The hook as a whole process against `python -c pass`, in a fresh environment that holds only the product.

Every figure is CPU time of the command as the host runs it, shell included, as a multiple of the baseline's in the same
run; medians over interleaved rounds.
"""

from __future__ import annotations

import argparse
import hashlib
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
SESSION, OPEN_SESSION, OPEN_KEY = "0192f0c1-aaaa-4bbb-8ccc-", b"000000000000", b"1" * 24
SMALL_MB, LARGE_MB, TURNS = 1, 50, 7
SMALL_KB, LARGE_KB = 30, 480  # files of an edit that fails: a usual one, and nearly the largest that is looked at
_SETTLE = (
    "import sys;sys.path.insert(0,sys.argv.pop(1));from ratchet.integrations.settle import main;main(sys.argv[1:])"
)
KNOWN = "Exit code 128\nfatal: The current branch feature-x has no upstream branch."

# Runs in the fresh environment: builds the two homes and prints the command of each event.
_PREPARE = """
import json, sys
from pathlib import Path
from ratchet.failures.kinds.kind import kind_of
from ratchet.failures.signature import sign, template_of
from ratchet.integrations import hook_entries as install
from ratchet.lessons import exposure
from ratchet.lessons.ahead import trigger
from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons.mined import mine_session
from ratchet.store.sqlite import SqliteStore

root, count, project, known, here = Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]
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
missed = "String to replace not found in file."
ingest(store, [{"id": "o-1", "agent": "a", "task": "Edit", "ok": False, "source": "a", "session": "a",
    "project": project, "started_at": 1.0, "step": {"tool": "Edit", "head": "edit", "target": "a.py", "input": "{}"},
    "failure": {"message": missed, "kind": "tool_arguments", "template": missed, "signature": sign("other", missed)}}])
assert mine_session(store, "a").changed
store.close()
for name, active in (("full", count), ("empty", 0)):
    exposure.publish(str(root / name), active=active, withheld=0.0, effects={})
    exposure.salt_of(str(root / name))
path = Path(trigger.path_of(str(root / "full"), exposure.project_name(here)))
path.parent.mkdir(parents=True)
path.write_text("".join(
    trigger.Trigger(needle="--never" if at == 1 else f"--no-{at}", kind="flag", tool="", head=f"tool{at} run",
                    word="--never", lesson=f"l-{at}", pattern=f"p-{at}", text=f"`tool{at} run` has no `--never`"
    ).written() + chr(10) for at in range(60)))
commands = {name: {event: install.command(event, home=root / name) for event in
      ("SessionStart", "PostToolUseFailure", "PreToolUse", "PostToolBatch", "UserPromptSubmit")}
      for name in ("full", "empty")}
print(json.dumps({"commands": commands, "similar": "npm notice\\n" + texts[count // 2] + "\\ngiving up"}))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=41)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="hook-bench-") as folder:
        root = Path(folder)
        python = _fresh_environment(root / "venv")
        arguments = [python, "-c", _PREPARE, folder, str(LESSONS), PROJECT, KNOWN, str(Path.cwd())]
        made = subprocess.run(arguments, check=True, capture_output=True, text=True)
        prepared = json.loads(made.stdout)
        homes = [root / "full", root / "empty"]
        commands, similar = prepared["commands"], prepared["similar"]
        cases: dict[str, tuple[list[str], bytes]] = {
            "python -c pass": ([python, "-c", "pass"], b""),
            "start, no lessons": (_shell(commands["empty"]["SessionStart"]), _event()),
            "start, lessons": (_shell(commands["full"]["SessionStart"]), _event()),
            "failure, exact": (_shell(commands["full"]["PostToolUseFailure"]), _event(error=KNOWN)),
            "failure, similar": (_shell(commands["full"]["PostToolUseFailure"]), _event(error=similar)),
            "failure, no lessons": (_shell(commands["empty"]["PostToolUseFailure"]), _event(error=KNOWN)),
            "failure in a batch": (_shell(commands["full"]["PostToolBatch"]), _batch("<tool_use_error>" + KNOWN)),
            **{
                f"failed edit, file of {size_kb:,} KB": (
                    _shell(commands["full"]["PostToolBatch"]),
                    _edit(root, size_kb),
                )
                for size_kb in (SMALL_KB, LARGE_KB)
            },
            "success": (_shell(commands["full"]["PostToolBatch"]), _batch("On branch main\nnothing to commit")),
            "eight successes": (_shell(commands["full"]["PostToolBatch"]), _batch(*["x = 1\n" * 500] * 8)),
            "prompt": (_shell(commands["full"]["UserPromptSubmit"]), _event(prompt="please fix the failing test")),
            "before a step, no match": (_shell(commands["full"]["PreToolUse"]), _event()),
            "before a step, a line": (
                _shell(commands["full"]["PreToolUse"]),
                _event(tool_input={"command": "tool1 run --never"}),
            ),
        }
        assert b"has no" in _run(cases["before a step, a line"][0], _anew(cases["before a step, a line"][1], homes))[1]
        for name in ("start, lessons", "failure, exact", "failure, similar", "failure in a batch"):
            command, stdin = cases[name]
            assert b"run with" in _run(command, _anew(stdin, homes))[1], f"{name}: not answered"
        for size_kb in (SMALL_KB, LARGE_KB):
            command, stdin = cases[f"failed edit, file of {size_kb:,} KB"]
            assert b"1 tab more" in _run(command, _anew(stdin, homes))[1], "the edit is not answered"
        taken = _interleaved(cases, rounds, homes)
        turns = _turns(python, root)
    base = taken["python -c pass"]
    baseline = f"python -c pass: {base:.1f} ms"

    def ratio(name: str) -> float:
        return taken[name] / base

    return publish(
        "hook",
        [
            at_most("session start, no lessons", ratio("start, no lessons"), 2, baseline=baseline),
            at_most(f"session start, {LESSONS:,} lessons", ratio("start, lessons"), 3, baseline=baseline),
            at_most(f"failure, exact match of {LESSONS:,}", ratio("failure, exact"), 2.8, baseline=baseline),
            at_most(f"failure in a batch of {LESSONS:,}", ratio("failure in a batch"), 2.8, baseline=baseline),
            at_most(
                f"failed edit in a file of {SMALL_KB} KB",
                ratio(f"failed edit, file of {SMALL_KB} KB"),
                2.8,
                baseline=baseline,
            ),
            at_most("a call that succeeds", ratio("success"), 1.5, baseline=baseline),
            at_most("a batch of eight that succeed", ratio("eight successes"), 1.5, baseline=baseline),
            at_most("a prompt", ratio("prompt"), 1.5, baseline=baseline),
            at_most(
                f"new lines of a turn, session of {LARGE_MB} MB against one of {SMALL_MB} MB",
                turns[LARGE_MB] / turns[SMALL_MB],
                1.3,
                baseline=f"session of {SMALL_MB} MB: {turns[SMALL_MB]:.0f} ms",
            ),
            at_most(f"failure, similar of {LESSONS:,}", ratio("failure, similar"), 4.5, baseline=baseline),
            at_most("before a step, nothing to say", ratio("before a step, no match"), 1.3, baseline=baseline),
            *(
                Figure(name=name, measured=f"{ratio(name):.3g} x", baseline=baseline)
                for name in ("failure, no lessons", "before a step, a line", f"failed edit, file of {LARGE_KB:,} KB")
            ),
        ],
    )


def _turns(python: str, root: Path) -> dict[int, float]:
    """CPU milliseconds to read the new lines of a turn, by the size of the session in MB."""
    taken: dict[int, list[float]] = {}
    for size_mb in (SMALL_MB, LARGE_MB):
        home, path = root / f"home-{size_mb}", root / f"s-{size_mb}.jsonl"
        size, number = 0, 0
        with path.open("w") as file:
            while size < size_mb * 1_000_000:
                size += file.write(_step_lines(size_mb, number))
                number += 1
        arguments = ["turn", "--home", str(home), "--client", "claude-code", "--transcript", str(path)]
        command = [python, "-I", "-S", "-c", _SETTLE, str(_site(python)), *arguments]
        _run(command, b"")
        for _ in range(TURNS):
            with path.open("a") as file:
                for _ in range(10):
                    file.write(_step_lines(size_mb, number))
                    number += 1
            taken.setdefault(size_mb, []).append(_run(command, b"")[0])
    return {size_mb: statistics.median(values) for size_mb, values in taken.items()}


def _site(python: str) -> Path:
    return next(Path(python).parent.parent.glob("lib/python*/site-packages"))


def _step_lines(session: int, number: int) -> str:
    """A call and its result, of 4 KB, every tenth a failure, as Claude Code writes them."""
    key = f"toolu_{session:04}{number:020}"
    failed = number % 10 == 0
    said = f"Exit code 1\nerror: wheel {number} is missing" if failed else "line of output\n" * 250
    call = {"type": "tool_use", "id": key, "name": "Bash", "input": {"command": f"make part{number % 50}"}}
    result = {"type": "tool_result", "tool_use_id": key, "content": said, "is_error": failed}
    lines = ""
    for role, block in (("assistant", call), ("user", result)):
        line = {
            "type": role, "uuid": f"{role}-{number}", "sessionId": f"s-{session}", "cwd": PROJECT,
            "version": "2.1.332",
            "timestamp": f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000Z",
            "message": {"role": role, "content": [block], "id": f"msg-{number}",
                        "usage": {"input_tokens": 10, "output_tokens": 5}},
        }  # fmt: skip
        lines += json.dumps(line) + "\n"
    return lines


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
        "session_id": SESSION + OPEN_SESSION.decode(),
        "transcript_path": "/nowhere/s-1.jsonl",
        "cwd": PROJECT,
        "tool_name": "Bash",
        "tool_input": {"command": "git push", "description": "Push the branch"},
        "tool_use_id": f"toolu_{OPEN_KEY.decode()}",
        **changed,
    }
    return json.dumps(event).encode()


def _batch(*results: str) -> bytes:
    calls = [
        {"tool_name": "Bash", "tool_input": {"command": "git push"}, "tool_use_id": f"toolu_{OPEN_KEY.decode()}{at}",
         "tool_response": result}
        for at, result in enumerate(results)
    ]  # fmt: skip
    event = {"session_id": SESSION + OPEN_SESSION.decode(), "cwd": PROJECT, "tool_calls": calls}
    return json.dumps(event, separators=(",", ":")).encode()


def _edit(root: Path, size_kb: int) -> bytes:
    """A batch of one edit whose text stands in its file one tab further right."""
    file = root / "shop" / f"shop{size_kb}.py"
    (root / "shop" / ".git").mkdir(parents=True, exist_ok=True)
    parts = [f"def part{at}(wheel):\n\tif wheel > {at}:\n\t\treturn {at}\n\n" for at in range(size_kb * 20)]
    file.write_text("".join(parts)[: size_kb * 1000])
    asked = {"file_path": str(file), "old_string": "if wheel > 300:\n\treturn 300\n", "new_string": "pass\n"}
    call = {"tool_name": "Edit", "tool_input": asked, "tool_use_id": f"toolu_{OPEN_KEY.decode()}",
            "tool_response": "<tool_use_error>String to replace not found in file.</tool_use_error>"}  # fmt: skip
    event = {"session_id": SESSION + OPEN_SESSION.decode(), "cwd": str(root / "shop"), "tool_calls": [call]}
    return json.dumps(event, separators=(",", ":")).encode()


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


def _anew(stdin: bytes, homes: list[Path]) -> bytes:
    """The event as another call of another session that has tossed its coin already: no call is answered twice."""
    session, key = os.urandom(6).hex(), os.urandom(12).hex()
    for home in homes:
        place = home / "hook" / "sessions"
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        (place / hashlib.sha256((SESSION + session).encode()).hexdigest()[:24]).write_text("1.0\n")
    return stdin.replace(OPEN_SESSION, session.encode()).replace(OPEN_KEY, key.encode())


def _interleaved(cases: dict[str, tuple[list[str], bytes]], rounds: int, homes: list[Path]) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, (command, stdin) in cases.items():
            taken[name].append(_run(command, _anew(stdin, homes))[0])
    median: Callable[[list[float]], float] = statistics.median
    return {name: median(values) for name, values in taken.items()}


if __name__ == "__main__":
    main()
