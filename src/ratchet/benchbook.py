"""Benchmarks as people ask for them: the operations behind `ratchet bench`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ratchet import scorers, workspaces
from ratchet.bench.measuring import Measuring
from ratchet.confinement import View
from ratchet.ports import Sandbox
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.bubblewrap import PLACE
from ratchet.sandboxes import Sandboxes


def measuring(home: Path, *, guarded: Sequence[Path] = ()) -> Measuring:
    """Who measures an agent on this machine. A value: it can be sent to another process. `guarded` are hashed before
    and after each run of an agent."""
    return Measuring(
        sandbox=partial(_sandbox, home),
        copied=workspaces.copied,
        workdir=_workdir,
        removed=remove_tree,
        score=scorers.score,
        guarded=tuple(map(str, guarded)),
    )


def _sandbox(home: Path, unsafe: bool) -> Sandbox:
    return Sandboxes(home).chosen(unsafe=unsafe)


def _workdir(sandbox: Sandbox, view: View) -> str:
    """Where a command finds its files: they are mounted at one place, or used where they lie."""
    return PLACE if sandbox.overlays or sandbox.name == "docker" else str(view.folder.resolve())
