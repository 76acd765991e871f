"""Claude Code: 2.1.197 and 2.1.332 seen.

PostToolUseFailure tells of a command that exits with an error, a file that is not there, an error of an MCP server.
It does not tell of calls that were refused before they ran (an edit of a file that was not read, wrong parameters) nor
of a failure behind a pipe: PostToolBatch does, once for all calls of a turn, also for those that were told already. A
background command that fails is told as if a person had said so, between <task-notification> tags.
"""

from __future__ import annotations

from ratchet.integrations.clients.client import (
    Client,
    ClientCall,
    InstallPlace,
    SettingsEntry,
    ending,
    repeating,
    said,
    tail_of,
    text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ratchet.failures.circles import RecentCall
    from ratchet.integrations.clients.client import ClientEvent, Role
    from ratchet.records import Json, Row

_OUTPUT_BYTES = 200_000  # of a background command's output, of which the end tells how it ended
_CHUNK_BYTES, _LOOKED_AT_BYTES = 1 << 20, 16 << 20  # of a transcript, from its end
_EVENTS: Mapping[str, Role] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PreToolUse": "before",
    "PostToolUseFailure": "failed",
    "PostToolBatch": "finished",
    "SubagentStart": "subagent",
    "PreCompact": "compacting",
    "Stop": "turn",
    "StopFailure": "turn",
    "SessionEnd": "end",
}


class ClaudeCodeClient(Client):
    """Claude Code."""

    name = "claude-code"
    title = "Claude Code"
    can_pause = True
    folders = (".claude",)
    tools: Mapping[str, str] = {
        "shell": "Bash",
        "read": "Read",
        "edit": "Edit",
        "write": "Write",
        "search": "Grep",
        "mcp": "mcp__{server}__{tool}",
    }
    commands = ("claude",)
    events = _EVENTS
    prevents = frozenset(("PreToolUse",))
    matched = frozenset(("PreToolUse", "PostToolUseFailure"))

    def entries(self, place: InstallPlace) -> tuple[SettingsEntry, ...]:
        """The settings, and the file that names MCP servers (CLAUDE_CONFIG_DIR is honoured)."""
        if place.project is not None:
            settings, servers = f"{place.project}/.claude/settings.json", f"{place.project}/.mcp.json"
        else:
            settings = f"{place.folder('CLAUDE_CONFIG_DIR', '.claude')}/settings.json"
            servers = f"{place.folder('CLAUDE_CONFIG_DIR', '')}/.claude.json"
        server = SettingsEntry("mcp", servers, "server", key="mcpServers", extra={"type": "stdio"})
        return SettingsEntry("hooks", settings, "hooks"), server

    def homes(self, user: str, environ: Mapping[str, str]) -> tuple[str, ...]:
        """The folders of its projects."""
        own = environ.get("CLAUDE_CONFIG_DIR")
        usual = (f"{user}/.claude/projects", f"{user}/.config/claude/projects")
        return (f"{own}/projects", *usual) if own else usual

    def histories(self, transcript: str) -> tuple[str, ...]:
        """The transcript, and the folder beside it with those of the subagents."""
        return (transcript, transcript.removesuffix(".jsonl")) if transcript else ()

    def is_worth_reading(self, role: Role, data: bytes) -> bool:
        """A prompt is read only where it is a notice of the client's own about a command that failed."""
        if role == "prompt":
            return b"<task-notification>" in data and b"<status>failed" in data
        return super().is_worth_reading(role, data)

    def is_looked_at(self, role: Role) -> bool:
        """Batches are."""
        return role == "finished"

    def recent(self, event: ClientEvent) -> Sequence[RecentCall | None]:
        """The calls at the end of the session's transcript, or of the subagent's own."""
        path = event.transcript
        if event.thread:
            path = f"{path.removesuffix('.jsonl')}/subagents/agent-{event.thread}.jsonl"
        return made(repeating(path, event.calls), {call.id for call in event.calls})

    def at_end(self, transcript: str) -> Sequence[RecentCall | None]:
        """The calls at its end."""
        return made(ending(transcript), set())

    def calls(self, role: Role, data: Row) -> tuple[ClientCall, ...]:
        """The calls of a batch, too, and those that failed in the background."""
        if role == "prompt":
            return tuple(_ended_in_background(data))
        return super().calls(role, data)

    def call(self, role: Role, data: Row) -> ClientCall:
        """A call with what the client says of it."""
        call = super().call(role, data)
        if role == "failed" and data.get("is_interrupt") is True:
            call.kind = "cancelled"
        return _flagged(call) if role != "before" else call


def _flagged(call: ClientCall) -> ClientCall:
    """The call with what the client's own wording says: an error in its tags, an exit code before a shell's output."""
    from ratchet.failures import programs, tool_call

    code = tool_call.exit_code_of(call.said)
    if call.said.lstrip().startswith("<tool_use_error>") or (code and programs.is_shell(call.tool)):
        call.flag = True
    if call.flag:
        call.exit_code = code
    return call


def _ended_in_background(data: Row) -> list[ClientCall]:
    """The commands that a prompt says failed: what each was is looked up in the transcript, what it printed in the file
    that is named, where that is one of this session."""
    from ratchet.recording import notices

    found = []
    for notice in notices.failed(text(data, "prompt")):
        tool, given = asked(text(data, "transcript_path"), notice.key)
        if tool:
            file = notice.output_file
            own = file.endswith(".output") and f"/{text(data, 'session_id')}/" in file
            printed = tail_of(file, _OUTPUT_BYTES).decode("utf-8", "replace").strip() if own else ""
            found.append(ClientCall(tool, given, notice.said(printed), id=notice.key + notices.ENDED, flag=True))
            found[-1].exit_code = notice.exit_code
    return found


def asked(transcript: str, key: str) -> tuple[str, Json]:
    """(tool, input) of a call of this session by its id, from the end of the transcript; ("", None) where it is not
    found."""
    from ratchet.recording import wire

    mark = f'"id":"{key}"'.encode()
    line = _line_with(transcript, mark)
    try:
        record = wire.read(line.decode("utf-8", "replace")) if line else None
    except ValueError:
        return "", None
    message = record.get("message") if isinstance(record, dict) else None
    blocks = message.get("content") if isinstance(message, dict) else None
    for block in blocks if isinstance(blocks, list) else ():
        if isinstance(block, dict) and block.get("id") == key:
            return text(block, "name"), block.get("input")
    return "", None


def made(tail: bytes, known: set[str]) -> list[RecentCall | None]:
    """The calls that the end of a transcript tells of, but for those that are known."""
    from ratchet.failures import programs, tool_call
    from ratchet.failures.circles import RecentCall
    from ratchet.recording import wire

    found: list[RecentCall | None] = []
    asked: dict[str, tuple[str, Json, int]] = {}
    turn, answered = 0, True
    for line in tail.split(b"\n")[1:]:
        try:
            record = wire.read(line.decode("utf-8", "replace")) if line else None
        except ValueError:  # torn, or written at this moment
            continue
        message = record.get("message") if isinstance(record, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(record, dict) or record.get("isMeta") is True:
            continue
        by_person = record.get("type") == "user"
        if isinstance(content, str) and by_person and not content.startswith("<"):
            found.append(None)
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict):
                continue
            kind, key = block.get("type"), text(block, "tool_use_id")
            if kind == "tool_use":
                turn, answered = turn + answered, False
                asked[text(block, "id")] = (text(block, "name"), block.get("input"), turn)
            elif kind == "text" and by_person:
                found.append(None)
            elif kind == "tool_result" and key in asked and key not in known:
                answered = True
                tool, given, at_turn = asked.pop(key)
                result = said(block.get("content"))
                failed = block.get("is_error") is True
                failed = failed or bool(programs.is_shell(tool) and tool_call.exit_code_of(result))
                at = _seconds(text(record, "timestamp"))
                found.append(RecentCall(tool, given, result, failed=failed, at=at, turn=at_turn))
    return found


def _seconds(stamp: str) -> float:
    """Seconds since midnight in "2026-02-11T20:36:51.804Z", for the time between two calls; 0 where it is none."""
    clock = stamp.partition("T")[2].removesuffix("Z").split(":")
    try:
        return float(clock[0]) * 3600 + float(clock[1]) * 60 + float(clock[2])
    except (ValueError, IndexError):
        return 0.0


def _line_with(path: str, mark: bytes) -> bytes:
    """The last line of a file that holds a mark, sought from its end."""
    import os

    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return b""
    try:
        end = os.fstat(descriptor).st_size
        held = b""
        while end > 0 and len(held) < _LOOKED_AT_BYTES:
            start = max(0, end - _CHUNK_BYTES)
            held = os.pread(descriptor, end - start, start) + held
            end = start
            at = held.rfind(mark)
            if at >= 0 and (end == 0 or b"\n" in held[:at]):
                return held[held.rfind(b"\n", 0, at) + 1 :].partition(b"\n")[0]
    finally:
        os.close(descriptor)
    return b""
