"""The filter on system calls, run as the kernel runs it."""

from __future__ import annotations

import itertools
import os
import struct

import pytest

from ratchet.sandbox.seccomp import INSIDE, program
from ratchet.sandbox.syscalls import MACHINES, NUMBERS

ALLOW = 0x7FFF_0000
TMPFILE = 0o20000000 | 0o200000  # O_TMPFILE, which holds O_DIRECTORY


def verdict(machine: str, name: str, *arguments: int) -> int:
    """Run the filter over one call."""
    architecture, column = MACHINES[machine]
    number = NUMBERS[name][column]
    assert number is not None
    data = struct.pack("=IIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    code = list(struct.iter_unpack("=HBBI", program(INSIDE, memory_unseen=False, machine=machine)))
    at = held = 0
    while True:
        kind, if_true, if_false, value = code[at]
        at += 1
        if kind == 0x20:
            held = struct.unpack_from("=I", data, value)[0]
        elif kind == 0x06:
            return int(value)
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
