"""One place starts git for the whole product: there a folder's own settings can run nothing."""

from __future__ import annotations

import ast
import os

from support.sources import files, parsed, place, text

GIT = "sandbox/git.py"
APART = ("testing/", "demo/", "tasks/")
STARTS = frozenset(
    (
        *("run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput", "system", "popen"),
        *("which", "create_subprocess_exec", "create_subprocess_shell", "posix_spawn", "posix_spawnp"),
        *("execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe"),
    )
)


def starts_git(tree: ast.Module) -> list[int]:
    """Lines that begin a command with git: a list, or the words of a call that starts a program."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.List) and node.elts and ast.unparse(node.elts[0]) == "'git'":
            found.append(node.lineno)
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            words = [each.elts[0] if isinstance(each, ast.Tuple) and each.elts else each for each in node.args]
            texts = [str(each.value) for each in words[:2] if isinstance(each, ast.Constant)]
            if name in STARTS and any(os.path.basename(text.partition(" ")[0]) in ("git", "git.exe") for text in texts):
                found.append(node.lineno)
    return found


def test_one_place_starts_git() -> None:
    found = {
        place(path): starts_git(parsed(path))
        for path in files()
        if "git" in text(path) and not place(path).startswith(APART)
    }
    assert found.pop(GIT)  # what is looked for would be found
    assert not {name: lines for name, lines in found.items() if lines}
