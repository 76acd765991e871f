"""Install Ratchet into a coding agent: hooks where it has such, and our MCP server."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from ratchet.errors import Refused, UsageError
from ratchet.integrations import hooks
from ratchet.integrations import mcp_entry as registering
from ratchet.integrations.settings_file import Installed, InstallScope
from ratchet.runtime import Runtime

Parts = Literal["all", "hooks", "mcp"]


def install(
    runtime: Runtime,
    agent: str,
    *,
    scope: InstallScope,
    prevent: bool = False,
    dry_run: bool = False,
    parts: Parts = "all",
) -> list[Installed]:
    """Add the hooks to a coding agent's settings where it has such, and name our MCP server there; return each change.

    Every settings file is changed, or none where one is refused. Without the extra `mcp` there is no server to start,
    so none is named.

    Raises UsageError for an unknown agent, or hooks of one that has none; Refused for the server without the extra, and
    as `install.install` and `registering.register` do.
    """
    wanted = _parts(agent, parts)
    home, project = runtime.home, Path.cwd()
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
    if dry_run:
        return shown
    changed = done(dry_run=False)
    runtime.publish()
    return changed


def uninstall(
    runtime: Runtime, agent: str, *, scope: InstallScope, dry_run: bool = False, parts: Parts = "all"
) -> list[Installed]:
    """Take both out again; return each change. Raises as `install`, but needs no extra."""
    home, project = runtime.home, Path.cwd()
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
