"""Repair without a model, on the QuixBugs programs (Lin, Koppel, Chen, Solar-Lezama, "QuixBugs: A Multi-Lingual Program
Repair Benchmark Set Based on the Quixey Challenge", SPLASH 2017): how many pass, are right and are called sure, after
how many candidates.

The programs stay outside: DIR is a clone of https://github.com/jkoppel/QuixBugs, or a folder laid out like one
(`python_programs`, `python_testcases`, `json_testcases`, `correct_python_programs`, `conftest.py`). A patch is right
where it answers as the correct program does, on inputs near those of the tests; its patch is printed for people to
read, since some of these are no inputs that a program is meant for.

    python benchmarks/quixbugs.py --cases DIR [--only NAME,NAME] [--seconds 60] [--candidates 2000] [--show]
"""

from __future__ import annotations

import argparse
import ast
import difflib
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from figures import Figure, at_least, at_most, publish
from ratchet.errors import Refused
from ratchet.healing.solvers.repair import SearchRequest, SearchResult, doubts, files_of, search
from ratchet.ports import Sandbox
from ratchet.sandbox.choice import Sandboxes
from ratchet.sandbox.command import Limits, View

_PASS, _MEDIAN, _SURE, _SURE_RIGHT = 33, 90, 0.75, 0.97  # goals: of 40, candidates, of the right ones, of the sure ones
_OTHERWISE = 0.02  # of the inputs that the correct program has an answer for: not all are meant for it
_BY_THE_CLOCK = 8.0  # times the CPU time, for a machine that has other work


@dataclass(frozen=True, slots=True, kw_only=True)
class Healed:
    """One program after the search."""

    name: str
    found: SearchResult
    right: bool
    sure: bool


class QuixBugs:
    """Lays programs out as they lie in the clone, searches, and asks the correct program."""

    def __init__(self, cases: Path, sandbox: Sandbox, seconds: float, candidates: int) -> None:
        self._cases, self._sandbox, self._seconds, self._candidates = cases, sandbox, seconds, candidates

    def names(self) -> list[str]:
        """Programs that have tests."""
        tests = sorted((self._cases / "python_testcases").glob("test_*.py"))
        names = [each.stem.removeprefix("test_") for each in tests]
        return [each for each in names if (self._cases / "python_programs" / f"{each}.py").is_file()]

    def lay_out(self, name: str, folder: Path) -> Path:
        """Lay out one program with its tests and what these load, without the correct one."""
        wanted = [
            "conftest.py", f"python_programs/{name}.py", "python_programs/node.py", f"python_testcases/test_{name}.py",
            "python_testcases/load_testdata.py", "python_testcases/node.py", f"json_testcases/{name}.json",
        ]  # fmt: skip
        for path in wanted:
            if (self._cases / path).is_file():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self._cases / path, folder / path)
        return folder

    def heal(self, name: str) -> Healed:
        found = self._search(name, self._asked(name))
        if not found.patches:
            return Healed(name=name, found=found, right=False, sure=False)
        donor = (self._cases / "correct_python_programs" / f"{name}.py").read_text(encoding="utf-8")
        weighed = self._search(
            name,
            SearchRequest(
                check=_check(name), candidates=0, seconds=300.0, given=files_of(found.patches[0]), donors={"it": donor}
            ),
        ).grounds
        alike = weighed.asked > 0 and weighed.contradicted <= _OTHERWISE * weighed.asked
        texts = [content.decode() for content in files_of(found.patches[0]).values()]
        right = alike or any(_code(each) == _code(donor) for each in texts)
        return Healed(name=name, found=found, right=right, sure=not doubts(found, found.patches[0]))

    def diff(self, healed: Healed) -> str:
        """The patch and its doubts, and what the correct program has instead."""
        before = (self._cases / "python_programs" / f"{healed.name}.py").read_text(encoding="utf-8").splitlines()
        true = (self._cases / "correct_python_programs" / f"{healed.name}.py").read_text(encoding="utf-8").splitlines()
        files = files_of(healed.found.patches[0]) if healed.found.patches else {}
        both = [content.decode().splitlines() for content in files.values()] + [true]
        shown = [line for each in both for line in difflib.unified_diff(before, each, lineterm="", n=1)]
        said = doubts(healed.found, healed.found.patches[0]) if healed.found.patches else healed.found.problem
        return "\n".join([*shown, f"   {said}", f"   {healed.found.grounds.told()}"])

    def _asked(self, name: str) -> SearchRequest:
        return SearchRequest(
            check=_check(name), candidates=self._candidates, cpu_s=self._seconds,
            seconds=_BY_THE_CLOCK * self._seconds,
        )  # fmt: skip

    def _search(self, name: str, asked: SearchRequest) -> SearchResult:
        with tempfile.TemporaryDirectory() as scratch:
            return search(asked, self._sandbox, View(folder=self.lay_out(name, Path(scratch))), limits=Limits())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, required=True, help="a clone of QuixBugs")
    parser.add_argument("--only", default="", help="names, by commas")
    parser.add_argument("--seconds", type=float, default=60.0, help="CPU time of each search")
    parser.add_argument("--candidates", type=int, default=2_000)
    parser.add_argument("--show", action="store_true", help="print each patch, and the true one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        try:
            bench = QuixBugs(given.cases, Sandboxes(Path(home)).chosen(), given.seconds, given.candidates)
        except Refused as error:
            print(f"skipped: {error}", file=sys.stderr)
            return 0
        names = [each for each in given.only.split(",") if each] or bench.names()
        return publish("quixbugs", _figures([_one(bench, each, show=given.show) for each in names]))


def _one(bench: QuixBugs, name: str, *, show: bool) -> Healed:
    began = time.monotonic()
    healed = bench.heal(name)
    found = healed.found
    said = "right" if healed.right else "otherwise" if found.patches else "-"
    spent = f"{found.found_at:>5} of {found.tried:<5} {time.monotonic() - began:.0f} s"
    print(f"{name:28} {said:10}{'sure' if healed.sure else '':5} {spent} {found.problem}", flush=True)
    if show:
        print(bench.diff(healed), flush=True)
    return healed


def _figures(runs: Sequence[Healed]) -> list[Figure]:
    passed = [each for each in runs if each.found.patches]
    right = [each for each in passed if each.right]
    sure = [each for each in passed if each.sure]
    both, share = sum(each.right for each in sure), len(runs) / 40
    median = statistics.median([each.found.found_at for each in passed] or [0])
    return [
        at_least("pass", len(passed), _PASS * share, unit=f"of {len(runs)}"),
        at_least("right", len(right), _PASS * share, unit=f"of {len(passed)}"),
        at_most("candidates until the first that passes, median", median, _MEDIAN, unit=""),
        at_least("right ones called sure", both, _SURE * len(right), unit=f"of {len(right)}"),
        at_least("right, of the sure", both, _SURE_RIGHT * len(sure), unit=f"of {len(sure)}"),
    ]


def _code(text: str) -> list[str]:
    """The functions of a program, without its remarks: the same program may answer otherwise where it is a matter of
    chance, as the order of a set of objects is."""
    return [ast.dump(each) for each in ast.parse(text).body if not isinstance(each, ast.Expr)]


def _check(name: str) -> tuple[str, ...]:
    return ("python", "-m", "pytest", "-q", f"python_testcases/test_{name}.py")


if __name__ == "__main__":
    raise SystemExit(main() and 0)
