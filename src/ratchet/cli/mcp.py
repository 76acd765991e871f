"""The command that serves an agent over standard input and output."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from threading import Thread

import click

from ratchet.cli.app import home_option, opened
from ratchet.errors import Refused
from ratchet.recording.surrogates import mended


@click.command()
@home_option
def mcp(command_home: Path | None) -> None:
    """Be an MCP server for one agent, on standard input and output.

    Tools to search memory, record what ran, see what keeps failing, and run things in the sandbox. `ratchet install`
    names it in an agent's settings; `ratchet serve` offers the same at /mcp. Needs the extra `mcp`.
    """
    try:
        from ratchet.serving.mcp.server import create
        from ratchet.serving.mcp.tasktools import Place
        from ratchet.serving.workers import TaskWorkers
    except ImportError as error:
        raise Refused("the MCP server needs the extra `mcp`: pip install 'ratchet-ai[mcp]'") from error
    runtime = opened(command_home)
    _mend_input()
    workers = TaskWorkers(lambda: runtime.store, lambda: runtime.episodes, 1)
    try:
        create(runtime, Place(wake=workers.wake)).run("stdio")
    finally:
        workers.stop()


def _mend_input() -> None:
    """Put a pipe in the place of standard input, whose lines are those of the agent without half letters: the server
    answers nothing to a line that it cannot read, and the agent would wait."""
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
