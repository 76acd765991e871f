"""Values of a sandbox: what it is given, what it gives back, and what it was seen to hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ratchet.sandbox import network

Guarantee = Literal["enforced", "watched", "none"]
"""Enforced: the system prevents it. Watched: it is seen within moments and ended. None: nothing stands in the way."""

Killed = Literal["", "wall", "idle", "cpu", "memory", "disk", "inodes", "output", "cancel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one command, with all that it starts. MB and kB are 1,048,576 and 1,024 bytes."""

    wall_s: float = 60.0
    idle_s: float | None = None
    """Longest time with neither output nor work (less than 2 % of a CPU); None: as long as it likes."""
    cpu_s: float = 60.0
    memory_mb: int = 1024
    pids: int = 128
    disk_mb: int = 512
    """Growth of the working directory; /tmp gets half of it, and at most a quarter of the memory."""
    inodes: int = 16_000
    file_mb: int = 64
    output_kb: int = 1024
    """Standard output and error together."""
    descriptors: int = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The files that a command works on: `folder` itself, changed in place; or, with `layers` (lowest first), their
    sum, with all changes going to `folder`, whose `scratch` lies beside it on the same file system and is empty."""

    folder: Path
    layers: tuple[Path, ...] = ()
    scratch: Path | None = None
    overlaid: Mapping[str, Path] = field(default_factory=dict)
    """Folders shown read-only below the working directory: relative path -> folder outside (a virtual environment)."""
    known_as: Path | None = None
    """Absolute path that the files have outside, if it is another: an editable install and a script name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command to run confined. A value: it can be sent to another machine that has the same files."""

    argv: tuple[str, ...]
    view: View
    limits: Limits = Limits()
    environ: Mapping[str, str] = field(default_factory=dict)
    """Added to the scrubbed environment of the sandbox; nothing of the caller's gets in otherwise."""
    readable: tuple[Path, ...] = ()
    """Files and folders shown read-only at their own path."""
    net: str = "none"
    """`none`, `host` (the host's, as it is), or `domains:` with the names that alone may be reached
    (`sandbox.network`). A sandbox that cannot hold a command to them raises Refused."""
    stdin: bytes | int = b""
    """What it reads: bytes, or an open descriptor that is copied to it."""

    def __post_init__(self) -> None:
        network.checked(self.net)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """Result of a command. A failing command is data; only a broken sandbox raises."""

    exit_code: int
    """Its own; 126 or 127: could not be started; 128 + n: ended by signal n; 124: wall or idle time; 137: memory; 125:
    any other limit, or cancelled."""
    signal: int | None
    killed: Killed
    truncated: bool
    """Output beyond the cap was dropped."""
    stdout: bytes
    stderr: bytes
    wall_s: float
    cpu_s: float
    max_memory_mb: float
    isolation: str
    """Name of the sandbox that ran it; "none" for a plain process."""
    removed: tuple[str, ...] = ()
    """What was taken away afterwards because it would act on the host: planted repositories, set-id bits."""
    unused: tuple[str, ...] = ()
    """Virtual environments in the folder that were not trusted, and so not used: each with its reason."""
    refused: tuple[str, ...] = ()
    """Places that a `domains:` network kept from it, each with the reason; the first 50."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """Guarantees that a sandbox was seen to hold here, by a canary that tried."""

    name: str
    works: bool
    files: Guarantee = "none"
    network: Guarantee = "none"
    pids: Guarantee = "none"
    memory: Guarantee = "none"
    disk: Guarantee = "none"
    secrets: Guarantee = "none"
    domains: Guarantee = "none"
    """Whether a network of named domains holds; "none" where it is refused."""
    note: str = ""
    """Why it does not work, or what to know about it."""
    verified: bool = True
    """False: written for a system on which nobody has run the abuse suite yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One path that differs between two states of a workspace: `before` and `after` are contents (a link's target),
    None where the path is absent; modes are 0o644, 0o755 or 0o120000 (a link), 0 where absent."""

    path: str
    before: bytes | None
    after: bytes | None
    before_mode: int
    after_mode: int
