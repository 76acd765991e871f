"""Copilot CLI: 1.0.102 seen.

A hook is one object in a list, its answer one field. Events name neither a call nor the session's file, which is
written some time after.
"""

from __future__ import annotations

from ratchet.integrations.clients.client import Client, ClientCall, ClientEvent, InstallPlace, SettingsEntry, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ratchet.integrations.clients.client import Role
    from ratchet.records import Row

_EVENTS: Mapping[str, Role] = {
    "sessionStart": "start",
    "postToolUse": "finished",
    "postToolUseFailure": "failed",
    "agentStop": "turn",
    "sessionEnd": "end",
}


class CopilotClient(Client):
    """Copilot CLI."""

    name = "copilot"
    agent = "copilot-cli"
    title = "Copilot CLI"
    folders = (".copilot",)
    events = _EVENTS
    shell = "bash"
    tools: Mapping[str, str] = {
        "shell": shell,
        "read": "view",
        "edit": "edit",
        "write": "create",
        "search": "grep",
        "mcp": "{server}-{tool}",
    }
    session, tool_name, tool_input, tool_result = "sessionId", "toolName", "toolArgs", "toolResult"
    fillers = (b"completed with exit code 0>",)

    def handler(self, command: str) -> Row:
        """One hook; its field is named after the shell that runs it."""
        return {"type": "command", "bash": command, "timeoutSec": self.timeout}

    def server(self, command: Sequence[str]) -> Row:
        """A server, with all its tools."""
        return {**super().server(command), "tools": ["*"]}

    def entries(self, place: InstallPlace) -> tuple[SettingsEntry, ...]:
        """A file among its hooks, and the one that names MCP servers (COPILOT_HOME is honoured)."""
        if place.project is not None:
            return (SettingsEntry("hooks", f"{place.project}/.github/hooks/ratchet.json", "handlers"),)
        folder = place.folder("COPILOT_HOME", ".copilot")
        hooks = SettingsEntry("hooks", f"{folder}/hooks/ratchet.json", "handlers")
        servers = f"{folder}/mcp-config.json"
        return hooks, SettingsEntry("mcp", servers, "server", key="mcpServers", extra={"type": "local"})

    def homes(self, user: str, environ: Mapping[str, str]) -> tuple[str, ...]:
        """The folder with one for each session."""
        return (f"{environ.get('COPILOT_HOME') or f'{user}/.copilot'}/session-state",)

    def beside(self, transcript: str) -> str:
        """All its sessions: they are kept apart, whatever the project."""
        return transcript.rpartition("/session-state/")[0] + "/session-state" if "/session-state/" in transcript else ""

    def event(self, role: Role, data: Row) -> ClientEvent:
        """An event with the file of its session."""
        event = super().event(role, data)
        event.transcript = _events_of(event.session)
        return event

    def call(self, role: Role, data: Row) -> ClientCall:
        """A call with what the tool said, out of its wrapping."""
        from ratchet.failures.unwrapped import unwrapped

        call = super().call(role, data)
        result = data.get(self.tool_result)
        if isinstance(result, dict):
            call.said = text(result, "textResultForLlm")
            call.flag = True if text(result, "resultType") not in ("", "success") else None
        call.said, call.exit_code = unwrapped(call.said)
        return call

    def answer(self, event: str, context: str) -> Row:
        """A text for the model, as the only field."""
        del event
        return {"additionalContext": context}


def _events_of(session: str) -> str:
    """The file in which a session keeps its events."""
    import os

    folder = os.environ.get("COPILOT_HOME") or os.path.join(os.path.expanduser("~"), ".copilot")
    return f"{folder}/session-state/{session}/events.jsonl" if session and "/" not in session else ""
