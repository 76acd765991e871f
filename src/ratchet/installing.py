"""What `ratchet install` puts into a coding agent: hooks where it has such, and our MCP server."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from ratchet import install as hooks
from ratchet import registering
from ratchet.errors import Refused, UsageError
from ratchet.settingsfile import Installed, InstallScope

Parts = Literal["all", "hooks", "mcp"]


def install(
    agent: str,
    *,
    scope: InstallScope,
    home: Path,
    project: Path,
    prevent: bool,
    dry_run: bool,
    parts: Parts,
) -> list[Installed]:
    """What was done to each settings file: to all of them, or to none where one is refused. Without the extra `mcp`
    there is no server to start, so none is named.

    Raises UsageError for an unknown agent, or hooks of one that has none; Refused for the server without the extra, and
    as `install.install` and `registering.register` do.
    """
    wanted = _parts(agent, parts)
    if "mcp" in wanted and find_spec("mcp") is None:
        if "hooks" not in wanted:
            raise Refused("the MCP server needs the extra `mcp`: pip install 'ratchet-ai[mcp]'")
        wanted = ("hooks",)

    def done(*, dry_run: bool) -> list[Installed]:
        found = []
        if "hooks" in wanted:
            found.append(
                hooks.install(agent, scope=scope, home=home, project=project, prevent=prevent, dry_run=dry_run)
            )
        if "mcp" in wanted:
            found.append(registering.register(agent, scope=scope, home=home, project=project, dry_run=dry_run))
        return found

    shown = done(dry_run=True)
    return shown if dry_run else done(dry_run=False)


def uninstall(
    agent: str, *, scope: InstallScope, home: Path, project: Path, dry_run: bool, parts: Parts
) -> list[Installed]:
    """What was taken out of each settings file. Raises as `install`, but needs no extra."""
    done = []
    wanted = _parts(agent, parts)
    if "hooks" in wanted:
        done.append(hooks.uninstall(agent, scope=scope, home=home, project=project, dry_run=dry_run))
    if "mcp" in wanted:
        done.append(registering.unregister(agent, scope=scope, home=home, project=project, dry_run=dry_run))
    return done


def _parts(agent: str, parts: Parts) -> tuple[str, ...]:
    if agent not in registering.AGENTS:
        raise UsageError(f"cannot install into {agent!r}; known: {', '.join(registering.AGENTS)}")
    if agent not in hooks.AGENTS:
        if parts == "hooks":
            raise UsageError(f"{agent} has no hooks that tell of a failure; leave --hooks-only out")
        return ("mcp",)
    return ("hooks", "mcp") if parts == "all" else (parts,)
