"""Reads what others measure with into a benchmark, in one file since all of it shares its checks: a folder of pytest
tasks, HumanEval-style lines, a command that prints a score. Everything is read and checked before anything is
kept; what is wrong is named with its file and line.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import json
import re
import shlex
import tomllib
import warnings
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import cast, get_args

from ratchet.errors import NotFound, UsageError
from ratchet.evolving.bench import evalplus, promptfoo
from ratchet.evolving.bench.benchmark import Benchmark, BenchTask, Split, TaskKind
from ratchet.files import walk
from ratchet.healing.judges.protection import is_test, is_test_module
from ratchet.records import Json

INSTRUCTIONS = (
    *("instruction.md", "instructions.md", "prompt.md", "TASK.md", "task.md"),
    *("instruction.txt", "instructions.txt", "prompt.txt", "README.md"),
)
REFERENCES = ("reference", "solution")
TASK_FILE = "task.toml"
_TASK_KEYS = ("title", "kind", "split", "instruction", "smoke", "wall_s", "show_tests")
_SHARES: tuple[tuple[float, Split], ...] = ((0.2, "dev"), (0.7, "gate"), (1.0, "sealed"))
"""A fifth for proposers, half for decisions, three tenths for the report."""
_MOST_TASK_BYTES = 16_777_216
_MOST_LINE_BYTES = 8_388_608
_MOST_TASKS = 100_000
_ID_CHARS = 200
_LEFT_OUT = frozenset((".git", ".venv", "venv", "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache"))
_MODULE = "solution"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def split_of(task_id: str) -> Split:
    """The split of a task: by a hash of its id, so that it stays where it is when others come or go."""
    first = int.from_bytes(hashlib.sha256(task_id.encode("utf-8", "surrogateescape")).digest()[:8])
    drawn = first / 2**64
    return next(split for share, split in _SHARES if drawn < share)


def checked_name(name: str) -> str:
    """The name of a benchmark. Raises UsageError."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot name a benchmark; use small letters, digits, '.', '_' and '-' (--name)")
    return name


def name_from(path: Path) -> str:
    """A name for the benchmark that a file or folder becomes."""
    stem = path.resolve().name.removesuffix(".gz").removesuffix(".jsonl")
    return re.sub(r"[^a-z0-9._-]+", "-", stem.lower()).strip("-._")[:64] or "imported"


# -- a folder of pytest tasks ------------------------------------------------------------------------------------------


def read_folder(folder: Path, name: str) -> Benchmark:
    """A benchmark of a folder: each folder in it that holds tests is a task; where none does, each of its own test
    files is. `task.toml`, `instruction.md` or `README.md` say what is asked; where nothing does, the tests do, and the
    agent sees a copy of them. Tests are graders in any case; `reference/` or `solution/` holds a right answer.

    Raises NotFound, UsageError.
    """
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}")
    below = [each for each in sorted(folder.iterdir()) if _is_own_folder(each) and each.name not in _LEFT_OUT]
    tasks = [each for each in below if each.name not in ("tests", "test", *REFERENCES) and _has_tests(each)]
    found = [_task_of_folder(each) for each in tasks] or list(_tasks_of_files(folder))
    if not found:
        raise UsageError(f"{folder} holds no pytest tests: put each task into a folder of its own, with its test_*.py")
    return _benchmark(name, f"pytest tasks of {folder.resolve().name}", found, str(folder))


@dataclass(frozen=True, slots=True)
class _About:
    """A folder's own description of its task."""

    said: Mapping[str, object]
    path: Path

    def text(self, key: str, default: str = "") -> str:
        value = self.said.get(key, default)
        if not isinstance(value, str):
            raise UsageError(f"{self.path}: {key} is {value!r}; use a text")
        return value

    def one_of(self, key: str, options: tuple[str, ...], default: str) -> str:
        value = self.text(key, default)
        if value not in options:
            raise UsageError(f"{self.path}: {key} is {value!r}; use one of {', '.join(options)}")
        return value

    def wall_s(self) -> float:
        value = self.said.get("wall_s", 60.0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 86_400:
            raise UsageError(f"{self.path}: wall_s is {value!r}; use seconds, up to 86,400")
        return float(value)


def _about(folder: Path) -> _About:
    path = folder / TASK_FILE
    if path.is_symlink() or not path.is_file():
        return _About({}, path)
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error
    for key in said:
        if key not in _TASK_KEYS:
            raise UsageError(f"unknown key {key!r} in {path}; known keys: {', '.join(_TASK_KEYS)}")
    return _About(said, path)


def _task_of_folder(folder: Path) -> BenchTask:
    about, texts = _about(folder), _texts(folder)
    own = {path: text for path, text in texts.items() if path not in (TASK_FILE, *INSTRUCTIONS)}
    reference: dict[str, str] = {}
    for top in REFERENCES:
        held = {path.removeprefix(f"{top}/"): text for path, text in own.items() if path.startswith(f"{top}/")}
        reference.update({path: text for path, text in held.items() if not _is_grader(path)})
        own = {path: text for path, text in own.items() if not path.startswith(f"{top}/")}
    graders = {path: text for path, text in own.items() if _is_grader(path)}
    files = {path: text for path, text in own.items() if path not in graders}
    instruction = about.text("instruction") or next((texts[each] for each in INSTRUCTIONS if each in texts), "")
    if about.said.get("show_tests", not instruction.strip()) is True:
        files = own
    return _pytest_task(folder.name, files, graders, reference, instruction, about)


def _tasks_of_files(folder: Path) -> Iterator[BenchTask]:
    """Each test file of a flat folder as a task over all that is no test."""
    texts = _texts(folder)
    plain = {path: text for path, text in texts.items() if not _is_grader(path) and path not in INSTRUCTIONS}
    shared = {path: text for path, text in texts.items() if _is_grader(path) and not is_test_module(path)}
    instruction = next((texts[each] for each in INSTRUCTIONS if each in texts), "")
    for path in texts:
        if is_test_module(path):
            name = PurePosixPath(path).stem.removeprefix("test_").removesuffix("_test")
            graders = {**shared, path: texts[path]}
            files = plain if instruction.strip() else {**plain, **graders}
            yield _pytest_task(name, files, graders, {}, instruction, _About({}, folder / TASK_FILE))


def _pytest_task(
    name: str,
    files: Mapping[str, str],
    graders: Mapping[str, str],
    reference: Mapping[str, str],
    instruction: str,
    about: _About,
) -> BenchTask:
    _check_id(name, str(about.path.parent))
    for path, text in graders.items():
        if path.endswith(".py"):
            _check_parses(text, str(about.path.parent / path))
    sources = [path for path in files if path.endswith(".py") and path not in graders]
    asked = instruction.strip() or (
        "The tests of this project fail. Change the program so that they pass."
        if sources
        else "Write the program that its tests ask for: " + ", ".join(sorted(graders))
    )
    kind = about.one_of("kind", get_args(TaskKind), "fix" if sources else "code")
    return BenchTask(
        id=name,
        kind=cast("TaskKind", kind),
        split=cast("Split", about.one_of("split", get_args(Split), split_of(name))),
        instruction=asked,
        scorer="pytest",
        files=files,
        graders=graders,
        spec={"together": True, "plugins": True},
        reference=reference,
        title=about.text("title", name),
        smoke=about.said.get("smoke") is True,
        wall_s=about.wall_s(),
    )


def _is_grader(path: str) -> bool:
    return is_test(path) or PurePosixPath(path).name == "conftest.py"


def _is_own_folder(path: Path) -> bool:
    """A link leads elsewhere: what lies there is nobody's to show to an agent."""
    return path.is_dir() and not path.is_symlink()


def _has_tests(folder: Path) -> bool:
    return any(is_test_module(each.name) for each in _own_files(folder))


def _texts(folder: Path) -> dict[str, str]:
    """All files of a folder as texts, without links and caches. Raises UsageError where they are too many bytes."""
    found: dict[str, str] = {}
    size = 0
    for path in sorted(_own_files(folder)):
        size += path.stat().st_size
        if size > _MOST_TASK_BYTES:
            raise UsageError(f"{folder} holds more than {_MOST_TASK_BYTES // 1_048_576} MB: too much for one task")
        found[path.relative_to(folder).as_posix()] = path.read_bytes().decode("utf-8", "surrogateescape")
    return found


def _own_files(folder: Path) -> Iterator[Path]:
    for above, folders, names in walk(folder):
        folders[:] = [each for each in folders if each not in _LEFT_OUT]
        paths = (Path(above, name) for name in names if name not in _LEFT_OUT)
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


# -- HumanEval-style lines ---------------------------------------------------------------------------------------------


def read_lines(path: Path, name: str) -> Benchmark:
    """A benchmark of JSON lines as HumanEval has them (`task_id`, `prompt`, `test`, `entry_point`,
    `canonical_solution`): Chen et al., "Evaluating Large Language Models Trained on Code", 2021; or as EvalPlus does,
    with inputs in place of `test`.

    Raises NotFound, UsageError naming file and line.
    """
    found = [_task_of_line(row, f"{path}:{number}") for number, row in _rows(path)]
    if not found:
        raise UsageError(f"{path} holds no task")
    return _benchmark(name, f"HumanEval-style tasks of {path.name}", found, str(path))


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Json]]]:
    if not path.is_file():
        raise NotFound(f"there is no file {path}")
    try:
        with gzip.open(path, "rb") if path.name.endswith(".gz") else path.open("rb") as lines:
            number = 0
            while line := lines.readline(_MOST_LINE_BYTES + 1):
                number += 1
                if len(line) > _MOST_LINE_BYTES:
                    raise UsageError(f"{path}:{number} is longer than {_MOST_LINE_BYTES:,} bytes")
                if line.strip():
                    yield number, _object(line, f"{path}:{number}")
                if number > _MOST_TASKS:
                    raise UsageError(f"{path} holds more than {_MOST_TASKS:,} lines")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{path} cannot be unpacked: {error}") from error


def _object(line: bytes, where: str) -> dict[str, Json]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where} is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise UsageError(f"{where} is no JSON object")
    return row


def _task_of_line(row: Mapping[str, Json], where: str) -> BenchTask:
    def text(key: str) -> str:
        value = row.get(key)
        if not isinstance(value, str) or not value.strip():
            said = "has no" if value is None else "has an empty or odd"
            raise UsageError(f"{where} {said} {key!r}; a task needs task_id, prompt, test and entry_point as texts")
        return _text(value, f"{where}, {key}")

    task_id, prompt, entry = text("task_id"), text("prompt"), text("entry_point")
    test = evalplus.check_of(row, where) if evalplus.has_inputs(row) else text("test")
    _check_id(task_id, where)
    if not entry.isidentifier():
        raise UsageError(f"{where}: entry_point is {entry!r}, which names no function")
    if "def check(" not in test:
        raise UsageError(f"{where}: test defines no check(candidate)")
    said = row.get("canonical_solution")
    solution = _text(said, f"{where}, canonical_solution") if isinstance(said, str) else ""
    called = f"""def test_{entry}():
    from {_MODULE} import {entry} as answer

    globals()[{entry!r}] = answer
    check({entry})
"""
    grader = f"{_context(prompt, solution)}\n\n{test}\n\n\n{called}"
    _check_parses(grader, where)
    return BenchTask(
        id=task_id,
        kind="code",
        split=split_of(task_id),
        instruction=f"Complete the function `{entry}` in {_MODULE}.py, which holds its signature and what it is to do. "
        f"Keep its name and its parameters.\n\n```python\n{prompt.rstrip()}\n```",
        scorer="pytest",
        files={f"{_MODULE}.py": prompt},
        graders={f"test_{_MODULE}.py": grader},
        spec={"together": True},
        reference={f"{_MODULE}.py": prompt + solution} if solution.strip() else {},
        title=entry,
        wall_s=60.0,
    )


def _context(prompt: str, solution: str) -> str:
    """Give a test what its prompt defines: helpers, imports, and a stub of the entry, which the answer replaces.
    A prompt that ends in the middle of a function is closed; one that is no Python by itself gives nothing.
    """
    for text in (prompt, f"{prompt.rstrip()}\n    pass\n", prompt + solution):
        try:
            _check_parses(text, "")
        except UsageError:
            continue
        return text
    return ""


def _check_id(task_id: str, where: str) -> None:
    if not task_id.isprintable() or len(task_id) > _ID_CHARS:
        raise UsageError(
            f"{where}: {task_id[:40]!r} names no task; use at most {_ID_CHARS} letters that can be printed"
        )


def _text(value: str, where: str) -> str:
    """A text that a file can hold. Raises UsageError: JSON may name halves of letters, which no file has."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{where} holds half a letter ({error.object[error.start]!r}), which is no text") from error
    return value


def _check_parses(text: str, where: str) -> None:
    """Raise UsageError where a test is no Python. A file is named with its line, a line of JSON as it is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in somebody's test is no reason to refuse it
            ast.parse(text.encode("utf-8", "surrogateescape"))  # which may say how it is encoded
    except SyntaxError as error:
        at = f":{error.lineno}" if where.endswith(".py") else ""
        raise UsageError(f"{where}{at}: test is no Python: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"{where}: test is no Python: {error}") from error


# -- tests of promptfoo ------------------------------------------------------------------------------------------------


def read_promptfoo(path: Path, name: str) -> Benchmark:
    """A benchmark of the tests in a promptfoo configuration. Raises NotFound, UsageError, BackendError."""
    cases = promptfoo.read_cases(path)
    width = len(str(len(cases)))
    tasks = [
        BenchTask(
            id=f"test-{n:0{width}}",
            kind="code",
            split=split_of(each.instruction),
            instruction=_text(each.instruction, f"{path}, test {n}"),
            scorer="pytest",
            graders={"test_answer.py": _text(each.grader, f"{path}, test {n}")},
            spec={"together": True},
            reference={promptfoo.ANSWER: each.right} if each.right is not None else {},
            title=each.title or f"test {n}",
        )
        for n, each in enumerate(cases, 1)
    ]
    return _benchmark(name, f"promptfoo tests of {path.name}", tasks, str(path))


# -- a command that prints a score -------------------------------------------------------------------------------------


def read_command(command: str, folder: Path | None, name: str, *, instruction: str = "") -> Benchmark:
    """A benchmark of one task, scored by a command: the last line that it prints is a number in [0, 1], or a JSON
    object with `score` and `reason`. `folder` holds the files that the agent works on.

    Files that the command names are graders: they are laid beside the agent's work once it is gone. Raises UsageError.
    """
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"command {command!r} cannot be split into words: {error}") from error
    if not argv:
        raise UsageError("the command that prints a score is empty")
    if folder is not None and not folder.is_dir():
        raise NotFound(f"there is no folder {folder}")
    texts = _texts(folder) if folder is not None else {}
    named = {word.removeprefix("./") for word in argv}
    graders = {path: text for path, text in texts.items() if path in named or _is_grader(path)}
    files = {path: text for path, text in texts.items() if path not in graders and path not in INSTRUCTIONS}
    asked = instruction.strip() or next((texts[each].strip() for each in INSTRUCTIONS if each in texts), "")
    task = BenchTask(
        id=name,
        kind="code",
        split="gate",
        instruction=asked or f"Change the files in this folder so that `{command}` prints a better score.",
        scorer="command",
        files=files,
        graders=graders,
        spec={"command": cast("list[Json]", argv)},
        title=name,
        wall_s=300.0,
    )
    return _benchmark(name, f"the score that `{command}` prints", [task], command)


def _benchmark(name: str, title: str, tasks: list[BenchTask], where: str) -> Benchmark:
    seen: set[str] = set()
    for each in tasks:
        if each.id in seen:
            raise UsageError(f"{where} holds the task {each.id!r} twice; give each its own name")
        seen.add(each.id)
    return Benchmark(name=checked_name(name), title=title, tasks=tuple(sorted(tasks, key=lambda each: each.id)))
