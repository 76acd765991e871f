"""`ratchet settings`: the live settings of agents, who set them and why, and the way back."""

from __future__ import annotations

import json
import time

import click

from ratchet.cli import shapes, show
from ratchet.cli.app import Commands, home_option, json_option, opened
from ratchet.cli.terminal import Styled
from ratchet.improving.settings.book import KnobValue, SettingsView
from ratchet.improving.settings.shown import masked, masked_version
from ratchet.records import Json, Version


@click.group(cls=Commands)
def settings() -> None:
    """Live settings of agents: show them, set them, see their history, go back."""


@settings.command("show")
@click.argument("agent", required=False)
@home_option
@json_option
def show_settings(agent: str | None, as_json: bool) -> None:
    """Show what is in force, of one agent or of all."""
    book = opened().settings
    found = [masked(each) for each in ([book.show(agent)] if agent else book.list())]
    if as_json:
        show.as_json([shapes.trials.SettingsShape.built(each) for each in found])
        return
    if not found:
        click.echo("No agent has declared live settings yet; see ratchet.settings in the documentation.")
    for each in found:
        _view(each)


@settings.command("set")
@click.argument("agent")
@click.argument("assignments", nargs=-1, metavar="[KNOB=VALUE]...")
@click.option("--default", "unset", multiple=True, metavar="KNOB", help="Let this knob have its default again.")
@click.option("--why", default="", help="Kept with the version.")
@click.option("--expect", type=int, help="Only if this version is in force.")
@home_option
@json_option
def set_(
    agent: str, assignments: tuple[str, ...], unset: tuple[str, ...], why: str, expect: int | None, as_json: bool
) -> None:
    """Set knobs at once. Running processes follow within a second; a trial of the same knobs gives way."""
    book = opened().settings
    if not assignments and not unset:
        raise click.UsageError("say what to set, as KNOB=VALUE, or --default KNOB")
    values = book.read_assignments(agent, assignments)
    _decided(book.set(agent, values, why=why, unset=unset, expected=expect), as_json)


@settings.command("history")
@click.argument("agent")
@home_option
@json_option
def history(agent: str, as_json: bool) -> None:
    """All versions, newest first: what, who, when, why."""
    found = [masked_version(each) for each in opened().settings.history(agent)]
    if as_json:
        show.as_json([shapes.trials.VersionShape.built(each) for each in found])
        return
    out = show.console()
    for each in found:
        out.print(_line(each))
    if not found:
        click.echo(f"{agent} has its defaults; nothing was ever set")


@settings.command("revert")
@click.argument("agent")
@click.option("--to", type=int, help="The version to bring back (0: the defaults); else the one before.")
@click.option("--why", default="", help="Kept with the new version.")
@home_option
@json_option
def revert(agent: str, to: int | None, why: str, as_json: bool) -> None:
    """Bring back an earlier version, as a new one."""
    _decided(opened().settings.revert(agent, to=to, why=why), as_json)


def _view(each: SettingsView) -> None:
    out = show.console()
    out.print(Styled(each.agent, "bold").append(f"  version {each.version.number}", "dim"))
    for knob in each.knobs:
        line = Styled(f"  {knob.name} = ").append(show.plain(_said(knob.value), 80))
        line.append("" if knob.is_set else "  (default)", "dim").append(f"  {_bounds(knob)}", "dim")
        out.print(line)


def _bounds(knob: KnobValue) -> str:
    low, high, options = knob.bounds.get("low"), knob.bounds.get("high"), knob.bounds.get("options")
    if isinstance(options, list):
        return "one of " + str(show.plain(", ".join(map(_said, options)), 80))
    return f"{low:g} to {high:g}" if isinstance(low, int | float) and isinstance(high, int | float) else ""


def _line(each: Version) -> Styled:
    at = time.strftime("%Y-%m-%d %H:%M", time.gmtime(each.applied_at or each.at))
    values = ", ".join(f"{name} = {_said(value)}" for name, value in sorted(each.values.items())) or "the defaults"
    line = Styled(f"{each.number:>4}  {at}  ").append(show.plain(each.who, 30)).append("  ")
    line.append(show.plain(values, 160))
    if each.why:
        line.append("  (").append(show.plain(each.why, 160)).append(")")
    return line if each.applied_at else line.append("  draft of a trial", "yellow")


def _decided(version: Version, as_json: bool) -> None:
    if as_json:
        show.as_json(shapes.trials.VersionShape.built(version))
    else:
        click.echo(f"{version.target.partition(':')[2]} is at version {version.number}")


def _said(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
