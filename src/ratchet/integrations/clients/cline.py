"""Cline: the command line 3.0.65 seen.

A hook is an executable named after its event. What a tool brought back is an object that says itself whether all went
well; the client calls each a success. A task is told nothing at its start: what such a hook answers is dropped.
"""

from __future__ import annotations

from ratchet.integrations.clients.client import Client, ClientCall, ClientEvent, InstallPlace, SettingsEntry, said, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ratchet.integrations.clients.client import Role
    from ratchet.records import Row

_FAILED = b'"success":false'
_EVENTS: Mapping[str, Role] = {"PostToolUse": "finished", "TaskComplete": "turn"}


class ClineClient(Client):
    """Cline."""

    name = "cline"
    title = "Cline"
    folders = (".cline",)
    events = _EVENTS
    shell = "run_commands"
    tools: Mapping[str, str] = {
        "shell": shell,
        "read": "read_files",
        "edit": "editor",
        "write": "editor",
        "search": "search_codebase",
    }
    tool_name, tool_input, tool_result = "name", "input", "output"

    def entries(self, place: InstallPlace) -> tuple[SettingsEntry, ...]:
        """An executable for each event, and the file that names MCP servers."""
        folder = f"{place.project}/.clinerules/hooks" if place.project is not None else f"{place.user}/.cline/hooks"
        hooks = [SettingsEntry("hooks", f"{folder}/{event}", "script", key=event, mode=0o755) for event in self.events]
        if place.project is not None:
            return tuple(hooks)
        servers = f"{place.user}/.cline/data/settings/cline_mcp_settings.json"
        return (*hooks, SettingsEntry("mcp", servers, "server", key="mcpServers"))

    def script(self, key: str, commands: Mapping[str, str]) -> str:
        """The executable of one event."""
        return (
            f"#!/bin/sh\n# ratchet: begin (`ratchet uninstall cline` takes it out)\n{commands[key]}\n# ratchet: end\n"
        )

    def homes(self, user: str, environ: Mapping[str, str]) -> tuple[str, ...]:
        """The folder with one for each session."""
        del environ
        return (f"{user}/.cline/data/sessions",)

    def beside(self, transcript: str) -> str:
        """All its sessions: they are kept apart, whatever the project."""
        return transcript.rpartition("/sessions/")[0] + "/sessions" if "/sessions/" in transcript else ""

    def is_worth_reading(self, role: Role, data: bytes) -> bool:
        """An answer that says so itself is."""
        return (role == "finished" and _FAILED in data) or super().is_worth_reading(role, data)

    def event(self, role: Role, data: Row) -> ClientEvent:
        """An event with its session and the file of that."""
        import os

        event = super().event(role, data)
        context, roots = data.get("sessionContext"), data.get("workspaceRoots")
        event.session = text(context, "rootSessionId") if isinstance(context, dict) else ""
        event.thread = event.thread if data.get("parent_agent_id") else ""  # its histories name no main agent
        event.project = str(roots[0]) if isinstance(roots, list) and roots else ""
        if event.session and "/" not in event.session:
            folder = os.path.join(os.path.expanduser("~"), ".cline/data/sessions", event.session)
            event.transcript = f"{folder}/{event.session}.messages.json"
        return event

    def calls(self, role: Role, data: Row) -> tuple[ClientCall, ...]:
        """The call whose result the event brings."""
        result = data.get("tool_result")
        return (self.call(role, result),) if role == "finished" and isinstance(result, dict) else ()

    def call(self, role: Role, data: Row) -> ClientCall:
        """A call with what the tool said, out of its wrapping."""
        from ratchet.failures.unwrapped import answers, unwrapped

        call = super().call(role, data)
        call.id = text(data, "id")
        answered = answers(data.get(self.tool_result))
        told, failed = answered if answered is not None else (said(data.get(self.tool_result)), False)
        call.said, call.exit_code = unwrapped(told)
        call.flag = True if failed else None
        return call

    def answer(self, event: str, context: str) -> Row:
        """A text for the model, beside the word that nothing is to be stopped."""
        del event
        return {"cancel": False, "contextModification": context}
