"""Repair without a model, on student programs of the public Refactory data: how many are mended, with and without other
students' passing programs as donors; how many of the chosen patches agree with the reference on inputs that nobody saw.

The data stays outside: https://github.com/githubhuyang/refactory, its `data.zip` unpacked (1,783 wrong programs of five
exercises; its own tool, which needs the donors, mends 90.9 %). A test of an exercise is one call with its value. One in
four is held back, and with them calls with inputs near all of them, as far as twenty passing programs agree there.

    python benchmarks/students.py --data FOLDER [--programs 40] [--seed 1] [--seconds 45] [--donors 0,5]
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from figures import Figure, publish
from ratchet.errors import Refused
from ratchet.healing.solvers.repair import SearchRequest, SearchResult, doubts, files_of, search
from ratchet.ports import Sandbox
from ratchet.sandbox.choice import Sandboxes
from ratchet.sandbox.command import Command, Limits, View

_CHECK = ("python", "-m", "pytest", "-q")
_HELD_EVERY = 4
_AGREEING = 20
_NEAR = 60
_BY_THE_CLOCK = 8.0  # times the CPU time, for a machine that has other work
# What a program answers to calls, each with a second of CPU: printed as one JSON list, "!" for what has no answer.
_ASKED = """
import contextlib, io, json, random, signal, sys
def late(*_): raise TimeoutError
signal.signal(signal.SIGPROF, late)
space, found = {}, []
calls = json.load(sys.stdin)
with contextlib.redirect_stdout(io.StringIO()):
    try:
        exec(open(sys.argv[1]).read(), space)
    except BaseException:
        space = None
    for call in calls:
        signal.setitimer(signal.ITIMER_PROF, 1)
        try:
            found.append(repr(eval(call, dict(space))))
        except BaseException as error:
            found.append("!" + type(error).__name__)
        signal.setitimer(signal.ITIMER_PROF, 0)
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class Exercise:
    """One exercise: what comes before each program, its tests (call -> value) and other inputs with their answers."""

    folder: Path
    before: str
    tests: Sequence[tuple[str, str]]
    held: Mapping[str, str]

    def programs(self, kind: str) -> list[Path]:
        return sorted((self.folder / "code" / kind).glob("*.py"))

    def text(self, path: Path) -> str:
        return self.before + path.read_text(encoding="utf-8", errors="replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """One program after the search."""

    name: str
    passed: bool
    agrees: bool
    sure: bool
    found: SearchResult


class Bench:
    """Lays programs out, searches, and asks what was found."""

    def __init__(self, sandbox: Sandbox, seconds: float) -> None:
        self._sandbox = sandbox
        self._seconds = seconds

    def exercise(self, folder: Path) -> Exercise:
        """Read an exercise. Inputs near those of its tests count where passing programs answer them alike."""
        shared = folder / "code" / "global.py"
        before = shared.read_text(encoding="utf-8") + "\n" if shared.is_file() else ""
        tests: dict[str, str] = {}
        for file in sorted((folder / "ans").glob("input_*.txt")):
            value = file.with_name(file.name.replace("input", "output")).read_text(encoding="utf-8")
            tests.setdefault(file.read_text(encoding="utf-8").strip(), value.strip())
        shown = Exercise(folder, before, [*tests.items()], {})
        draw = random.Random(folder.name)
        correct = shown.programs("correct")
        asked = [*tests, *(_near(call, draw) for call in draw.choices([*tests], k=_NEAR))]
        answers = [self.answers(shown.text(each), asked) for each in draw.sample(correct, _AGREEING)]
        held = {
            call: told[0]
            for call, told in zip(asked, zip(*filter(None, answers), strict=True), strict=True)
            if len(set(told)) == 1 and not told[0].startswith("!")
        }
        visible = [each for at, each in enumerate(tests.items()) if at % _HELD_EVERY != _HELD_EVERY - 1]
        return Exercise(folder, before, visible, held)

    def answers(self, text: str, calls: Sequence[str]) -> list[str]:
        """What a program answers; empty where it does not come so far."""
        with tempfile.TemporaryDirectory() as scratch:
            Path(scratch, "prog.py").write_text(text, encoding="utf-8")
            argv = ("python", "-c", _ASKED, "prog.py")
            stdin = json.dumps(list(calls)).encode()
            ran = self._sandbox.run(
                Command(argv=argv, view=View(folder=Path(scratch)), limits=Limits(wall_s=300.0), stdin=stdin)
            )
        try:
            return [str(each) for each in json.loads(ran.stdout)]
        except ValueError:
            return []

    def mend(self, exercise: Exercise, wrong: Path, donors: Sequence[Path]) -> Mended:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            (folder / "prog.py").write_text(exercise.text(wrong), encoding="utf-8")
            shown = enumerate(exercise.tests)
            lines = [f"def test_{at}():\n    assert {call} == {value}\n" for at, (call, value) in shown]
            (folder / "test_prog.py").write_text("from prog import *\n\n\n" + "\n\n".join(lines), encoding="utf-8")
            asked = SearchRequest(
                check=_CHECK, candidates=20_000, cpu_s=self._seconds, seconds=_BY_THE_CLOCK * self._seconds,
                donors={each.name: exercise.text(each) for each in donors},
            )  # fmt: skip
            found = search(asked, self._sandbox, View(folder=folder), limits=Limits())
        files = files_of(found.patches[0]) if found.patches else {}
        agrees = bool(files) and self._agrees(exercise, files["prog.py"].decode())
        sure = bool(files) and not doubts(found, found.patches[0])
        return Mended(name=wrong.name, passed=bool(files), agrees=agrees, sure=sure, found=found)

    def _agrees(self, exercise: Exercise, text: str) -> bool:
        return self.answers(text, [*exercise.held]) == [*exercise.held.values()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the unpacked data (question_1 ...)")
    parser.add_argument("--programs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=45.0, help="CPU time of each search")
    parser.add_argument("--donors", default="0,5", help="arms: passing programs of others")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        try:
            bench = Bench(Sandboxes(Path(home)).chosen(), given.seconds)
        except Refused as error:
            print(f"skipped: {error}", file=sys.stderr)
            return 0
        exercises = [bench.exercise(each) for each in sorted(given.data.glob("question_*"))]
        everything = [(exercise, path) for exercise in exercises for path in exercise.programs("wrong")]
        chosen = random.Random(given.seed).sample(everything, given.programs)
        figures: list[Figure] = []
        for count in map(int, given.donors.split(",")):
            figures += _figures(count, [found for each in chosen if (found := _one(bench, *each, count))])
    return publish("students", figures)


def _one(bench: Bench, exercise: Exercise, wrong: Path, donors: int) -> Mended | None:
    draw = random.Random(wrong.name)
    began = time.monotonic()
    found = bench.mend(exercise, wrong, draw.sample(exercise.programs("correct"), donors))
    if not found.found.tried and found.found.problem == "every test passes here":
        return None  # it is wrong on the held-back tests only
    result = found.found
    told = "right" if found.agrees else "wrong" if found.passed else "-"
    head = f"{donors} donors  {wrong.name:20} {told:6}{'sure' if found.sure else '':5}"
    spent = f"{result.found_at:>6} of {result.tried:<6} {time.monotonic() - began:.0f} s"
    print(f"{head} {spent}  {result.grounds.told()}", flush=True)
    return found


def _figures(donors: int, runs: Sequence[Mended]) -> list[Figure]:
    passed = [each for each in runs if each.passed]
    sure = [each for each in passed if each.sure]
    right = sum(each.agrees for each in sure)
    named = f"{donors} donors" if donors else "no donors"
    goal = 0.9 if donors else 0.6
    return [
        _share(f"{named}: pass", len(passed), len(runs), goal),
        _share(f"{named}: called sure, of what passes", len(sure), len(passed), 0.6),
        _share(f"{named}: agree on held-out inputs, of the sure", right, len(sure), 0.97),
        Figure(
            name=f"{named}: agree, of what passes",
            measured=f"{sum(each.agrees for each in passed)} of {len(passed)}",
        ),
    ]


def _share(name: str, some: int, of: int, goal: float) -> Figure:
    return Figure(name=name, measured=f"{some} of {of}", goal=f">= {goal:.0%}", holds=some >= goal * of)


def _near(call: str, draw: random.Random) -> str:
    """A call with one of its numbers changed, or an element left out, or one twice."""
    tree = ast.parse(call, mode="eval")
    assert isinstance(tree.body, ast.Call)
    walked = [each for argument in tree.body.args for each in ast.walk(argument)]
    places = [each for each in walked if isinstance(each, ast.List | ast.Tuple | ast.Constant)]
    at = draw.choice(places)
    if isinstance(at, ast.Constant):
        value = at.value
        at.value = value + draw.choice([-1, 1, 2]) if isinstance(value, int) else value
    elif at.elts:
        index = draw.randrange(len(at.elts))
        at.elts[index : index + 1] = draw.choice([[], [at.elts[index]] * 2, [at.elts[-1], at.elts[index]]])
    return ast.unparse(tree)


if __name__ == "__main__":
    main()
