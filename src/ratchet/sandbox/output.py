"""Output of a command on its way to Ratchet: capped, and never waited for while the command runs."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator

from ratchet.sandbox import plan

_CHUNK = 65_536
_BUBBLEWRAP = b"bwrap: "
_MOST_HELD_BYTES = 4_096


class Output:
    """Frames for Ratchet. The start of standard error is held while it may be bubblewrap that speaks, of a command that
    it could not start (`held`, only where `wrapped`)."""

    def __init__(self, channel: socket.socket, cap_bytes: int, *, wrapped: bool) -> None:
        self._channel = channel
        self._room = cap_bytes
        self._holds = wrapped
        self._waiting = bytearray()
        self.held = b""
        self.truncated = False

    def keep(self, letter: bytes, said: bytes) -> bool:
        """Hand on what was said, up to the cap; False once something is beyond it."""
        if letter == plan.STDERR and self._holds:
            said, self.held = self.held + said, b""
            if _BUBBLEWRAP.startswith(said[: len(_BUBBLEWRAP)]) and len(said) <= _MOST_HELD_BYTES:
                self.held = said
                return True
            self._holds = False
        kept = said[: self._room]
        self._room -= len(kept)
        self.truncated = self.truncated or len(said) > len(kept)
        if kept:
            self._waiting += plan.framed(letter, kept)
            self.hand_on()
        return not self.truncated

    def release(self) -> None:
        """Release what was held: it is the command's own."""
        self._holds, said, self.held = False, self.held, b""
        self.keep(plan.STDERR, said)

    def hand_on(self) -> None:
        """Send what Ratchet takes right now. A reader that is slow must not keep the limits from being watched."""
        try:
            while self._waiting:
                del self._waiting[: self._channel.send(self._waiting[:_CHUNK], socket.MSG_DONTWAIT)]
        except BlockingIOError:
            return
        except ConnectionError:  # Ratchet is gone; the job still gets its clean end
            self._waiting.clear()

    def finish(self, letter: bytes, body: bytes) -> None:
        """Send the rest and a last frame, as long as it takes."""
        with contextlib.suppress(ConnectionError):
            self._channel.sendall(self._waiting + plan.framed(letter, body))

    def drain(self, streams: dict[int, bytes]) -> bool:
        """Take what is left in the pipes, and close them; False where it was beyond the cap."""
        for stream, letter in streams.items():
            for said in rest_of(stream):
                if not self.keep(letter, said):
                    break
            os.close(stream)
        return not self.truncated


def rest_of(descriptor: int) -> Iterator[bytes]:
    """Read what a pipe holds right now."""
    os.set_blocking(descriptor, False)
    with contextlib.suppress(BlockingIOError):
        while said := os.read(descriptor, _CHUNK):
            yield said
