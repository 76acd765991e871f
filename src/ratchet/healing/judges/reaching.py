"""Tell whether a change of a program reaches for what judges it: ends the process before the judge has spoken, or lays
hands on the interpreter that the judge runs in.

Pure. It is the second line: where assertions live in another process there is nothing to reach for. Only what a change
adds counts, so that a program which always did such things can be mended.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ratchet.sandbox.command import FileChange

_MODULE_NAMES = (
    "pytest _pytest pluggy unittest doctest gc ctypes _ctypes cffi atexit faulthandler builtins _thread sitecustomize"
    " usercustomize site importlib runpy code codeop pdb bdb trace tracemalloc inspect mmap pty ptrace imp zipimport"
    " hypothesis mock linecache"
)
_ATTRIBUTE_NAMES = (
    "_exit _getframe settrace setprofile modules meta_path path_hooks path_importer_cache excepthook unraisablehook"
    " abort kill killpg forkpty setswitchinterval addaudithook f_back f_locals f_globals f_builtins gi_frame cr_frame"
    " tb_frame __code__ __globals__ __builtins__ __subclasses__ __loader__ __spec__ __closure__ currentframe"
    " _current_frames displayhook breakpointhook dup2 execv execve execvp execl execlp"
)
_CALLED = frozenset(("exec", "eval", "compile", "__import__", "globals", "vars", "breakpoint", "setattr", "delattr"))
_MODULES = frozenset(_MODULE_NAMES.split())
_ATTRIBUTES = frozenset(_ATTRIBUTE_NAMES.split())
_STRINGS = re.compile(r"PYTEST_|_pytest|conftest|sitecustomize|/proc/|pytest|\.pth\b|__pycache__|unittest")
_EXITS = frozenset(("exit", "quit", "SystemExit", "KeyboardInterrupt", "GeneratorExit"))
_OTHER = {
    (
        ".js",
        ".mjs",
        ".cjs",
        ".ts",
        ".jsx",
        ".tsx",
    ): r"process\.(?:exit|reallyExit|abort|kill)|child_process|require\.cache",
    (".go",): r"\bos\.Exit\(|syscall\.|runtime\.Goexit",
    (".rs",): r"process::(?:exit|abort)|libc::",
    (".rb",): r"\bexit!?\b|\babort\b|at_exit",
    (".sh", ".bash"): r"\bexit\b|\bkill\b|\btrap\b",
    (".java", ".kt"): r"System\.exit|Runtime\.getRuntime|\.halt\(",
    (".c", ".cc", ".cpp", ".h"): r"\b_?exit\(|\babort\(|\bquick_exit\(",
}


def reaches(changes: Sequence[FileChange], *, imported: bool = False) -> str:
    """Name what of the harness these changes reach for, and where; "" for nothing. `imported`: the judge imports them,
    so that what a file does as a program of its own (`if __name__ == "__main__"`) is its own affair."""
    for change in changes:
        found = _added(change, imported=imported)
        if found:
            return f"{change.path}: it adds `{found}`, which reaches for the harness"
    return ""


def imported_by(texts: Iterable[str]) -> frozenset[str]:
    """Top-level names of what Python texts import; those that cannot be read import nothing."""
    found: set[str] = set()
    for text in texts:
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {_root(each.name) for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(_root(node.module))
    return frozenset(found)


def _added(change: FileChange, *, imported: bool) -> str:
    if change.after is None:
        return ""
    if change.path.endswith((".so", ".pyd", ".pyc", ".dll", ".dylib")):
        return "compiled code"
    if not change.path.endswith((".py", ".pyi")):
        return _added_text(change)
    try:
        tree = ast.parse(change.after)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""  # it does not run
    if imported:
        tree.body = [each for each in tree.body if not _is_own_program(each)]
    try:
        before = Counter(_reaching(ast.parse(change.before or b"")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        before = Counter()
    return next(iter(Counter(_reaching(tree)) - before), "")


def _is_own_program(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and not node.orelse and ast.unparse(node.test) == "__name__ == '__main__'"


def _added_text(change: FileChange) -> str:
    for endings, pattern in _OTHER.items():
        if change.path.endswith(endings):
            old = Counter(re.findall(pattern, (change.before or b"").decode("utf-8", "replace")))
            new = Counter(re.findall(pattern, (change.after or b"").decode("utf-8", "replace")))
            return next(iter(new - old), "")
    return ""


def _reaching(tree: ast.Module) -> Iterator[str]:
    modules = _imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (f"import {each.name}" for each in node.names if _root(each.name) in _MODULES)
        elif isinstance(node, ast.ImportFrom):
            yield from _imported_from(node)
        elif isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES:
            yield f".{node.attr}"
        elif isinstance(node, ast.Name) and node.id in ("__builtins__", "__loader__", "__spec__"):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _STRINGS.search(node.value):
            yield repr(node.value)[:60]
        elif isinstance(node, ast.Call):
            yield from _called(node, modules)
        elif isinstance(node, ast.Raise) and _name_of(node.exc) in _EXITS:
            yield f"raise {_name_of(node.exc)}"
        elif isinstance(node, ast.FunctionDef) and node.name in ("__eq__", "__ne__", "__bool__") and _is_constant(node):
            yield f"def {node.name} that always answers the same"
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            yield from _patched(node, modules)


def _imported(tree: ast.Module) -> frozenset[str]:
    """Names that modules have in this file."""
    return frozenset(
        each.asname or _root(each.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for each in node.names
    )


def _imported_from(node: ast.ImportFrom) -> Iterator[str]:
    module = node.module or ""
    if not node.level and _root(module) in _MODULES:
        yield f"from {module} import ..."
        return
    for each in node.names:
        if each.name in _ATTRIBUTES | {"exit"} and module in ("os", "sys", "posix", "signal"):
            yield f"from {module} import {each.name}"


def _called(node: ast.Call, modules: frozenset[str]) -> Iterator[str]:
    name = _name_of(node)
    plain = isinstance(node.func, ast.Name)
    if plain and name in _CALLED:
        yield f"{name}(...)"
    elif name in _EXITS and not _fails(node.args):
        yield f"{name}()"
    elif plain and name == "getattr" and len(node.args) > 1:
        base, attribute = node.args[0], node.args[1]
        if isinstance(attribute, ast.Constant):
            if attribute.value in _ATTRIBUTES:
                yield f"getattr(..., {attribute.value!r})"
        elif isinstance(base, ast.Name) and base.id in modules:
            yield f"getattr({base.id}, ...)"


def _fails(arguments: Sequence[ast.expr]) -> bool:
    """Tell whether an exit says in so many words that it is a failure."""
    if not arguments or not isinstance(arguments[0], ast.Constant):
        return False
    value = arguments[0].value
    return isinstance(value, int | str) and bool(value)


def _patched(node: ast.Assign | ast.AugAssign | ast.AnnAssign, modules: frozenset[str]) -> Iterator[str]:
    """Assignments to what an imported module holds."""
    targets: Iterable[ast.expr] = node.targets if isinstance(node, ast.Assign) else (node.target,)
    for target in targets:
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id in modules:
            yield f"{target.value.id}.{target.attr} = ..."


def _is_constant(node: ast.FunctionDef) -> bool:
    last = node.body[-1]
    return len(node.body) <= 2 and isinstance(last, ast.Return) and isinstance(last.value, ast.Constant)


def _name_of(node: ast.expr | None) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _root(name: str) -> str:
    return name.partition(".")[0]
