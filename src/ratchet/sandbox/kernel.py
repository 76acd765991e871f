"""The system calls that Python does not offer, through ctypes. Linux only; every failure is an OSError."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

CLONE_NEWNS = 0x0002_0000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 0x1000, 0x4000, 0x4_0000
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 22, 36, 38
PR_SET_KEEPCAPS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 8, 47, 2
CAP_DAC_READ_SEARCH = 2
SECCOMP_MODE_FILTER = 2

RESOLVE_NO_XDEV, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH = 0x01, 0x02, 0x04, 0x08

# The same numbers on every architecture (they are newer than the common table).
SYS_OPENAT2 = 437
SYS_LANDLOCK_CREATE_RULESET, SYS_LANDLOCK_ADD_RULE, SYS_LANDLOCK_RESTRICT_SELF = 444, 445, 446

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None


def _called(name: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def syscall(name: str, number: int, *arguments: object) -> int:
    """Raises OSError, ENOSYS where this is not Linux."""
    if _libc is None:
        raise OSError(errno.ENOSYS, f"{name}: {os.strerror(errno.ENOSYS)}")
    return _called(name, _libc.syscall(ctypes.c_long(number), *arguments))


def prctl(option: int, first: int = 0, second: int | bytes = 0) -> None:
    if _libc is None:
        raise OSError(errno.ENOSYS, f"prctl: {os.strerror(errno.ENOSYS)}")
    last: object = ctypes.c_char_p(second) if isinstance(second, bytes) else ctypes.c_ulong(second)
    zero = ctypes.c_ulong(0)
    _called("prctl", _libc.prctl(ctypes.c_int(option), ctypes.c_ulong(first), last, zero, zero))


def unshare(flags: int) -> None:
    if _libc is None:
        raise OSError(errno.ENOSYS, f"unshare: {os.strerror(errno.ENOSYS)}")
    _called("unshare", _libc.unshare(ctypes.c_int(flags)))


def setns(descriptor: int) -> None:
    """Enter the namespace of a descriptor. Python has it from 3.12 on."""
    if _libc is None:
        raise OSError(errno.ENOSYS, f"setns: {os.strerror(errno.ENOSYS)}")
    _called("setns", _libc.setns(ctypes.c_int(descriptor), ctypes.c_int(0)))


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    if _libc is None:
        raise OSError(errno.ENOSYS, f"mount: {os.strerror(errno.ENOSYS)}")
    given = (os.fsencode(source), os.fsencode(target), os.fsencode(kind))
    result = _libc.mount(*given, ctypes.c_ulong(flags), os.fsencode(options) if options else None)
    _called(f"mount {source} on {target}", result)


def openat2(folder: int, path: bytes, flags: int, resolve: int) -> int:
    """`openat2(2)`, close-on-exec. Raises OSError (ENOSYS before Linux 5.6, EXDEV or ELOOP where the path leaves)."""
    how = struct.pack("=QQQ", flags | os.O_CLOEXEC, 0, resolve)
    return syscall("openat2", SYS_OPENAT2, ctypes.c_int(folder), path, how, ctypes.c_size_t(len(how)))


def install_filter(program: bytes) -> None:
    """Put the calling process and all it starts under a seccomp filter, for good."""
    code = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: a count of 8-byte instructions, padding, a pointer.
    header = struct.pack("@HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header)


def keep_only(capability: int) -> None:
    """After leaving uid 0 with PR_SET_KEEPCAPS: keep one capability, across exec. Raises OSError."""
    if _libc is None:
        raise OSError(errno.ENOSYS, f"capset: {os.strerror(errno.ENOSYS)}")
    header = struct.pack("=Ii", 0x2008_0522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    bits = 1 << capability
    sets = struct.pack("=6I", bits, bits, bits, 0, 0, 0)  # effective, permitted, inheritable; low words first
    _called("capset", _libc.capset(header, sets))
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability)


def machine() -> str:
    return platform.machine()
