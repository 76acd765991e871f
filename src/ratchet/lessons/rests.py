"""Tells when a lesson has gone stale: what it rests on in the project is no longer there.

A lesson cites files, names within them, and versions of tools (`lessons.citing` writes them down when it is learnt).
Each is looked at when the lesson is delivered: a stat where nothing changed, else one read of a small file for the
line, name or version that counts, since most changes leave those alone. Lean: hook processes import this.
"""

from __future__ import annotations

import os

from ratchet.failures.expressions import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ratchet.records import Json, Row

IN_A_HOME = r"(?<![\w./~-])/(?:Users|home)/[^/\s\"'`]+(?=/)"
"""A folder in somebody's home: no such path is on another machine."""
READ_BYTES = 1_000_000  # of a cited file; a larger one is no source, and is believed
_LOOKED_AT = 8  # citations of one lesson
_NEAR_CHARS = 120  # behind a name, within which its version stands
# Directly behind the name, as manifests write it: `": "^8.1`, ` = "8`, `>=8`, `, "~> 8`, ` = { version = "8`, ` v8`.
_EXTRAS_AND_SIGN = r"""(?:\[[\w,-]{1,40}\])?["'\])}]{0,2}\s{0,8}(?:[:=,({]\s{0,2}){0,2}(?:version\s?[=:]\s?)?"""
_MODULE = r"(?:/[\w.-]+)*/v(\d+)\b"
_VERSION = _EXTRAS_AND_SIGN + r"""["'(]?[v^~=<>!, ]{0,6}(\d+)(?:\.(\d+))?"""


def stale(lesson: Row, folder: str) -> str:
    """Say why a lesson no longer holds in the project of `folder`, "" where nothing speaks against it. What cannot be
    read is believed: a lesson is withheld for what is known, never for what is not."""
    rests = lesson.get("rests")
    if not isinstance(rests, list) or not rests:
        return ""
    root = top_of(folder)
    if not root:
        return ""
    for each in rests[:_LOOKED_AT]:
        if isinstance(each, dict) and (reason := _changed(each, root)):
            return reason
    return ""


def folder_of(lesson: Row) -> str:
    """The folder in which a lesson was learnt, for who asks from nowhere; "" where none is known."""
    projects = lesson.get("projects")
    return str(projects[-1]) if isinstance(projects, list) and projects else ""


def top_of(folder: str) -> str:
    """The folder in which a project's files lie: the nearest one above with a `.git`, else itself; "" for none."""
    here = os.path.normpath(folder) if os.path.isabs(folder) else ""
    first = here
    while here and here != os.path.dirname(here):
        if os.path.exists(os.path.join(here, ".git")):
            return here
        here = os.path.dirname(here)
    return first if first and os.path.isdir(first) else ""


def _changed(cited: dict[str, Json], root: str) -> str:
    path, kind, name = str(cited.get("path")), cited.get("kind"), str(cited.get("name") or "")
    full = os.path.join(root, path)
    try:
        found = os.stat(full)
    except (FileNotFoundError, NotADirectoryError):
        return f"`{path}` is gone"
    except (OSError, ValueError):
        return ""
    if kind == "path" or f"{found.st_size} {found.st_mtime_ns}" == cited.get("mark"):
        return ""
    text = text_of(full)
    if text is None:
        return ""
    if kind == "line":
        return "" if holds_line(text, name) else f"`{path}` no longer holds the line that failed"
    if kind == "name":
        return "" if holds_name(text, name) else f"`{path}` no longer names `{name}`"
    was, now = str(cited.get("version") or ""), version_in(text, name)
    return f"{name} is {now} now, it was {was} (`{path}`)" if now and was and now != was else ""


def text_of(path: str) -> str | None:
    """The text of a file; None for one that is too large, or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    try:
        if os.fstat(descriptor).st_size > READ_BYTES:
            return None
        return os.read(descriptor, READ_BYTES).decode("utf-8", "replace")
    except OSError:  # a folder
        return None
    finally:
        os.close(descriptor)


def holds_line(text: str, line: str) -> bool:
    """Tell whether a text still has a line, whatever its indent."""
    at = text.find(line)
    while at >= 0:
        start, end = text.rfind("\n", 0, at) + 1, at + len(line)
        stop = text.find("\n", end)
        if not text[start:at].strip() and not text[end : stop if stop >= 0 else len(text)].strip():
            return True
        at = text.find(line, end)
    return False


def holds_name(text: str, name: str) -> bool:
    """Tell whether a text has a name as a word of its own."""
    if name not in text:
        return False
    import re

    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def version_in(text: str, name: str) -> str:
    """The major version (`8`, or `0.9` below one) with which a manifest names a tool; "" where it names none."""
    if name not in text:
        return ""
    import re

    word = re.compile(rf"(?<![\w./@-]){re.escape(name)}(?![\w.]|-\w)")
    for found in word.finditer(text):
        rest = text[found.end() : found.end() + _NEAR_CHARS].partition("\n")[0]
        if (path := compiled(_MODULE).match(rest)) is not None:  # a module of Go says it in its path
            return path[1]
        if (version := compiled(_VERSION).match(rest)) is not None:
            return f"0.{version[2]}" if version[1] == "0" and version[2] else version[1]
    return ""
