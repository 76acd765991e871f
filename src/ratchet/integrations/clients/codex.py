"""Codex CLI: 0.171.0 seen.

Its hooks speak Claude Code's dialect. PostToolUse tells of failing commands, too, without an exit code: that stands in
the rollout, whose last line is by then the end of the command. A hook that the person has not trusted (`/hooks`) is
skipped without a word.
"""

from __future__ import annotations

from ratchet.integrations.clients.client import (
    Client,
    ClientCall,
    InstallPlace,
    SettingsEntry,
    alarming,
    ending,
    repeating,
    string_in,
    text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ratchet.failures.circles import RecentCall
    from ratchet.integrations.clients.client import ClientEvent, Role
    from ratchet.records import Json, Row

_TIMEOUT_S, _END_TIMEOUT_S = 600, 3  # of a hook that names none; the longest at a session's end
_TAIL_BYTES = 1 << 18  # of a rollout: more than the end of one command takes
_TOOLS = {"Bash": "exec_command"}
"""The hooks' name of a tool -> the one that its histories use."""
_EVENTS: Mapping[str, Role] = {
    "SessionStart": "start",
    "UserPromptSubmit": "turn",  # an interrupted turn tells nobody of its end: what it left unread is read now
    "PreToolUse": "before",
    "PostToolUse": "finished",
    "Stop": "turn",
    "SessionEnd": "end",
}


class CodexClient(Client):
    """Codex CLI."""

    name = "codex"
    title = "Codex"
    folders = (".codex",)
    tools: Mapping[str, str] = {
        "shell": "exec_command",
        "edit": "apply_patch",
        "write": "apply_patch",
        "mcp": "mcp__{server}__{tool}",
    }
    events = _EVENTS
    prevents = frozenset(("PreToolUse",))
    matched = frozenset(("PreToolUse", "PostToolUse"))
    notes = (
        (
            "Codex runs a hook only once you have trusted it: start codex, type /hooks, and trust those of Ratchet "
            "there; `ratchet doctor` says whether that was done"
        ),
    )

    def entries(self, place: InstallPlace) -> tuple[SettingsEntry, ...]:
        """Its hooks' file, and its settings (CODEX_HOME is honoured)."""
        if place.project is not None:
            return (SettingsEntry("hooks", f"{place.project}/.codex/hooks.json", "hooks"),)
        folder = place.folder("CODEX_HOME", ".codex")
        server = SettingsEntry("mcp", f"{folder}/config.toml", "server", key="mcp_servers")
        return SettingsEntry("hooks", f"{folder}/hooks.json", "hooks"), server

    def untrusted(self, path: str, settings: Row, place: InstallPlace) -> tuple[str, ...]:
        """The events whose hook of ours has no hash in config.toml, or that of another one."""
        from ratchet.files import read

        known = _trusted(read(f"{place.folder('CODEX_HOME', '.codex')}/config.toml"))
        hooks = settings.get("hooks")
        found = []
        for event, groups in hooks.items() if isinstance(hooks, dict) else ():
            name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in event)[1:]
            for at, group in enumerate(groups if isinstance(groups, list) else ()):
                if not isinstance(group, dict):
                    continue
                handlers = group.get("hooks")
                for position, handler in enumerate(handlers if isinstance(handlers, list) else ()):
                    if not isinstance(handler, dict) or "ratchet.hookpath" not in str(handler.get("command")):
                        continue
                    if known.get(f"{path}:{name}:{at}:{position}") != _hash_of(name, group, handler):
                        found.append(event)
        return tuple(found)

    def homes(self, user: str, environ: Mapping[str, str]) -> tuple[str, ...]:
        """The folders of its rollouts."""
        own = environ.get("CODEX_HOME") or f"{user}/.codex"
        return f"{own}/sessions", f"{own}/archived_sessions"

    def beside(self, transcript: str) -> str:
        """All its sessions: they are kept by day, whatever the project."""
        return transcript.rpartition("/sessions/")[0] + "/sessions" if "/sessions/" in transcript else ""

    def is_worth_reading(self, role: Role, data: bytes) -> bool:
        """A command that failed without a word has its exit code in the rollout alone."""
        if role == "finished" and not alarming(data):
            return bool(_exit_code(string_in(data, b"transcript_path"), string_in(data, b"tool_use_id")))
        return super().is_worth_reading(role, data)

    def is_looked_at(self, role: Role) -> bool:
        """Calls are."""
        return role == "finished"

    def recent(self, event: ClientEvent) -> Sequence[RecentCall | None]:
        """The calls at the end of the rollout: a subagent has one of its own."""
        return _made(repeating(event.transcript, event.calls), {call.id for call in event.calls})

    def at_end(self, transcript: str) -> Sequence[RecentCall | None]:
        """The calls at its end."""
        return _made(ending(transcript), set())

    def call(self, role: Role, data: Row) -> ClientCall:
        """A call under its name in the histories, with its exit code."""
        call = super().call(role, data)
        call.tool = _TOOLS.get(call.tool, call.tool)
        if role == "finished":
            call.exit_code = _exit_code(text(data, "transcript_path"), call.id)
        return call


def _made(tail: bytes, known: set[str]) -> list[RecentCall | None]:
    """The calls that the end of a rollout tells of, but for those that are known."""
    from ratchet.failures.circles import RecentCall
    from ratchet.recording import wire

    found: list[RecentCall | None] = []
    asked: dict[str, tuple[str, Json, int]] = {}
    turn, answered = 0, True
    for line in tail.split(b"\n")[1:]:
        if b'"response_item"' not in line[:200]:
            continue
        try:
            record = wire.read(line.decode("utf-8", "replace"))
        except ValueError:  # torn, or written at this moment
            continue
        item = record.get("payload") if isinstance(record, dict) else None
        if not isinstance(item, dict):
            continue
        kind, key = text(item, "type"), text(item, "call_id")
        if kind == "message" and text(item, "role") == "user":
            found.append(None)
        elif kind in ("function_call", "custom_tool_call"):
            turn, answered = turn + answered, False
            asked[key] = (text(item, "name"), _arguments(text(item, "arguments") or text(item, "input")), turn)
        elif kind in ("function_call_output", "custom_tool_call_output") and key in asked and key not in known:
            answered = True
            tool, given, at_turn = asked.pop(key)
            head, body, printed = text(item, "output").partition("Output:\n")
            code = head.partition("exited with code ")[2].split("\n")[0].strip() if body else ""
            result = printed if body else head
            found.append(RecentCall(tool, given, result, failed=code not in ("", "0"), turn=at_turn))
    return found


def _arguments(said: str) -> Json:
    from ratchet.recording import wire

    try:
        return wire.read(said)
    except ValueError:  # the text of a patch
        return said


def _trusted(settings: bytes | None) -> dict[str, str]:
    """The hooks that were trusted: `PATH:event:group:hook` -> the hash of what was trusted."""
    import tomllib

    try:
        state = tomllib.loads((settings or b"").decode("utf-8", "replace")).get("hooks", {}).get("state", {})
    except (ValueError, AttributeError):
        return {}
    return {key: str(held.get("trusted_hash")) for key, held in state.items() if isinstance(held, dict)}


def _hash_of(event: str, group: Row, handler: Row) -> str:
    """The hash under which Codex 0.171.0 trusts a hook; its app server tells the same by `hooks/list`."""
    import hashlib

    from ratchet.recording import wire

    given = handler.get("timeout")
    timeout_s = given if isinstance(given, int) and given else _TIMEOUT_S
    told: Row = {
        "async": handler.get("async") or False,
        "command": handler.get("command"),
        "timeout": min(timeout_s, _END_TIMEOUT_S) if event == "session_end" else timeout_s,
        "type": "command",
    }
    held: Row = {"event_name": event, "hooks": [told]}
    if group.get("matcher") is not None:
        held["matcher"] = group["matcher"]
    return "sha256:" + hashlib.sha256(wire.written(held).encode()).hexdigest()


def _exit_code(rollout: str, key: str) -> int | None:
    """The exit code with which the rollout says that a call ended; None where it does not say."""
    import os

    if not rollout or not key:
        return None
    try:
        descriptor = os.open(rollout, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return None
    try:
        size = os.fstat(descriptor).st_size
        held = os.pread(descriptor, _TAIL_BYTES, max(0, size - _TAIL_BYTES))
    except OSError:
        return None
    finally:
        os.close(descriptor)
    at = held.rfind(f'"id":"{key}"'.encode())
    digits = held[at:].partition(b'"exit_code":')[2][:12].partition(b",")[0].strip() if at >= 0 else b""
    return int(digits) if digits.lstrip(b"-").isdigit() else None
