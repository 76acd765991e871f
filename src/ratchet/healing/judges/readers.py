"""Tells who reads a data file: the program under test, or what judges it. An expectation is a grader, too.

A program's data (a configuration, a lock file, a state) may be what is to be mended. A file that only tests and check
scripts read says what is asked for, and may not be changed to what the program happens to say. Readers are found in
what the untouched files name, and in what the check's first run opened (`judges.inside.grade`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ratchet.files import walk
from ratchet.healing.episode import Reads, Task
from ratchet.healing.judges.protection import graders, is_harness, is_named, is_test
from ratchet.sandbox.command import FileChange, View

MOST_BYTES = 1_048_576
"""Of a file that is searched for names; a larger one is data itself."""
_MOST_FILES = 5_000
_CHECK = "the check"
_INSTALLED = frozenset(("node_modules", ".git", "__pycache__", ".venv", "venv", "site-packages", ".tox"))
_CODE = re.compile(
    r".*\.(?:py|pyi|pyx|js|mjs|cjs|jsx|ts|tsx|go|rs|rb|java|kt|c|cc|cpp|h|hpp|cs|php|pl|lua|swift|scala|ex|exs|sh|bash|r|jl)"
)
_SHELL = re.compile(r".*\.(?:sh|bash|mk)|(?:gnu)?makefile|justfile|package\.json", re.IGNORECASE)
_DECLARATIONS = re.compile(
    r"pyproject\.toml|setup\.cfg|requirements.*\.(?:txt|in)|environment\.ya?ml|package(?:-lock)?\.json|yarn\.lock|"
    r"pnpm-lock\.yaml|Cargo\.(?:toml|lock)|go\.(?:mod|sum)|(?:uv|poetry|Pipfile|pdm)\.lock|Pipfile|Gemfile(?:\.lock)?|"
    r"Dockerfile|\.gitignore"
)
_DOCUMENT = re.compile(r".*\.(?:md|rst|txt|adoc)")
# It is written in a language, and read by a tool before the program, or by the program itself.
_SETTINGS = re.compile(
    r".+\.conf(?:ig)?\.[cm]?[jt]sx?|(?:build|package|mix|project)\.(?:rs|zig|swift|exs|sc|scala)|\w+file\.[cm]?[jt]s",
    re.IGNORECASE,
)
# What no tool obeys: prose, and a plain word without an ending. It may be brought up to date along with the program.
_OF_NO_ACCOUNT = re.compile(
    r".*\.(?:md|rst|adoc)|[a-z0-9_]+|(?:README|LICEN[CS]E|COPYING|NOTICE|AUTHORS|CHANGE(?:S|LOG)|NEWS)(?:\.txt)?"
)
_RUN_BY = {"makefile": "make", "gnumakefile": "make", "justfile": "just", "package.json": "npm yarn pnpm bun npx"}
_KEPT_AS_EXPECTED = re.compile(
    r"(?:.*/)?(?:expected|expectations?|goldens?|__snapshots__|approved|cassettes)(?:[._-][^/]*)?(?:/.*)?"
    r"|.*[._-](?:expected|goldens?|approved|snapshot)(?:\.[^/]*)?|.*\.(?:snap|ambr|exp|want)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Readers:
    """The untouched texts of a project: path -> text, of what judges and of what is judged."""

    judging: Mapping[str, str]
    program: Mapping[str, str]
    asked: str
    """The task's instruction, and the documents that it names."""

    def objection(self, changes: Sequence[FileChange], reads: Reads | None) -> str:
        """Why a change of data is refused, "" where none is."""
        brought = "\n".join((each.after or b"").decode("utf-8", "replace") for each in changes if is_code(each.path))
        for change in changes:
            name = PurePosixPath(change.path).name
            if is_code(change.path) or _DECLARATIONS.fullmatch(name):
                continue
            # A package may get data of its own: a new file below a folder, which the new program names.
            new = change.before is None and "/" in change.path and _quotes(brought, name)
            beside = (
                bool(brought) and not _is_hidden(change.path) and (new or _OF_NO_ACCOUNT.fullmatch(name) is not None)
            )
            reason = self._of_one(change.path, reads, alone=not beside)
            if reason:
                return f"{change.path}: {reason}"
        return ""

    def _of_one(self, path: str, reads: Reads | None, *, alone: bool) -> str:
        if _SETTINGS.fullmatch(PurePosixPath(path).name) and self._is_imported(path):
            return ""
        if self._is_read_by_program(path) or (reads is not None and path in reads.program):
            return ""
        if _KEPT_AS_EXPECTED.fullmatch(path):
            return "it is kept as what is expected; mend the program, not what judges it"
        if names(self.asked, path):
            return ""
        judge = next((each for each, text in self.judging.items() if _reads(each, text, path)), "")
        if not judge and reads is not None and path in reads.tests:
            judge = "a test"
        if judge:
            return f"{judge} reads it and the program does not: it says what is expected; mend the program"
        if alone:
            return "neither the task nor the program names this file; mend the program, or name the file in the task"
        return ""

    def _is_imported(self, path: str) -> bool:
        """Tell whether the program imports what is written like settings: `./app.config` or `./app.config.js`."""
        name = re.escape(PurePosixPath(path).stem)
        return any(re.search(rf"[\"'`/]{name}(?:\.\w+)?[\"'`]", text) for text in self.program.values())

    def _is_read_by_program(self, path: str) -> bool:
        """Tell whether the program names the file, or the folder whose files it goes through; and each folder on the
        way, from the project's or from its own."""
        pure = PurePosixPath(path)
        for each in self.program:
            here = PurePosixPath(each).parts[:-1]
            folders = pure.parts[:-1]
            way = folders[len(here) :] if folders[: len(here)] == here else folders
            if all(any(_quotes(text, folder) for text in self.program.values()) for folder in way) and (
                way or _quotes(self.program[each], pure.name)
            ):
                return True
        return False


def readers_of(files: Mapping[str, bytes], task: Task) -> Readers:
    """Sort the untouched files of a project into what judges and what is judged."""
    texts = {path: content.decode("utf-8", "replace") for path, content in files.items() if len(content) <= MOST_BYTES}
    code = {path for path in texts if _CODE.fullmatch(PurePosixPath(path).name)}
    words = graders(task.check) | graders(task.held_check)
    judging = {path for path in texts if (is_test(path) and path in code) or is_harness(path)}
    judging |= {path for path in texts if is_named(path, words) and _judges(path, texts, code)}
    judging |= {path for path in texts if _runs(PurePosixPath(path).name.lower(), (*task.check, *task.held_check))}
    while more := {each for path in judging for each in _scripts_of(texts[path], texts) if each not in judging}:
        judging |= more
    said = {_CHECK: " ".join((*task.check, *task.held_check)), **{path: texts[path] for path in sorted(judging)}}
    named = [text for path, text in texts.items() if _DOCUMENT.fullmatch(path) and names(task.instruction, path)]
    return Readers(
        judging=said,
        program={path: texts[path] for path in sorted(code - judging)},
        asked="\n".join((task.instruction, *named)),
    )


def _judges(path: str, texts: Mapping[str, str], code: Iterable[str]) -> bool:
    """Tell whether a file that the check runs looks at others: a shell script, or one that imports or starts them."""
    text, name = texts[path], PurePosixPath(path)
    if name.suffix != ".py":
        return True
    others = [PurePosixPath(each) for each in code if each != path]
    imported = {part for each in _imported(text) for part in (each, each.partition(".")[0])}
    return any(each.stem in imported or _quotes(text, each.name) for each in others)


def _imported(text: str) -> set[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(each.name for each in node.names)}
    return found


def _scripts_of(text: str, texts: Mapping[str, str]) -> set[str]:
    """Scripts of a shell that a script of the check calls."""
    return {path for path in texts if _SHELL.fullmatch(PurePosixPath(path).name) and names(text, path)}


def names(text: str, path: str) -> bool:
    """Tell whether a text names a file: by its path, its name, or a folder that it lies in (`files/`)."""
    pure = PurePosixPath(path)
    folders = "|".join(re.escape(str(each)) for each in pure.parents if str(each) != ".")
    inside = rf"(?<![\w.-])(?:{folders})/|[\"'`](?:{folders})[\"'`]"
    return _word(pure.name).search(text) is not None or (bool(folders) and re.search(inside, text) is not None)


def _reads(judge: str, text: str, path: str) -> bool:
    """Tell whether a judging text names a file or makes its name. A name without an ending is a word like any other:
    only a shell's word is the file, and elsewhere what is quoted."""
    name = PurePosixPath(path).name
    if "." in name:
        return names(text, path) or _computes(text, path)
    if judge == _CHECK:
        return any(PurePosixPath(word).name == name for word in text.split())
    return names(text, path) if _SHELL.fullmatch(PurePosixPath(judge).name) else _quotes(text, name)


def _computes(text: str, path: str) -> bool:
    """Tell whether a text makes names of this ending: `f"{name}.out"`, `glob("*.json")`, `with_suffix(".csv")`."""
    suffix = PurePosixPath(path).suffix
    return bool(suffix) and re.search(rf"[}}*\"'(]{re.escape(suffix)}[\"'`)]", text) is not None


def _runs(name: str, check: Sequence[str]) -> bool:
    """Tell whether a file says what a command of the check does: a Makefile for `make`."""
    words = {each for word in check for each in re.findall(r"[\w.]+", word)}
    return not words.isdisjoint(_RUN_BY.get(name, "").split())


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)")


def _quotes(text: str, name: str) -> bool:
    return re.search(rf"[\"'`/]{re.escape(name)}[\"'`/]", text) is not None


def is_code(path: str) -> bool:
    """Tell whether a file is of a program, by its ending; all else is data, and so are settings, whatever they are
    written in, and what is hidden, since tools look for it without being told."""
    name = PurePosixPath(path).name
    return _CODE.fullmatch(name) is not None and _SETTINGS.fullmatch(name) is None and not _is_hidden(path)


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in PurePosixPath(path).parts)


def untouched(view: View) -> Path:
    """The folder that holds the project as it was copied: where a layer below is never changed, that; else the view's
    own, which no sandbox has seen yet."""
    return view.layers[0] if view.layers else view.folder


def texts_in(root: Path) -> dict[str, bytes]:
    """The files below a folder that may name others: plain, small, and not installed ones. path -> content."""
    found: dict[str, bytes] = {}
    for folder, folders, names in walk(root):
        folders[:] = [each for each in folders if each not in _INSTALLED]
        for name in sorted(names):
            path = Path(folder, name)
            if len(found) >= _MOST_FILES or path.is_symlink() or not path.is_file():
                continue
            if path.stat().st_size <= MOST_BYTES:
                found[path.relative_to(root).as_posix()] = path.read_bytes()
    return found
