"""The command that serves an agent over standard input and output."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from threading import Event, Thread, Timer
from typing import TYPE_CHECKING

import click

from ratchet.cli.app import home_option, opened, say_if_new
from ratchet.errors import Refused

if TYPE_CHECKING:
    from ratchet.runtime import Runtime
    from ratchet.serving.mcp.tasktools import Place

INTERRUPTED = 130
_GRACE_S = 0.05  # to end by itself when it is told to stop; a tool at work would hold it up for as long as it takes


@click.command()
@click.option(
    "--with-evidence", is_flag=True, help="Also what people said, word for word. It stays in this home otherwise."
)
@home_option
def mcp(with_evidence: bool) -> None:
    """Be an MCP server for one agent, on standard input and output.

    Tools to search memory, record what ran, see what keeps failing, and run things in the sandbox. `ratchet install`
    names it in an agent's settings; `ratchet serve` offers the same at /mcp. Needs the extra `mcp`.
    """
    try:
        from ratchet.serving.mcp.server import create
    except ImportError as error:
        from ratchet.registry import adding

        raise Refused(f"the MCP server needs the extra `mcp`: {adding('mcp')}") from error
    runtime = opened(begins=True)
    say_if_new(runtime)
    told = _ending_on_signals(_mend_input())
    create(runtime, lambda: _place(runtime, with_evidence)).run("stdio")
    if told.is_set():
        click.get_current_context().close()
        os._exit(INTERRUPTED)  # an interpreter that takes half a second to load takes as long to be taken apart


def _place(runtime: Runtime, with_evidence: bool) -> Place:
    """Begin to run the tasks that agents queue."""
    from ratchet.serving.mcp.tasktools import Place
    from ratchet.serving.workers import TaskWorkers

    workers = TaskWorkers(lambda: runtime.store, lambda: runtime.episodes, 1)
    click.get_current_context().call_on_close(workers.stop)
    return Place(wake=workers.wake, with_evidence=with_evidence)


def _ending_on_signals(input_: int) -> Event:
    """Let SIGINT and SIGTERM end the input, and soon the process; the event tells of them. Whatever is under way is
    left as by a crash: a command in the sandbox ends with the process, and a task's lease passes to another server."""
    told = Event()

    def stop(_number: int, _frame: object) -> None:
        if told.is_set():
            os._exit(INTERRUPTED)
        told.set()
        killer = Timer(_GRACE_S, os._exit, (INTERRUPTED,))
        killer.daemon = True
        killer.start()
        os.close(input_)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    return told


def _mend_input() -> int:
    """Put a pipe in the place of standard input, whose lines are those of the agent without half letters: the server
    answers nothing to a line that it cannot read, and the agent would wait. Return the pipe's end to write to."""
    from ratchet.recording.surrogates import mended

    reading, writing = os.pipe()
    agent = os.fdopen(os.dup(0), "rb")
    os.dup2(reading, 0)
    os.close(reading)

    def pass_on() -> None:
        # The server may end before the agent does.
        with suppress(OSError), agent, os.fdopen(writing, "wb") as server:
            for line in agent:
                server.write(mended(line))
                server.flush()

    Thread(target=pass_on, name="ratchet-agent", daemon=True).start()
    return writing
