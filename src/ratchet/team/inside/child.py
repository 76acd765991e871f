"""A worker's own process: `child.py LOCK`, a target on the first line of its input, then one request a line.

Its lock is held as long as it lives. Each request is written down as begun before its work starts, and its result,
without secrets, before it is told: whoever comes after a driver that died reads there what became of it. When the
driver dies, the work under way goes on to its end or its deadline, and nothing else is begun.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import json
import os
import queue
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable

from ratchet.failures.redaction.text import kept_how, redact_json, text_of
from ratchet.team.handed import Handed, takes_context
from ratchet.team.inside.marked import end_marked

MOST_BYTES = 8_388_608  # as in `values`, which a process of 20 ms does not load
_TAIL = 4_000
_MOST_ENVIRON = 100_000  # Linux takes 131,072 bytes for one variable, its name included
_LOOK_S = 0.05

Message = dict[str, object]
Work = Callable[[object, Handed], object]


def main() -> None:
    mark = os.path.basename(sys.argv[1]).removesuffix(".lock")
    lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    said = os.dup(1)
    os.dup2(2, 1)  # what the work prints is no answer
    driver = os.getppid()
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    alone = threading.Event()
    deadline = [0.0]
    threading.Thread(target=_read, args=(lines, alone), daemon=True).start()
    threading.Thread(target=_end_when_due, args=(alone, deadline, mark), daemon=True).start()
    target = json.loads(lines.get() or b"{}")
    if not target:
        return
    try:
        work = work_of(target)
    except BaseException as fault:  # noqa: BLE001  (told to the driver, which says what to do)
        _say(said, {"unready": f"{type(fault).__name__}: {fault}"})
        return
    _say(said, {"ready": True})
    while line := lines.get():
        if alone.is_set() or os.getppid() != driver:
            break
        request = json.loads(line)
        deadline[0] = time.monotonic() + float(request["timeout_s"])
        answer = _answer(work, request)
        deadline[0] = 0.0
        if not alone.is_set():
            _say(said, answer)
    end_marked(mark)


def work_of(target: Message) -> Work:
    """The function of a target: {"call": "module:name", "path": [...], "main": file} or {"command": [...]}."""
    if "command" in target:
        return _Command(target)
    path = target.get("path")
    sys.path[:0] = [each for each in path if each not in sys.path] if isinstance(path, list) else []
    module, _, name = str(target["call"]).partition(":")
    if target.get("main"):
        held: object = runpy.run_path(str(target["main"]), run_name="__mp_main__")
        found: object = held[name.partition(".")[0]] if isinstance(held, dict) else None
        rest = name.split(".")[1:]
    else:
        found, rest = importlib.import_module(module), name.split(".")
    for each in rest:
        found = getattr(found, each)
    if not callable(found):
        raise TypeError(f"{target['call']} is nothing that can be called")
    function, both = found, takes_context(found)

    def call(work: object, context: Handed) -> object:
        value = function(work, context) if both else function(work)
        return _awaited(value) if hasattr(value, "__await__") else value

    return call


def _awaited(value: Awaitable[object]) -> object:
    import asyncio  # a third of this process's start

    async def result() -> object:
        return await value

    return asyncio.run(result())


def _answer(work: Work, request: Message) -> Message:
    """Do one piece of work; what came of it is on disk when this returns."""
    spool = str(request["spool"])
    _keep(spool + ".began", {})
    letters: list[object] = []
    spent = [0.0, 0]

    def spend(cost_usd: float, tokens: int) -> None:
        spent[0] += cost_usd
        spent[1] += tokens

    told = request["told"]
    assert isinstance(told, dict)
    context = Handed(told, write=lambda to, body: letters.append([to, body]), spend=spend)
    answer: Message = {}
    try:
        answer["value"] = work(request["work"], context)
        answer = _plain(answer["value"])
    except Flood as flood:
        answer = {"flood": flood.size}
    except Exit as fault:
        answer = {"error": str(fault), "exit_code": fault.code}
    except SystemExit:
        raise  # the process ends, and that is its answer
    except BaseException as fault:  # noqa: BLE001  (the edge to somebody's own code)
        answer = {"error": (text_of(fault) or type(fault).__name__)[-_TAIL:], "type": type(fault).__qualname__}
    answer |= {"letters": letters, "cost_usd": spent[0], "tokens": spent[1]}
    size = len(json.dumps(answer))
    if size > MOST_BYTES:
        answer = {"flood": size, "cost_usd": spent[0], "tokens": spent[1]}
    kept = {name: redact_json(held) if name in ("value", "letters") else held for name, held in answer.items()}
    whole, part = answer.get("value"), kept.get("value")
    _keep(spool, {**kept, "clipped": whole != part and kept_how(whole, part)[1]})
    return answer


def _plain(value: object) -> Message:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        said = f"its result is no JSON ({error}): return texts, numbers, lists and mappings of them"
        return {"error": said, "kind": "malformed_output"}
    return {"value": value}


class Flood(Exception):  # noqa: N818  (an event, not an error of ours)
    """More than is taken."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class Exit(Exception):  # noqa: N818
    """A command that ended with another code than 0."""

    def __init__(self, code: int, said: str) -> None:
        super().__init__(said)
        self.code = code


class _Command:
    """Runs a command for each task: its work, as JSON or a text, is its standard input, its output the result."""

    def __init__(self, target: Message) -> None:
        words = target["command"]
        assert isinstance(words, list)
        self._words = [str(word) for word in words]
        self._folder = str(target.get("folder") or "") or None

    def __call__(self, work: object, context: Handed) -> object:
        given = {
            **os.environ,
            "RATCHET_TASK": context.task,
            "RATCHET_KEY": context.key,
            "RATCHET_ATTEMPT": str(context.attempt),
        }
        told = json.dumps({name: getattr(context, name) for name in ("results", "mail", "last")})
        asked = (work if isinstance(work, str) else json.dumps(work)).encode()
        with contextlib.ExitStack() as handed:
            files: tuple[int, ...] = ()
            if len(told) <= _MOST_ENVIRON:
                given["RATCHET_CONTEXT"] = told
            else:
                files = (_handed(told.encode(), handed),)
                given["RATCHET_CONTEXT_FILE"] = f"/dev/fd/{files[0]}"
            running = subprocess.Popen(  # noqa: S603  (the person's own command)
                self._words,
                cwd=self._folder,
                env=given,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=files,
            )
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        errors: list[bytes] = []
        threads = [
            threading.Thread(target=_feed, args=(running.stdin, asked), daemon=True),
            threading.Thread(target=_drain, args=(running.stderr, errors), daemon=True),
        ]
        for thread in threads:
            thread.start()
        output = bytearray()
        while piece := os.read(running.stdout.fileno(), 1 << 16):
            output += piece
            if len(output) > MOST_BYTES:
                running.kill()
                running.wait()
                raise Flood(len(output))
        code = running.wait()
        threads[1].join(1.0)
        running.stdout.close()
        text = output.decode("utf-8", "replace")
        if code:
            said = (b"".join(errors)[-_TAIL:].decode("utf-8", "replace") or text[-_TAIL:]).strip()
            raise Exit(code, f"Exit code {code}\n{said}" if code > 0 else f"killed by signal {-code}\n{said}")
        try:
            return json.loads(text)
        except ValueError:
            return text.rstrip("\n")


def _handed(content: bytes, until: contextlib.ExitStack) -> int:
    """A pipe's end that a command reads like a file: what others brought may hold secrets, and is never on disk."""
    read, write = os.pipe()
    until.callback(os.close, read)
    threading.Thread(target=_feed, args=(os.fdopen(write, "wb"), content), daemon=True).start()
    return read


def _feed(pipe: object, asked: bytes) -> None:
    with contextlib.suppress(OSError):  # it may end without reading
        pipe.write(asked)  # type: ignore[attr-defined]
        pipe.close()  # type: ignore[attr-defined]


def _drain(pipe: object, kept: list[bytes]) -> None:
    size = 0
    while piece := os.read(pipe.fileno(), 1 << 16):  # type: ignore[attr-defined]
        kept.append(piece)
        size += len(piece)
        while size - len(kept[0]) > _TAIL:
            size -= len(kept.pop(0))
    pipe.close()  # type: ignore[attr-defined]


def _read(lines: queue.SimpleQueue[bytes], alone: threading.Event) -> None:
    """Requests as they come; an empty one, and `alone`, once the driver is gone."""
    with open(0, "rb", closefd=False) as asked:
        for line in asked:
            lines.put(line)
    alone.set()
    lines.put(b"")


def _end_when_due(alone: threading.Event, deadline: list[float], mark: str) -> None:
    """Without a driver nobody else ends work that never ends: take it, and what it started, along."""
    alone.wait()
    while True:
        if deadline[0] and time.monotonic() > deadline[0]:
            end_marked(mark)
            os.killpg(0, signal.SIGKILL)
        time.sleep(_LOOK_S)


def _keep(path: str, content: Message) -> None:
    """A file that is whole or absent. It survives the death of any process; a power cut is not promised."""
    scratch = f"{path}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    with open(os.open(scratch, flags, 0o600), "wb") as file:
        file.write(json.dumps(content).encode())
    os.replace(scratch, path)


def _say(descriptor: int, message: Message) -> None:
    left = memoryview(json.dumps(message).encode() + b"\n")
    with contextlib.suppress(BrokenPipeError):  # the driver is gone; what was done is on disk
        while left:
            left = left[os.write(descriptor, left) :]


if __name__ == "__main__":
    main()
