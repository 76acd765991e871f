"""Writes files as git objects, without git: nothing that a repository's settings name can run."""

from __future__ import annotations

import hashlib
import os
import secrets
import zlib
from pathlib import Path

_MODES = {0o644: b"100644", 0o755: b"100755", 0o120000: b"120000"}


def write_tree(objects: Path, files: dict[str, tuple[int, bytes]]) -> str:
    """Write files (path -> mode as git has it, content) below an objects folder; return the id of their tree."""
    folders: dict[str, dict[str, tuple[bytes, bytes]]] = {"": {}}
    for path, (mode, content) in files.items():
        above, _, name = path.rpartition("/")
        _folder(folders, above)[name] = (_MODES[mode], _written(objects, b"blob", content))
    for path in sorted(folders, key=lambda each: each.count("/") + bool(each), reverse=True):  # deepest first
        tree = _written(objects, b"tree", _listed(folders[path]))
        if not path:
            return tree.hex()
        above, _, name = path.rpartition("/")
        folders[above][name] = (b"40000", tree)
    raise AssertionError("the root is among the folders")


def _folder(folders: dict[str, dict[str, tuple[bytes, bytes]]], path: str) -> dict[str, tuple[bytes, bytes]]:
    if path not in folders:
        _folder(folders, path.rpartition("/")[0])
        folders[path] = {}
    return folders[path]


def _listed(names: dict[str, tuple[bytes, bytes]]) -> bytes:
    """git sorts a folder as if its name ended with a slash."""
    encoded = [(os.fsencode(name), mode, id_) for name, (mode, id_) in names.items()]
    encoded.sort(key=lambda each: each[0] + (b"/" if each[1] == b"40000" else b""))
    return b"".join(mode + b" " + name + b"\0" + id_ for name, mode, id_ in encoded)


def _written(objects: Path, kind: bytes, content: bytes) -> bytes:
    whole = kind + b" %d\0" % len(content) + content
    id_ = hashlib.sha1(whole, usedforsecurity=False).digest()
    text = id_.hex()
    path = objects / text[:2] / text[2:]
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{secrets.token_hex(4)}")
        fresh.write_bytes(zlib.compress(whole, 1))
        fresh.chmod(0o444)
        fresh.replace(path)
    return id_
