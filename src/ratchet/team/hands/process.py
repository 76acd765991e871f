"""Runs work in processes of its own, one a slot: what crashes, hangs or floods there ends there.

A process outlives its driver for as long as its work takes, and leaves the result in a file: the driver that comes
after adopts it (`ratchet.team.adopting`) and pays for nothing twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from pathlib import Path

from ratchet.errors import UsageError
from ratchet.records import Json, Row, text_in
from ratchet.team import inside
from ratchet.team.hands.reply import WorkerReply, WorkRequest, flooded, unclear, used
from ratchet.team.inside.marked import end_marked, marked
from ratchet.team.values import MOST_BYTES

CHILD = str(Path(inside.__file__).with_name("child.py"))
"""The program of a worker's process; not imported here, since it needs what Windows lacks."""
FLOOD_BYTES = 33_554_432
"""Of what one attempt prints: a chatty program stays far below, one that floods is ended before it fills a disk."""
_TAIL = 2_000
_END_S = 1.0


class ProcessHands:
    """The processes of one worker: started when they are first needed, replaced when they end.

    `target` says what they do (`inside.child.work_of`), `folder` holds their locks and results.
    """

    def __init__(self, name: str, target: Mapping[str, Json], folder: Path) -> None:
        self._name, self._target, self._folder = name, target, folder
        self._idle: list[_WorkerProcess] = []
        self._every: set[_WorkerProcess] = set()

    async def do(self, request: WorkRequest) -> WorkerReply:
        try:
            process = self._idle.pop() if self._idle else await self._started()
        except _Unready as error:
            return WorkerReply(error=str(error), sick=True)
        try:
            reply, again = await process.ask(request)
        except BaseException:
            await self._end(process)
            raise
        if again:
            self._idle.append(process)
        else:
            await self._end(process)
        return reply

    async def _started(self) -> _WorkerProcess:
        mark = os.urandom(8).hex()
        process = _WorkerProcess(await _begun(self._folder, mark), self._name, mark)
        self._every.add(process)
        try:
            await process.ready(self._target)
        except BaseException:
            await self._end(process)
            raise
        return process

    async def _end(self, process: _WorkerProcess) -> None:
        self._every.discard(process)
        await process.end()

    async def close(self) -> None:
        every, self._every = [*self._every], set()
        self._idle.clear()
        await asyncio.gather(*(process.end() for process in every))


class _Unready(Exception):  # noqa: N818  (told as a reply)
    """A process that could not begin."""


class _WorkerProcess:
    """One process, and what it printed since its work began."""

    def __init__(self, process: Process, name: str, mark: str) -> None:
        self._process, self._name, self._mark = process, name, mark
        self._printed = bytearray()
        self._size = 0
        self._flooded = asyncio.Event()
        self._reading = asyncio.create_task(self._read_printed())

    async def ready(self, target: Mapping[str, Json]) -> None:
        """Raises _Unready."""
        try:
            await self._send({**target})
            answer = await self._line()
        except OSError:
            answer = None
        if answer is None or not answer.get("ready"):
            why = text_in(answer or {}, "unready") or self._said() or "it ended before it was ready"
            raise _Unready(f"the process of worker {self._name!r} did not start: {why}")

    async def ask(self, request: WorkRequest) -> tuple[WorkerReply, bool]:
        """The reply, and whether the process can be asked again."""
        self._printed.clear()
        self._size = 0
        request.begun()
        asked: Row = {
            "work": request.task.work,
            "told": {**request.told},
            "spool": request.spool,
            "timeout_s": request.task.timeout_s,
        }
        answering = asyncio.create_task(self._answer(asked))
        flood = asyncio.create_task(self._flooded.wait())
        try:
            await asyncio.wait((answering, flood), return_when=asyncio.FIRST_COMPLETED)
            if flood.done():
                return WorkerReply(error=f"it flooded: more than {FLOOD_BYTES:,} bytes printed", sick=True), False
            answer = answering.result()
        finally:
            for task in (answering, flood):
                task.cancel()
        if answer is None:
            return await self._ended(), False
        return reply_from(answer), True

    async def _answer(self, asked: Row) -> Row | None:
        """None: it ended without an answer."""
        try:
            await self._send(asked)
            return await self._line()
        except (OSError, ValueError, RecursionError, asyncio.LimitOverrunError):
            return None

    async def _ended(self) -> WorkerReply:
        code = await self._process.wait()
        end = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        said = self._said()
        error = f"its process {end}" + (f": {said}" if said else "")
        return WorkerReply(error=error, exit_code=code if code > 0 else None, sick=True, reported=False)

    async def _send(self, message: Row) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        await self._process.stdin.drain()

    async def _line(self) -> Row | None:
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        found = json.loads(line) if line.endswith(b"\n") else None
        return found if isinstance(found, dict) else None

    async def _read_printed(self) -> None:
        assert self._process.stderr is not None
        while piece := await self._process.stderr.read(1 << 16):
            self._size += len(piece)
            self._printed += piece
            del self._printed[:-_TAIL]
            if self._size > FLOOD_BYTES:
                self._flooded.set()
                return

    def _said(self) -> str:
        return self._printed.decode("utf-8", "replace").strip()

    async def end(self) -> None:
        """End it, and all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        end_marked(self._mark)
        if self._process.stdin is not None:
            self._process.stdin.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _END_S)
        self._reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reading


async def _begun(folder: Path, mark: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        CHILD,
        str(folder / f"{mark}.lock"),
        env=marked(os.environ, mark),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        limit=MOST_BYTES * 2,
        start_new_session=True,
    )


def reply_from(answer: Row) -> WorkerReply:
    """The reply that a worker's process wrote down."""
    letters = answer.get("letters")
    told = (
        tuple((str(each[0]), each[1]) for each in letters if isinstance(each, list) and len(each) == 2)
        if isinstance(letters, list)
        else ()
    )
    try:
        usd, tokens = used(answer)
    except UsageError as error:
        return unclear(error, told)
    if "flood" in answer:
        size = answer["flood"]
        return WorkerReply(
            error=flooded(size if isinstance(size, int) else 0), sick=True, cost_usd=usd, tokens=tokens, letters=told
        )
    if "error" in answer:
        code = answer.get("exit_code")
        return WorkerReply(
            error=text_in(answer, "error"),
            type=text_in(answer, "type"),
            kind=text_in(answer, "kind"),
            exit_code=code if isinstance(code, int) and abs(code) < 1 << 31 else None,
            cost_usd=usd,
            tokens=tokens,
            letters=told,
        )
    clipped = answer.get("clipped") is True
    return WorkerReply(value=answer.get("value"), cost_usd=usd, tokens=tokens, letters=told, clipped=clipped)


def target_of(function: Callable[..., object]) -> Row:
    """Describe where another process finds a function. Raises UsageError for one that is not at the top of a module."""
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    if not module or not name or "<" in name:
        raise UsageError(
            f"{function!r:.80} cannot run in a process of its own: that takes a function at the top of a module "
            "(no lambda, no inner function); or leave out isolated=True"
        )
    path: list[Json] = [os.path.abspath(each) for each in sys.path]  # noqa: PTH100  ("": the working directory)
    target: Row = {"call": f"{module}:{name}", "path": path}
    if module == "__main__":
        file = getattr(sys.modules["__main__"], "__file__", None)
        if not file:
            raise UsageError(f"{name} was typed into an interpreter: put it into a file, or leave out isolated=True")
        target["main"] = os.path.abspath(file)  # noqa: PTH100
    return target
