"""Cursor: built from its documentation; nobody has seen it work, since there is no Cursor to be had for tests.

A hook is one object in a list, its answer one field. A shell's exit code stands in the result, which is JSON in a
string.
"""

from __future__ import annotations

from ratchet.integrations.clients.client import Client, ClientCall, ClientEvent, InstallPlace, SettingsEntry, said, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ratchet.integrations.clients.client import Role
    from ratchet.records import Row

_EVENTS: Mapping[str, Role] = {
    "sessionStart": "start",
    "postToolUse": "finished",
    "postToolUseFailure": "failed",
    "stop": "turn",
    "sessionEnd": "end",
}


class CursorClient(Client):
    """Cursor."""

    name = "cursor"
    title = "Cursor"
    folders = (".cursor",)
    commands = ("cursor", "cursor-agent")
    events = _EVENTS
    shell = "Shell"
    tools: Mapping[str, str] = {"shell": shell, "read": "Read", "edit": "Write", "write": "Write", "search": "Grep"}
    session, tool_result = "conversation_id", "tool_output"
    notes = (
        (
            "Cursor's hooks are built from its documentation and were never seen to work: `ratchet report` says "
            "whether any lesson was told"
        ),
    )

    def handler(self, command: str) -> Row:
        """One hook."""
        return {"command": command, "timeout": self.timeout}

    def entries(self, place: InstallPlace) -> tuple[SettingsEntry, ...]:
        """The files that list hooks and MCP servers, the user's or the project's."""
        folder = f"{place.project or place.user}/.cursor"
        servers = SettingsEntry("mcp", f"{folder}/mcp.json", "server", key="mcpServers")
        return SettingsEntry("hooks", f"{folder}/hooks.json", "handlers"), servers

    def homes(self, user: str, environ: Mapping[str, str]) -> tuple[str, ...]:
        """The folder with one for each project."""
        del environ
        return (f"{user}/.cursor/projects",)

    def event(self, role: Role, data: Row) -> ClientEvent:
        """An event with its folder."""
        event = super().event(role, data)
        roots = data.get("workspace_roots")
        if not event.project and isinstance(roots, list) and roots:
            event.project = str(roots[0])
        return event

    def call(self, role: Role, data: Row) -> ClientCall:
        """A call with what the tool said, out of its wrapping."""
        from ratchet.recording import wire

        call = super().call(role, data)
        try:
            held = wire.read(call.said) if call.said.startswith("{") else None
        except ValueError:
            held = None
        if isinstance(held, dict):
            code = held.get("exitCode")
            call.exit_code = code if type(code) is int else None
            call.said = said(held) or call.said
        if role == "failed":
            call.said = text(data, "error_message") or call.said
            call.kind = "cancelled" if data.get("is_interrupt") is True else ""
        return call

    def answer(self, event: str, context: str) -> Row:
        """A text for the model, as the only field."""
        del event
        return {"additional_context": context}
