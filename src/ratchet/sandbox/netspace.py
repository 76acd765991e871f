"""A listening socket in the network of a sandbox, made from outside: what is accepted on it lies in both."""

from __future__ import annotations

import fcntl
import os
import socket

from ratchet.errors import SandboxError
from ratchet.sandbox import kernel, network

_NS_GET_USERNS = 0xB701  # linux/nsfs.h
_BACKLOG = 128


def listener(pid: int, uid: int | None) -> socket.socket:
    """Listen on 127.0.0.1 in the network namespace of a process that the user `uid` (None: this one) has made.

    Only for a process with one thread, as the kernel asks. Raises SandboxError.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    child = os.fork()
    if not child:
        said = b"it ended"
        try:
            ours.close()
            made = _entered(pid, uid)
            socket.send_fds(theirs, [b"."], [made.fileno()])
        except BaseException as error:  # noqa: BLE001  (a forked child must never return into its parent's code)
            said = str(error).encode()
            theirs.sendall(b"x" + said)
        finally:
            os._exit(0)
    theirs.close()
    with ours:
        word, passed, _, _ = socket.recv_fds(ours, 4096, 1)
    os.waitpid(child, 0)
    if not passed:
        raise SandboxError(f"the sandbox's network cannot be entered: {word[1:].decode(errors='replace')}")
    return socket.socket(fileno=passed[0])


def _entered(pid: int, uid: int | None) -> socket.socket:
    space = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    if os.path.sameopenfile(space, os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)):
        raise OSError("it is this machine's own")
    owner = fcntl.ioctl(space, _NS_GET_USERNS)
    if uid is not None:  # whoever made a user namespace may enter it with all its rights, and needs no others
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    kernel.setns(owner)
    kernel.setns(space)
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # The sandbox may not have brought its loopback up yet.
    made.setsockopt(socket.IPPROTO_IP, getattr(socket, "IP_FREEBIND", 15), 1)
    made.bind(("127.0.0.1", network.PROXY_PORT))
    made.listen(_BACKLOG)
    return made
