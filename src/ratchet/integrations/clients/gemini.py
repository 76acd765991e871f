"""Gemini CLI: 0.61.0 seen.

Its hooks speak Claude Code's dialect under names of their own. A result comes back as an object: what the model gets is
in `llmContent`, in an `error` where the tool itself failed. Of such an error the CLI drops what a hook adds, but it
takes a whole result in its place: then the answer is that error again, and the lesson below it. Events do not name a
call.
"""

from __future__ import annotations

from ratchet.integrations.clients.client import Client, ClientCall, InstallPlace, SettingsEntry, said, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ratchet.integrations.clients.client import Role
    from ratchet.records import Row

_FAILED = b'"error":{"message"'
_EVENTS: Mapping[str, Role] = {
    "SessionStart": "start",
    "AfterTool": "finished",
    "AfterAgent": "turn",
    "SessionEnd": "end",
}


class GeminiClient(Client):
    """Gemini CLI."""

    name = "gemini"
    agent = "gemini-cli"
    title = "Gemini CLI"
    folders = (".gemini",)
    events = _EVENTS
    matched = frozenset(("AfterTool",))
    timeout = 5000  # milliseconds
    shell = "run_shell_command"
    tools: Mapping[str, str] = {
        "shell": shell,
        "read": "read_file",
        "edit": "replace",
        "write": "write_file",
        "search": "grep_search",
        "mcp": "mcp_{server}_{tool}",
    }

    def __init__(self) -> None:
        self._error = ""

    def entries(self, place: InstallPlace) -> tuple[SettingsEntry, ...]:
        """Its settings, which hold hooks and MCP servers (GEMINI_CLI_HOME is honoured)."""
        settings = f"{place.project or place.folder('GEMINI_CLI_HOME', '')}/.gemini/settings.json"
        return SettingsEntry("hooks", settings, "hooks"), SettingsEntry("mcp", settings, "server", key="mcpServers")

    def homes(self, user: str, environ: Mapping[str, str]) -> tuple[str, ...]:
        """The folder with one for each project."""
        return (f"{environ.get('GEMINI_CLI_HOME') or user}/.gemini/tmp",)

    def is_worth_reading(self, role: Role, data: bytes) -> bool:
        """An error of the tool's own is, however it is worded."""
        return (role == "finished" and _FAILED in data) or super().is_worth_reading(role, data)

    def call(self, role: Role, data: Row) -> ClientCall:
        """A call with what the tool said, out of its wrapping."""
        from ratchet.failures.unwrapped import unwrapped

        call = super().call(role, data)
        result = data.get(self.tool_result)
        held = result if isinstance(result, dict) else {}
        error = held.get("error")
        if isinstance(error, dict):
            call.flag, self._error = True, text(error, "message") or said(held.get("llmContent"))
            call.said = self._error
        else:
            call.said, call.exit_code = unwrapped(said(held.get("llmContent")))
        return call

    def answer(self, event: str, context: str) -> Row:
        """A text beside the result; below the error where there was one."""
        if self._error:
            return {"decision": "deny", "reason": f"{self._error}\n\n{context}"}
        return super().answer(event, context)
