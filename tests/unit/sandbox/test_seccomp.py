"""The filter on system calls, run as the kernel runs it."""

from __future__ import annotations

import itertools
import os
import struct

import pytest

from ratchet.sandbox.seccomp import INSIDE, NOWHERE, program
from ratchet.sandbox.syscalls import MACHINES, NUMBERS

ALLOW = 0x7FFF_0000
TMPFILE = 0o20000000 | 0o200000  # O_TMPFILE, which holds O_DIRECTORY


def verdict(machine: str, name: str, *arguments: int, shared: bool = False) -> int:
    """Run the filter over one call; `shared`: that of Landlock."""
    architecture, column = MACHINES[machine]
    number = NUMBERS[name][column]
    assert number is not None
    data = struct.pack("=IIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    families = NOWHERE if shared else INSIDE
    made = program(families, memory_unseen=False, shared=shared, machine=machine)
    code = list(struct.iter_unpack("=HBBI", made))
    at = held = 0
    while True:
        kind, if_true, if_false, value = code[at]
        at += 1
        if kind == 0x20:
            held = struct.unpack_from("=I", data, value)[0]
        elif kind == 0x06:
            return int(value)
        elif kind == 0x54:
            held &= value
        else:
            met = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[kind]
            at += if_true if met else if_false


@pytest.mark.parametrize("machine", sorted(MACHINES))
@pytest.mark.parametrize("name", ["open", "openat"])
def test_no_way_to_make_a_file_gives_it_a_set_id_bit(machine: str, name: str) -> None:
    if NUMBERS[name][MACHINES[machine][1]] is None:
        pytest.skip(f"{machine} has no {name}")
    first = [0] if name == "open" else [0, 0]
    makes = (os.O_CREAT, TMPFILE, os.O_CREAT | os.O_EXCL, os.O_CREAT | TMPFILE)
    for flags, access, bits in itertools.product(makes, (os.O_WRONLY, os.O_RDWR), (0o4000, 0o2000, 0o6000)):
        assert verdict(machine, name, *first, flags | access, bits | 0o755) != ALLOW
        assert verdict(machine, name, *first, flags | access, 0o755) == ALLOW
    for flags in (os.O_RDONLY, 0o200000, os.O_RDWR):  # makes none: the mode is whatever lies in the register
        assert verdict(machine, name, *first, flags, 0o6755) == ALLOW


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_beside_other_processes_of_its_user_a_command_reaches_only_itself(machine: str) -> None:
    """In namespaces there is nobody else, and all of it is let through."""
    other = 4321
    reaching = {
        "sched_setscheduler": ((0,), (other,)),
        "sched_setparam": ((0,), (other,)),
        "sched_setattr": ((0,), (other,)),
        "sched_setaffinity": ((0,), (other,)),
        "prlimit64": ((0, 3, 1), (other, 3, 1)),
        "setpriority": ((0, 0, 5), (0, other, 5), (1, other, 5), (2, 0, 5), (2, other, 5)),
        "ioprio_set": ((1, 0, 5), (1, other, 5), (2, other, 5), (3, 0, 5)),
        "socketpair": ((1, 1), (1, 2), (1, 3), (1, 2 | os.O_CLOEXEC), (1, 3 | os.O_NONBLOCK)),
    }
    for name, (own, *others) in reaching.items():
        assert verdict(machine, name, *own, shared=True) == ALLOW
        for each in others:
            assert verdict(machine, name, *each, shared=True) != ALLOW, (name, each)
            assert verdict(machine, name, *each) == ALLOW
    assert verdict(machine, "socketpair", 1, 1 | os.O_CLOEXEC, shared=True) == ALLOW
    for name in ("bind", "connect", "inotify_add_watch"):
        assert verdict(machine, name, 3, 0, 16, shared=True) != ALLOW
