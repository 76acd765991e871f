"""Commands that put Ratchet into an agent: install, uninstall, hook."""

from __future__ import annotations

from pathlib import Path

import click

from ratchet.cli import show
from ratchet.cli.app import home_option, json_option, opened
from ratchet.install import InstallScope

AGENTS = ("claude-code",)

agent_argument = click.argument("agent", type=click.Choice(AGENTS))
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
    """Add hooks to a coding agent, so that it is handed the fix in the failing turn.

    Only Ratchet's own entries are added to the settings file; a backup is kept.
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
    """Take the hooks out again; the settings file is restored byte for byte where nobody else changed it."""
    done = opened(command_home).uninstall(agent, scope=scope, dry_run=dry_run)
    show.as_json(show.installed_fields(done)) if as_json else show.installed(done, dry_run=dry_run)


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("event", nargs=-1, type=click.UNPROCESSED)
def hook(event: tuple[str, ...]) -> None:
    """What the installed hooks run; reads the event as JSON from standard input. Never fails its host."""
    from ratchet.hookpath import main

    main(list(event))
