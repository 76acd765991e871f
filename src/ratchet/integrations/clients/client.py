"""The port of clients, the coding agents that run tools for a model: what their hooks tell, how they take an answer,
which files name us, where their histories are.

A client is one class. What `Client` does by itself is Claude Code's dialect, which most others speak, too; a client
says what differs. The hook's process imports it, a process per event: nothing but these modules may be loaded when it
is imported or asked about an event. It registers in the entry-point group `ratchet.clients`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from ratchet.failures.circles import RecentCall
    from ratchet.records import Json, Row

    Role = Literal["start", "subagent", "prompt", "before", "failed", "finished", "turn", "compacting", "end"]

_PLAIN_BYTES = 320  # a result that is only shown is judged whole up to here, by its beginning beyond
_START_BYTES = 48
# Tools whose result is somebody else's text: only how it begins can be the tool's own error.
_SHOWS = (
    *(b"read", b"view", b"grep", b"glob", b"search", b"list", b"ls", b"find", b"fetch", b"web", b"todo", b"open"),
    *(b"cat", b"show", b"task", b"agent", b"edit", b"write", b"create", b"insert", b"multiedit", b"notebook", b"skill"),
)
# One of these stands in every result that `failures.unflagged` calls a failure: all 98 of our 7,900 real calls, and in
# 7 % of the successes. Lower case; the last one is "file:12:5:" once its digits are gone.
_ALARMS = (
    *(b"error", b"fail", b"fatal: ", b"exit code", b"exit status", b"exited with", b"traceback", b"exception"),
    *(b"panic", b"not found", b"no such", b"denied", b"refused", b"timed out", b"not exist", b"usage:", b"unknown"),
    *(b"invalid", b"killed", b"conflict (", b"rejected", b"unable", b"cannot", b"could not", b"sh: ", b"sh : "),
    *(b"not been read", b"modified since", b"unreachable", b"forbidden", b"not available", b"found "),
)
_PLACE = b":::"
_RECENT_BYTES = 262_144  # of a transcript, in which its last calls are looked for
_TELLING_CHARS = 400


class ClientCall:
    """A tool call that its client tells of, named by `id` where the client does. `said` is its result as text; `flag`
    whether the client says that it failed (None: it does not say); `kind` the kind of failure where the client itself
    names it."""

    __slots__ = ("exit_code", "flag", "id", "input", "kind", "said", "tool")

    def __init__(
        self,
        tool: str,
        given: Json,
        said: str = "",
        *,
        id: str = "",  # noqa: A002  (as everywhere)
        flag: bool | None = None,
        exit_code: int | None = None,
        kind: str = "",
    ) -> None:
        self.tool, self.input, self.said, self.id = tool or "unknown", given, said, id
        self.flag, self.exit_code, self.kind = flag, exit_code, kind


class ClientEvent:
    """An event of a client in our words. `thread` names a subagent, `begun` says how a session starts ("compact": it
    goes on after a compaction), `calls` are the tool calls that it tells of."""

    __slots__ = ("begun", "calls", "project", "session", "thread", "transcript")

    def __init__(
        self,
        *,
        session: str,
        project: str = "",
        thread: str = "",
        transcript: str = "",
        begun: str = "",
        calls: Sequence[ClientCall] = (),
    ) -> None:
        self.session, self.project, self.thread = session, project, thread
        self.transcript, self.begun, self.calls = transcript, begun, tuple(calls)


class InstallPlace:
    """InstallPlace of an installation: the user's home, the project or None for all of them, and the environment."""

    __slots__ = ("environ", "project", "user")

    def __init__(self, *, user: str, project: str | None, environ: Mapping[str, str]) -> None:
        self.user, self.project, self.environ = user, project, environ

    def folder(self, variable: str, otherwise: str) -> str:
        """The folder that an environment variable names, else the one below the user's home."""
        return self.environ.get(variable) or f"{self.user}/{otherwise}".rstrip("/")


class SettingsEntry:
    """Addition of ours to one of a client's files. `part` is "hooks" or "mcp"; `form` how it is written:

    - "hooks": JSON, `{"hooks": {EVENT: [{"matcher": "*", "hooks": [HANDLER]}]}}`
    - "handlers": JSON, `{"version": 1, "hooks": {EVENT: [HANDLER]}}`
    - "server": an MCP server under `key` ("mcp.servers": an object within one), in JSON or (a file `.toml`) in TOML;
      `extra` goes into it
    - "notes": YAML, the file of our notes in the list under `key`
    - "script": a file of its own that the client runs, with what `Client.script` writes for `key`

    A file that is not there is made with `mode`.
    """

    __slots__ = ("extra", "form", "key", "mode", "part", "path")

    def __init__(
        self, part: str, path: str, form: str, *, key: str = "hooks", extra: Row | None = None, mode: int = 0o600
    ) -> None:
        self.part, self.path, self.form, self.key, self.extra = part, path, form, key, dict(extra or {})
        self.mode = mode


class Client:
    """A coding agent; see the module. Subclasses are created without arguments."""

    name = ""
    """As `ratchet install` names it."""
    agent = ""
    """As the reader of its histories names it, where that is another name: both write the same outcomes."""
    title = ""
    """As people call it."""
    events: Mapping[str, Role] = {}
    """The client's name of an event -> what it is to us: what is not named is not hooked."""
    prevents: frozenset[str] = frozenset()
    """Events before a step: hooked only where a proven lesson is to be told there, for the tools that it is about."""
    shell = "Bash"
    """Its shell, as the hooks' matcher names it."""
    tools: Mapping[str, str] = {}
    """What its model knows its tools by, for what a lesson says: "shell", "read", "edit", "write", "search" -> the
    name of that tool; "mcp" -> the form of the names of MCP servers' tools, with `{server}` and `{tool}`."""
    can_pause = False
    """Whether an answer of its hooks can end a turn without denying a step."""
    matched: frozenset[str] = frozenset()
    """Events whose hooks take a matcher of tools."""
    commands: tuple[str, ...] = ()
    """What starts it, where that is not its name."""
    folders: tuple[str, ...] = ()
    """What it makes in the user's home."""
    matches_all = "*"
    """The matcher that fits every tool."""
    timeout = 5
    """The client's limit for a hook, in its own unit; the hook's own is 2 s."""
    session, project, tool_name, tool_input, tool_result = (
        "session_id",
        "cwd",
        "tool_name",
        "tool_input",
        "tool_response",
    )
    """The fields in which its events name these."""
    fillers: tuple[bytes, ...] = ()
    """What its results say of a success in words that a failure might have."""
    notes: tuple[str, ...] = ()
    """What a person has to know, or do, after the installation: a sentence each."""

    def is_here(self, user: str, environ: Mapping[str, str]) -> bool:
        """Tell whether the client is on this machine: a folder that it makes, or its command."""
        import os
        import shutil

        made = [f"{user}/{folder}" for folder in self.folders]
        if any(map(os.path.exists, [*made, *self.homes(user, environ)])):
            return True
        return any(shutil.which(each, path=environ.get("PATH")) for each in self.commands or (self.name,))

    def handler(self, command: str) -> Row:
        """One hook, as the client's settings write it down."""
        return {"type": "command", "command": command, "timeout": self.timeout}

    def server(self, command: Sequence[str]) -> Row:
        """An MCP server, as the client's settings write it down."""
        return {"command": command[0], "args": [*command[1:]]}

    def script(self, key: str, commands: Mapping[str, str]) -> str:
        """The script of an entry; `commands` are the hook's, by event."""
        raise NotImplementedError

    def untrusted(self, path: str, settings: Row, place: InstallPlace) -> tuple[str, ...]:
        """The events in a settings file whose hook of ours the client does not run until the person trusts it."""
        del path, settings, place
        return ()

    def entries(self, place: InstallPlace) -> tuple[SettingsEntry, ...]:
        """The files that name us. Raises UsageError for a place that the client does not have."""
        raise NotImplementedError

    def homes(self, user: str, environ: Mapping[str, str]) -> tuple[str, ...]:
        """The folders in which it keeps its histories, whether they exist or not."""
        raise NotImplementedError

    def histories(self, transcript: str) -> tuple[str, ...]:
        """A session's own files, given its transcript: also those of its subagents, whether they exist or not."""
        return (transcript,) if transcript else ()

    def beside(self, transcript: str) -> str:
        """The folder in which the histories of the same project are, as far down as it goes; "" where that cannot be
        told from a transcript."""
        return transcript.rpartition("/")[0]

    # --- in the hook's process ---

    def is_worth_reading(self, role: Role, data: bytes) -> bool:
        """Tell from the bytes of an event whether it may tell of a failure: JSON costs a success too much. Never says
        no to one that does."""
        if role == "prompt":
            return False
        if role != "finished":
            return True
        for filler in self.fillers:
            data = data.replace(filler, b"")
        return alarming(data, f'"{self.tool_result}":'.lower().encode(), f'"{self.tool_name}"'.lower().encode())

    def event(self, role: Role, data: Row) -> ClientEvent:
        """The event in our words."""
        return ClientEvent(
            session=text(data, self.session),
            project=text(data, self.project),
            thread=text(data, "agent_id"),
            transcript=text(data, "transcript_path"),
            begun=text(data, "source"),
            calls=self.calls(role, data),
        )

    def calls(self, role: Role, data: Row) -> tuple[ClientCall, ...]:
        """The tool calls that an event tells of."""
        if role not in ("before", "failed", "finished"):
            return ()
        listed = data.get("tool_calls") if role == "finished" else None
        held = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else [data]
        return tuple(self.call(role, each) for each in held)

    def call(self, role: Role, data: Row) -> ClientCall:
        """One tool call, from its part of an event."""
        call = ClientCall(
            text(data, self.tool_name),
            data.get(self.tool_input),
            said(data.get(self.tool_result)),
            id=text(data, "tool_use_id"),
        )
        if role == "failed":
            call.flag, call.said = True, text(data, "error") or call.said
        return call

    def recent(self, event: ClientEvent) -> Sequence[RecentCall | None]:
        """The last calls of the thread that an event is about, in order, as far as the end of its transcript tells, the
        event's own left out; None stands for a word of a person. Nothing where the client's transcript is not known."""
        del event
        return ()

    def at_end(self, transcript: str) -> Sequence[RecentCall | None]:
        """The last calls that the end of a transcript tells of, as `recent` has them."""
        del transcript
        return ()

    def is_looked_at(self, role: Role) -> bool:
        """Tell whether calls that did not fail are looked at, too, now and then, for a circle that they may close."""
        del role
        return False

    def answer(self, event: str, context: str) -> Row:
        """A text for the model, as the client takes it."""
        return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}

    def pause(self, reason: str) -> Row:
        """Add to an answer what ends the session's turn; nothing where the client has no such answer."""
        return {"continue": False, "stopReason": reason} if self.can_pause else {}


def alarming(data: bytes, mark: bytes = b'"tool_response":', named: bytes = b'"tool_name"') -> bool:
    """Tell whether a result in the bytes of an event may be a failure that no flag tells of. `mark` is ahead of each
    result, `named` ahead of its tool's name; both lower case."""
    pieces = data.lower().split(mark)
    if len(pieces) == 1:
        return True  # written in another way than is known here
    for at in range(1, len(pieces)):
        before, result = pieces[at - 1], pieces[at]
        name = before[before.rfind(named) + len(named) :][:40].lstrip(b' \t\r\n:"')
        shows = name.startswith(_SHOWS)
        if shows and len(result) > _PLAIN_BYTES:
            result = result[:_START_BYTES]
        for alarm in _ALARMS:
            if alarm in result:
                return True
        if not shows and _PLACE in result.translate(None, b"0123456789"):
            return True
    return False


def string_in(data: bytes, name: bytes) -> str:
    """A string of an event that is not parsed; "" where it is not there, a part of it where it holds escapes."""
    value = data.partition(b'"' + name + b'"')[2].lstrip(b" \t\r\n:")
    return value[1:].partition(b'"')[0].decode("utf-8", "replace") if value.startswith(b'"') else ""


def text(row: Row, name: str) -> str:
    """A string of an event; "" where it is none."""
    value = row.get(name)
    return value if isinstance(value, str) else ""


def said(result: Json) -> str:
    """A tool's result as text: a string, blocks of text, or an object that holds what was printed."""
    if isinstance(result, str):
        return result
    if isinstance(result, list):
        blocks = [said(block) if not isinstance(block, dict) else text(block, "text") for block in result]
        return "\n".join(block for block in blocks if block)
    if isinstance(result, dict):
        for name in ("output", "content", "text"):
            if result.get(name):
                return said(result[name])
        return "\n".join(part for part in (text(result, "stdout"), text(result, "stderr")) if part)
    return ""


def tail_of(path: str, limit_bytes: int) -> bytes:
    """The end of a file; nothing where it cannot be read."""
    import os

    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return b""
    try:
        size = os.fstat(descriptor).st_size
        return os.pread(descriptor, limit_bytes, max(0, size - limit_bytes))
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def repeating(transcript: str, calls: Sequence[ClientCall]) -> bytes:
    """The end of a transcript, where what one of these calls brought may stand in it twice; else nothing: most failures
    end here, before any JSON is parsed."""
    tail = tail_of(transcript, _RECENT_BYTES)
    return tail if any(tail.count(_telling(call.said)) > 1 for call in calls) else b""


def ending(transcript: str) -> bytes:
    """The end of a transcript in whole lines, behind a line that its reader leaves out."""
    return b"\n" + tail_of(transcript, _RECENT_BYTES)


def _telling(result: str) -> bytes:
    """The longest piece of a result's beginning that stands in JSON as it is, and holds no number that may change."""
    from ratchet.failures.expressions import compiled

    return max(compiled(r"[\d\"\\]|[^ -~]").split(result[:_TELLING_CHARS]), key=len).encode()
