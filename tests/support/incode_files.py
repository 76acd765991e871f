"""What `ratchet.heal(mode="apply")` does with a file that others write to: the scenes, and their rows of the table."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from ratchet.healing.job import Solved, SolveJob
from support.incode_matrix import LINE, MEAN, RIGHT, SCRIPT, Case, loaded

APPLIED = MEAN.replace("value == 0.0)", 'value == 0.0, mode="apply")')
CASE = Case(what="", module=APPLIED)
CALLER = """\
import logging, sys, time
import script, subject

solve = script.solver.solve
def slowly(job):
    print("asked", flush=True)
    time.sleep(1.0)
    return solve(job)
script.solver.solve = slowly
print("ready", flush=True)
sys.stdin.readline()
print("value", subject.mean([]), flush=True)
"""


def two_processes(folder: Path) -> str:
    folder.mkdir()
    script = SCRIPT.format(answers=[("subject.py", LINE, RIGHT)], home=str(folder.parent / f"home-{folder.name}"))
    for name, text in (("script.py", script), ("subject.py", APPLIED), ("caller.py", CALLER)):
        (folder / name).write_text(text, encoding="utf-8")
    callers = [
        subprocess.Popen(
            [sys.executable, "caller.py"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for each in callers:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    said = []
    for each in callers:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    for each in callers:
        out, _ = each.communicate(timeout=120)
        said += out.split("\n")
    values, asked = said.count("value 0.0"), said.count("asked")
    healed = (folder / "subject.py").read_text(encoding="utf-8") == APPLIED.replace(LINE, RIGHT)
    return f"{values} of 2 calls return 0.0, {asked} solver was asked, the patch is {_in(healed)} the file"


def edited_elsewhere(folder: Path) -> str:
    return _edited_meanwhile(folder, "return 1", "return 11")


def edited_there(folder: Path) -> str:
    return _edited_meanwhile(folder, LINE, "return sum(map(float, values)) / len(values)")


def _edited_meanwhile(folder: Path, old: str, new: str) -> str:
    with loaded(folder, CASE) as module:
        file = folder / "subject.py"
        solver = module.solver_of_script()
        solve: Callable[[SolveJob], Solved] = solver.solve

        def while_somebody_edits(job: SolveJob) -> Solved:
            file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
            return solve(job)

        solver.solve = while_somebody_edits
        return _outcome(module, file, new)


def edited_before_and_right(folder: Path) -> str:
    return _edited_before(folder, RIGHT)


def edited_before_and_wrong(folder: Path) -> str:
    return _edited_before(folder, "return sum(map(float, values)) / len(values)")


def _edited_before(folder: Path, new: str) -> str:
    with loaded(folder, replace(CASE, new="nothing is asked of it")) as module:
        file = folder / "subject.py"
        file.write_text(APPLIED.replace(LINE, new), encoding="utf-8")
        os.utime(file, (1, 1))
        said = _outcome(module, file, new)
        return f"{said}; {len(module.solver_of_script().jobs)} solvers were asked"


def _outcome(module: ModuleType, file: Path, edit: str) -> str:
    try:
        said = f"the call returns {module.mean([])}"
    except ZeroDivisionError:
        said = "the call raises its ZeroDivisionError"
    text = file.read_text(encoding="utf-8")
    return f"{said}; the edit is {_in(edit in text)} the file, the patch is {_in(RIGHT in text and edit != RIGHT)} it"


def _in(there: bool) -> str:
    return "in" if there else "not in"


SCENES: tuple[tuple[str, Callable[[Path], str], str], ...] = (
    (
        "two processes fail at one time",
        two_processes,
        "2 of 2 calls return 0.0, 1 solver was asked, the patch is in the file",
    ),
    (
        "edited elsewhere while it is healed",
        edited_elsewhere,
        "the call returns 0.0; the edit is in the file, the patch is in it",
    ),
    (
        "edited in the same line while it is healed",
        edited_there,
        "the call raises its ZeroDivisionError; the edit is in the file, the patch is not in it",
    ),
    (
        "edited since it was loaded, so that it is right now",
        edited_before_and_right,
        "the call returns 0.0; the edit is in the file, the patch is not in it; 0 solvers were asked",
    ),
    (
        "edited since it was loaded, and still failing",
        edited_before_and_wrong,
        "the call raises its ZeroDivisionError; the edit is in the file, the patch is not in it; 0 solvers were asked",
    ),
)
"""(what, scene, what must come of it)."""


def row(what: str, said: str) -> str:
    return f"| {what} | {said} |"
