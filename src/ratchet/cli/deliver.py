"""Commands that put Ratchet into an agent: install, uninstall, hook."""

from __future__ import annotations

from pathlib import Path

import click

from ratchet.cli import show
from ratchet.cli.app import home_option, json_option, opened
from ratchet.install import InstallScope

AGENTS = ("claude-code",)

agent_argument = click.argument("agent", type=click.Choice(AGENTS), metavar="AGENT")
user_option = click.option("--user", "scope", flag_value="user", default="user", help="For every project (default).")
project_option = click.option("--project", "scope", flag_value="project", help="For the project in this folder only.")


@click.command()
@agent_argument
@user_option
@project_option
@click.option("--prevent", is_flag=True, help="Also speak before a step that literally repeats a known failure.")
@click.option("--dry-run", is_flag=True, help="Show the change without making it.")
@home_option
@json_option
def install(
    agent: str, scope: InstallScope, prevent: bool, dry_run: bool, command_home: Path | None, as_json: bool
) -> None:
    """Hand a coding agent the fix in the failing turn.

    Adds hooks to the settings of AGENT (claude-code) and touches nothing else there; a backup is kept.
    """
    done = opened(command_home).install(agent, scope=scope, prevent=prevent, dry_run=dry_run)
    show.as_json(show.installed_fields(done)) if as_json else show.installed(done, dry_run=dry_run)


@click.command()
@agent_argument
@user_option
@project_option
@click.option("--dry-run", is_flag=True, help="Show the change without making it.")
@home_option
@json_option
def uninstall(agent: str, scope: InstallScope, dry_run: bool, command_home: Path | None, as_json: bool) -> None:
    """Take the hooks out again.

    The settings file of AGENT (claude-code) is restored byte for byte if nobody else changed it; otherwise only the
    hooks are taken out.
    """
    done = opened(command_home).uninstall(agent, scope=scope, dry_run=dry_run)
    show.as_json(show.installed_fields(done)) if as_json else show.installed(done, dry_run=dry_run, removed=True)


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("event", nargs=-1, type=click.UNPROCESSED)
def hook(event: tuple[str, ...]) -> None:
    """What an installed hook does, by hand.

    Reads EVENT (PostToolUseFailure, SessionStart, ...) as Claude Code's JSON from standard input. On any fault it says
    nothing and ends with 0.
    """
    from ratchet.hookpath import main

    home = click.get_current_context().find_root().obj
    main([*event, "--home", str(home)] if home else list(event))
