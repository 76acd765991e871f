"""Which workspace an episode gets: layers where its sandbox mounts overlays, else copies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ratchet.errors import Conflict, NotFound
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.command import FileChange
from ratchet.sandbox.copied import CopiedWorkspace
from ratchet.sandbox.workspace import LayeredWorkspace

_LARGEST_BYTES = 67_108_864


def copied(sandbox: Sandbox, project: Path, place: Path) -> Workspace:
    """Copy a project to a place that does not exist yet, as a workspace for this sandbox. Raises Refused.

    Where that fails, nothing is left in the place: a part of a copy is of no use, and may be what fills the disk.
    """
    made = LayeredWorkspace if sandbox.overlays else CopiedWorkspace
    try:
        return made.create(project, place)
    except FileExistsError:
        raise  # the place is another's
    except BaseException:
        remove_tree(place)
        raise


def opened(place: Path, workspace_id: str) -> Workspace:
    """The workspace that an earlier process made there. Raises NotFound."""
    return LayeredWorkspace.open(place, workspace_id) if (place / "layers").is_dir() else CopiedWorkspace.open(place)


def check_fits(workspace: Workspace, changes: Sequence[FileChange], episode_id: str) -> None:
    """Raise Conflict where a fresh copy of the project is no longer what an attempt was made for."""
    for each in changes:
        try:
            now: bytes | None = workspace.read(each.path, limit_bytes=_LARGEST_BYTES)
        except NotFound:
            now = None
        if now != each.before:
            raise Conflict(f"{each.path} has changed since episode {episode_id} began; run the task anew")
