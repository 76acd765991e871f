"""Remembers what a session was told by hooks: which calls were answered, and which lessons it was shown in vain.

A file of a few bytes for each session that had a failure, in HOME/hook/sessions; lines are appended whole, so hooks of
one session that run side by side agree without a lock. Lean: hook processes import this.
"""

from __future__ import annotations

import os

from ratchet.ids import hex_of
from ratchet.lessons import exposure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

IN_VAIN = 2
"""How often a session is shown one lesson: a third time would tell it nothing new."""
NOTES = "notes"
"""Folder of the notes that the overseer left for sessions."""
_LIMIT_BYTES = 1_000_000
_CALL, _LESSON = "call", "lesson"


def claimed(home: str, session: str, key: str) -> bool:
    """Take a call of a session to answer; False where another hook has it already. Raises OSError."""
    if not session or not key:
        return True
    mine = f"{_CALL} {hex_of(key)[:24]} "
    token = os.urandom(6).hex()
    text = _appended(home, session, f"{mine}{token}\n")
    first = text.partition(mine)[2][: len(token)]
    return first == token


def numbered(home: str, session: str, key: Callable[[int], str]) -> str:
    """Take the next call of a session among those that nothing but a number tells apart; return its key. Raises
    OSError."""
    number = 0
    while not claimed(home, session, key(number)):
        number += 1
    return key(number)


def note(home: str, session: str, thread: str, call: str, lesson_ids: Iterable[str]) -> None:
    """Remember that lessons were shown for a failed call. Raises OSError."""
    lines = "".join(f"{_LESSON} {_thread(thread)} {lesson_id} {hex_of(call)[:16]}\n" for lesson_id in lesson_ids)
    if session and lines:
        _appended(home, session, lines)


def in_vain(home: str, session: str, thread: str, call: str, *, often: int = IN_VAIN) -> frozenset[str]:
    """The ids of the lessons that this session, or this subagent of it, was shown as `often` as it may be.

    Showings for this very call do not count: who asks again about a call gets its answer again. Raises OSError."""
    if not session:
        return frozenset()
    mark, own = _thread(thread), hex_of(call)[:16]
    shown = {each[1:] for each in _shown(home, session) if each[0] == mark and each[2] != own}
    ids = [lesson_id for lesson_id, _ in shown]
    return frozenset(each for each in ids if ids.count(each) >= often)


def _shown(home: str, session: str) -> list[tuple[str, str, str]]:
    """(thread, lesson, call) of what was shown, in its order."""
    lines = [line.split(" ") for line in _text(home, session).split("\n")]
    return [(words[1], words[2], words[3]) for words in lines if len(words) == 4 and words[0] == _LESSON]


def lessons(home: str, session: str) -> list[str]:
    """The ids of the lessons that a session was shown in failing turns, the latest first. Raises OSError."""
    shown = _shown(home, session) if session else []
    return list(dict.fromkeys(lesson_id for _, lesson_id, _ in reversed(shown)))


def is_eighth(home: str, session: str) -> bool:
    """Count one more of a session's events; True at every eighth. Raises OSError."""
    path = _path(home, session).removesuffix(".told") + ".count"
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        descriptor = os.open(path, flags, 0o600)
    try:
        os.write(descriptor, b".")
        return os.fstat(descriptor).st_size % 8 == 0
    finally:
        os.close(descriptor)


PAUSE = "[pause] "
"""What a note begins with that is to end the session's turn, where its client knows how."""


def leave(home: str, session: str, note: str) -> None:
    """Leave a note for a session, which its next event takes along. A newer one takes the place of one that nobody has
    taken. Raises OSError."""
    path = _note_path(home, session)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    scratch = f"{path}.{os.urandom(4).hex()}"
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, note.encode("utf-8", "replace"))
    finally:
        os.close(descriptor)
    os.replace(scratch, path)


def take(home: str, session: str) -> str:
    """Take the note that was left for a session; "" where there is none, or another hook was first. Raises OSError."""
    path = _note_path(home, session)
    mine = f"{path}.{os.urandom(4).hex()}"
    try:
        os.rename(path, mine)
    except FileNotFoundError:
        return ""
    descriptor = os.open(mine, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _LIMIT_BYTES).decode("utf-8", "replace")
    finally:
        os.close(descriptor)
        os.unlink(mine)


def _note_path(home: str, session: str) -> str:
    return os.path.join(exposure.hook_folder(home), NOTES, hex_of(session)[:24])


def _thread(thread: str) -> str:
    return hex_of(thread)[:8]


def _path(home: str, session: str) -> str:
    return os.path.join(exposure.hook_folder(home), "sessions", hex_of(session)[:24] + ".told")


def _text(home: str, session: str) -> str:
    try:
        descriptor = os.open(_path(home, session), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    try:
        return os.read(descriptor, _LIMIT_BYTES).decode("ascii", "replace")
    finally:
        os.close(descriptor)


def _appended(home: str, session: str, lines: str) -> str:
    """Add lines to the file; return all that it holds then."""
    path = _path(home, session)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, lines.encode("ascii", "replace"))
        return os.pread(descriptor, _LIMIT_BYTES, 0).decode("ascii", "replace")
    finally:
        os.close(descriptor)
