"""OpenClaw: built from its documentation; nobody has seen it work. It keeps pi's sessions, and starts MCP servers.

Its plugins are packages that its gateway loads; what such a one adds to a running turn its documentation does not say,
so none is installed: an agent that asks is answered, none is told by itself.
"""

from __future__ import annotations

from ratchet.integrations.clients.client import Client, InstallPlace, SettingsEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class OpenclawClient(Client):
    """OpenClaw."""

    name = "openclaw"
    title = "OpenClaw"
    folders = (".openclaw",)
    shell = "exec"
    tools: Mapping[str, str] = {"shell": shell, "read": "read", "edit": "edit", "write": "write"}
    notes = (
        (
            "OpenClaw tells no lesson by itself: its agents ask over MCP (`search_memory`). This was built from its "
            "documentation and was never seen to work; `openclaw mcp status` says whether it is there"
        ),
    )

    def entries(self, place: InstallPlace) -> tuple[SettingsEntry, ...]:
        """Its settings, which are the user's alone (OPENCLAW_CONFIG_PATH and OPENCLAW_STATE_DIR are honoured)."""
        if place.project is not None:
            return ()
        named = place.environ.get("OPENCLAW_CONFIG_PATH")
        path = named or f"{place.folder('OPENCLAW_STATE_DIR', '.openclaw')}/openclaw.json"
        return (SettingsEntry("mcp", path, "server", key="mcp.servers"),)

    def homes(self, user: str, environ: Mapping[str, str]) -> tuple[str, ...]:
        """The folder with one for each of its agents."""
        own = environ.get("OPENCLAW_STATE_DIR") or f"{user}/.openclaw"
        return (f"{own}/agents",)
