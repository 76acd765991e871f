"""Print the figures of the code: lengths of functions and files, names at the root, import cycles, what stands twice.

    python scripts/figures_of_the_code.py [--beside REVISION]

Measures src/ratchet of the working tree, and of a revision of git beside it. Left out everywhere: the shipped tasks and
benchmark data (`tasks/`, `core/`), which are cases and broken on purpose; of code lines also the phrases of kinds.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import statistics
import subprocess
import tarfile
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = re.compile(r"^tasks/|(^|/)bench/core/|(^|/)demo/(agent|prompts)/")
PHRASES = re.compile(r"/?(kind_(words|hints|tool_words)|phrases_[a-z]+)\.py$")
HELPER_LINES = 8  # a private helper below it that has one caller may say no more than its line
Function = ast.FunctionDef | ast.AsyncFunctionDef


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--beside", metavar="REVISION", help="a revision of git to measure, too")
    beside = asked.parse_args().beside
    columns = [("now", figures(tree()))]
    if beside:
        columns.insert(0, (beside, figures(revision(beside))))
    print(f"{'':52}" + "".join(f"{name:>14}" for name, _ in columns))
    for label in columns[0][1]:
        print(f"{label:52}" + "".join(f"{held[label]:>14}" for _, held in columns))


def tree() -> dict[str, str]:
    """Path beneath src/ratchet -> text, in the working tree."""
    root = ROOT / "src/ratchet"
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))}


def revision(name: str) -> dict[str, str]:
    """Path beneath src/ratchet -> text, at a revision."""
    packed = subprocess.run(
        ["git", "-C", str(ROOT), "archive", name, "src/ratchet"], capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        held = {each.name: archive.extractfile(each) for each in archive if each.name.endswith(".py")}
        return {path.removeprefix("src/ratchet/"): file.read().decode() for path, file in held.items() if file}


def figures(texts: Mapping[str, str]) -> dict[str, str]:
    """Label -> figure, in the order of printing."""
    root = {path.partition("/")[0].removesuffix(".py") for path in texts}
    texts = {path: text for path, text in texts.items() if not DATA.search(path)}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    lengths = sorted(lines_of(each) for each in functions(trees.values()))
    files = sorted(text.count("\n") for text in texts.values())
    twice = duplicate_classes(trees)
    cycles = import_cycles(trees)
    lonely = sum(one_caller_helpers(each) for each in trees.values())
    return {
        "names at the root": f"{len(root):,}",
        "modules": f"{len(texts):,}",
        "functions": f"{len(lengths):,}",
        "function lines, median / p95": f"{statistics.median(lengths):.0f} / {at(lengths, 0.95)}",
        "functions over 60 lines": f"{sum(each > 60 for each in lengths)}",
        "file lines, median / p95 / most": f"{statistics.median(files):.0f} / {at(files, 0.95)} / {files[-1]}",
        "files over 400 lines": f"{sum(each > 400 for each in files)}",
        "import cycles at run time (modules in them)": f"{len(cycles)} ({sum(map(len, cycles))})",
        f"private helpers < {HELPER_LINES} lines with one caller": f"{lonely} = {lonely / len(lengths):.1%}",
        "class names that name several classes": f"{len(twice)} ({sum(twice.values())})",
        "code lines": f"{sum(code_lines(t) for p, t in texts.items() if not PHRASES.search(p)):,}",
    }


def at(ordered: list[int], share: float) -> int:
    return ordered[int(share * (len(ordered) - 1))]


def functions(trees: Iterable[ast.AST]) -> Iterator[Function]:
    return (node for tree in trees for node in ast.walk(tree) if isinstance(node, Function))


def lines_of(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def one_caller_helpers(tree: ast.Module) -> int:
    """Private functions and methods of a module that are short and named once beside their definition."""
    named = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
    )
    return sum(
        node.name.startswith("_")
        and not node.name.startswith("__")
        and lines_of(node) < HELPER_LINES
        and named[node.name] == 1
        for node in functions([tree])
    )


def duplicate_classes(trees: Mapping[str, ast.Module]) -> Counter[str]:
    """Name -> number of classes at the top of modules, where it is more than one; names that other packages gave
    (`compat`) are not counted."""
    ours = [tree for path, tree in trees.items() if not path.startswith("compat/")]
    named = Counter(node.name for tree in ours for node in tree.body if isinstance(node, ast.ClassDef))
    return Counter({name: count for name, count in named.items() if count > 1})


def import_cycles(trees: Mapping[str, ast.Module]) -> list[set[str]]:
    """Groups of modules that need one another while they are imported."""
    modules = {module_of(path): (path, tree) for path, tree in trees.items()}
    needs = {name: set(imported(name, path, tree, modules)) - {name} for name, (path, tree) in modules.items()}
    return strongly_connected(needs)


def module_of(path: str) -> str:
    return ".".join(("ratchet", *Path(path).with_suffix("").parts)).removesuffix(".__init__")


def imported(name: str, path: str, tree: ast.Module, modules: Mapping[str, object]) -> Iterator[str]:
    for node in at_import(tree.body):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in modules)
        elif isinstance(node, ast.ImportFrom):
            package = name if path.endswith("__init__.py") else name.rpartition(".")[0]
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            for each in node.names:
                full = f"{source}.{each.name}"
                yield full if full in modules else source if source in modules else name


def at_import(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when a module is imported, down to the bodies of its classes."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from at_import(node.orelse)
        elif not isinstance(node, Function):
            for field in ("body", "orelse", "handlers", "finalbody"):
                inner = getattr(node, field, [])
                yield from at_import(inner if isinstance(inner, list) else [])


def strongly_connected(needs: Mapping[str, set[str]]) -> list[set[str]]:
    """Components of more than one node."""
    users: dict[str, set[str]] = defaultdict(set)
    for name, needed in needs.items():
        for each in needed:
            users[each].add(name)
    left, found = set(needs), []
    while left:
        start = min(left)
        group = reached(start, needs, left) & reached(start, users, left)
        left -= group
        if len(group) > 1:
            found.append(group)
    return found


def reached(start: str, edges: Mapping[str, set[str]], within: set[str]) -> set[str]:
    seen, todo = {start}, [start]
    while todo:
        fresh = edges.get(todo.pop(), set()) & within - seen
        seen |= fresh
        todo += fresh
    return seen


def code_lines(text: str) -> int:
    """Lines that hold code: no blanks, comments or docstrings."""
    held: set[int] = set()
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped:
            held.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            held.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(held)


if __name__ == "__main__":
    main()
