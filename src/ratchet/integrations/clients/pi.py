"""pi: 1.6.0 seen."""

from __future__ import annotations

from ratchet.integrations.clients.bridged import BridgedClient
from ratchet.integrations.clients.client import InstallPlace, SettingsEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class PiClient(BridgedClient):
    """pi."""

    name = "pi"
    title = "pi"
    folders = (".pi",)
    tools: Mapping[str, str] = {"shell": "bash", "read": "read", "edit": "edit", "write": "write"}

    def entries(self, place: InstallPlace) -> tuple[SettingsEntry, ...]:
        """An extension, and the file that names MCP servers (PI_CODING_AGENT_DIR is honoured)."""
        folder = (
            f"{place.project}/.pi" if place.project is not None else place.folder("PI_CODING_AGENT_DIR", ".pi/agent")
        )
        extension = SettingsEntry("hooks", f"{folder}/extensions/ratchet.js", "script")
        return extension, SettingsEntry("mcp", f"{folder}/mcp.json", "server", key="mcpServers")

    def homes(self, user: str, environ: Mapping[str, str]) -> tuple[str, ...]:
        """The folder with one for each project."""
        own = environ.get("PI_CODING_AGENT_DIR") or f"{user}/.pi/agent"
        return (environ.get("PI_CODING_AGENT_SESSION_DIR") or f"{own}/sessions",)
