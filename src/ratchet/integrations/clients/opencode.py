"""opencode: 1.18.33 seen. All its sessions are in one database."""

from __future__ import annotations

from ratchet.integrations.clients.bridged import BridgedClient
from ratchet.integrations.clients.client import ClientEvent, InstallPlace, SettingsEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ratchet.integrations.clients.client import Role
    from ratchet.records import Row


class OpencodeClient(BridgedClient):
    """opencode."""

    name = "opencode"
    title = "opencode"
    folders = (".config/opencode",)
    tools: Mapping[str, str] = {
        "shell": "bash",
        "read": "read",
        "edit": "edit",
        "write": "write",
        "search": "grep",
        "mcp": "{server}_{tool}",
    }

    def server(self, command: Sequence[str]) -> Row:
        """A server, its command line as one list."""
        return {"type": "local", "command": [*command], "enabled": True}

    def entries(self, place: InstallPlace) -> tuple[SettingsEntry, ...]:
        """A plugin, and its settings (OPENCODE_CONFIG_DIR and XDG_CONFIG_HOME are honoured)."""
        if place.project is not None:
            folder, settings = f"{place.project}/.opencode", place.project
        else:
            usual = f"{place.folder('XDG_CONFIG_HOME', '.config')}/opencode"
            folder = settings = place.environ.get("OPENCODE_CONFIG_DIR") or usual
        plugin = SettingsEntry("hooks", f"{folder}/plugin/ratchet.js", "script")
        return plugin, SettingsEntry("mcp", _settings_in(settings), "server", key="mcp")

    def homes(self, user: str, environ: Mapping[str, str]) -> tuple[str, ...]:
        """Its database, and the folder of the sessions that it kept as files before it had one."""
        return _database(user, environ), f"{_data(user, environ)}/storage/session"

    def beside(self, transcript: str) -> str:
        """Nothing: all sessions are in one file, which every turn reads on."""
        del transcript
        return ""

    def event(self, role: Role, data: Row) -> ClientEvent:
        """An event with the file of its session."""
        import os

        event = super().event(role, data)
        event.transcript = _database(os.path.expanduser("~"), os.environ)
        return event


def _database(user: str, environ: Mapping[str, str]) -> str:
    named = environ.get("OPENCODE_DB") or "opencode.db"
    return named if named.startswith("/") else f"{_data(user, environ)}/{named}"


def _data(user: str, environ: Mapping[str, str]) -> str:
    return f"{environ.get('XDG_DATA_HOME') or f'{user}/.local/share'}/opencode"


def _settings_in(folder: str) -> str:
    """The settings in a folder: with comments, where they are kept so."""
    import os

    commented = f"{folder}/opencode.jsonc"
    return commented if os.path.exists(commented) else f"{folder}/opencode.json"
