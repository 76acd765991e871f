"""Which changes are no answer to a failing check: those of tests, graders and harness, and those that ask for less.

Pure. An agent that may edit what judges it will, sooner or later, edit what judges it.
"""

from __future__ import annotations

import ast
import configparser
import json
import posixpath
import re
import shlex
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from ratchet.healing.episode import Task
from ratchet.healing.patches import LINK_MODE
from ratchet.sandbox.command import FileChange
from ratchet.sandbox.git import names_repository
from ratchet.sandbox.wildcards import compiled

MOST_BYTES = 8_388_608
"""Of one answer: what is larger is no edit but data."""
_TEST_FOLDERS = frozenset(("test", "tests", "__tests__", "spec", "specs", "testdata", "__snapshots__", "fixtures"))
# `python_testcases`, `unit-tests`; not any name with "test" in it: `ab_test` may well be the program.
TEST_FOLDER = re.compile(
    r"(?:.*[_-])?test[_-]?(?:case|data|suite)s?|(?:unit|integration|functional|system|smoke|regression|e2e|py(?:thon)?)[_-]tests?"
)
_TEST_NAMES = re.compile(
    r"test_.*\.py|.*_tests?\.py|tests?\.py|.*_test\.(?:go|rb|exs|c|cc|cpp)|.*[._-](?:test|spec)\.[cm]?[jt]sx?"
    r"|.*_spec\.rb|.*Tests?\.(?:java|kt|cs)|tests?\.rs|.*\.snap|(?:test|spec|rails)_helper\..*|[sS]etup[_-]?[tT]ests?\..*"
)
_HARNESS_NAMES = re.compile(
    r"conftest\.py|sitecustomize\.py|usercustomize\.py|.*\.pth|.*\.egg-link|\.?pytest\.(?:ini|toml)|tox\.ini|noxfile\.py"
    r"|\.coveragerc|(?:jest|vitest|karma|ava|playwright|cypress)[._-](?:conf(?:ig)?|setup)\..*|\.mocharc.*|\.npmrc|\.yarnrc.*"
    r"|\.?justfile|pyvenv\.cfg|rust-toolchain.*|py\.test"
)
_HARNESS_FOLDERS = frozenset((".ratchet", ".cargo", ".github", "_pytest", "pluggy", "site-packages"))
# What an editor, an agent, a shell or git obeys on the person's machine as soon as it is there, in no sandbox.
_OBEYED_FOLDERS = re.compile(
    r"\.(?:claude(?:-plugin)?|codex|cursor|gemini|qwen|opencode|windsurf|cline|roo|continue|amazonq|kiro"
    r"|vscode|idea|zed|fleet|devcontainer|husky|githooks)"
)
_OBEYED_NAMES = re.compile(
    r"(?:claude|agents?|gemini|qwen)(?:\.local)?\.md|copilot-instructions\.md|\.(?:cursor|windsurf|cline)rules|\.?mcp\.json"
    r"|\.envrc|\.?mise(?:\..*)?\.toml|\.pre-commit-(?:config|hooks)\.ya?ml|\.?lefthook.*|\.gitmodules|\.gitattributes"
    r"|\.devcontainer\.json|.*\.code-workspace|\.autoenv|\.exrc|\.nvim\.lua|\.dir-locals(?:-2)?\.el"
)
_SHELL_SIGNS = re.compile(r"[\s;&|<>()$`]")
_NESTED = 3  # `sh -c` within a check within the check of a whole plan
_SHADOWED = frozenset(("pytest", "_pytest", "pluggy", "iniconfig", "unittest", "doctest", "hypothesis"))
_MAKEFILES = frozenset(("makefile", "gnumakefile"))
_JSON_PARTS = ("scripts", "jest", "mocha", "ava", "vitest", "nyc", "c8", "type", "workspaces")
_ASSERTS = re.compile(r"\b(?:assert\w*|expect|require|should)\b\s?[!.(]|#\[(?:test|cfg\(test|should_panic)|^\s*>>> ")
_EXAMPLE = re.compile(r"^[ \t]*>>> .*(?:\n[ \t]*(?!>>> )\S.*)*", re.MULTILINE)
_SWITCHED_OFF = re.compile(
    r"#\[ignore|\bt\.Skip|\b(?:it|test|describe)\.(?:skip|todo)\b|\bx(?:it|describe)\(|@(?:unittest|pytest\.mark)\.skip"
)


def objection(changes: Sequence[FileChange], task: Task) -> str:
    """Why these changes are refused, "" where they are not."""
    if sum(len(each.after or b"") for each in changes) > MOST_BYTES:
        return f"it changes more than {MOST_BYTES // 1_048_576} MB: no edit but data"
    named = graders(task.check) | graders(task.held_check)
    for change in changes:
        reason = (
            _of_path(change, task.protected)
            or _obeyed(change.path, task.instruction)
            or _of_grader(change, named)
            or _of_parts(change, task.instruction)
            or weakened(change)
        )
        if reason:
            return f"{change.path}: {reason}"
    return ""


def is_test(path: str) -> bool:
    """Tell whether a path is a test or what tests read, by the conventions of the usual runners."""
    pure = PurePosixPath(path)
    folders = pure.parts[:-1]
    in_tests = bool(_TEST_FOLDERS & set(folders)) or any(map(TEST_FOLDER.fullmatch, folders))
    return in_tests or _TEST_NAMES.fullmatch(pure.name) is not None


def is_test_module(path: str) -> bool:
    """Tell whether pytest collects a file by its name."""
    name = PurePosixPath(path).name
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def is_harness(path: str) -> bool:
    """Tell whether a path steers the runner of tests, or what the interpreter does before it."""
    pure = PurePosixPath(path)
    # On a disk without case, another spelling is the same file.
    parts = [part.casefold() for part in pure.parts]
    held = any(part in _HARNESS_FOLDERS or names_repository(part) for part in parts)
    return held or _HARNESS_NAMES.fullmatch(parts[-1] if parts else "") is not None


def may_change(path: str, protected: Iterable[str]) -> bool:
    """Tell whether an answer may touch a file: it is no test, steers none, and no glob protects it."""
    return not (is_test(path) or is_harness(path) or any(matches(path, glob) for glob in protected))


def graders(check: Sequence[str]) -> frozenset[str]:
    """Paths that the check's command names: its words, and those of a text handed to a shell."""
    words = [found for word in check for found in (word, *_shell_words(word))]
    parts = (part for word in words for part in (word, word.partition("=")[2], word.partition("::")[0]) if part)
    return frozenset(posixpath.normpath(part) for part in parts if not part.startswith("-"))


def is_named(path: str, named: frozenset[str]) -> bool:
    """Tell whether a path of the project is among those that a command names, from wherever it names it:
    `$PWD/check.sh` and an absolute path count, too."""
    return path in named or any(each.endswith(f"/{path}") for each in named)


def _shell_words(text: str, depth: int = 0) -> Iterator[str]:
    """Words of a text as a shell reads it, and of the texts in it; behind `cd FOLDER` also as seen from above."""
    if not _SHELL_SIGNS.search(text) or depth > _NESTED:
        return
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        words = re.split(r"[\s;&|<>()'\"]+", text)
    folder = ""
    for before, word in zip(["", *words], words, strict=False):
        if before == "cd":
            folder = posixpath.join(folder, word)
        yield word
        if folder:
            yield posixpath.join(folder, word)
        yield from _shell_words(word, depth + 1)


def matches(path: str, glob: str) -> bool:
    """Tell whether a path matches a glob: `*` within a name, `**` across folders; without `/` any file of that name,
    and a folder's name stands for all that is in it."""
    pattern = glob.strip().removeprefix("./").rstrip("/")
    candidates = [path, *(str(each) for each in PurePosixPath(path).parents)]
    if "/" not in pattern:
        candidates = [PurePosixPath(each).name for each in candidates]
    return pattern in candidates or any(map(compiled(pattern, loose=True).fullmatch, candidates))


def _of_path(change: FileChange, protected: Iterable[str]) -> str:
    path = change.path
    if LINK_MODE in (change.before_mode, change.after_mode):
        return "links are not changed, since they may lead anywhere"
    if is_test(path):
        return "it is a test; mend the program, not what judges it"
    if is_harness(path):
        return "it belongs to the harness that runs the tests"
    for glob in protected:
        if matches(path, glob):
            return f"it is protected (--protect {glob})"
    pure = PurePosixPath(path)
    module = pure.stem if pure.suffix in (".py", ".so", ".pyd", ".pyc") else ""
    new_names = {module, *pure.parts[:-1]} if change.before is None else set()
    for name in sorted(new_names & (_SHADOWED | (sys.stdlib_module_names if len(pure.parts) == 1 else frozenset()))):
        return f"it would stand in for the module {name}"
    return ""


def _obeyed(path: str, instruction: str) -> str:
    """Why a file that acts outside of every sandbox is not changed unasked: a task that names it asks for it."""
    parts = [part.casefold() for part in PurePosixPath(path).parts]
    if not (any(map(_OBEYED_FOLDERS.fullmatch, parts[:-1])) or _OBEYED_NAMES.fullmatch(parts[-1])):
        return ""
    if re.search(rf"(?<![\w.-]){re.escape(PurePosixPath(path).name)}(?![\w-])", instruction):
        return ""
    return "editors, agents and shells obey it outside of the sandbox; to have it changed, name it in the task"


def _of_grader(change: FileChange, named: frozenset[str]) -> str:
    if PurePosixPath(change.path).name.lower() in _MAKEFILES:
        return "it says how the check is run"
    if not is_named(change.path, named) or change.before is None:
        return ""
    if not change.path.endswith(".py"):
        return "the check runs it; mend what it judges"
    tree = _parsed(change.before)
    # A program that the check runs and that holds all there is may be mended; a script that judges others may not.
    if tree is not None and not _imports_neighbours(tree) and not _is_entry_of_tests(change.before):
        return ""
    return "the check runs it; mend what it judges"


def _imports_neighbours(tree: ast.Module) -> bool:
    """Tell whether it imports anything that the standard library does not have."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            if node.level:
                return True
            names = [node.module or ""]
        if any(name.partition(".")[0] not in sys.stdlib_module_names for name in names):
            return True
    return False


def _is_entry_of_tests(content: bytes) -> bool:
    return b"unittest.main" in content or b"pytest.main" in content or b"doctest.testmod" in content


def _of_parts(change: FileChange, instruction: str) -> str:
    """Files that hold settings of the harness beside others: only those parts must stay. What other tools than the
    runners of tests are told may change where the task names the file."""
    name = PurePosixPath(change.path).name
    asked = re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", instruction) is not None
    before, after = change.before or b"", change.after or b""
    if name == "pyproject.toml":
        same = _toml_parts(before, asked=asked) == _toml_parts(after, asked=asked)
    elif name in ("setup.cfg", "tox.ini"):
        same = _ini_parts(before, asked=asked) == _ini_parts(after, asked=asked)
    elif name == "setup.py":
        same = before.count(b"pytest11") == after.count(b"pytest11")
    elif name == "package.json":
        same = _json_parts(before, asked=asked) == _json_parts(after, asked=asked)
    elif name == "Cargo.toml":
        same = _cargo_parts(before) == _cargo_parts(after)
    else:
        return ""
    return "" if same else "it changes how the tests are run"


def _toml(content: bytes) -> dict[str, object] | None:
    try:
        return tomllib.loads(content.decode())
    except (ValueError, RecursionError):
        return None


def _toml_parts(content: bytes, *, asked: bool) -> object:
    """Pick what a `pyproject.toml` tells tools, without what it depends on."""
    held = _toml(content)
    tool = (held or {}).get("tool")
    tools = tool if isinstance(tool, dict) else {}
    kept = {name: _without(said, _DEPENDENCIES) for name, said in tools.items() if not asked or name in _RUNNERS}
    project = (held or {}).get("project")
    plugins = project.get("entry-points") if isinstance(project, dict) else None
    return held is None, {name: said for name, said in kept.items() if said}, plugins


_RUNNERS = frozenset(("pytest", "tox", "coverage", "hatch", "pdm", "poe"))
_DEPENDENCIES = re.compile(
    r"(?:(?:dev|build|peer|optional|bundled)?-?)?dependenc.*|group|extras|version|packages|include"
)


def _without(held: object, names: re.Pattern[str]) -> object:
    if not isinstance(held, dict):
        return held
    return {name: said for name, said in held.items() if not names.fullmatch(str(name).casefold())}


def _cargo_parts(content: bytes) -> object:
    """Pick what a `Cargo.toml` says but for what it depends on and how it is called."""
    held = _toml(content) or {}
    package = _without(held.get("package"), _NAMES)
    tables = ("test", "lib", "bin", "bench", "example", "profile", "workspace", "patch", "replace", "lints")
    return {name: held.get(name) for name in tables}, package, content == b""


_NAMES = re.compile(
    r"name|version|edition|authors|description|license.*|repository|homepage|documentation|readme|keywords|categories|rust-version"
)


def _ini_parts(content: bytes, *, asked: bool) -> object:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(content.decode("utf-8", "replace"))
    except configparser.Error:
        return content
    own = ("metadata", "options", "bdist_wheel", "sdist")
    kept = [name for name in parser.sections() if not name.startswith(own)]
    return {name: dict(parser[name]) for name in kept if not asked or "pytest" in name or name.startswith("coverage")}


def _json_parts(content: bytes, *, asked: bool) -> object:
    """Pick what a `package.json` tells tools: all but what it depends on, how it is called and what it hands out."""
    try:
        held = json.loads(content)
    except (ValueError, RecursionError):
        return content
    if not isinstance(held, dict):
        return content
    kept = held if not asked else {name: held[name] for name in _JSON_PARTS if name in held}
    return _without(_without(kept, _DEPENDENCIES), _JSON_NAMES)


_JSON_NAMES = re.compile(
    r"name|description|keywords|author|contributors|license|repository|bugs|homepage|main|module|browser|exports|types|typings|bin|files|engines|private|sideeffects"
)


# -- asking for less ---------------------------------------------------------------------------------------------------


def weakened(change: FileChange) -> str:
    """Why a change of a program asks for less than before: an assertion that is gone, a test that is switched off."""
    before, after = change.before or b"", change.after or b""
    if change.path.endswith(".py"):
        old, new = _parsed(before), _parsed(after)
        if old is not None and new is not None:
            gone = _asserted(old) - _asserted(new)
            if gone:
                return f"it deletes or changes the assertion `{_short(next(iter(gone)))}`"
    for line in _examples(before) - _examples(after):
        return f"it deletes or changes the example `{_short(line)}`"
    old_lines, new_lines = _counted(before), _counted(after)
    for line in old_lines - new_lines:
        if _ASSERTS.search(line) and not change.path.endswith(".py"):
            return f"it deletes or changes the assertion `{_short(line)}`"
    for line in new_lines - old_lines:
        if _SWITCHED_OFF.search(line):
            return f"it switches a test off: `{_short(line)}`"
    return ""


def _parsed(content: bytes) -> ast.Module | None:
    try:
        return ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _asserted(tree: ast.Module) -> Counter[str]:
    """Assertions by what they ask, and methods of unittest that assert."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            found["assert " + ast.unparse(node.test)] += 1
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.startswith("assert")
        ):
            found[ast.unparse(node)] += 1
    return found


def _examples(content: bytes) -> Counter[str]:
    """The examples of a doctest in a text, each with what it must print."""
    text = content.decode("utf-8", "replace")
    return Counter("\n".join(line.strip() for line in each.splitlines()) for each in _EXAMPLE.findall(text))


def _counted(content: bytes) -> Counter[str]:
    return Counter(line.strip() for line in content.decode("utf-8", "replace").splitlines())


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79] + "…"
