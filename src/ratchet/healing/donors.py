"""Read other implementations that are right, as a person names them: text, which runs in the sandbox only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ratchet.errors import UsageError

_MOST_FILES = 200
_LARGEST_BYTES = 200_000


def donors_at(paths: Iterable[Path]) -> dict[str, str]:
    """Texts of Python files, and of those in folders, by path. Raises UsageError for a path that holds none."""
    found: dict[str, str] = {}
    for path in paths:
        held = {str(each): text for each in _files(path) if (text := _text(each))}
        if not held:
            raise UsageError(f"--donor {path}: no Python file can be read there; name a file or a folder of them")
        found |= held
    return dict([*found.items()][:_MOST_FILES])


def _files(path: Path) -> Iterator[Path]:
    return iter(sorted(path.rglob("*.py"))) if path.is_dir() else iter([path])


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8") if file.stat().st_size <= _LARGEST_BYTES else ""
    except (OSError, UnicodeDecodeError):
        return ""
