"""aider: has no hooks and starts no MCP servers. That it hands its notes to its model was seen with 0.86.2.

What it knows of a project it reads from files that its settings name (`read` in `.aider.conf.yml`). Its histories are
`.aider.chat.history.md` in each project, which `ratchet learn` reads by path.
"""

from __future__ import annotations

from ratchet.integrations.clients.client import Client, InstallPlace, SettingsEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class AiderClient(Client):
    """aider."""

    name = "aider"
    title = "aider"
    folders = (".aider", ".aider.conf.yml")
    shell = "run"
    notes = (
        (
            "aider reads what was learnt when it starts, from a file of notes; a failing step tells it nothing. Its "
            "own history is read by `ratchet learn .aider.chat.history.md`"
        ),
    )

    def entries(self, place: InstallPlace) -> tuple[SettingsEntry, ...]:
        """Its settings, of the user or of a project."""
        return (
            SettingsEntry("hooks", f"{place.project or place.user}/.aider.conf.yml", "notes", key="read", mode=0o644),
        )

    def homes(self, user: str, environ: Mapping[str, str]) -> tuple[str, ...]:
        """None: its histories lie in the projects."""
        del user, environ
        return ()
