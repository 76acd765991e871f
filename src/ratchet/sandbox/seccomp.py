"""The filter on system calls, assembled here: no library, and each rule can be read.

Everything is allowed but what is named: honest programs use hundreds of calls, and what confines is the namespace or
Landlock. The filter closes what those leave open: kernel surfaces with a history of escapes, odd socket families (a
network namespace does not cover AF_VSOCK), new namespaces, the host's keyring, set-id bits that would outlive the
sandbox, and memory or disk that no watcher could see. Without namespaces (`shared`) it also closes what Landlock does
not look at: priorities, processors and limits of the user's other processes, sockets with addresses, watched folders.
"""

from __future__ import annotations

import errno
import struct
from functools import cache

from ratchet.errors import SandboxError
from ratchet.sandbox import kernel
from ratchet.sandbox.syscalls import MACHINES, NUMBERS, X86_64

# Classic BPF, linux/filter.h
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN, _AND = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54
_ALLOW, _KILL, _ERRNO = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
# struct seccomp_data: the number, the architecture, then six 64-bit arguments behind the instruction pointer
_AT_NUMBER, _AT_ARCHITECTURE, _AT_ARGUMENTS = 0, 4, 16
_X32_BIT = 0x4000_0000

_NEW_NAMESPACES = 0x7E02_0080  # CLONE_NEW{TIME,NS,CGROUP,UTS,IPC,USER,PID,NET}
# CLONE_NEWTIME lies in clone's signal byte: there it is no namespace, only for unshare it is.
_CLONE_NAMESPACES = 0x7E02_0000
_SET_ID = 0o6000
_O_CREAT = 0o100
_O_TMPFILE = 0o20000000  # a file without a name, which linkat gives one: it has a mode from its beginning, too
_MAKES_FILE = _O_CREAT | _O_TMPFILE
_S_IFCHR = 0o020000
# Linux, Linux32, each without address randomisation, and the question
_PERSONALITIES = (0, 8, 0x4_0000, 0x4_0008, 0xFFFF_FFFF)
_TIOCSTI, _TIOCLINUX, _TIOCSETD = 0x5412, 0x541C, 0x5423
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_SOCK_STREAM, _SOCK_SEQPACKET, _SOCK_TYPE = 1, 5, 0xF  # a pair of these stays a pair; datagrams can be sent elsewhere
_PRIO_USER, _IOPRIO_WHO_USER = 2, 3

_NEVER = (
    *("acct", "add_key", "adjtimex", "bpf", "chroot", "clock_adjtime", "clock_settime", "delete_module"),
    *("fanotify_init", "finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "init_module", "ioperm", "iopl"),
    *("kcmp", "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie", "memfd_secret", "migrate_pages"),
    *("modify_ldt", "mount", "mount_setattr", "move_mount", "move_pages", "name_to_handle_at", "nfsservctl"),
    *("open_by_handle_at", "open_tree", "open_tree_attr", "perf_event_open", "pidfd_getfd", "pivot_root"),
    *("process_madvise", "process_vm_readv", "process_vm_writev", "ptrace", "quotactl", "quotactl_fd", "reboot"),
    *("request_key", "setdomainname", "sethostname", "setns", "settimeofday", "swapoff", "swapon", "sysfs", "syslog"),
    *("umount2", "userfaultfd", "uselib", "ustat", "vhangup"),
)
_SYSTEM_V = (
    *("shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semtimedop", "semctl"),
    "mq_open",
)
# "Not there" makes libraries fall back to the call that the filter can look into; "not permitted" would not.
_ABSENT = ("clone3", "openat2", "fchmodat2", "io_uring_enter", "io_uring_register", "io_uring_setup")


class FilterProgram:
    """Instructions of one filter. Each rule stands for itself and leaves the call's number loaded."""

    def __init__(self, machine: str) -> None:
        if machine not in MACHINES:
            raise SandboxError(f"no system-call filter for {machine}: run on x86_64 or aarch64")
        architecture, self._column = MACHINES[machine]
        self._code: list[tuple[int, int, int, int]] = []
        self._emit(_LOAD, _AT_ARCHITECTURE)
        self._emit(_JUMP_EQUAL, architecture, 1, 0)
        self._emit(_RETURN, _KILL)
        self._emit(_LOAD, _AT_NUMBER)
        if machine == X86_64:  # the second way to name every call
            self._emit(_JUMP_AT_LEAST, _X32_BIT, 0, 1)
            self._emit(_RETURN, _ERRNO | errno.ENOSYS)

    def _emit(self, code: int, value: int, if_true: int = 0, if_false: int = 0) -> None:
        self._code.append((code, if_true, if_false, value))

    def _number(self, name: str) -> int | None:
        return NUMBERS[name][self._column]

    def deny(self, name: str, error: int = errno.EPERM) -> None:
        number = self._number(name)
        if number is not None:
            self._emit(_JUMP_EQUAL, number, 0, 1)
            self._emit(_RETURN, _ERRNO | error)

    def _guarded(self, name: str, body: list[tuple[int, int, int, int]]) -> None:
        number = self._number(name)
        if number is not None:
            self._emit(_JUMP_EQUAL, number, 0, len(body) + 1)
            self._code.extend(body)
            self._emit(_LOAD, _AT_NUMBER)

    def deny_bits(self, name: str, argument: int, bits: int) -> None:
        """Deny where the argument has any of the bits."""
        test = [(_LOAD, 0, 0, _argument(argument)), (_JUMP_ANY_BIT, 0, 1, bits), (_RETURN, 0, 0, _ERRNO | errno.EPERM)]
        self._guarded(name, test)

    def deny_bits_where(self, name: str, argument: int, bits: int, *, where: int, has: int) -> None:
        """The same, but only where another argument has any of the bits `has`."""
        test = [
            (_LOAD, 0, 0, _argument(where)),
            (_JUMP_ANY_BIT, 0, 3, has),
            (_LOAD, 0, 0, _argument(argument)),
            (_JUMP_ANY_BIT, 0, 1, bits),
            (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        ]
        self._guarded(name, test)

    def deny_values(self, name: str, argument: int, values: tuple[int, ...]) -> None:
        test = [(_LOAD, 0, 0, _argument(argument))]
        for value in values:
            test += [(_JUMP_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ERRNO | errno.EPERM)]
        self._guarded(name, test)

    def allow_only(
        self, name: str, argument: int, values: tuple[int, ...], error: int, *, mask: int = 0xFFFF_FFFF
    ) -> None:
        test = [(_LOAD, 0, 0, _argument(argument)), (_AND, 0, 0, mask)]
        test += [(_JUMP_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
        test.append((_RETURN, 0, 0, _ERRNO | error))
        self._guarded(name, test)

    def assembled(self) -> bytes:
        self._emit(_RETURN, _ALLOW)
        return b"".join(struct.pack("=HBBI", *each) for each in self._code)


def _argument(index: int) -> int:
    """Return where the low half of an argument lies (both machines are little-endian). The kernel takes an int from
    there."""
    return _AT_ARGUMENTS + 8 * index


@cache
def program(families: tuple[int, ...], *, memory_unseen: bool, shared: bool, machine: str = "") -> bytes:
    """The filter as the kernel takes it. `families` are the socket families that may be opened; `memory_unseen`: no
    cgroup counts, so memory outside the processes' own maps (SysV, memfd) is not to be had; `shared`: no namespace
    keeps the processes, the sockets and the folders of the machine away.

    Raises SandboxError on a machine whose numbers are not known.
    """
    made = FilterProgram(machine or kernel.machine())
    for name in _NEVER:
        made.deny(name)
    for name in _ABSENT:
        made.deny(name, errno.ENOSYS)
    made.deny("fallocate", errno.EOPNOTSUPP)  # gigabytes within one look at the disk; callers write zeros instead
    if memory_unseen:
        made.deny("memfd_create", errno.ENOSYS)
        for name in _SYSTEM_V:
            made.deny(name, errno.ENOSYS)
    made.deny_bits("unshare", 0, _NEW_NAMESPACES)
    made.deny_bits("clone", 0, _CLONE_NAMESPACES)
    made.allow_only("personality", 0, _PERSONALITIES, errno.EPERM)
    made.allow_only("socket", 0, families, errno.EAFNOSUPPORT)
    made.allow_only("socketpair", 0, (_AF_UNIX,), errno.EAFNOSUPPORT)
    made.deny_values("ioctl", 1, (_TIOCSTI, _TIOCLINUX, _TIOCSETD))
    _no_set_id(made)
    if shared:
        _none_outside(made)
        if not families:
            made.deny("bind")
            made.deny("connect")
    return made.assembled()


def _no_set_id(made: FilterProgram) -> None:
    made.deny_bits("chmod", 1, _SET_ID)
    made.deny_bits("fchmod", 1, _SET_ID)
    made.deny_bits("fchmodat", 2, _SET_ID)
    made.deny_bits("creat", 1, _SET_ID)
    made.deny_bits_where("open", 2, _SET_ID, where=1, has=_MAKES_FILE)
    made.deny_bits_where("openat", 3, _SET_ID, where=2, has=_MAKES_FILE)
    for name, argument in (("mknod", 1), ("mknodat", 2)):
        # This bit is set for character and block devices; not for pipes, sockets and plain files.
        made.deny_bits(name, argument, _SET_ID)
        made.deny_bits(name, argument, _S_IFCHR)


def _none_outside(made: FilterProgram) -> None:
    """Only the calling process may be named (0), and what it started is of its group."""
    for name in ("sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity", "prlimit64"):
        made.allow_only(name, 0, (0,), errno.EPERM)
    for name, everybody in (("setpriority", _PRIO_USER), ("ioprio_set", _IOPRIO_WHO_USER)):
        made.deny_values(name, 0, (everybody,))
        made.allow_only(name, 1, (0,), errno.EPERM)
    made.allow_only("socketpair", 1, (_SOCK_STREAM, _SOCK_SEQPACKET), errno.EPROTONOSUPPORT, mask=_SOCK_TYPE)
    made.deny("inotify_add_watch", errno.EACCES)  # of any folder whose names it may read, and Landlock does not ask


INSIDE = (_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK)
"""Families for a sandbox with a network namespace of its own."""
HOST = (_AF_INET, _AF_INET6, _AF_NETLINK)
"""Families where the host's network is asked for and nothing hides its files: sockets that lie there stay closed."""
NOWHERE = ()
"""No socket can be opened: for where no namespace keeps the network away (pairs of connected sockets still can)."""
