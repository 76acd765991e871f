"""Commands that put Ratchet into an agent: install, uninstall, hook."""

from __future__ import annotations

from pathlib import Path

import click

from ratchet import registry
from ratchet.cli import shapes, show
from ratchet.cli.app import home_option, json_option, opened
from ratchet.errors import UsageError
from ratchet.integrations import install as installing
from ratchet.integrations.install import Parts
from ratchet.integrations.settings_file import InstallScope


def _known(ctx: click.Context, param: click.Parameter, agent: str | None) -> str:
    """The name of a coding agent. The names are looked up here, since finding plugins takes a tenth of a second."""
    del ctx, param
    if not agent:
        raise UsageError(f"name the agent: {', '.join(registry.names(registry.CLIENTS))}")
    return agent


agent_argument = click.argument("agent", metavar="AGENT", required=False, callback=_known)
user_option = click.option("--user", "scope", flag_value="user", default="user", help="For every project (default).")
project_option = click.option("--project", "scope", flag_value="project", help="For the project in this folder only.")
hooks_option = click.option("--hooks-only", is_flag=True, help="Leave the MCP server out.")
mcp_option = click.option("--mcp-only", is_flag=True, help="Leave the hooks out.")


def _parts(*, hooks_only: bool, mcp_only: bool) -> Parts:
    if hooks_only and mcp_only:
        raise UsageError("--hooks-only and --mcp-only leave nothing: give one of them, or none for both parts")
    return "hooks" if hooks_only else "mcp" if mcp_only else "all"


@click.command()
@agent_argument
@user_option
@project_option
@click.option("--prevent", is_flag=True, help="Also speak before a step that literally repeats a known failure.")
@hooks_option
@mcp_option
@click.option("--dry-run", is_flag=True, help="Show the change without making it.")
@home_option
@json_option
def install(
    agent: str,
    scope: InstallScope,
    prevent: bool,
    hooks_only: bool,
    mcp_only: bool,
    dry_run: bool,
    command_home: Path | None,
    as_json: bool,
) -> None:
    """Hand a coding agent the fix in the failing turn.

    Adds hooks to the settings of AGENT (claude-code, codex) and names the MCP server there (also cursor; needs the
    extra `mcp`); nothing else in them is touched, and a backup is kept.
    """
    parts = _parts(hooks_only=hooks_only, mcp_only=mcp_only)
    done = installing.install(opened(command_home), agent, scope=scope, prevent=prevent, dry_run=dry_run, parts=parts)
    show.as_json(shapes.machine.InstalledShape.all(done)) if as_json else show.installed(done, agent, dry_run=dry_run)


@click.command()
@agent_argument
@user_option
@project_option
@hooks_option
@mcp_option
@click.option("--dry-run", is_flag=True, help="Show the change without making it.")
@home_option
@json_option
def uninstall(
    agent: str,
    scope: InstallScope,
    hooks_only: bool,
    mcp_only: bool,
    dry_run: bool,
    command_home: Path | None,
    as_json: bool,
) -> None:
    """Take out what `install` put in.

    Each settings file of AGENT is restored byte for byte if nobody else changed it; otherwise only our entries are
    taken out.
    """
    parts = _parts(hooks_only=hooks_only, mcp_only=mcp_only)
    done = installing.uninstall(opened(command_home), agent, scope=scope, dry_run=dry_run, parts=parts)
    show.as_json(shapes.machine.InstalledShape.all(done)) if as_json else show.installed(
        done, agent, dry_run=dry_run, removed=True
    )


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("event", nargs=-1, type=click.UNPROCESSED)
def hook(event: tuple[str, ...]) -> None:
    """Run an installed hook by hand.

    Reads EVENT (PostToolUseFailure, SessionStart, ...) as Claude Code's JSON from standard input. On any fault it says
    nothing and ends with 0.
    """
    from ratchet.hookpath import main

    home = click.get_current_context().find_root().obj
    main([*event, "--home", str(home)] if home else list(event))
