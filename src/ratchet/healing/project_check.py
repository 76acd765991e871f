"""Find a project's own check in its files; run a check that a person wrote."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from ratchet.errors import UsageError
from ratchet.healing.testruns import Read, reading, toml_of

_SHELL = re.compile(r"[|&;<>$`()\n*]|^\s*\w+=")
_QUOTED = re.compile(r"""'[^'\n]*'|"[^"$`\\\n]*\"""")  # in which a shell reads nothing: a test's id may hold `<lambda>`
_NO_TEST = "no test specified"  # what `npm init` writes
_NODE_TEST = re.compile(r"""["'](?:node:test|(?:node:)?assert(?:/strict)?)["']""")  # else who runs it is not told
_MAKE_TEST = re.compile(r"^test\s*:(?!=)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCheck:
    """A project's own check, and what told of it."""

    argv: tuple[str, ...]
    found: str

    @property
    def text(self) -> str:
        return shlex.join(self.argv)


def own_check(folder: Path) -> OwnCheck | None:
    """The check that a project's files tell of: pytest, npm test, cargo test, go test, make test, node --test; None for
    none."""
    read = reading(folder)
    told = _of_pytest(folder, read)
    if told:
        return OwnCheck(argv=("python", "-m", "pytest", "-q"), found=told)
    if _npm_test(read("package.json")):
        return OwnCheck(argv=("npm", "test", "--silent"), found="package.json")
    if (folder / "Cargo.toml").is_file():
        return OwnCheck(argv=("cargo", "test"), found="Cargo.toml")
    if (folder / "go.mod").is_file():
        return OwnCheck(argv=("go", "test", "./..."), found="go.mod")
    for name in ("Makefile", "makefile", "GNUmakefile"):
        if _MAKE_TEST.search(read(name)):
            return OwnCheck(argv=("make", "test"), found=name)
    for place in ("", "test/", "tests/", "src/"):
        for test in sorted(folder.glob(f"{place}*.test.*js")):
            if _NODE_TEST.search(read(name := test.relative_to(folder).as_posix())):
                return OwnCheck(argv=("node", "--test"), found=name)
    for name in ("test.py", "tests.py"):  # pytest collects neither by itself
        if (folder / name).is_file():
            return OwnCheck(argv=("python", "-m", "pytest", "-q", name), found=name)
    return None


def argv_of(text: str) -> tuple[str, ...]:
    """The command that a person wrote, as a program and its arguments; one that needs a shell is handed to `sh -c`.
    Raises UsageError for an empty one."""
    if any(each == "\0" or "\ud800" <= each <= "\udfff" for each in text):
        raise UsageError(f"the check {text!r} holds a NUL or half a surrogate pair, which no command can have")
    if not text.strip():
        raise UsageError("the check is empty: give a command that fails now, such as --check 'pytest -q'")
    if _SHELL.search(_QUOTED.sub("''", text)):
        return ("sh", "-c", text)
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"the check {text!r} is no command: {error}") from error


def _of_pytest(folder: Path, read: Read) -> str:
    """The file or folder that tells of pytest."""
    for name in ("pytest.ini", ".pytest.ini", "conftest.py"):
        if (folder / name).is_file():
            return name
    for name, mark in (("pyproject.toml", "tool.pytest"), ("setup.cfg", "[tool:pytest]"), ("tox.ini", "[pytest]")):
        if mark in read(name):
            return name
    for place in (folder / "tests", folder / "test", folder):
        for pattern in ("test_*.py", "*_test.py", "*/test_*.py"):
            found = (
                next(place.glob(pattern), None) if place.is_dir() and (place != folder or "/" not in pattern) else None
            )
            if found is not None:
                return found.relative_to(folder).as_posix()
    for package in sorted([*folder.glob("*/__init__.py"), *folder.glob("src/*/__init__.py")]):
        for name in ("tests", "test"):
            within = next(package.parent.glob(f"**/{name}/test_*.py"), None)
            if within is not None:
                return within.relative_to(folder).as_posix()
    groups = toml_of(read("pyproject.toml")).get("dependency-groups", "")
    return "pyproject.toml" if "pytest" in str(groups) else ""


def _npm_test(text: str) -> bool:
    try:
        held = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return False
    scripts = held.get("scripts") if isinstance(held, dict) else None
    test = scripts.get("test") if isinstance(scripts, dict) else None
    return isinstance(test, str) and _NO_TEST not in test
