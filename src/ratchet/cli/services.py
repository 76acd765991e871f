"""`ratchet services`: the servers beside Ratchet, up, down, and how they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ratchet.cli import shapes, show
from ratchet.cli.app import Commands, home_option, json_option, opened
from ratchet.cli.folders import PATH
from ratchet.cli.show import ago, console, plain
from ratchet.cli.terminal import Styled
from ratchet.errors import RatchetError, UsageError
from ratchet.serving.services.known import SERVICES, compose_text
from ratchet.serving.services.running import Services, ServiceState

if TYPE_CHECKING:
    from ratchet.store.redis.longterm import Algorithm

_STYLES = {"up": "green", "starting": "yellow", "died": "red", "down": "dim"}
names_argument = click.argument("names", nargs=-1, type=click.Choice([*SERVICES, "all"]))


@click.group(cls=Commands)
def services() -> None:
    """Services beside Ratchet: the page, a database, Redis, a model, search."""


@services.command()
@names_argument
@click.option("--port", "ports", multiple=True, metavar="NAME=PORT", help="Another port for a service.")
@click.option("--model", default="", metavar="WHICH", help="For `model`: a .gguf file, or a name for vLLM.")
@click.option("--compose", type=PATH, metavar="FILE", help="Start nothing: write a compose file of them.")
@home_option
@json_option
def up(names: Sequence[str], ports: Sequence[str], model: str, compose: Path | None, as_json: bool) -> None:
    """Start services, each a process with a log of its own, and wait until they answer.

    Without NAMES, or with `all`: every one whose program is here. A service that is up stays as it is. Exit code 4
    where a port is taken or a service is up on another one, 5 where a program is missing, 6 where a service ends or
    does not answer.
    """
    wanted, given = _named(names), _ports(ports)
    if compose is not None:
        with compose.open("x", encoding="utf-8") as file:
            file.write(compose_text({name: given.get(name, SERVICES[name].port) for name in wanted}))
        click.echo(f"written: {compose}; it was not run here")
        return
    book = _book()
    failed: RatchetError | None = None
    missing: list[str] = []
    for name in wanted:
        try:
            book.up(name, port=given.get(name, 0), model=model, told=lambda text: click.echo(text, err=True))
        except RatchetError as error:
            if error.exit_code == 5 and name not in names:
                missing.append(f"{name}: {error}")
            else:
                click.echo(f"{name}: {error}", err=True)
                failed = failed or error
    _show([book.status(name) for name in wanted], as_json, missing)
    if failed is not None:
        click.get_current_context().exit(failed.exit_code)


@services.command()
@names_argument
@home_option
@json_option
def down(names: Sequence[str], as_json: bool) -> None:
    """Stop services and all that they started. Their data and logs stay."""
    book, wanted = _book(), _named(names)
    for name in wanted:
        if book.down(name):
            click.echo(f"stopped {name}", err=True)
    _show([book.status(name) for name in wanted], as_json)


@services.command()
@names_argument
@home_option
@json_option
def status(names: Sequence[str], as_json: bool) -> None:
    """Show which services are up, where, and what the log of one that died says. Exit code 1 where one died."""
    book = _book()
    found = [book.status(name) for name in _named(names)]
    _show(found, as_json)
    down = [each.name for each in found if each.state == "down"]
    if down and not as_json:
        console().print(f"next  ratchet services up {down[0]}     start one")
    click.get_current_context().exit(1 if any(each.state == "died" for each in found) else 0)


@services.command()
@click.option("--index", "algorithm", type=click.Choice(["flat", "hnsw"]), help="FLAT compares all vectors, HNSW few.")
@click.option("--quiet", is_flag=True, help="No progress.")
@home_option
@json_option
def rebuild(algorithm: Algorithm | None, quiet: bool, as_json: bool) -> None:
    """Bring anew from the store what the Redis beside it holds (RATCHET_REDIS_URL).

    Needed only after somebody changed it by hand: a Redis that lost all is filled by whatever reads next. Without
    --index, FLAT is used up to 10,000 lessons and HNSW beyond. Exit code 6 where it does not answer.
    """
    runtime = opened()
    with show.progress(quiet=quiet or as_json) as progress:
        found = runtime.redis.rebuild(progress, algorithm=algorithm)
    if as_json:
        show.as_json([shapes.machine.RedisStateShape.built(each) for each in found])
        return
    for each in found:
        show.line(f"{each.table:<9} {each.held:>9,} of {each.rows:>9,} vectors  {each.algorithm}")


def _book() -> Services:
    return Services(opened(begins=True).home)


def _named(names: Sequence[str]) -> list[str]:
    return [*SERVICES] if not names or "all" in names else [*dict.fromkeys(names)]


def _ports(given: Sequence[str]) -> dict[str, int]:
    found = {}
    for each in given:
        name, _, number = each.partition("=")
        if name not in SERVICES or not number.isdecimal() or not 0 < int(number) < 65_536:
            raise UsageError(f"--port {each}: write NAME=PORT, such as --port database=5433")
        found[name] = int(number)
    return found


def _show(found: Sequence[ServiceState], as_json: bool, missing: Sequence[str] = ()) -> None:
    if as_json:
        show.as_json([shapes.machine.ServiceShape.built(each) for each in found])
        return
    out = console()
    out.print(Styled(f"{'service':<10}{'state':<9} {'port':<6} address", "dim"))
    for each in found:
        line = Styled(f"{each.name:<10}").append(f"{each.state:<9} ", _STYLES[each.state]).append(f"{each.port:<6} ")
        if each.state != "down":
            line.append(f"{each.url}  pid {each.pid}, {ago(each.since)}", "dim")
        out.print(line)
        if each.note:
            out.print(Styled(" " * 10).append(plain(each.note, 300), "dim"))
    for told in missing:
        out.print(Styled("not here  ", "yellow").append(plain(told, 300), "default"))
