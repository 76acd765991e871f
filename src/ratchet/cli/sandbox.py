"""Commands of the sandbox: what it holds here, and running something in it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ratchet.cli import shapes, show
from ratchet.cli.app import Commands, home_option, json_option, opened
from ratchet.cli.folders import PATH
from ratchet.cli.net import NET
from ratchet.cli.numbers import Finite
from ratchet.cli.stopping import draining, resting
from ratchet.cli.tamed import Tamed
from ratchet.errors import UsageError
from ratchet.sandbox.command import Command, Isolation, Limits, Ran, View

SECONDS = Finite(0, min_open=True)
SOME, ANY = click.IntRange(1), click.IntRange(0)
PROPERTIES = ("files", "network", "pids", "memory", "disk", "secrets", "domains")


@click.group(cls=Commands)
def sandbox() -> None:
    """Run what nobody has read yet, confined to one folder."""


@sandbox.command()
@home_option
@json_option
def probe(as_json: bool) -> None:
    """Test what each sandbox holds on this machine. A canary inside tries to get out; nothing is taken on trust.

    Exit code 5 where no sandbox holds.
    """
    with opened(begins=True) as runtime:
        found = runtime.sandboxes.probe()
        if as_json:
            show.as_json([shapes.machine.IsolationShape.built(each) for each in found])
        else:
            for each in found:
                _isolation(each)
        runtime.sandboxes.chosen()


def _isolation(found: Isolation) -> None:
    if not found.works:
        click.echo(f"{click.style('no', fg='red')}  {found.name}: {found.note}")
        return
    held = ", ".join(f"{name} {getattr(found, name)}" for name in PROPERTIES)
    tail = f"; {found.note}" if found.note else ""
    if not found.verified:
        tail += " (unverified: nobody has run the abuse suite on such a system)"
    click.echo(f"{click.style('yes', fg='green')} {found.name}: {held}{tail}")


@sandbox.command(context_settings={"allow_interspersed_args": False})
@click.option("--workdir", required=True, type=PATH, help="The folder to work in; changed in place.")
@click.option("--wall-s", default=60.0, show_default=True, type=SECONDS, help="Longest time from start to end.")
@click.option("--idle-s", type=SECONDS, help="Longest time without output and without work.")
@click.option("--cpu-s", default=60.0, show_default=True, type=SECONDS, help="CPU time of it and all it starts.")
@click.option("--mem-mb", default=1024, show_default=True, type=SOME, help="Memory of all its processes together.")
@click.option("--pids", default=128, show_default=True, type=SOME, help="Processes and threads at a time.")
@click.option("--disk-mb", default=512, show_default=True, type=ANY, help="Growth of the folder.")
@click.option("--inodes", default=16_000, show_default=True, type=ANY, help="New files and folders.")
@click.option("--file-mb", default=64, show_default=True, type=ANY, help="Size of one file.")
@click.option("--out-kb", default=1024, show_default=True, type=ANY, help="Output kept; more ends the command.")
@click.option("--net", default="none", show_default=True, type=NET, help="Network to reach.")
@click.option("--ro", "readable", multiple=True, type=PATH, help="Also show this, read-only.")
@click.option("--env", "environ", multiple=True, metavar="K=V", help="Set a variable inside.")
@click.option("--stdin", "with_stdin", is_flag=True, help="Pass standard input on; else it is empty.")
@click.option("--unsafe-no-sandbox", "unsafe", is_flag=True, help="Run it as a plain process, with no protection.")
@home_option
@json_option
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def exec(  # noqa: A001  (the command's name)
    workdir: Path,
    wall_s: float,
    idle_s: float | None,
    cpu_s: float,
    mem_mb: int,
    pids: int,
    disk_mb: int,
    inodes: int,
    file_mb: int,
    out_kb: int,
    net: str,
    readable: tuple[Path, ...],
    environ: tuple[str, ...],
    with_stdin: bool,
    unsafe: bool,
    as_json: bool,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND so that it reaches nothing but the folder.

    \b
    As in: ratchet sandbox exec --workdir . -- make test
    Exit codes: the command's own; 126 or 127 where it cannot start; 128 + n when
    signal n ended it; 124 wall or idle time; 137 memory; 125 any other limit,
    or cancelled by Ctrl-C or SIGTERM.
    Ctrl-Z lets the command stand still, and fg go on; that time is not its own.
    Too many processes or too large a file fail inside, as the system says.
    """
    limits = Limits(
        wall_s=wall_s,
        idle_s=idle_s,
        cpu_s=cpu_s,
        memory_mb=mem_mb,
        pids=pids,
        disk_mb=disk_mb,
        inodes=inodes,
        file_mb=file_mb,
        output_kb=out_kb,
    )
    given = Command(
        argv=command,
        view=View(folder=workdir),
        limits=limits,
        environ=dict(map(_variable, environ)),
        readable=readable,
        net=net,
        stdin=sys.stdin.fileno() if with_stdin else b"",
    )
    speaking = None if as_json else _Speaking()
    with (
        opened(begins=True) as runtime,
        draining("ending the command; again to end at once") as asked,
        resting() as paused,
    ):
        ran = runtime.sandboxes.run(given, unsafe=unsafe, cancelled=asked.is_set, paused=paused, on_output=speaking)
    if speaking is not None:
        speaking.end()
    _told(ran, as_json)
    click.get_current_context().exit(ran.exit_code)


def _variable(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not equals or not name:
        raise UsageError(f"--env {given!r} is not K=V")
    return name, value


class _Speaking:
    """Hands a command's output on as it comes: byte for byte, but to a terminal nothing that would command it."""

    def __init__(self) -> None:
        self._streams = {"stdout": sys.stdout, "stderr": sys.stderr}
        self._tamed = {name: Tamed(to.encoding) for name, to in self._streams.items() if to.isatty()}

    def __call__(self, stream: str, said: bytes) -> None:
        self._write(stream, self._tamed[stream].said(said) if stream in self._tamed else said)

    def end(self) -> None:
        for stream, tamed in self._tamed.items():
            self._write(stream, tamed.said(b"", last=True))

    def _write(self, stream: str, said: bytes) -> None:
        self._streams[stream].buffer.write(said)
        self._streams[stream].buffer.flush()


def _told(ran: Ran, as_json: bool) -> None:
    for line in ran.unused:
        click.echo(f"ratchet: {line}", err=True)
    for path in ran.removed:
        click.echo(f"ratchet: removed {path}, which would have acted on the host", err=True)
    for place in ran.refused:
        click.echo(f"ratchet: refused {place}", err=True)
    if as_json:
        show.as_json(shapes.tasks.RanShape.built(ran))
    elif ran.killed:
        click.echo(f"ratchet: ended by its limit: {ran.killed}", err=True)
