"""Healing on real bugs of real projects: how many are healed right without a model, how near the suspects come to the
faulty line, how many candidates a CPU second.

The cases are laid out beforehand, outside of the repository (nothing of them may enter it):

    DIR/cases.json   a list of records: name, check, failing (test ids), source (paths), fails_with_the_fix_too
    DIR/NAME/        the project at the parent of the fix, with the fix's tests and its .venv
    DIR/NAME.patch   the true fix, for `git apply -p1` in that folder

A result is right where the whole suite passes with it, but for what fails with the true fix, too; its patch is printed
for people to read. Wrong and unmarked is one that does not, and is called sure. The faulty line's rank is the best one
among the lines that the fix takes away or stands beside; equal suspects share the middle of their places. Candidates a
second are compared with the way that loads the tests anew for each, as the search did before, in the same run.

    python benchmarks/realbugs.py --cases DIR [--only NAME,NAME] [--seconds 240] [--no-heal] [--show]
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from figures import Figure, at_least, at_most, publish
from ratchet.errors import Refused
from ratchet.healing.book import HealMeans, HealRequest
from ratchet.healing.episode import Budget, Episode
from ratchet.healing.solvers import survey
from ratchet.healing.solvers.prompting import ROOMS
from ratchet.healing.solvers.repair import Repair, SearchRequest, SearchResult, by_file, search
from ratchet.ports import Sandbox
from ratchet.runtime import Runtime
from ratchet.sandbox import opening
from ratchet.sandbox.choice import Sandboxes
from ratchet.sandbox.command import Command, Limits
from ratchet.testing.healing import ScriptedSolver

_LIMITS = Limits(wall_s=600.0, cpu_s=1_200.0, memory_mb=2048, pids=256, disk_mb=1024)
_SPEED_CANDIDATES = 60
_SUITE_S = 600.0
_NEAR = 20
_BY_THE_CLOCK = 4.0  # times the CPU time, for a machine that has other work
Place = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RealBug:
    """One case. `faulty` are the lines that the true fix takes away or stands beside."""

    name: str
    folder: Path
    check: tuple[str, ...]
    failing: tuple[str, ...]
    known_bad: tuple[str, ...]
    fix: str
    faulty: frozenset[Place] = field(default_factory=frozenset)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, required=True, help="the folder of cases")
    parser.add_argument("--only", default="", help="names, by commas")
    parser.add_argument("--seconds", type=float, default=240.0, help="CPU time of each search")
    parser.add_argument("--no-heal", action="store_true", help="only suspects, speed and prompts")
    parser.add_argument("--scripted", action="store_true", help="only the true fix, as a model's answer")
    parser.add_argument("--no-speed", action="store_true", help="only healing")
    parser.add_argument("--show", action="store_true", help="print each patch")
    given = parser.parse_args()
    only = [each for each in given.only.split(",") if each]
    bugs = [each for each in cases(given.cases) if not only or each.name in only]
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as home:
        try:
            sandbox = Sandboxes(Path(home)).chosen()
        except Refused as error:
            print(f"skipped: {error}", file=sys.stderr)
            return 0
        if given.scripted:
            return publish("realbugs_scripted", _scripted(bugs, given.seconds))
        if not given.no_speed:
            figures += _located(sandbox, bugs)
            figures += _shown(sandbox, bugs)
        if not given.no_heal:
            figures += _healed(sandbox, bugs, given.seconds, show=given.show)
    return publish("realbugs", figures)


def cases(folder: Path) -> Iterator[RealBug]:
    for row in json.loads((folder / "cases.json").read_text()):
        project, patch = folder / row["name"], folder / f"{row['name']}.patch"
        if not project.is_dir():
            continue
        fix = patch.read_text() if patch.is_file() else ""
        yield RealBug(
            name=row["name"],
            folder=project,
            check=tuple(shlex.split(row["check"])),
            failing=tuple(row["failing"]),
            known_bad=tuple(row.get("fails_with_the_fix_too", ())),
            fix=fix,
            faulty=frozenset(_statements(project, _touched(fix))),
        )


def _touched(patch: str) -> Iterator[Place]:
    """Lines of the old files that a patch takes away, and those on both sides of what it only adds."""
    path, line, taken = "", 0, False
    for row in patch.splitlines():
        if row.startswith("--- "):
            path = row[4:].partition("/")[2]
        elif row.startswith("@@"):
            found = re.match(r"@@ -(\d+)", row)
            line, taken = int(found[1]) if found else 0, False
        elif row.startswith("-"):
            yield path, line
            line, taken = line + 1, True
        elif row.startswith("+") and not row.startswith("+++"):
            if not taken:
                yield from ((path, line - 1), (path, line))
        elif row.startswith(" "):
            line, taken = line + 1, False


def _statements(project: Path, places: Iterator[Place]) -> Iterator[Place]:
    """All lines of the statements at these places; a blank line stands for the statements around it."""
    for path, line in places:
        tree = ast.parse((project / path).read_text()) if path.endswith(".py") else ast.Module([], [])
        spans = [_span(node) for node in ast.walk(tree) if isinstance(node, ast.stmt)]
        within = [span for span in spans if span[0] <= line <= span[1]]
        if within:
            first, last = max(within)
            yield from ((path, each) for each in range(first, last + 1))
        else:
            yield from ((path, each) for each in (max((b for _, b in spans if b < line), default=line),
                                                  min((a for a, _ in spans if a > line), default=line)))  # fmt: skip


def _span(node: ast.stmt) -> tuple[int, int]:
    """The lines of a statement; of one with a body, those of its head."""
    body = getattr(node, "body", None)
    return node.lineno, max(node.lineno, body[0].lineno - 1) if body else (node.end_lineno or node.lineno)


# -- suspects and speed ------------------------------------------------------------------------------------------------


def _located(sandbox: Sandbox, bugs: Sequence[RealBug]) -> list[Figure]:
    ranks: list[float] = []
    ratios: list[float] = []
    for bug in bugs:
        now, before = (_searched(sandbox, bug, plain=plain) for plain in (False, True))
        place = rank({(path, line): much for path, line, much in now.places}, bug.faulty)
        ranks.append(place)
        ratio = _speed(now) / _speed(before)
        ratios.append(ratio)
        print(f"{bug.name}: rank {place:g} of {len(now.places)}; {_speed(now):.1f} candidates a CPU second, "
              f"{_speed(before):.1f} with the tests loaded anew ({ratio:.1f} x)", flush=True)  # fmt: skip
    near = sum(each <= _NEAR for each in ranks)
    return [
        at_most("rank of the faulty line, median", statistics.median(ranks), 15, unit=""),
        at_least(f"faulty line among the first {_NEAR}", near, 0.6 * len(bugs), unit=f"of {len(bugs)}"),
        at_least("candidates a CPU second / loading the tests anew, median", statistics.median(ratios), 3, unit="x"),
    ]


def _speed(found: SearchResult) -> float:
    return max(1, found.tried) / (found.trying_s or 240.0)


def _searched(sandbox: Sandbox, bug: RealBug, *, plain: bool) -> SearchResult:
    """So many candidates, on a copy."""
    with tempfile.TemporaryDirectory() as scratch:
        workspace = opening.copied(sandbox, bug.folder, Path(scratch) / "w")
        asked = SearchRequest(
            check=bug.check, failing=bug.failing, candidates=_SPEED_CANDIDATES, choice=_SPEED_CANDIDATES, seconds=240.0,
            plain=plain,
        )  # fmt: skip
        found = search(asked, sandbox, workspace.view(), limits=_LIMITS)
        workspace.close()
    if found.problem:
        print(f"{bug.name}: {found.problem}")
    return found


def rank(suspicion: Mapping[Place, float], faulty: frozenset[Place]) -> float:
    """The expected place of the best faulty line, equal ones in an order by chance; beyond all where none is there."""
    best = max((suspicion.get(place, 0.0) for place in faulty), default=0.0)
    if best <= 0:
        return float(len(suspicion) + 1_000)
    above = sum(much > best for much in suspicion.values())
    same = [place for place, much in suspicion.items() if much == best]
    return above + (len(same) + 1) / (sum(place in faulty for place in same) + 1)


# -- what a model is shown ---------------------------------------------------------------------------------------------


def _shown(sandbox: Sandbox, bugs: Sequence[RealBug]) -> list[Figure]:
    """What a prompt of a usual window holds of the program, by the suspects alone."""
    holding = 0
    shares: list[float] = []
    for bug in bugs:
        with tempfile.TemporaryDirectory() as scratch:
            workspace = opening.copied(sandbox, bug.folder, Path(scratch) / "w")
            trial = workspace.fork(workspace.checkpoint())
            asked = SearchRequest(check=bug.check, failing=bug.failing, candidates=0, seconds=60.0)
            suspects = by_file(search(asked, sandbox, trial.view(), limits=_LIMITS))
            paths = survey.listing(workspace, sandbox, _LIMITS)
            order = [*suspects, *(each for each in survey.ranked(paths, (), {}) if each not in suspects)]
            texts = survey.shown(workspace, order, "", ROOMS[0], may_change=frozenset(order), suspects=suspects)
        told = {each.path: each.text for each in texts}
        whole = {path: (bug.folder / path).read_text().splitlines() for path, _ in bug.faulty}
        held = all(whole[path][line - 1] in told.get(path, "") for path, line in bug.faulty if line <= len(whole[path]))
        share = sum(len(text) for path, text in told.items() if path in suspects) / max(1, sum(map(len, told.values())))
        holding, shares = holding + held, [*shares, share]
        said = "holds" if held else "does not hold"
        print(f"{bug.name}: {said} the faulty lines; {share:.0%} of it is what the failing test ran", flush=True)
    return [
        at_least("prompt holds the faulty lines", holding, 13 / 15 * len(bugs), unit=f"of {len(bugs)}"),
        at_least("share of functions that the failing test ran, median", statistics.median(shares), 0.5),
    ]


# -- healing -----------------------------------------------------------------------------------------------------------


def _healed(sandbox: Sandbox, bugs: Sequence[RealBug], seconds: float, *, show: bool) -> list[Figure]:
    right = wrong = unmarked_right = unmarked_wrong = 0
    for bug in bugs:
        began = time.monotonic()
        ended = _episode(bug, seconds)
        took = time.monotonic() - began
        last = ended.attempts[-1] if ended.attempts else None
        if ended.status != "passed" or last is None:
            print(
                f"{bug.name}: nothing, {ended.candidates} candidates, {took:.0f} s: {ended.status}: {ended.reason}",
                flush=True,
            )
            continue
        bad = sorted(_fails_with(sandbox, bug, ended.diff) - _fails_with(sandbox, bug, bug.fix) - set(bug.known_bad))
        sure = getattr(last, "standing", "sure") == "sure"
        right, wrong = right + (not bad), wrong + bool(bad)
        unmarked_right, unmarked_wrong = unmarked_right + (not bad and sure), unmarked_wrong + (bool(bad) and sure)
        said = "right" if not bad else f"wrong ({len(bad)} other tests fail, {bad[0]} among them)"
        mark = f"{last.standing or 'not weighed'}: {last.evidence}"
        print(f"{bug.name}: {said}, {mark}; candidate {last.candidates}, {took:.0f} s: {last.fix}", flush=True)
        if show:
            print(ended.diff, flush=True)
    return [
        at_least("healed right", right, len(bugs) / 3, unit=f"of {len(bugs)}"),
        at_most("wrong and called sure", unmarked_wrong, 0, unit=f"of {wrong} wrong"),
        at_least("right ones called sure", unmarked_right, 0.75 * right, unit=f"of {right}"),
    ]


def _scripted(bugs: Sequence[RealBug], seconds: float) -> list[Figure]:
    """The true fix as an answer: whether it is taken, and how sure it is called."""
    taken = sure = 0
    for bug in bugs:
        with tempfile.TemporaryDirectory() as place:
            copy = Path(place) / "fixed"
            shutil.copytree(bug.folder, copy, symlinks=True, ignore=shutil.ignore_patterns(".venv", ".git"))
            subprocess.run(["git", "apply", "-p1"], cwd=copy, input=bug.fix.encode(), check=True)
            changed = re.findall(r"^\+\+\+ b/(.+)$", bug.fix, re.MULTILINE)
            answer = {path: (copy / path).read_text() for path in changed}
        ended = _episode(bug, seconds, HealMeans(solver=ScriptedSolver([answer])))
        standing = ended.attempts[-1].standing if ended.attempts else ""
        taken, sure = taken + (ended.status == "passed"), sure + (standing == "sure")
        last = ended.attempts[-1] if ended.attempts else None
        said = f"{last.standing or 'not weighed'}: {last.evidence} {last.reason}" if last else ended.reason
        print(f"{bug.name}: {ended.status}, {ended.duration_s:.0f} s; {said}", flush=True)
    return [
        at_least("true fixes taken", taken, len(bugs), unit=f"of {len(bugs)}"),
        Figure(name="of these called sure", measured=f"{sure} of {taken}"),
    ]


def _episode(bug: RealBug, seconds: float, means: HealMeans | None = None) -> Episode:
    with tempfile.TemporaryDirectory() as home, Runtime.open(home=Path(home)) as runtime:
        asked = HealRequest(
            check=bug.check, folder=bug.folder, budget=Budget(seconds=_BY_THE_CLOCK * seconds, candidates=1_000_000)
        )
        return runtime.episodes.run(asked, means or HealMeans(solver=Repair(cpu_s=seconds)))


def _fails_with(sandbox: Sandbox, bug: RealBug, diff: str) -> set[str]:
    """Tests of the whole suite that fail with a patch."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / bug.folder.name
        shutil.copytree(bug.folder, copy, symlinks=True, ignore=shutil.ignore_patterns(".venv"))
        subprocess.run(["git", "apply", "-p1"], cwd=copy, input=diff.encode(), check=True)
        workspace = opening.copied(sandbox, copy, Path(scratch) / "w")
        view = replace(workspace.view(), overlaid={".venv": bug.folder / ".venv"}, known_as=bug.folder)
        argv = (
            "python",
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--tb=no",
            "-rfE",
            "--continue-on-collection-errors",
        )
        ran = sandbox.run(Command(argv=argv, view=view, limits=replace(_LIMITS, wall_s=_SUITE_S)))
        workspace.close()
    text = ran.stdout.decode(errors="replace")
    bad = set(re.findall(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE))
    if not re.search(r"\d+ passed", text):
        print(f"{bug.name}: the suite did not run: {text[-300:]}")
        return {"the suite did not run"}
    return bad


if __name__ == "__main__":
    raise SystemExit(main() and 0)
