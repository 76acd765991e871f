"""Patches of which it is known whether they are right, with what speaks for them: the sureness of a repair is fitted on
them and held to them.

Three kinds of program, all by argument, none of which enters the project: functions with examples in their texts
(https://github.com/TheAlgorithms/Python, or any folder of modules that need no other packages), with one or two faults
planted and two to six of the examples as tests; the programs of QuixBugs (`quixbugs.py`) and of students
(`students.py`). A patch is right where it answers as the true program does: on the examples that were held back, and on
inputs near those of the tests. The first patch of a search is kept, then that one and the last as if somebody else
had brought them, and the first again beside code that has nothing to do with it.

One half of the programs, by their names, is to fit the weights on; the other is to be looked at last.

    python benchmarks/sureness.py ROWS.jsonl [--examples DIR] [--quixbugs DIR] [--students DIR] [--count 60] [--seed 1]
        [--seconds 12]

Rows are added where a folder is given; the figures are those of all rows there.
"""

from __future__ import annotations

import argparse
import ast
import doctest
import hashlib
import json
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from figures import Figure, at_least, at_most, publish
from quixbugs import QuixBugs
from ratchet.errors import Refused
from ratchet.healing.solvers.repair import SearchRequest, SearchResult, doubts, files_of, search
from ratchet.healing.solvers.repairing.grounds import PatchGrounds
from ratchet.ports import Sandbox
from ratchet.sandbox.choice import Sandboxes
from ratchet.sandbox.command import Limits, View
from students import Bench

_CHECK = ("python", "-m", "pytest", "-q")
_AT_LEAST, _FEWEST, _MOST = 5, 2, 6  # examples of a function, and of these that are shown
_OTHERWISE, _ENOUGH = 0.02, 10  # as in `quixbugs.py`; of so many inputs at least
_TWO = 0.25  # of the programs have two faults
_BY_THE_CLOCK = 8.0
_COMPARED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_ELSEWHERE = """

_LIMIT = 77


def unrelated(alpha, *, beta=5, gamma="gamma"):
    total = [alpha * each for each in range(beta) if each != _LIMIT]
    return gamma.join(map(str, total)) or None
"""
_COUNTED = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


@dataclass(frozen=True, slots=True)
class Shown:
    """A function with examples: its module's text without them, its name, and each call with its value."""

    name: str
    function: str
    text: str
    examples: Sequence[tuple[str, str]]


def shown_in(folder: Path) -> Iterator[Shown]:
    """The functions of a folder's modules that have enough examples, each of which stands for itself."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        if not _is_plain(tree):
            continue
        plain = _without_examples(text, tree)
        for node in tree.body:
            examples = _examples(ast.get_docstring(node) or "", node.name) if isinstance(node, ast.FunctionDef) else []
            if isinstance(node, ast.FunctionDef) and len(examples) >= _AT_LEAST:
                yield Shown(f"{path.relative_to(folder)}:{node.name}", node.name, plain, examples)


def _is_plain(tree: ast.Module) -> bool:
    """Tell whether a module needs nothing but the standard library, nor chance, people or the clock."""
    held = {
        alias.name.partition(".")[0] for each in ast.walk(tree) if isinstance(each, ast.Import) for alias in each.names
    }
    held |= {(each.module or ".").partition(".")[0] for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)}
    return held <= sys.stdlib_module_names - {"random", "time", "datetime", "os", "sys", "secrets", "uuid"}


def _without_examples(text: str, tree: ast.Module) -> str:
    lines = text.splitlines()
    for node in ast.walk(tree):
        text_of = node.value if isinstance(node, ast.Expr) else None
        if isinstance(node, ast.Expr) and isinstance(text_of, ast.Constant) and ">>>" in str(text_of.value):
            head = " " * node.col_offset + '"""..."""'
            lines[node.lineno - 1 : node.end_lineno] = [head, *[""] * ((node.end_lineno or 0) - node.lineno)]
    return "\n".join(lines) + "\n"


def _examples(text: str, function: str) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    try:
        parsed = doctest.DocTestParser().get_examples(text)
    except ValueError:
        return []
    for each in parsed:
        source, want = each.source.strip(), each.want.strip()
        if not want:
            return []  # it makes something ready for the others
        try:
            ast.parse(source, mode="eval")
            ast.literal_eval(want)
        except (SyntaxError, ValueError):
            continue
        if f"{function}(" in source:
            found[source] = want
    return [*found.items()]


def faulty(text: str, function: str, draw: random.Random) -> str:
    """A module's text with a fault planted in one of its functions."""
    tree = ast.parse(text)
    body = next(each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == function)
    names = sorted({each.id for each in ast.walk(body) if isinstance(each, ast.Name)} - {function})
    found = [each for top in body.body for node in ast.walk(top) for each in _faults(node, names, draw)]
    node, new = draw.choice(found)
    lines = [each.encode() for each in text.splitlines(keepends=True)]
    assert isinstance(node, ast.expr | ast.stmt)
    starts = [sum(map(len, lines[: at - 1])) for at in (node.lineno, node.end_lineno or node.lineno)]
    whole = text.encode()
    return (
        whole[: starts[0] + node.col_offset] + new.encode() + whole[starts[1] + (node.end_col_offset or 0) :]
    ).decode()


def _faults(node: ast.AST, names: Sequence[str], draw: random.Random) -> Iterator[tuple[ast.AST, str]]:  # noqa: C901
    def said(new: ast.AST) -> str:
        text = ast.unparse(ast.fix_missing_locations(new))
        return text if isinstance(new, ast.stmt) else f"({text})"

    match node:
        case ast.Compare(ops=[op]) if isinstance(op, _COMPARED):
            other = draw.choice([each for each in _COMPARED if not isinstance(op, each)])
            yield node, said(ast.Compare(node.left, [other()], node.comparators))
        case ast.BinOp(op=op) if isinstance(op, _COUNTED):
            counted = draw.choice([each for each in _COUNTED if not isinstance(op, each)])
            yield node, said(ast.BinOp(node.left, counted(), node.right))
            yield node, said(node.left)
        case ast.BoolOp():
            yield node, said(ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values))
            yield node, said(draw.choice(node.values))
        case ast.UnaryOp(op=ast.Not()):
            yield node, said(node.operand)
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            yield node, str(value + draw.choice([-1, 1]))
        case ast.Constant(value=bool() as value):
            yield node, str(not value)
        case ast.Name(ctx=ast.Load()) if node.id in names and len(names) > 1:
            yield node, draw.choice([each for each in names if each != node.id])
        case ast.Call(args=[_, _, *_]):
            yield node, said(ast.Call(node.func, [node.args[1], node.args[0], *node.args[2:]], node.keywords))
        case ast.Call(args=[one]) if not isinstance(one, ast.Starred):
            yield node, said(one)
        case ast.Slice(lower=ast.expr() as lower, upper=None):
            yield node, f":{ast.unparse(lower)}"
        case ast.Slice(lower=lower, upper=ast.expr()):
            yield node, f"{ast.unparse(lower) if lower else ''}:"
        case ast.AugAssign() | ast.Assign() | ast.Expr(value=ast.Call()):
            yield node, "pass"
        case ast.If(body=[ast.Return() | ast.Raise() | ast.Continue() | ast.Break()], orelse=[]):
            yield node, "pass"
        case _:
            return


class Collection:
    """Collects what speaks for patches, and whether they are right."""

    def __init__(self, sandbox: Sandbox, out: Path, seconds: float) -> None:
        self._sandbox, self._out, self._seconds = sandbox, out, seconds
        self._asking = Bench(sandbox, seconds)

    def write(self, name: str, found: SearchResult, right: bool | None, **more: object) -> None:
        """Add a row, unless nothing passed, or nobody knows whether it is right."""
        if not found.patches or right is None:
            print(f"{name:60} - {found.problem[:60]}", flush=True)
            return
        marks: Any = found.patches[0]["marks"]
        row = {
            "name": name, "right": right, "families": [each["family"] for each in marks],
            "grounds": asdict(found.grounds), **more,
        }  # fmt: skip
        with self._out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        said = "sure" if not doubts(found, found.patches[0]) else ""
        print(f"{name:60} {'right' if right else 'WRONG'} {said:4}  {found.grounds.told()}", flush=True)

    def planted(self, one: Shown, draw: random.Random) -> None:
        """Plant faults in a function, and search for what mends it."""
        calls = [call for call, _ in one.examples]
        true = self._asking.answers(one.text, calls)
        for _ in range(20):
            text = one.text
            try:
                for _ in range(1 + (draw.random() < _TWO)):
                    text = faulty(text, one.function, draw)
                ast.parse(text)
            except (SyntaxError, IndexError, ValueError):  # not every fault is one that can be planted there
                continue
            told = self._asking.answers(text, calls)
            failing = [each for each, its, was in zip(one.examples, told, true, strict=False) if its != was]
            if failing:
                self._mended(one, text, _tests(one, draw.choice(failing), draw), true)
                return

    def _mended(self, one: Shown, text: str, tests: str, true: Sequence[str]) -> None:
        asked = SearchRequest(
            check=_CHECK, candidates=600, cpu_s=self._seconds, seconds=_BY_THE_CLOCK * self._seconds
        )  # fmt: skip
        found = self._search(text, tests, asked)
        for at in sorted({0, len(found.patches) - 1}) if found.patches else ():
            new = files_of(found.patches[at])["prog.py"].decode()
            weighed = self._weighed(text, new, tests, one.text)
            held = self._asking.answers(new, [call for call, _ in one.examples]) == [*true]
            its = weighed.grounds
            right = held and its.contradicted <= _OTHERWISE * its.asked
            known = right if not held or its.asked >= _ENOUGH else None
            if not at:
                self.write(f"examples/{one.name}", found, known)
            beside = {} if at else {"beside": self._weighed(text, new, tests, one.text, _ELSEWHERE).grounds}
            more = {name: asdict(_alone(each)) for name, each in beside.items()}
            self.write(f"given/{one.name}/{at}", replace(weighed, grounds=_alone(its)), known, **more)

    def _weighed(self, text: str, new: str, tests: str, true: str, more: str = "") -> SearchResult:
        """Weigh a patch as if somebody else had brought it; the true program is a donor, which tells if it is right."""
        asked = SearchRequest(
            check=_CHECK, candidates=0, seconds=120.0, given={"prog.py": (new + more).encode()},
            donors={"it": true + more},
        )  # fmt: skip
        return self._search(text + more, tests, asked)

    def _search(self, text: str, tests: str, asked: SearchRequest) -> SearchResult:
        with tempfile.TemporaryDirectory() as scratch:
            Path(scratch, "prog.py").write_text(text, encoding="utf-8")
            Path(scratch, "test_prog.py").write_text(tests, encoding="utf-8")
            return search(asked, self._sandbox, View(folder=Path(scratch)), limits=Limits())


def _alone(grounds: PatchGrounds) -> PatchGrounds:
    """What speaks for a patch without the donor that knows the truth."""
    return replace(grounds, asked=0, contradicted=0)


def _tests(one: Shown, first: tuple[str, str], draw: random.Random) -> str:
    """A test file: one example, and some of the others."""
    others = [each for each in draw.sample([*one.examples], len(one.examples)) if each != first]
    shown = [first, *others][: draw.randint(_FEWEST, min(_MOST, len(others)))]
    lines = [f"def test_{at}():\n    assert {call} == {value}\n" for at, (call, value) in enumerate(shown)]
    return "from prog import *\n\n\n" + "\n\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--examples", type=Path)
    parser.add_argument("--quixbugs", type=Path)
    parser.add_argument("--students", type=Path)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=12.0)
    given = parser.parse_args()
    if given.examples or given.quixbugs or given.students:
        with tempfile.TemporaryDirectory() as home:
            try:
                _collect(given, Sandboxes(Path(home)).chosen())
            except Refused as error:
                print(f"skipped: {error}", file=sys.stderr)
                return 0
    rows = [json.loads(line) for line in given.rows.read_text(encoding="utf-8").splitlines()]
    halves = [[each for each in rows if _half(each["name"]) == half] for half in (0, 1)]
    figures = [each for name, half in zip(("fitted on", "held to"), halves, strict=True) for each in _held(name, half)]
    return publish("sureness", [*figures, *_turned(rows)])


def _collect(given: argparse.Namespace, sandbox: Sandbox) -> None:
    collection = Collection(sandbox, given.rows, given.seconds)
    draw = random.Random(given.seed)
    if given.examples:
        every = [*shown_in(given.examples)]
        for one in draw.sample(every, min(given.count, len(every))):
            collection.planted(one, draw)
    if given.quixbugs:
        quixbugs = QuixBugs(given.quixbugs, sandbox, given.seconds, 2_000)
        for name in draw.sample(quixbugs.names(), min(given.count, len(quixbugs.names()))):
            healed = quixbugs.heal(name)
            collection.write(f"quixbugs/{name}", healed.found, healed.right)
    if given.students:
        bench = Bench(sandbox, given.seconds)
        exercises = [bench.exercise(each) for each in sorted(given.students.glob("question_*"))]
        everything = [(exercise, path) for exercise in exercises for path in exercise.programs("wrong")]
        for exercise, wrong in draw.sample(everything, given.count):
            mended = bench.mend(exercise, wrong, [])
            collection.write(f"students/{wrong.name}", mended.found, mended.agrees)


def _half(name: str) -> int:
    """The half of a program: all patches of one are in the same."""
    program = "/".join(each for each in name.split("/")[1:] if not each.isdigit())
    return hashlib.sha256(program.encode()).digest()[0] % 2


def _held(name: str, rows: Sequence[Mapping[str, Any]]) -> list[Figure]:
    right = [each for each in rows if each["right"]]
    sure = [each for each in rows if _is_sure(each, "grounds")]
    both = sum(each["right"] for each in sure)
    return [
        at_least(f"{name}: right ones called sure", both, 0.6 * len(right), unit=f"of {len(right)}"),
        at_most(f"{name}: wrong and sure", len(sure) - both, 0.03 * len(sure), unit=f"of {len(sure)} sure"),
        Figure(name=f"{name}: wrong ones", measured=f"{len(rows) - len(right)} of {len(rows)}"),
    ]


def _turned(rows: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """How many verdicts code turns that has nothing to do with the patch."""
    twice = [each for each in rows if "beside" in each]
    turned = sum(_is_sure(each, "grounds") != _is_sure(each, "beside") for each in twice)
    return [at_most("verdicts that code elsewhere turns", turned, 0, unit=f"of {len(twice)}")]


def _is_sure(row: Mapping[str, Any], which: str) -> bool:
    return not [*PatchGrounds(**row[which]).doubts(row["families"])]


if __name__ == "__main__":
    raise SystemExit(main() and 0)
