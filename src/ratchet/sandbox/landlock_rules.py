"""Landlock: a process gives up the file system but for named folders, for itself and all it starts, without privilege.

Numbers from linux/landlock.h.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ratchet.errors import SandboxError
from ratchet.sandbox import kernel
from ratchet.sandbox.plan import Plan

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE = 1 << 14
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_DEVICES = (1 << 6) | (1 << 11)  # MAKE_CHAR, MAKE_BLOCK: granted nowhere
_FOR_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_HANDLED = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}  # by the oldest version
_SCOPED = 0b11  # abstract sockets and signals stay within the domain, from version 6 on
_VERSION = 1
_RULE_PATH = 1

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/nix/store")
_HARMLESS_PROC = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems", "/proc/loadavg", "/proc/uptime")
_DEVICE_FILES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")


@dataclass(frozen=True, slots=True)
class Domain:
    """A set of rules, ready to be entered."""

    ruleset: int


def version() -> int:
    """The kernel's version of Landlock, 0 where there is none."""
    try:
        return kernel.syscall(
            "landlock_create_ruleset", kernel.SYS_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION
        )
    except OSError:
        return 0


def prepared(plan: Plan, *, processes: bool) -> Domain:
    """The rules of a plan; `processes`: with /proc, where the files of other users' processes are closed to it. Raises
    SandboxError where the kernel has no Landlock."""
    found = version()
    if not found:
        raise SandboxError("this kernel has no Landlock: use Linux 5.13 or newer, or allow user namespaces")
    handled = _HANDLED[max(each for each in _HANDLED if each <= found)]
    if found >= 6:
        attributes = struct.pack("=QQQ", handled, 0, _SCOPED)
    elif found >= 4:
        attributes = struct.pack("=QQ", handled, 0)
    else:
        attributes = struct.pack("=Q", handled)
    ruleset = kernel.syscall(
        "landlock_create_ruleset",
        kernel.SYS_LANDLOCK_CREATE_RULESET,
        attributes,
        ctypes.c_size_t(len(attributes)),
        ctypes.c_uint(0),
    )
    for path in ("/proc",) if processes else _HARMLESS_PROC:
        _allow(ruleset, path, _READ & handled)
    for path, rights in _rights(plan, handled):
        _allow(ruleset, path, rights & handled)
    return Domain(ruleset)


def enter(domain: Domain) -> None:
    """Confine the calling process for good. Raises OSError."""
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.syscall(
        "landlock_restrict_self",
        kernel.SYS_LANDLOCK_RESTRICT_SELF,
        ctypes.c_int(domain.ruleset),
        ctypes.c_uint(0),
    )


def _rights(plan: Plan, handled: int) -> Iterator[tuple[str, int]]:
    for path in (*_SYSTEM, *plan.readable):
        yield from _readable(path, plan.hidden)
    for path in _DEVICE_FILES:
        yield path, _READ_FILE | _WRITE_FILE | _TRUNCATE
    for path in (plan.folder, plan.temporary):
        yield path, handled & ~_DEVICES


def _readable(path: str, hidden: list[str]) -> Iterator[tuple[str, int]]:
    """A folder without what is hidden in it. Rules only add up, so that all around it is named one by one; the names
    in such a folder stay to be seen, since Python imports from no folder that it cannot list."""
    real = os.path.realpath(path).rstrip("/")
    if not any(each.startswith(f"{real}/") for each in hidden):
        yield path, _READ
        return
    yield path, _READ_DIR
    with os.scandir(path) as found:
        inside = sorted(each.path for each in found)
    for each in inside:
        if os.path.realpath(each) not in hidden:
            yield from _readable(each, hidden)


def _allow(ruleset: int, path: str, rights: int) -> None:
    with contextlib.suppress(FileNotFoundError):  # not every system has every folder
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(opened).st_mode):
                rights &= _FOR_FILES
            rule = struct.pack("=Qi", rights, opened)
            kernel.syscall(
                "landlock_add_rule",
                kernel.SYS_LANDLOCK_ADD_RULE,
                ctypes.c_int(ruleset),
                ctypes.c_int(_RULE_PATH),
                rule,
                ctypes.c_uint(0),
            )
        finally:
            os.close(opened)
