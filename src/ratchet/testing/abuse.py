"""The abuse suite: what hostile or merely broken code does to a machine, each beside honest work that must succeed.

    from ratchet.testing.abuse_suite import CASES, problems

    for case in CASES:
        assert problems(MySandbox(), case, empty_folder) == []

An attack is Python that prints ESCAPED where it got through. A sandbox holds a case if the attack did not print that,
ended in one of the ways that the case expects, and left the world outside as it was; and if the honest program ended
with 0 under the same limits, since a sandbox in which nothing works holds everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ratchet.ports import Sandbox
from ratchet.sandbox.command import Command, Killed, Limits, Ran, View
from ratchet.testing.scene import Scene, scene

ESCAPED = b"ESCAPED"
WRITES = "open('made.txt', 'w').write('x'); assert open('made.txt').read() == 'x'"
READS_SYSTEM = "assert os.listdir('/usr/bin'); assert subprocess.run(['sh', '-c', 'exit 7']).returncode == 7"
_PREAMBLE = """
import ctypes, errno, json, os, signal, socket, stat, subprocess, sys, threading, time
at = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
x86 = os.uname().machine == "x86_64"
def escaped(what=""): print("ESCAPED", what, flush=True)
def tries(action, *kinds):
    try: found = action()
    except (OSError, ValueError, AttributeError, *kinds): return None
    return found
"""

DEFAULT = Limits(wall_s=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One abuse and its control. `ends`: how the attack may be ended ("" by itself)."""

    name: str
    attack: str
    honest: str
    limits: Limits = DEFAULT
    ends: tuple[Killed, ...] = ("",)
    prepare: Callable[[Path], None] | None = None
    after: Callable[[Scene, Ran], list[str]] | None = None
    needs: frozenset[str] = field(default_factory=frozenset)
    """Properties without which the case is not expected to hold ("namespaces": a network or a /tmp of its own)."""


def problems(sandbox: Sandbox, case: Case, folder: Path) -> list[str]:
    """List what is wrong with a sandbox in one case: empty if it holds."""
    found: list[str] = []
    with scene(folder / "attack") as place:
        ran = _played(sandbox, case, case.attack, place)
        if ESCAPED in ran.stdout:
            found.append(ran.stdout[ran.stdout.index(ESCAPED) :][:200].decode(errors="replace"))
        if ran.killed not in case.ends:
            found.append(f"ended by {ran.killed or 'itself'} ({ran.exit_code}), not {case.ends}: {_last(ran)}")
        found += place.intact()
        if case.after is not None:
            found += case.after(place, ran)
    with scene(folder / "honest") as place:
        patient = replace(case, limits=replace(case.limits, wall_s=DEFAULT.wall_s))  # a busy machine is no fault of it
        ran = _played(sandbox, patient, case.honest, place)
        if ran.exit_code != 0:
            found.append(f"honest work ended with {ran.exit_code} {ran.killed}: {_last(ran)}")
        found += place.intact()
    return found


def _played(sandbox: Sandbox, case: Case, code: str, place: Scene) -> Ran:
    if case.prepare is not None:
        case.prepare(place.work)
    argv = ("python", "-c", _PREAMBLE + code, place.argument)
    return sandbox.run(Command(argv=argv, view=View(folder=place.work), limits=case.limits))


def _last(ran: Ran) -> str:
    return ran.stderr.decode(errors="replace").strip().rpartition("\n")[2][:300]
