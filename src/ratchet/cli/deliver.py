"""Commands that put Ratchet into an agent: install, uninstall, hook."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import click

from ratchet import registry
from ratchet.cli import shapes, show
from ratchet.cli.app import home_option, json_option, opened, say_if_new
from ratchet.errors import NotFound, Refused, UsageError
from ratchet.integrations import install as installing
from ratchet.integrations import plugin
from ratchet.integrations.install import Parts
from ratchet.integrations.settings_file import Installed, InstallScope
from ratchet.lessons.ahead.making import everywhere


def _one_or_all(agent: str, *, every: bool) -> None:
    """See that one agent is named, or all of them are meant."""
    if every and agent:
        raise UsageError(f"--all and {agent}: give one of them")
    if not every and not agent:
        raise UsageError(f"name the agent: {', '.join(registry.names(registry.CLIENTS))}; or --all")


agent_argument = click.argument("agent", metavar="AGENT", required=False, default="")
all_option = click.option(
    "--all", "every", is_flag=True, help="All coding agents on this machine, shown as one change."
)
user_option = click.option("--user", "scope", flag_value="user", default="user", help="For every project (default).")
project_option = click.option("--project", "scope", flag_value="project", help="For the project in this folder only.")
hooks_option = click.option("--hooks-only", is_flag=True, help="Leave the MCP server out.")
mcp_option = click.option("--mcp-only", is_flag=True, help="Leave the hooks out.")


yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask; nobody is asked who has no terminal.")


def _agreed(change: Callable[..., list[Installed]], *, dry_run: bool, yes: bool) -> list[Installed]:
    """Make a change of settings files that the person agrees to: all of it is shown first, and asked about once."""
    if dry_run or yes or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return change(dry_run=dry_run)
    shown = change(dry_run=True)
    if not any(each.changed for each in shown):
        return shown
    show.proposed(shown)
    if not click.confirm("Make this change?", default=True):
        raise click.Abort
    return change(dry_run=False)


def _parts(*, hooks_only: bool, mcp_only: bool) -> Parts:
    if hooks_only and mcp_only:
        raise UsageError("--hooks-only and --mcp-only leave nothing: give one of them, or none for both parts")
    return "hooks" if hooks_only else "mcp" if mcp_only else "all"


@click.command()
@agent_argument
@all_option
@user_option
@project_option
@click.option(
    "--prevent/--no-prevent",
    default=True,
    help="Tell a proven lesson before the step that it is about (default).",
)
@hooks_option
@mcp_option
@click.option(
    "--plugin",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write a plugin of claude-code into this folder, for a team to share; no settings change.",
)
@click.option("--dry-run", is_flag=True, help="Say what would change in which file, and change nothing.")
@click.option("--diff", "whole", is_flag=True, help="With --dry-run: show every line that changes.")
@yes_option
@home_option
@json_option
def install(
    agent: str,
    every: bool,
    scope: InstallScope,
    prevent: bool,
    hooks_only: bool,
    mcp_only: bool,
    folder: Path | None,
    dry_run: bool,
    whole: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Hand a coding agent the fix in the failing turn.

    Adds hooks to the settings of AGENT (claude-code, cline, codex, copilot, cursor, gemini, openclaw, opencode, pi,
    qwen), or a plugin, and names the MCP server there (needs the extra `mcp`); aider, which has no hooks, is given a
    file of notes. Nothing else in the settings is touched, and a backup is kept.
    """
    _one_or_all(agent, every=every)
    if every and folder is not None:
        raise UsageError("a plugin is for claude-code alone: leave --all or --plugin out")
    agents = installing.found_here(os.environ) if every else [agent]
    parts, runtime = _parts(hooks_only=hooks_only, mcp_only=mcp_only), opened(begins=True)
    say_if_new(runtime)

    def change(*, dry_run: bool) -> list[Installed]:
        if folder is not None:
            if agent != "claude-code":
                raise UsageError(f"{agent} takes no plugin of ours: leave --plugin out")
            return plugin.build(folder, home=runtime.home, dry_run=dry_run)
        if every:
            return installing.install_all(runtime, agents, scope=scope, prevent=prevent, dry_run=dry_run, parts=parts)
        return installing.install(runtime, agent, scope=scope, prevent=prevent, dry_run=dry_run, parts=parts)

    done = _agreed(change, dry_run=dry_run, yes=yes or as_json)
    if as_json:
        show.as_json(shapes.machine.InstalledShape.all(done))
        return
    back = f"{agent or '--all'}{' --project' if scope == 'project' else ''}"
    warns = prevent and parts != "mcp" and any(registry.client(each).prevents for each in agents)
    untold = warns and not everywhere(runtime.home)
    show.installed(done, back, dry_run=dry_run, plugin=folder, whole=whole, untold=untold)
    if folder is None and not dry_run:
        show.notes([note for each in agents for note in registry.client(each).notes])


@click.command()
@agent_argument
@all_option
@user_option
@project_option
@hooks_option
@mcp_option
@click.option("--dry-run", is_flag=True, help="Show the change without making it.")
@yes_option
@home_option
@json_option
def uninstall(
    agent: str,
    every: bool,
    scope: InstallScope,
    hooks_only: bool,
    mcp_only: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Take out what `install` put in.

    Each settings file of AGENT is restored byte for byte if nobody else changed it; otherwise only our entries are
    taken out. With --all, one that cannot be read keeps no other: it is named, and left as it is.
    """
    _one_or_all(agent, every=every)
    parts, runtime = _parts(hooks_only=hooks_only, mcp_only=mcp_only), opened(begins=True)
    say_if_new(runtime)

    def change(*, dry_run: bool) -> list[Installed]:
        if every:
            return installing.uninstall_all(runtime, scope=scope, dry_run=dry_run, parts=parts)
        return installing.uninstall(runtime, agent, scope=scope, dry_run=dry_run, parts=parts)

    done = _agreed(change, dry_run=dry_run, yes=yes or as_json)
    if not done:
        raise NotFound("nothing of Ratchet is installed in any coding agent here")
    show.as_json(shapes.machine.InstalledShape.all(done)) if as_json else show.installed(
        done, agent, dry_run=dry_run, removed=True
    )
    if refused := [each.refused for each in done if each.refused]:
        raise Refused("; ".join(refused))


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("event", nargs=-1, type=click.UNPROCESSED)
def hook(event: tuple[str, ...]) -> None:
    """Run an installed hook by hand.

    Reads EVENT (PostToolUseFailure, SessionStart, ...) as Claude Code's JSON from standard input. On any fault it says
    nothing and ends with 0. In a terminal, or with --by-hand, it answers and records nothing.
    """
    from ratchet.hookpath import BY_HAND, main, told

    home = click.get_current_context().find_root().obj
    by_hand = [BY_HAND] if sys.stderr.isatty() else []  # where it is installed, its errors go nowhere
    words = [*event, *by_hand, *(["--home", str(home)] if home else [])]
    _, place, _ = told(words)
    if "--home" in words and not Path(place).is_dir():  # none comes from a typo
        click.echo(f"ratchet: there is no home at {place}; next: ratchet --home {place} learn", err=True)
        return
    main(words)
