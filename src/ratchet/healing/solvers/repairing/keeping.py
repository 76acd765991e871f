"""Processes that have loaded the tests once, and fork a child for every candidate that only changes functions."""

from __future__ import annotations

import gc
import marshal
import os
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from .child import ForkedRun, killed
from .swapping import exchange, live
from .tracing import naming
from .waiting import forked

_NUMBER = struct.Struct("=q")

UNFIT = "unfit"


class LoadedProcess:
    """A process that has loaded the tests, as seen from its parent: a request and an open pipe go there, the number of
    the child that answers comes back, and when that is gone the CPU time that both took, in millionths of a second.
    `process` is 0 for one that ends with its channel."""

    def __init__(self, process: int, channel: socket.socket) -> None:
        self._process = process
        self._channel = channel

    def ask(self, request: bytes, out: int) -> int | None:
        try:
            socket.send_fds(self._channel, [_NUMBER.pack(len(request))], [out])
            self._channel.sendall(request)
        except OSError:
            return None
        return self.said()

    def said(self) -> int | None:
        """The next number that it says; None where it says no more."""
        try:
            data = self._channel.recv(_NUMBER.size, socket.MSG_WAITALL)
        except OSError:
            return None
        return int(_NUMBER.unpack(data)[0]) if len(data) == _NUMBER.size else None

    def end(self) -> None:
        self._channel.close()
        if self._process:
            killed(self._process)
            os.waitpid(self._process, 0)


@dataclass(frozen=True, slots=True)
class Begun:
    """A candidate that runs: the process that forked its child, that child, the pipe to hear it by, and until when."""

    keeper: LoadedProcess
    child: int
    out: int
    until: float


def held(channels: Sequence[socket.socket], kept: ForkedRun) -> ForkedRun:
    """Keep the loaded tests, in as many processes as there are channels: return once in every child that is asked for,
    and never in these."""
    functions = live(naming(kept.sources))
    gc.collect()
    gc.freeze()  # what is there is not looked at again in every child, which would copy its pages
    channel, *others = channels
    for each in others:
        if not forked():
            channel = each
            break
    for each in channels:
        if each is not channel:
            each.close()
    channel.sendall(_NUMBER.pack(0))
    told_s = 0.0
    while True:
        head, descriptors, *_ = socket.recv_fds(channel, _NUMBER.size, 1)
        if len(head) < _NUMBER.size or not descriptors:
            os._exit(0)
        size = _NUMBER.unpack(head)[0]
        request = b""
        while len(request) < size:
            request += channel.recv(size - len(request)) or os._exit(0)
        child = forked()
        if child:
            os.close(descriptors[0])
            channel.sendall(_NUMBER.pack(child))
            os.waitpid(child, 0)
            used_s = sum(os.times()[:4])
            channel.sendall(_NUMBER.pack(int(1e6 * (used_s - told_s))))
            told_s = used_s
            continue
        os.setpgid(0, 0)
        channel.close()
        asked = marshal.loads(request)  # noqa: S302  (our own parent's)
        job = ForkedRun(
            out=descriptors[0],
            root=kept.root,
            first=asked["first"],
            hopeless=True,
            cpu_s=asked["cpu_s"],
            endless=frozenset(asked["endless"]),
            sources=kept.sources,
            directly=asked["directly"],
        )
        job.confine()
        if not exchange(functions, asked["swaps"]):
            job.tell({"returned": UNFIT})
            job.leave()
        return job
