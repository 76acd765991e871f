"""Cursor: over MCP only."""

from __future__ import annotations

from ratchet.integrations.clients.client import Client, InstallPlace, SettingsEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class CursorClient(Client):
    """Cursor."""

    name = "cursor"
    title = "Cursor"

    def entries(self, place: InstallPlace) -> tuple[SettingsEntry, ...]:
        """The file that names MCP servers, the user's or the project's."""
        return (SettingsEntry("mcp", f"{place.project or place.user}/.cursor/mcp.json", "server", key="mcpServers"),)

    def homes(self, user: str, environ: Mapping[str, str]) -> tuple[str, ...]:
        """None that a reader is for."""
        del user, environ
        return ()
