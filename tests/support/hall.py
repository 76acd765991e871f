"""Where answers are scored in tests: a real sandbox, and for each answer a workspace of its own."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from ratchet.errors import Refused
from ratchet.evolving.bench.benchmark import BenchTask
from ratchet.evolving.bench.laying import write_files
from ratchet.evolving.scorers import Scored, score
from ratchet.ports import Sandbox
from ratchet.sandbox.choice import Sandboxes
from ratchet.sandbox.command import Command, Limits
from ratchet.sandbox.opening import copied

LIMITS = Limits(wall_s=60)


class Hall:
    """Scores answers, each in a workspace of its own."""

    def __init__(self, folder: Path, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self._folder = folder
        self._numbers = itertools.count()

    def score(
        self,
        task: BenchTask,
        files: Mapping[str, str],
        *,
        agent: str = "",
        removes: tuple[str, ...] = (),
        limits: Limits = LIMITS,
        sandbox: Sandbox | None = None,
    ) -> Scored:
        """What an agent that leaves these files, and runs this text of a shell before, gets."""
        place = self._folder / str(next(self._numbers))
        write_files(place / "project", task.files)
        workspace = copied(self.sandbox, place / "project", place / "workspace")
        try:
            script = "; ".join(filter(None, [f"rm -- {' '.join(removes)}" if removes else "", agent]))
            if script:
                self.sandbox.run(Command(argv=("sh", "-c", script), view=workspace.view()))
            for path, text in files.items():
                workspace.write(path, text.encode())
            return score(task, workspace, sandbox or self.sandbox, limits=limits)
        finally:
            workspace.close()
            shutil.rmtree(place, ignore_errors=True)


def opened(factory: pytest.TempPathFactory) -> Hall:
    """A hall with this machine's sandbox; skips the test where there is none."""
    try:
        chosen = Sandboxes(factory.mktemp("home")).chosen()
    except Refused as error:
        pytest.skip(str(error))
    return Hall(factory.mktemp("hall"), chosen)
