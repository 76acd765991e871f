"""Seeds faults into a public project and keeps what its own tests then say: tracebacks whose cause is known.

    python benchmarks/seeded.py PROJECT --out FILE --pair SOURCE:TEST ... [--faults N] [--seed N]

PROJECT is a checkout; each pair names a source file and the test file that tries it, relative to it. One fault a
function: a comparison, an operator, a number or a condition is changed. A fault counts when at least two tests fail of
it. Nothing of the project is kept but what its tests print, in FILE, which `benchmarks/recall.py --tracebacks` reads.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LIMIT_S = 20
FAILURES = 6  # of a fault: one is remembered, the others are asked
SECTION = re.compile(r"^_{3,} (.+?) _{3,}$", re.MULTILINE)
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


def places(function: ast.AST) -> list[ast.AST]:
    """Nodes of a function that can be made wrong."""
    found: list[ast.AST] = []
    for node in ast.walk(function):
        if (
            (isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED)
            or (isinstance(node, ast.BinOp) and type(node.op) in SWAPPED)
            or isinstance(node, ast.BoolOp)
            or (isinstance(node, ast.Constant) and type(node.value) is int)
            or (isinstance(node, (ast.If, ast.While)) and not isinstance(node.test, (ast.Compare, ast.BoolOp)))
            or (isinstance(node, ast.Return) and node.value is not None)
        ):
            found.append(node)
    return found


def spoil(node: ast.AST) -> None:
    if isinstance(node, ast.Compare):
        node.ops = [SWAPPED[type(node.ops[0])](), *node.ops[1:]]  # type: ignore[list-item]
    elif isinstance(node, (ast.BinOp, ast.BoolOp)):
        node.op = SWAPPED[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, ast.Constant):
        assert isinstance(node.value, int)
        node.value += 1
    elif isinstance(node, (ast.If, ast.While)):
        node.test = ast.UnaryOp(op=ast.Not(), operand=node.test)
    elif isinstance(node, ast.Return):
        node.value = ast.Constant(value=None)


def faults(source: str, choice: random.Random) -> list[tuple[str, str]]:
    """(name of the function, the source with one fault in it)."""
    names = [n.name for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)]
    made = []
    for position, name in enumerate(names):
        tree = ast.parse(source)
        function = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)][position]
        wrong = places(function)
        if wrong:
            spoil(choice.choice(wrong))
            made.append((name, ast.unparse(ast.fix_missing_locations(tree))))
    return made


def failures(project: Path, source: str, test: str, text: str, style: str) -> dict[str, str]:
    """What each failing test says."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / project.name
        shutil.copytree(project, copy)
        (copy / source).write_text(text)
        asked = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--maxfail=12", f"--tb={style}", test]
        try:
            done = subprocess.run(asked, cwd=copy, capture_output=True, text=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return {}
        said = done.stdout.replace(str(copy), "/srv/build")
    pieces = SECTION.split(said.partition("short test summary info")[0])
    return dict(zip(pieces[1::2], (piece.strip() for piece in pieces[2::2]), strict=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pair", action="append", required=True, help="SOURCE:TEST")
    parser.add_argument("--faults", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    choice = random.Random(given.seed)
    made = []
    for pair in given.pair:
        source, test = pair.split(":")
        seeded = faults((given.project / source).read_text(), choice)
        made += [(source, test, name, text) for name, text in seeded]
    choice.shuffle(made)
    kept: list[dict[str, object]] = []
    with ThreadPoolExecutor(2) as pool:
        styles = [choice.choice(("long", "short", "native")) for _ in made]
        work = [
            (source, name, pool.submit(failures, given.project, source, test, text, style))
            for (source, test, name, text), style in zip(made, styles, strict=True)
        ]
        for source, name, running in work:
            said = running.result() if len(kept) < given.faults else {}
            if len(said) >= 2:
                kept.append({"fault": f"{given.project.name}/{source}:{name}", "failures": [*said.values()][:FAILURES]})
            if len(kept) >= given.faults:
                pool.shutdown(wait=False, cancel_futures=True)
                break
    given.out.write_text(json.dumps(kept, indent=1))
    print(f"{len(kept)} faults in {given.out}")


if __name__ == "__main__":
    main()
