"""Changes of files as text: diffs that `git apply` takes, and a change of one text carried over to a later edit of it.

Pure. Paths are relative, with `/`; contents are bytes, so that no encoding and no line ending is ever lost.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from ratchet.sandbox.command import FileChange

CONTEXT_LINES = 3
_NOTHING = b"\\ No newline at end of file\n"
_ESCAPES = {ord('"'): '\\"', ord("\\"): "\\\\", ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
LINK_MODE = 0o120000


def taking(episode: str, attempt: int, folder: str) -> str:
    """The command with which a person takes the change of one attempt into the project."""
    return f"ratchet episodes diff {episode} --attempt {attempt} | git -C {shlex.quote(folder)} apply -p1"


def diff_text(changes: Iterable[FileChange]) -> str:
    """The changes as one patch for `git apply -p1`, in the order given; "" for none."""
    return "".join(map(file_diff, changes))


def file_diff(change: FileChange) -> str:
    """The patch of one file: a unified diff, or git's own binary form where the content is no UTF-8 text."""
    if change.before is not None and change.after is not None and _became_link(change.before_mode, change.after_mode):
        # A file that became a link, or the other way round: git speaks of two changes.
        removed, added = replace(change, after=None, after_mode=0), replace(change, before=None, before_mode=0)
        return _one_diff(removed) + _one_diff(added)
    return _one_diff(change)


def _became_link(before_mode: int, after_mode: int) -> bool:
    return (before_mode == LINK_MODE) != (after_mode == LINK_MODE)


def _one_diff(change: FileChange) -> str:
    old, new = _quoted("a/" + change.path), _quoted("b/" + change.path)
    lines = [f"diff --git {old} {new}\n"]
    if change.before is None:
        lines.append(f"new file mode {_mode(change.after_mode)}\n")
    elif change.after is None:
        lines.append(f"deleted file mode {_mode(change.before_mode)}\n")
    elif change.before_mode != change.after_mode:
        lines += [f"old mode {_mode(change.before_mode)}\n", f"new mode {_mode(change.after_mode)}\n"]
    before, after = change.before or b"", change.after or b""
    if before == after:
        return "".join(lines)
    if not (_is_text(before) and _is_text(after)):
        zero = "0" * 40
        names = (
            zero if change.before is None else _object_id(before),
            zero if change.after is None else _object_id(after),
        )
        lines.append(f"index {names[0]}..{names[1]}\nGIT binary patch\n{_literal(after)}\n{_literal(before)}\n")
        return "".join(lines)
    end = "\t\n" if " " in change.path else "\n"  # behind a name with a space, a tab tells where it ends
    lines.append("--- /dev/null\n" if change.before is None else f"--- {old}{end}")
    lines.append("+++ /dev/null\n" if change.after is None else f"+++ {new}{end}")
    lines += [hunk.decode() for hunk in _hunks(_lines(before), _lines(after))]
    return "".join(lines)


def _mode(mode: int) -> str:
    return "120000" if mode == LINK_MODE else "100755" if mode & 0o111 else "100644"


def _quoted(path: str) -> str:
    raw = path.encode("utf-8", "surrogateescape")
    if all(32 <= byte < 127 and byte not in _ESCAPES for byte in raw):
        return path
    return (
        '"' + "".join(_ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in raw) + '"'
    )


def _is_text(content: bytes) -> bool:
    if b"\0" in content:
        return False
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _object_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _literal(content: bytes) -> str:
    """One side of a binary patch: compressed, in lines of 52 bytes, each behind a letter that tells its length."""
    packed = zlib.compress(content, 9)
    lines = [f"literal {len(content)}\n"]
    for at in range(0, len(packed), 52):
        part = packed[at : at + 52]
        letter = chr(ord("A") + len(part) - 1) if len(part) <= 26 else chr(ord("a") + len(part) - 27)
        lines.append(letter + base64.b85encode(part, pad=True).decode() + "\n")
    return "".join(lines)


def _lines(content: bytes) -> list[bytes]:
    """Lines with their ends. Only a line feed ends one, as git sees it."""
    found = content.split(b"\n")
    return [line + b"\n" for line in found[:-1]] + ([found[-1]] if found[-1] else [])


def _hunks(before: Sequence[bytes], after: Sequence[bytes]) -> Iterator[bytes]:
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(CONTEXT_LINES):
        first, last = group[0], group[-1]
        yield b"@@ -%s +%s @@\n" % (_span(first[1], last[2]), _span(first[3], last[4]))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (_line(b" ", line) for line in before[i1:i2])
                continue
            yield from (_line(b"-", line) for line in before[i1:i2])
            yield from (_line(b"+", line) for line in after[j1:j2])


def _span(start: int, stop: int) -> bytes:
    length = stop - start
    beginning = start + 1 if length else start
    return b"%d" % beginning if length == 1 else b"%d,%d" % (beginning, length)


def _line(sign: bytes, line: bytes) -> bytes:
    return sign + line if line.endswith(b"\n") else sign + line + b"\n" + _NOTHING


# -- carried over ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Edit:
    """Lines `start` to `stop` of the old text become `new`."""

    start: int
    stop: int
    new: tuple[bytes, ...]


def carried_over(before: bytes, after: bytes, present: bytes) -> bytes | None:
    """The change from `before` to `after`, made to `present`: what somebody else changed meanwhile stays. None where
    both changed the same lines.

    The present text's line ends are kept.
    """
    if present == before:
        return after
    if present == after:
        return present
    if b"\r\n" in before and b"\r\n" not in present and b"\n" in present:
        before, after = before.replace(b"\r\n", b"\n"), after.replace(b"\r\n", b"\n")
    elif b"\r\n" in present and b"\r\n" not in before and present.count(b"\n") == present.count(b"\r\n"):
        before, after = before.replace(b"\n", b"\r\n"), after.replace(b"\n", b"\r\n")
    old = _lines(before)
    ours, theirs = _edits(old, _lines(after)), _edits(old, _lines(present))
    if any(_collide(one, other) for one in ours for other in theirs if one != other):
        return None
    merged: list[bytes] = []
    at = 0
    for edit in sorted({*ours, *theirs}, key=lambda each: (each.start, each.stop)):
        merged += [*old[at : edit.start], *edit.new]
        at = edit.stop
    return b"".join([*merged, *old[at:]])


def _edits(old: Sequence[bytes], new: Sequence[bytes]) -> list[_Edit]:
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [_Edit(i1, i2, tuple(new[j1:j2])) for tag, i1, i2, j1, j2 in codes if tag != "equal"]


def _collide(one: _Edit, other: _Edit) -> bool:
    """Edits of the same lines, and two insertions at one place: which came first cannot be told. An insertion at the
    edge of a replacement has its order."""
    if one.start == one.stop and other.start == other.stop:
        return one.start == other.start
    return max(one.start, other.start) < min(one.stop, other.stop) or _inside(one, other) or _inside(other, one)


def _inside(one: _Edit, other: _Edit) -> bool:
    return one.start == one.stop and other.start < one.start < other.stop
