"""The tasks that come with Ratchet: small buggy programs with tests, for the demo, benchmarks and comparisons.

A task is a folder of `library/`: `project/` (the buggy program and its tests), `held/` (tests that no solver sees),
`fixed/` (the files of the project that were wrong, right), and `task.json`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ratchet.errors import NotFound, UsageError

LIBRARY = Path(__file__).parent / "library"
CHECK = ("python", "-m", "pytest", "-q")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShippedTask:
    """One task. Contents by path in the project; `fixed` holds those files that differ in the right program."""

    name: str
    title: str
    kind: str
    edits: int
    """Changes that lead to the right program."""
    project: Mapping[str, str]
    held: Mapping[str, str]
    fixed: Mapping[str, str]
    fault: str = ""
    """Class of the fault, where it was put in by `faults`."""

    @property
    def sources(self) -> dict[str, str]:
        """Files of the right program, without its tests."""
        return {path: text for path, text in {**self.project, **self.fixed}.items() if not path.startswith("test_")}

    def lay_out(self, folder: Path) -> Path:
        """Write the buggy project into a new folder; return it. Raises UsageError where there is something."""
        return _written(folder, self.project)

    def lay_out_held(self, folder: Path) -> Path:
        """Write the held-back tests into a new folder, under names that no file of the project has."""
        return _written(folder, {_apart(name): text for name, text in self.held.items()})


def names() -> list[str]:
    """Of all tasks, in order."""
    return sorted(each.name for each in LIBRARY.iterdir() if (each / "task.json").is_file())


def task(name: str) -> ShippedTask:
    """Raises NotFound."""
    folder = LIBRARY / name
    if not name.isidentifier() or not (folder / "task.json").is_file():
        raise NotFound(f"no shipped task {name!r}; there are: {', '.join(names())}")
    about = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    project, held, fixed = (_texts(folder / part) for part in ("project", "held", "fixed"))
    return ShippedTask(
        name=name, title=about["title"], kind=about["kind"], edits=about["edits"],
        project=project, held=held, fixed=fixed,
    )  # fmt: skip


def all_tasks() -> list[ShippedTask]:
    return [task(name) for name in names()]


def _texts(folder: Path) -> dict[str, str]:
    """Contents by name, as they are: line ends, too."""
    return {each.name: each.read_bytes().decode("utf-8") for each in sorted(folder.glob("*.py"))}


def _written(folder: Path, files: Mapping[str, str]) -> Path:
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for name, text in files.items():
            (folder / name).write_bytes(text.encode("utf-8"))
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def _apart(name: str) -> str:
    return f"test_held_{name.removeprefix('test_')}"
