"""Every Python that Ratchet starts on the host is isolated: it imports nothing from the folder it is started in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

import pytest

from support.sources import PACKAGE, place, text

INSIDE = ("healing/judges/inside", "healing/solvers/repairing", "demo/agent", "demo/prompts", "tasks/library")
"""What runs in the sandbox, on the project's own code, which it is to import."""
NAMED = {
    "registry.py",
    "sandbox/choice.py",
    "sandbox/interpreter.py",
    "evolving/bench/agents.py",
    "integrations/plugin.py",
}
"""Where the interpreter is looked at, and not started."""
ISOLATED = ("-I", "-P")
STARTERS = ("Popen", "run", "call", "check_call", "check_output", "create_subprocess_exec", "execv", "execve", "spawnv")
MULTIPROCESSING = ("get_context", "Pool", "Process", "Manager", "set_start_method", "ProcessPoolExecutor")
WORDS = ("executable", "python", *MULTIPROCESSING)
"""One of them is in every line that is looked for."""


def faults(code: str) -> list[str]:
    """The lines that start a Python which is not isolated, as far as they can be read."""
    if not any(word in code for word in WORDS):
        return []
    tree = ast.parse(code)
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    found = []
    for node in ast.walk(tree):
        if _is_interpreter(node) and not _isolated(node, above[node]):
            found.append(f"{node.lineno}: sys.executable without -I or -P")
        elif isinstance(node, ast.Call) and _name(node.func) in STARTERS and any(_pythons(node)):
            found.append(f"{node.lineno}: a python of the PATH")
        elif isinstance(node, ast.Call) and _name(node.func) in MULTIPROCESSING and not _safe(node):
            found.append(f"{node.lineno}: multiprocessing, which runs `python -c`")
    return found


def _is_interpreter(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in ("executable", "_base_executable")
        and _name(node.value) == "sys"
    )


def _isolated(node: ast.Attribute, above: ast.AST) -> bool:
    """The word after the interpreter isolates it; in the settings of another program, its first argument does."""
    if isinstance(above, ast.List | ast.Tuple):
        words: list[ast.expr] = above.elts
    elif isinstance(above, ast.Call):
        words = above.args
    elif isinstance(above, ast.Dict):
        args = [value for key, value in zip(above.keys, above.values, strict=True) if _text(key) == "args"]
        return bool(args) and isinstance(args[0], ast.List) and _starts_isolated(args[0].elts)
    else:
        return False
    after = words[words.index(node) + 1 :] if node in words else []
    return bool(after) and _text(after[0]) in ISOLATED


def _starts_isolated(words: list[ast.expr]) -> bool:
    return _text(words[0]) in ISOLATED or isinstance(words[0], ast.Starred)


def _pythons(call: ast.Call) -> Iterator[bool]:
    for each in call.args[:1]:
        words = each.elts[:1] if isinstance(each, ast.List | ast.Tuple) else [each]
        yield any((_text(word) or "").startswith("python") for word in words)


def _safe(call: ast.Call) -> bool:
    """A pool whose processes are started with a safe path."""
    return any(each.arg == "mp_context" and "_SafeContext" in ast.dump(each.value) for each in call.keywords)


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.AST | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def test_every_start_of_a_python_is_isolated() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if not place(path).startswith(INSIDE) and place(path) not in NAMED:
            found += [f"{path}:{fault}" for fault in faults(text(path))]
    assert not found


@pytest.mark.parametrize(
    "line",
    [
        "subprocess.run([sys.executable, '-m', 'ratchet.cli'])",
        "command = [sys.executable, '-B', '-c', code]",
        "asyncio.create_subprocess_exec(sys.executable, *words)",
        "subprocess.Popen(['python3', '-I'])",
        "os.execv('python', words)",
        "start(sys.executable)",
        "python = sys.executable",
        "multiprocessing.get_context('spawn')",
        "ProcessPoolExecutor(2, mp_context=context)",
        "entry = {'command': sys.executable, 'args': ['-m', 'ratchet']}",
    ],
)
def test_a_start_that_is_not_isolated_is_found(line: str) -> None:
    assert len(faults(line)) == 1


def test_those_that_are_looked_at_are_there() -> None:
    assert all((PACKAGE / each).exists() for each in (*INSIDE, *NAMED))
