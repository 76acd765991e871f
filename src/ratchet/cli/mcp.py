"""The command that serves an agent over standard input and output."""

from __future__ import annotations

from pathlib import Path

import click

from ratchet.cli.app import home_option, opened
from ratchet.errors import Refused


@click.command()
@home_option
def mcp(command_home: Path | None) -> None:
    """Be an MCP server for one agent, on standard input and output.

    Tools to search memory, record what ran, see what keeps failing, and run things in the sandbox. `ratchet install`
    names it in an agent's settings; `ratchet serve` offers the same at /mcp. Needs the extra `mcp`.
    """
    try:
        from ratchet.mcp.server import create
        from ratchet.mcp.tasktools import Place
    except ImportError as error:
        raise Refused("the MCP server needs the extra `mcp`: pip install 'ratchet-ai[mcp]'") from error
    runtime = opened(command_home)
    workers = runtime.workers(1)
    try:
        create(runtime, Place(wake=workers.wake)).run("stdio")
    finally:
        workers.stop()
