"""Changes as a patch that `git apply -p1` takes: modes, links, missing line ends and binary files included."""

from __future__ import annotations

import base64
import difflib
import hashlib
import zlib
from collections.abc import Iterable, Iterator

from ratchet.confinement import FileChange

_CONTEXT_LINES = 3
_LITERAL_LINE_BYTES = 52  # what one line of git's base-85 form holds
_LENGTHS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def patch(changes: Iterable[FileChange]) -> bytes:
    """The text of these changes, in their order; empty for none."""
    return b"".join(part for change in changes for part in _file(change))


def _file(change: FileChange) -> Iterator[bytes]:
    if change.before is not None and change.after is not None and _kind(change.before_mode) != _kind(change.after_mode):
        # A file that became a link, or the other way round: git speaks of two changes.
        for old, new in ((change.before, None), (None, change.after)):
            yield from _file(
                FileChange(
                    path=change.path,
                    before=old,
                    after=new,
                    before_mode=change.before_mode if old is not None else 0,
                    after_mode=change.after_mode if new is not None else 0,
                )
            )
        return
    name = change.path.encode("utf-8", "surrogateescape")
    old, new = _quoted(b"a/" + name), _quoted(b"b/" + name)
    yield b"diff --git %s %s\n" % (old, new)
    if change.before is None:
        yield b"new file mode %s\n" % _mode(change.after_mode)
    elif change.after is None:
        yield b"deleted file mode %s\n" % _mode(change.before_mode)
    elif change.before_mode != change.after_mode:
        yield b"old mode %s\nnew mode %s\n" % (_mode(change.before_mode), _mode(change.after_mode))
    before, after = change.before or b"", change.after or b""
    if before == after:
        return
    kept_mode = b" " + _mode(change.after_mode) if change.before_mode == change.after_mode else b""
    yield b"index %s..%s%s\n" % (_id(change.before), _id(change.after), kept_mode)
    if b"\0" in before or b"\0" in after:
        yield b"GIT binary patch\n"
        yield from _literal(after)
        yield from _literal(before)
        return
    # Behind a name with a space, a tab tells where it ends.
    end = b"\t\n" if b" " in name else b"\n"
    yield b"--- %s" % (b"/dev/null\n" if change.before is None else old + end)
    yield b"+++ %s" % (b"/dev/null\n" if change.after is None else new + end)
    yield from _hunks(before, after)


def _id(content: bytes | None) -> bytes:
    """A content's id in git; git takes no binary patch without both."""
    if content is None:
        return b"0" * 40
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest().encode()


def _kind(mode: int) -> int:
    return mode & 0o170000


def _mode(mode: int) -> bytes:
    return {0o644: b"100644", 0o755: b"100755", 0o120000: b"120000"}[mode]


def _hunks(before: bytes, after: bytes) -> Iterator[bytes]:
    old, new = _lines(before), _lines(after)
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_CONTEXT_LINES):
        first, last = group[0], group[-1]
        yield b"@@ -%s +%s @@\n" % (_span(first[1], last[2]), _span(first[3], last[4]))
        for tag, low, high, new_low, new_high in group:
            if tag == "equal":
                yield from (_line(b" ", each) for each in old[low:high])
                continue
            yield from (_line(b"-", each) for each in old[low:high])
            yield from (_line(b"+", each) for each in new[new_low:new_high])


def _lines(text: bytes) -> list[bytes]:
    """Lines with their ends; only a line feed ends one."""
    parts = text.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _span(low: int, high: int) -> bytes:
    return b"%d,%d" % (low + (high > low), high - low)


def _line(sign: bytes, text: bytes) -> bytes:
    return sign + text if text.endswith(b"\n") else sign + text + b"\n\\ No newline at end of file\n"


def _literal(content: bytes) -> Iterator[bytes]:
    yield b"literal %d\n" % len(content)
    packed = zlib.compress(content)
    for at in range(0, len(packed), _LITERAL_LINE_BYTES):
        part = packed[at : at + _LITERAL_LINE_BYTES]
        padded = part + b"\0" * (-len(part) % 4)
        yield _LENGTHS[len(part) - 1].encode() + base64.b85encode(padded) + b"\n"
    yield b"\n"


def _quoted(name: bytes) -> bytes:
    """A name as git writes it: in quotes with octal escapes where it is not plain."""
    if all(0x20 <= each < 0x7F and each not in b'"\\' for each in name):
        return name
    escaped = b"".join(
        b"\\" + bytes([each]) if each in b'"\\' else bytes([each]) if 0x20 <= each < 0x7F else b"\\%03o" % each
        for each in name
    )
    return b'"' + escaped + b'"'
