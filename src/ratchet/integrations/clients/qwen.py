"""Qwen Code: 0.24.4 seen. Its hooks speak Claude Code's dialect; an id of the model's own names a call."""

from __future__ import annotations

from ratchet.integrations.clients.client import Client, ClientCall, InstallPlace, SettingsEntry, said, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ratchet.integrations.clients.client import Role
    from ratchet.records import Row

_EVENTS: Mapping[str, Role] = {
    "SessionStart": "start",
    "PostToolUseFailure": "failed",
    "PostToolUse": "finished",
    "SubagentStart": "subagent",
    "PreCompact": "compacting",
    "Stop": "turn",
    "StopFailure": "turn",
    "SessionEnd": "end",
}


class QwenClient(Client):
    """Qwen Code."""

    name = "qwen"
    agent = "qwen-code"
    title = "Qwen Code"
    folders = (".qwen",)
    events = _EVENTS
    matched = frozenset(("PostToolUse", "PostToolUseFailure"))
    shell = "run_shell_command"
    tools: Mapping[str, str] = {
        "shell": shell,
        "read": "read_file",
        "edit": "edit",
        "write": "write_file",
        "search": "grep_search",
        "mcp": "mcp__{server}__{tool}",
    }
    fillers = (b"\\nError: (none)\\nExit Code: 0\\n",)

    def entries(self, place: InstallPlace) -> tuple[SettingsEntry, ...]:
        """Its settings, which hold hooks and MCP servers (QWEN_HOME is honoured)."""
        folder = f"{place.project}/.qwen" if place.project is not None else place.folder("QWEN_HOME", ".qwen")
        settings = f"{folder}/settings.json"
        return SettingsEntry("hooks", settings, "hooks"), SettingsEntry("mcp", settings, "server", key="mcpServers")

    def homes(self, user: str, environ: Mapping[str, str]) -> tuple[str, ...]:
        """The folder with one for each project."""
        own = environ.get("QWEN_RUNTIME_DIR") or environ.get("QWEN_HOME") or f"{user}/.qwen"
        return (f"{own}/projects",)

    def call(self, role: Role, data: Row) -> ClientCall:
        """A call with what the tool said, out of its wrapping."""
        from ratchet.failures.unwrapped import unwrapped

        call = super().call(role, data)
        result = data.get(self.tool_result)
        if role == "finished" and isinstance(result, dict):
            call.said = said(result.get("llmContent"))
        call.said, call.exit_code = unwrapped(call.said)
        call.id = text(data, "tool_call_id") or call.id
        if data.get("is_interrupt") is True:
            call.kind = "cancelled"
        return call
