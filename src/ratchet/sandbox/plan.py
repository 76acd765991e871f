"""Plan for the keeper: a plan that travels as JSON, and the frames in which all of it travels."""

from __future__ import annotations

import json
import os
import socket
import struct
from dataclasses import asdict, dataclass, field
from typing import Literal, TypeAlias

from ratchet.sandbox.command import Limits

Step: TypeAlias = "list[str | int | list[str]]"
"""One line of a bubblewrap view, in order: ["ro" | "rw", source, at], ["tmpfs", MB, at], ["link", target, at],
["dir", at], ["text", content, at], ["lock", at], ["proc", at], ["dev", at], ["overlay", layers, upper, scratch, at]."""

Means = Literal["bubblewrap", "landlock", "plain", "seatbelt", "docker"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One job for the keeper. Paths are absolute and exist, as the host sees them unless said otherwise."""

    means: Means
    argv: list[str]
    environ: dict[str, str]
    cwd: str
    """As the command sees it."""
    folder: str
    """Whose growth is limited: the working directory, or the upper layer."""
    in_place: bool
    """`folder` is a person's: nothing may stay in it that acts on the host."""
    limits: Limits
    closed: list[str] = field(default_factory=list)
    """Folders in `folder` that stay as they are (a virtual environment)."""
    unused: list[str] = field(default_factory=list)
    """Virtual environments in `folder` that are not trusted, with the reason: for the person."""
    net: str = "none"
    steps: list[Step] = field(default_factory=list)
    program: str = ""
    """The bubblewrap binary, or the tool that wraps the command."""
    readable: list[str] = field(default_factory=list)
    """Landlock: what may be read besides the system's own."""
    hidden: list[str] = field(default_factory=list)
    """Landlock: what may not, though it lies within."""
    temporary: str = ""
    """Landlock and plain: a folder for TMPDIR and HOME, removed by whoever made it."""

    def dumped(self) -> bytes:
        return json.dumps(asdict(self)).encode("utf-8", "surrogateescape")


def loaded(text: bytes) -> Plan:
    made = json.loads(text.decode("utf-8", "surrogateescape"))
    return Plan(**{**made, "limits": Limits(**made["limits"])})


# Frames: one letter, the length, the body.
PLAN, INPUT, STDOUT, STDERR, RESULT, BROKEN = b"p", b"i", b"o", b"e", b"r", b"x"
CANCEL, PAUSE, GO_ON = b"c", b"s", b"g"
"""Words to a supervisor while its job runs."""
_HEADER = struct.Struct("=cI")


def framed(letter: bytes, body: bytes) -> bytes:
    return _HEADER.pack(letter, len(body)) + body


def received(channel: socket.socket) -> tuple[bytes, bytes] | None:
    """The next frame, None at the end of the channel."""
    header = _exactly(channel, _HEADER.size)
    if header is None:
        return None
    letter, size = _HEADER.unpack(header)
    body = _exactly(channel, size)
    return None if body is None else (letter, body)


def _exactly(channel: socket.socket, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        try:
            part = channel.recv(min(size - len(parts), 1 << 20))
        except ConnectionError:
            return None
        if not part:
            return None
        parts += part
    return bytes(parts)


SANDBOX_UID = 65_529
"""Who a sandbox is when root starts it: in the range that Debian and systemd leave unused."""


def sandbox_uid() -> int | None:
    """The user that a sandbox runs as, None where it is the caller's own. In a container with few users it is the
    highest one there is."""
    if os.geteuid() != 0:
        return None
    highest = 0
    try:
        with open("/proc/self/uid_map", encoding="ascii") as map_:
            for line in map_:
                first, _, count = (int(word) for word in line.split())
                if first <= SANDBOX_UID < first + count:
                    return SANDBOX_UID
                highest = max(highest, first + count - 1)
    except OSError:  # macOS
        return SANDBOX_UID
    return highest or None
