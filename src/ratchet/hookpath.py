"""Run the installed hooks: a process per event, so its start is the product, and it must never harm its host.

Whatever happens, the process ends with exit code 0 (2 would lock every tool), prints one whole JSON document or
nothing, and ends within `TIME_LIMIT_S`. A fault is one line in HOME/hook/hook.log. It reads the store and never writes
it; what it has to say it journals.

Lean: imports os, sys and the lean modules, everything else where it is used. `-I -S` (see `install`) halves the start.
"""

from __future__ import annotations

import gc
import os
import sys

from ratchet.lessons import exposure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ratchet.records import Row

TIME_LIMIT_S = 2.0  # after this the host goes on without us
GRACE_S = 0.3  # what Python code gets on top to end by itself, with a line in the log
STDIN_LIMIT_BYTES = 64_000_000  # a larger event is read to its end and not answered
REVIEWED_WAIT_S = 1.0  # how long a session start waits for lessons that came with the repository
LOG_LIMIT_BYTES = 256_000
AGENT = "claude-code"


def run() -> None:
    """The installed command: `main`, then an exit that nothing can turn into a failure."""
    gc.disable()  # a process of 20 ms needs no collector
    main(sys.argv[1:])
    os._exit(0)


def main(arguments: Sequence[str]) -> None:
    """Handle one event: `EVENT [--home PATH]`, its JSON on standard input.

    Never raises and never prints half an answer.
    """
    event, home = "", ""
    try:
        event, home = _parsed(arguments)
        _end_in_time(event, home)
        answer = _EVENTS.get(event, _unknown)(home)
        if answer:
            _say(event, answer)
    except BaseException as fault:  # noqa: BLE001  (the edge of the process: nothing may pass, not even an interrupt)
        log_fault(home, event, fault)
    finally:
        _no_limit()


def _parsed(arguments: Sequence[str]) -> tuple[str, str]:
    """(event, home): the home given, else RATCHET_HOME, else ~/.ratchet."""
    words = list(arguments)
    home = ""
    if "--home" in words[:-1]:
        at = words.index("--home")
        home = words[at + 1]
        del words[at : at + 2]
    home = home or os.environ.get("RATCHET_HOME") or os.path.join(os.path.expanduser("~"), ".ratchet")
    return (words[0] if words else ""), os.path.abspath(os.path.expanduser(home))


def _end_in_time(event: str, home: str) -> None:
    """Arm a timer whose signal ends the process. From the C half of `signal`: its Python half loads enum (4 ms)."""
    try:
        import _signal as signal  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return  # the host's own time limit for hooks remains

    def end(number: int, frame: object) -> None:
        del number, frame
        log_fault(home, event, TimeoutError(f"not done after {TIME_LIMIT_S} s"))
        os._exit(0)

    try:
        signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, TIME_LIMIT_S)
    except (AttributeError, ValueError):
        return  # Windows has no timer; a thread that is not the main one may not set it


def _end_in_time_in_c() -> None:
    """End the process also while C code waits and no Python runs, as SQLite does for a file system that hangs: a thread
    of the interpreter's own. It knows no exit code but 1, which the installed command turns into 0."""
    try:
        import faulthandler

        faulthandler.dump_traceback_later(TIME_LIMIT_S + GRACE_S, exit=True, file=2)
    except (ImportError, RuntimeError, OSError, ValueError):
        return  # no thread may be started, or there is no standard error: the host's own time limit for hooks remains
    _armed.append(faulthandler.cancel_dump_traceback_later)


_armed: list[Callable[[], None]] = []


def _no_limit() -> None:
    """Disarm the timers: who calls `main` from within a longer process is not to be ended by them."""
    while _armed:
        _armed.pop()()
    try:
        import _signal as signal

        signal.setitimer(signal.ITIMER_REAL, 0)
    except (ImportError, AttributeError):
        return


# --- events --------------------------------------------------------------------------------------------------------


def _session_start(home: str) -> str:
    """The project's facts, and its top active lessons for those units that the coin shows them to."""
    _read_reviewed(home)
    silent = exposure.published(home).active == 0 or not exposure.has_store(home)
    if silent and not exposure.has_facts(home):
        _drain_stdin()
        return ""
    event = _event()
    from ratchet.lessons import reply

    _end_in_time_in_c()
    return reply.at_start(home, _session(event), project=_text(event, "cwd"), append=_appending(home))


def _read_reviewed(home: str) -> None:
    """Take in the repository's own lessons when they changed (a first clone, a pull), so that this session has them.
    The host calls in the project's folder; the event is not read yet."""
    try:
        project = os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
    except OSError:  # a folder that is gone
        return
    if not os.path.exists(os.path.join(project, ".ratchet")):
        return
    from ratchet.integrations import detached
    from ratchet.lessons import reviewed

    if reviewed.changed(home, project):
        reviewed.note(home, project)
        detached.wait_for(detached.start(home, project=project), REVIEWED_WAIT_S)


def _after_failure(home: str) -> str:
    """Journal the failure; answer with the lesson for it, if an active one is known and the coin shows it."""
    event = _event()
    row = failed_row(event)
    if not _appending(home)({"r": "outcome", **row}):
        return ""
    from ratchet.lessons import reply

    _end_in_time_in_c()
    return reply.to_failure(home, row, _appending(home))


def _before_step(home: str) -> str:
    """The lesson for a step that literally repeats one that failed. Never a decision about permission."""
    if exposure.published(home).active == 0 or not os.path.exists(exposure.store_path(home)):
        _drain_stdin()
        return ""
    event = _event()
    from ratchet.lessons import reply

    _end_in_time_in_c()
    tool, project = _text(event, "tool_name"), _text(event, "cwd")
    return reply.before_step(
        home, _session(event), tool, event.get("tool_input"), project=project, append=_appending(home)
    )


def _session_end(home: str) -> str:
    """Leave the rest to a process of its own: little time is given here."""
    event = _event()
    from ratchet.integrations import detached

    session, transcript = _session(event), _text(event, "transcript_path")
    detached.start(home, project=_text(event, "cwd"), session=session, transcript=transcript)
    return ""


def _unknown(home: str) -> str:
    del home
    _drain_stdin()
    raise ValueError("no such event; known: " + ", ".join(_EVENTS))


_EVENTS = {
    "SessionStart": _session_start,
    "PostToolUseFailure": _after_failure,
    "PreToolUse": _before_step,
    "SessionEnd": _session_end,
}


def failed_row(event: Row) -> Row:
    """The Outcome of a failed tool call, as the reader of histories would give it, under the same id."""
    import time

    from ratchet import ids
    from ratchet.failures import tool_call as toolcall
    from ratchet.failures.redaction.text import FOLDER, label

    tool, tool_input = _text(event, "tool_name") or "unknown", event.get("tool_input")
    session = _text(event, "session_id")
    step = toolcall.step_row(tool, tool_input)
    error = toolcall.untagged(_text(event, "error"))
    kind = "cancelled" if event.get("is_interrupt") is True else toolcall.certain_kind(error)
    if not kind and "ratchet" in f"{step.get('head', '')} {tool}":
        from ratchet.failures.ours import is_ours, own_words

        ours = is_ours(tool, _text(step, "input"), _text(step, "head"))
        error = own_words(error) if ours else error
    failure: Row = {
        "message": toolcall.message_text(error),
        "kind": kind,
        "exit_code": toolcall.exit_code_of(error) or "",
        "flagged": True,
    }
    row: Row = {
        "id": ids.outcome_id(AGENT, session, _text(event, "tool_use_id") or ids.uuid7()),
        "agent": AGENT,
        "task": label(tool),
        "ok": False,
        "started_at": time.time(),
        "source": AGENT,
        "session": _session(event),
        "thread": label(_text(event, "agent_id")),
        "project": label(_text(event, "cwd"), FOLDER),
        "failure": {name: value for name, value in failure.items() if value != ""},
        "step": step,
    }
    return {name: value for name, value in row.items() if value != ""}


# --- edges ---------------------------------------------------------------------------------------------------------


def _event() -> Row:
    """The event on standard input. Raises ValueError when it is no JSON object."""
    from ratchet.recording import wire

    found = wire.read(_read_stdin().decode("utf-8", "replace"))
    if not isinstance(found, dict):
        raise ValueError("the event is no JSON object")
    return found


def _read_stdin() -> bytes:
    pieces, size = [], 0
    while piece := os.read(0, 1 << 20):
        size += len(piece)
        if size <= STDIN_LIMIT_BYTES:
            pieces.append(piece)
    if size > STDIN_LIMIT_BYTES:
        raise ValueError(f"the event has {size} bytes")
    return b"".join(pieces)


def _drain_stdin() -> None:
    """Read the event to its end: a host that writes to a closed pipe would see an error."""
    try:
        while os.read(0, 1 << 20):
            continue
    except OSError:
        return  # no standard input at all


def _say(event: str, context: str) -> None:
    """Print the answer: one document, in one go."""
    from ratchet.recording import wire

    output = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}
    data = memoryview(wire.written_in_ascii(output).encode("ascii") + b"\n")
    while data:
        data = data[os.write(1, data) :]


def _appending(home: str) -> Callable[[Row], bool]:
    """Appends records to the segment that the hooks of a day share, and says whether each is on its way to disk."""
    from ratchet.recording.journal import Journal

    return Journal(home, shared=True).append


def log_fault(home: str, event: str, fault: BaseException) -> None:
    """One line about a fault. With nowhere to write there is nothing left to tell."""
    import time

    said = " ".join(str(fault).split())[:300]
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {event or '-'} {type(fault).__name__}: {said}\n"
    try:
        path = os.path.join(exposure.hook_folder(home), "hook.log")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(path, flags, 0o600)
        try:
            if os.fstat(descriptor).st_size > LOG_LIMIT_BYTES:
                os.replace(path, path + ".old")
            os.write(descriptor, line.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        return


def _session(event: Row) -> str:
    """The session's name as it may be kept. Nearly all are UUIDs, for which nothing needs to be loaded."""
    session = _text(event, "session_id")
    if len(session) == _UUID_CHARS and session.count("-") == 4 and not set(session).difference(_UUID_OF):
        return session
    from ratchet.failures.redaction.text import label

    return label(session)


_UUID_CHARS = 36
_UUID_OF = frozenset("0123456789abcdef-")


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""
