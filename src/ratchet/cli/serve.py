"""`ratchet serve` and `ratchet token`: the operations over HTTP, and who may use them."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ratchet.cli import shapes, show
from ratchet.cli.app import Commands, home_option, is_new, json_option, opened, say_if_new
from ratchet.config import SERVE_TOKEN
from ratchet.errors import Refused, UsageError
from ratchet.registry import adding
from ratchet.runtime import Runtime
from ratchet.store.tokens import SCOPES

if TYPE_CHECKING:
    from ratchet.serving.api.serving import Serving

log = logging.getLogger(__name__)
_MEGABYTE = 1 << 20


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; any other needs a token.")
@click.option("--port", default=8484, show_default=True, type=click.IntRange(0, 65_535), help="0: a free one.")
@click.option("--token", envvar=SERVE_TOKEN, show_envvar=True, help="A token of all scopes, for this run only.")
@click.option("--workers", default=2, show_default=True, type=click.IntRange(0, 64), help="Tasks that run at once.")
@click.option(
    "--root", "roots", multiple=True, type=click.Path(path_type=Path), help="Tasks and commands run below it only."
)
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="Another name of this server.")
@click.option("--allow-origin", "origins", multiple=True, metavar="URL", help="A site whose pages may ask.")
@click.option("--rate", default=1_000.0, show_default=True, type=click.FloatRange(0), help="Requests a second; 0: any.")
@click.option("--body-mb", default=16, show_default=True, type=click.IntRange(1, 1_024), help="Largest body.")
@click.option("--log", "form", default="text", show_default=True, type=click.Choice(["text", "json"]))
@click.option("--log-level", default="warning", show_default=True, type=click.Choice(["info", "warning", "error"]))
@home_option
def serve(
    host: str,
    port: int,
    token: str | None,
    workers: int,
    roots: tuple[Path, ...],
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    rate: float,
    body_mb: int,
    form: str,
    log_level: str,
) -> None:
    """Serve the page and the API until Ctrl-C or SIGTERM.

    Only this machine reaches it, unless --host says otherwise; then it starts with a token only.
    """
    try:
        from ratchet.serving.api.serving import Serving
    except ImportError as error:
        raise UsageError(f"this needs the extra `serve`: {adding('serve')} ({error})") from error
    runtime = opened(begins=True)
    serving = Serving(
        host=host,
        token=_given(token),
        hosts=hosts,
        origins=origins,
        body_bytes=body_mb * _MEGABYTE,
        requests_per_s=rate,
        workers=workers,
        roots=roots,
        drain_s=0.5,
    )
    run(runtime, serving, port, form=form, log_level=log_level)


def _given(token: str | None) -> str:
    """The token of the command line, "" for none. Raises UsageError for one that shuts nobody out, or everybody: an
    unset variable in a script must not open the server."""
    if token is None:
        return ""
    if not token.strip() or not token.isascii():
        why = "is empty" if not token.strip() else "has letters that no header carries"
        raise UsageError(f"--token {why}: give one of plain letters, or leave it out")
    return token.strip()


def run(runtime: Runtime, serving: Serving, port: int, *, form: str = "text", log_level: str = "warning") -> None:
    """Serve until Ctrl-C or SIGTERM. Raises Refused where others than this machine would get in without a token."""
    from ratchet.serving.api import logs, server
    from ratchet.serving.api.origins import is_loopback

    logs.configure("json" if form == "json" else "text", log_level)
    if form == "text":
        say_if_new(runtime)
    elif is_new(runtime):  # each line of this log is a document
        log.warning("home.missing", extra={"home": str(runtime.home)})
    runtime.init()
    known = [each.name for each in runtime.tokens.counting()]
    if not is_loopback(serving.host) and not known and not serving.token:
        raise Refused(
            f"{serving.host} is not this machine alone, and there is no token: make one with "
            "`ratchet token add NAME --scope read`, or give one with --token"
        )
    listener = server.bound(serving.host, port)
    address = server.address_of(listener, serving.host)
    from ratchet.serving.api.app import create  # all routes: as long as all the rest, and not for who is refused

    app = create(runtime, serving)
    if not server.run(app, listener, lambda: _tell(address, runtime, serving, known)):
        click.get_current_context().exit(6)


def _tell(address: str, runtime: Runtime, serving: Serving, known: list[str]) -> None:
    lines = [
        f"Ratchet serves {address}",
        f"  home   {runtime.home}",
        f"  API    {address}/docs",
        *_token(serving, known),
    ]
    click.echo("\n".join([*lines, f"  stop   Ctrl-C, or: kill {os.getpid()}"]))


def _token(serving: Serving, known: list[str]) -> list[str]:
    if not known and not serving.token:
        return [
            "  token  none: who uses this machine may do everything; `ratchet token add NAME --scope read` makes one"
        ]
    names = [*(["the one of --token"] if serving.token else []), *known]
    return [
        f"  token  {', '.join(names)}: send it as `Authorization: Bearer TOKEN`; kept as hashes in the home's store"
    ]


@click.group(cls=Commands)
def token() -> None:
    """Tokens: who may use the server, and for what."""


@token.command("add")
@click.argument("name")
@click.option(
    "--scope", "scopes", multiple=True, required=True, type=click.Choice(SCOPES), help="Give it once for each."
)
@home_option
@json_option
def add(name: str, scopes: tuple[str, ...], as_json: bool) -> None:
    """Make a token and print it: it cannot be seen again.

    read sees everything; write records outcomes and decides; run starts tasks and follows them.
    """
    made = opened(begins=True).tokens.add(name, scopes)
    shape = shapes.machine.MadeTokenShape(token=made, name=name, scopes=[*dict.fromkeys(scopes)])
    show.as_json(shape) if as_json else click.echo(made)


@token.command("list")
@home_option
@json_option
def list_tokens(as_json: bool) -> None:
    """Tokens by name; never the tokens themselves."""
    found = opened().tokens.list()
    if as_json:
        show.as_json([shapes.machine.TokenShape.built(each) for each in found])
        return
    for each in found:
        made = time.strftime("%Y-%m-%d", time.gmtime(each.created_at))
        click.echo(f"{each.name:<20} {','.join(each.scopes):<16} {made}{'  revoked' if each.revoked_at else ''}")
    if not found:
        click.echo("No tokens. Next: ratchet token add NAME --scope read")


@token.command("revoke")
@click.argument("name")
@home_option
@json_option
def revoke(name: str, as_json: bool) -> None:
    """End a token: the next request with it is refused.

    A server that runs asks for a token also when this was the last one; one of this machine alone that is started
    without any asks for none.
    """
    ended = opened().tokens.revoke(name)
    show.as_json(shapes.machine.TokenShape.built(ended)) if as_json else click.echo(f"{name} is revoked")
