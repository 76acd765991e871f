"""The part of a project that a function needs, as a folder to make a workspace of: its files, and the recorded call."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ratchet.errors import Refused
from ratchet.healing.in_code.recorded import CALL, FOLDER, SCRIPT, RecordedCall
from ratchet.healing.in_code.replaying import SCRIPT_TEXT
from ratchet.sandbox.copyin import copy_in

_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg", "requirements.txt", "Pipfile", ".ratchet")
_FOREIGN = frozenset(("site-packages", "dist-packages"))


@dataclass(frozen=True, slots=True)
class Project:
    """Project of a function's file: `folder` is the project's; `marked` says that it is known to be one, and not just
    the folder that a program lies in, with whatever else is there."""

    folder: Path
    path: str
    marked: bool

    @property
    def paths(self) -> tuple[str, ...]:
        """Folders of the project that modules are imported from, relative to it."""
        found = [each for entry in sys.path if (each := _within(self.folder, entry)) is not None]
        return tuple(dict.fromkeys(found)) or (".",)


def project_of(file: Path, module: str) -> Project:
    """The project of a function's file: the nearest folder above it that says so, else the one that its module is
    imported from. Raises Refused for a file of an installed package."""
    real = file.resolve()
    if _FOREIGN & set(real.parts):
        raise Refused(f"{real} belongs to an installed package; mend it where it is made")
    home = Path.home()
    for folder in real.parents:
        if folder in (home, Path("/")):
            break
        if any((folder / mark).exists() for mark in _MARKS):
            return Project(folder, real.relative_to(folder).as_posix(), marked=True)
    depth = 0 if module == "__main__" else module.count(".") + (real.name == "__init__.py")
    folder = real.parents[min(depth, len(real.parents) - 1)]
    return Project(folder, real.relative_to(folder).as_posix(), marked=False)


def stage(project: Project, content: bytes, call: RecordedCall, place: Path, *, whole: bool) -> None:
    """Make the folder: the whole project where that is known to be one or a check needs it (`whole`), else the modules
    that this process has loaded from it. The function's file has `content`."""
    place.mkdir(parents=True, mode=0o755)
    if project.marked or whole:
        if project.folder in (Path.home(), Path("/")):
            raise Refused(f"{project.folder} is no project: a check that is a command needs a folder of its own")
        copy_in(project.folder, place, None)
    else:
        for path in _loaded(project.folder):
            _write(place / path, (project.folder / path).read_bytes())
    _write(place / project.path, content)
    _write(place / FOLDER / SCRIPT, SCRIPT_TEXT.encode())
    _write(place / FOLDER / CALL, call.dumped())


def _loaded(folder: Path) -> Iterator[str]:
    """Source files below a folder that modules of this process come from, and the packages around them."""
    found: set[str] = set()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        path = _within(folder, file) if isinstance(file, str) and file.endswith(".py") else None
        if path is None or _FOREIGN & set(Path(path).parts):
            continue
        found.add(path)
        found.update(f"{above.as_posix()}/__init__.py" for above in Path(path).parents if above != Path())
    yield from sorted(each for each in found if (folder / each).is_file())


def _within(folder: Path, entry: str) -> str | None:
    path = Path(entry or ".").resolve()
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) and path.exists() else None


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(content)
