"""Reads what git's own files say of a folder: whose work tree it is, and where it was cloned from.

Of what lies in a folder a stranger may have written each word, as of an archive, so nothing is followed out of it: a
`.git` file counts where the place that it names points back, a configuration where no link leads elsewhere. Lean: hook
processes import this.
"""

from __future__ import annotations

import os

_INDEX_BYTES = 65_536  # some hundred files: one that nobody edited is among them
_HEADER, _ENTRY = 12, 62  # bytes of git's index, and of each of its entries before the name (gitformat-index)


def git_by(here: str, mark: str) -> str:
    """The folder of git's own that a folder's `.git` is or names, "" where that one lies elsewhere and does not point
    back, or cannot be read."""
    try:
        if os.path.isdir(mark):
            return mark if is_within(mark, here) else ""
        named = _text(mark, 4096)
        git = os.path.normpath(os.path.join(here, named.removeprefix("gitdir:").strip()))
        if main := main_of(git):
            back = os.path.join(git, _text(os.path.join(git, "gitdir"), 4096).strip())
            return git if os.path.isfile(os.path.join(main, "HEAD")) and _is_same(os.path.dirname(back), here) else ""
        return git if named.startswith("gitdir:") and _is_work_tree(here, git) else ""
    except (OSError, ValueError):
        return ""


def main_of(git: str) -> str:
    """The folder that all work trees of a repository share, by that of one linked work tree; "" for any other."""
    main, found, name = git.rpartition("/worktrees/")
    return main if found and "/" not in name else ""


def repository_by(here: str, mark: str) -> str:
    """The repository that a folder's `.git` file names: its main folder, or the folder of its objects where that is
    elsewhere; the folder itself where that place does not point back to it, or cannot be read."""
    git = git_by(here, mark)
    return main_of(git).removesuffix("/.git") or git or here


def _is_work_tree(here: str, git: str) -> bool:
    """Tell whether a folder of objects says that its files are checked out here: it is configured (a submodule), or it
    lies here itself, or its index has seen the files (`--separate-git-dir` writes nothing else down)."""
    for name in ("config.worktree", "config"):
        if said := _configured(os.path.join(git, name), "core", "worktree"):
            return _is_same(os.path.join(git, said), here)
    if git.endswith("/.git"):  # of the folder that it lies in
        return False
    own = git != here and os.path.isdir(git) and is_within(git, here)
    return own or _has_seen(os.path.join(git, "index"), here)


def _has_seen(index: str, here: str) -> bool:
    """Tell whether a file here is one of an index: the inode and the second of its last change, which no archive
    brings along, stand in it."""
    held = _content(index, _INDEX_BYTES)
    at = _HEADER
    while held[4:8] in (b"\0\0\0\2", b"\0\0\0\3") and at + _ENTRY < len(held):
        extended = held[at + 60] & 0x40
        start = at + _ENTRY + (2 if extended else 0)
        name = held[start : max(held.find(b"\0", start), start)]
        try:
            found = os.lstat(os.path.join(os.fsencode(here), name))
        except OSError:
            found = None
        if found and held[at + 8 : at + 12] + held[at + 20 : at + 24] == _low(int(found.st_mtime)) + _low(found.st_ino):
            return True
        at += (start - at + len(name) + 8) & ~7  # padded to eight bytes, one zero at least
    return False


def _low(number: int) -> bytes:
    return (number & 0xFFFFFFFF).to_bytes(4, "big")


def _is_same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def origin_of(repository: str) -> str:
    """The URL of the remote `origin`, as it was written in a file of the repository's own."""
    git = os.path.join(repository, ".git")
    config = os.path.join(git if os.path.lexists(git) else repository, "config")
    return _configured(config, 'remote "origin"', "url") if is_within(config, repository) else ""


def _configured(path: str, section: str, name: str) -> str:
    """The first value of a name in a section of one of git's configurations, without what it includes; "" where there
    is none."""
    try:
        lines = _text(path, 65_536).split("\n")
    except (OSError, ValueError):
        return ""
    inside = False
    for line in lines:
        said = line.strip()
        if said.startswith("["):
            head, _, said = said[1:].partition("]")
            word, _, rest = head.strip().partition(" ")
            inside = f"{word.lower()} {rest.strip()}".strip() == section
        key, _, value = said.partition("=")
        if inside and key.strip().lower() == name:
            return _unquoted(value)
    return ""


def _unquoted(value: str) -> str:
    kept, quoted, chars = "", False, iter(value.strip())
    for char in chars:
        if char == '"':
            quoted = not quoted
        elif char in "#;" and not quoted:
            break
        else:
            kept += next(chars, "") if char == "\\" else char
    return kept.rstrip()


def _text(path: str, limit_bytes: int) -> str:
    return _content(path, limit_bytes).decode("utf-8", "surrogateescape").strip("\n")


def _content(path: str, limit_bytes: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))  # a pipe is not waited for
    try:
        return os.read(descriptor, limit_bytes)
    finally:
        os.close(descriptor)


def is_within(path: str, folder: str) -> bool:
    """Tell whether a path lies in a folder, wherever links lead."""
    above = os.path.realpath(folder)
    return os.path.commonpath([above, os.path.realpath(path)]) == above
