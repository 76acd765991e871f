"""Run the installed hooks, in one file since every module costs each event its import; never harm the host.

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

    from ratchet.integrations.clients.client import Client, ClientCall, ClientEvent, Role
    from ratchet.integrations.detached import Task
    from ratchet.records import Row

TIME_LIMIT_S = 4.0  # after this the host goes on without us, and below its own limit; a busy machine takes its time
GRACE_S = 0.3  # what Python code gets on top to end by itself, with a line in the log
STDIN_LIMIT_BYTES = 64_000_000  # a larger event is read to its end and not answered
REVIEWED_WAIT_S = 1.0  # how long a session start waits for lessons that came with the repository
LOG_LIMIT_BYTES = 256_000
SWEEP_EVERY_S = 60.0  # how often the histories of one project are looked at
BY_HAND = "--by-hand"
"""Answers as ever, and records nothing: who tries a hook is no agent that ran."""
CLAUDE_CODE = "ratchet.integrations.clients.claude_code:ClaudeCodeClient"


def run() -> None:
    """The installed command: `main`, then an exit that nothing can turn into a failure."""
    gc.disable()  # a process of 20 ms needs no collector
    main(sys.argv[1:])
    os._exit(0)


def main(arguments: Sequence[str]) -> None:
    """Handle one event: `EVENT [--home PATH] [--client package.module:Class] [--by-hand]`, its JSON on standard input.

    Never raises and never prints half an answer.
    """
    event, home = "", ""
    _recorded[:] = [BY_HAND not in arguments]
    try:
        event, home, named = told(arguments)
        _end_in_time(event, home)
        client = _client(named)
        role = client.events.get(event)
        if role is None:
            _drain_stdin()
            named = f"no event {event[:80]} of {client.name}" if event else "no event was named"
            raise ValueError(f"{named}; known: {', '.join(client.events)}")
        said, afterwards = _ROLES[role](home, client, role)
        if said:
            _say(_answer(client, event, said))
        if afterwards is not None:
            afterwards()
        _keep_expressions()
    except BaseException as fault:  # noqa: BLE001  (the edge of the process: nothing may pass, not even an interrupt)
        log_fault(home, event, fault)
    finally:
        _no_limit()


def told(arguments: Sequence[str]) -> tuple[str, str, str]:
    """(event, home, client): the home given, else RATCHET_HOME, else ~/.ratchet; the client given, else Claude Code."""
    words = [each for each in arguments if each != BY_HAND]
    given = {"--home": "", "--client": ""}
    for option in given:
        if option in words[:-1]:
            at = words.index(option)
            given[option] = words[at + 1]
            del words[at : at + 2]
    home = given["--home"] or os.environ.get("RATCHET_HOME") or os.path.join(os.path.expanduser("~"), ".ratchet")
    event = words[0] if words else ""
    return event, os.path.abspath(os.path.expanduser(home)), given["--client"] or CLAUDE_CODE


def _client(named: str) -> Client:
    """The client at `package.module:Class`, or of a short name. Its code is imported here: by a name that is not known
    before."""
    if ":" not in named:  # no installed hook names it so
        from ratchet import registry

        return registry.client(named)
    module, _, attribute = named.partition(":")
    client: Client = getattr(__import__(module, fromlist=[attribute]), attribute)()
    return client


def _named(client: Client) -> str:
    return f"{type(client).__module__}:{type(client).__qualname__}"


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
_recorded = [True]


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

Said = tuple[str, "Callable[[], object] | None"]
"""The answer ("" for none), and what is left to do once it is given."""


def _start(home: str, client: Client, role: Role) -> Said:
    """Give the project's facts, and its top active lessons for those units that the coin shows them to; after a
    compaction what the session itself knew. Then have the project's histories that grew be read."""
    from ratchet.integrations.clients.client import string_in

    project = _here()
    _read_reviewed(home, client, project)
    silent = _is_silent(home) and not exposure.has_facts(home)
    if silent and not _is_sweep_due(home, project):
        _drain_stdin()
        return "", None
    data = _read_stdin()
    said = ""
    if not silent:
        event = client.event(role, _parsed(home, data))
        from ratchet.lessons import reply

        _end_in_time_in_c()
        tell = reply.after_compaction if event.begun == "compact" else reply.at_start
        said = tell(home, _session(event), project=event.project, append=_appending(home), tools=client.tools)
    return said, lambda: _sweep(home, client, string_in(data, b"transcript_path"), project)


def _is_silent(home: str) -> bool:
    """Tell whether no lesson can be told."""
    return exposure.published(home).active == 0 or not exposure.has_store(home)


def _subagent(home: str, client: Client, role: Role) -> Said:
    """Give the same to a subagent, which does not see what its session was told."""
    if _is_silent(home) and not exposure.has_facts(home):
        _drain_stdin()
        return "", None
    event = client.event(role, _parsed(home, _read_stdin()))
    from ratchet.lessons import reply

    _end_in_time_in_c()
    return reply.at_start(
        home, _session(event), project=event.project, append=_appending(home), tools=client.tools
    ), None


def _finished(home: str, client: Client, role: Role) -> Said:
    """Hand over what the overseer left for the session, and answer the calls themselves."""
    data = _read_stdin()
    noted = ""
    if os.path.exists(os.path.join(home, "hook", "notes")):  # nobody was ever left one: no session needs to be known
        from ratchet.integrations.clients.client import string_in
        from ratchet.lessons import told

        noted = told.take(home, string_in(data, b"session_id"))
        if role == "prompt":  # a person is there: nothing is to be ended
            noted = noted.removeprefix(told.PAUSE)
    said, afterwards = _answered(home, client, role, data)
    return "\n".join(filter(None, (noted, said))), afterwards


def _answered(home: str, client: Client, role: Role, data: bytes) -> Said:
    """Journal the calls that failed; answer each once with its lesson, if an active one is known and the coin shows it,
    and with a sentence where the call closes a circle."""
    looked_at = client.is_looked_at(role) and _is_eighth(home, data)
    if not looked_at and not client.is_worth_reading(role, data):
        return "", None
    event = client.event(role, _parsed(home, data))
    session = _session(event)
    rows = [_failed_row(client, event, call, session) for call in event.calls]
    if not any(rows) and not looked_at:
        return "", None
    from ratchet.lessons import reply

    append = _appending(home)
    failed = [(call, row) for call, row in zip(event.calls, rows, strict=True) if row]
    kept = [
        (row, call.input)
        for call, row in failed
        if _claimed(home, session, call, row) and append({"r": "outcome", **row})
    ]
    _end_in_time_in_c()
    said = reply.to_failures(home, kept, append, client.tools)
    before = client.recent(event) if kept or not any(rows) else ()
    if before:
        from ratchet.integrations import circling

        circle = circling.told_of(home, event, before, session, [*map(bool, rows)])
        said = "\n".join(filter(None, (said, circle)))
    return said, None


def _answer(client: Client, event: str, said: str) -> Row:
    """The answer as the client takes it; a note of the overseer's may end the turn, as a person allowed it to."""
    from ratchet.lessons import told

    if not said.startswith(told.PAUSE):
        return client.answer(event, said)
    said = said[len(told.PAUSE) :]
    return {**client.answer(event, said), **client.pause(said)}


def _claimed(home: str, session: str, call: ClientCall, row: Row) -> bool:
    """Take a failed call to answer; False where another hook has it already. One that its client does not name gets
    its name here."""
    from ratchet.lessons import told

    if call.id or not session:
        return told.claimed(home, session, str(row["id"]))
    from ratchet import ids
    from ratchet.recording import live

    def key(before: int) -> str:
        return ids.outcome_id(str(row["agent"]), session, live.unnamed(call.tool, call.input, before))

    row["id"] = told.numbered(home, session, key)
    return True


def _is_eighth(home: str, data: bytes) -> bool:
    from ratchet.integrations.clients.client import string_in
    from ratchet.lessons import told

    return told.is_eighth(home, string_in(data, b"session_id"))


def _before(home: str, client: Client, role: Role) -> Said:
    """One line about a step of which a proven lesson is known. Never a decision about permission, nor a change."""
    from ratchet.integrations.clients.client import string_in
    from ratchet.lessons.ahead import trigger

    root, data = _here(), _read_stdin()
    lines, stands = trigger.held(home, root), string_in(data, b"cwd")
    if not lines and stands and stands != root:  # a shell in another project, or an event handed over by hand
        root, lines = stands, trigger.held(home, stands)
    near = trigger.near(lines, data, moved=stands != root) if lines else []
    if not near:
        return "", None
    from ratchet.lessons import reply

    event, append = client.event(role, _parsed(home, data)), _appending(home)

    def added(head: str) -> int:
        return trigger.added_since(client.recent(event), head)

    def edited() -> list[str]:
        return trigger.edited(client.recent(event))

    around = trigger.Surroundings(event.project, root, added, edited)
    for call in event.calls:
        met = trigger.met(near, call.tool, call.input, around)
        if met:
            return reply.before_step(home, _session(event), event.thread, call.id, met, around, append), None
    return "", None


def _ended(home: str, client: Client, role: Role) -> Said:
    """A turn or a session is over: leave reading it to a process of its own, since little time is given here."""
    event = client.event(role, _parsed(home, _read_stdin()))
    from ratchet.integrations import detached

    task: Task = "end" if role == "end" else "turn"
    detached.start(
        home, task, client=_named(client), project=event.project, session=_session(event), transcript=event.transcript
    )
    return "", None


_ROLES: dict[str, Callable[[str, Client, Role], Said]] = {
    "start": _start,
    "subagent": _subagent,
    "prompt": _finished,
    "before": _before,
    "failed": _finished,
    "finished": _finished,
    "turn": _ended,
    "compacting": _ended,
    "end": _ended,
}


def _failed_row(client: Client, event: ClientEvent, call: ClientCall, session: str) -> Row | None:
    """The Outcome of a call that failed; None of one that did not."""
    from ratchet.recording.live import failed_row

    return failed_row(
        client.agent or client.name,
        call.tool,
        call.input,
        call.said,
        session=session,
        key=call.id,
        flag=call.flag,
        exit_code=call.exit_code,
        kind=call.kind,
        thread=event.thread,
        project=event.project,
    )


# --- histories -----------------------------------------------------------------------------------------------------


def _here() -> str:
    """The project's folder: hosts call in it, and their event is not read yet."""
    try:
        return os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
    except OSError:  # a folder that is gone
        return ""


def _read_reviewed(home: str, client: Client, project: str) -> None:
    """Take in the repository's own lessons when they changed (a first clone, a pull), so that this session has them."""
    if not project or not os.path.exists(os.path.join(project, ".ratchet")):
        return
    from ratchet.integrations import detached
    from ratchet.lessons import reviewed

    if reviewed.changed(home, project):
        reviewed.note(home, project)
        detached.wait_for(detached.start(home, "reviewed", client=_named(client), project=project), REVIEWED_WAIT_S)


def _is_sweep_due(home: str, project: str) -> bool:
    """Tell whether the project's histories were not looked at in the last minute."""
    import time

    try:
        return time.time() - os.stat(_sweep_mark(home, project)).st_mtime >= SWEEP_EVERY_S
    except OSError:
        return True


def _sweep(home: str, client: Client, transcript: str, project: str) -> None:
    """Have what earlier sessions of the project left unread be read: one that was killed told nobody of its end."""
    if not transcript or not _is_sweep_due(home, project):
        return
    mark = _sweep_mark(home, project)
    exposure.hook_folder(home)
    os.makedirs(os.path.dirname(mark), mode=0o700, exist_ok=True)
    os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    os.utime(mark)
    from ratchet.integrations import detached

    detached.start(home, "sweep", client=_named(client), project=project, transcript=transcript)


def _sweep_mark(home: str, project: str) -> str:
    from ratchet.ids import hex_of

    return os.path.join(home, "hook", "swept", hex_of(project)[:24])


# --- edges ---------------------------------------------------------------------------------------------------------


def _parsed(home: str, data: bytes) -> Row:
    """The event. Raises ValueError when it is no JSON object. From here on expressions are taken from the home."""
    from ratchet.failures import expressions
    from ratchet.recording import wire

    expressions.keep_in(os.path.join(home, "hook"))
    found = wire.read(data.decode("utf-8", "replace"))
    if not isinstance(found, dict):
        raise ValueError("the event is no JSON object")
    return found


def _keep_expressions() -> None:
    """Spare the next processes what this one had to compile."""
    if "ratchet.failures.expressions" in sys.modules:  # most events need none
        from ratchet.failures import expressions

        expressions.kept()


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


def _say(answer: Row) -> None:
    """Print the answer: one document, in one go."""
    from ratchet.recording import wire

    data = memoryview(wire.written_in_ascii(answer).encode("ascii") + b"\n")
    while data:
        data = data[os.write(1, data) :]


def _appending(home: str) -> Callable[[Row], bool]:
    """Appends records to the segment that the hooks of a day share, and says whether each is on its way to disk."""
    from ratchet.recording.journal import Journal

    return Journal(home, shared=True).append if _recorded[0] else bool


def log_fault(home: str, event: str, fault: BaseException) -> None:
    """One line about a fault. With nowhere to write there is nothing left to tell."""
    import time

    said = " ".join(str(fault).split())[:300]
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {event or '-'} {type(fault).__name__}: {said}\n"
    try:
        if not _recorded[0]:  # a person ran it by hand, and reads what it says
            os.write(2, f"ratchet: {said}\n".encode("utf-8", "replace"))
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


def _session(event: ClientEvent) -> str:
    """The session's name as it may be kept. Nearly all are UUIDs, for which nothing needs to be loaded."""
    session = event.session
    if len(session) == _UUID_CHARS and session.count("-") == 4 and not set(session).difference(_UUID_OF):
        return session
    from ratchet.failures.redaction.text import label

    return label(session)


_UUID_CHARS = 36
_UUID_OF = frozenset("0123456789abcdef-")
