"""Programs that a manifest declares: pyproject.toml, setup.cfg, setup.py, package.json, Cargo.toml. Pure."""

from __future__ import annotations

import ast
import configparser
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import PurePosixPath

from ratchet.records import Json

NAMES = ("pyproject.toml", "setup.cfg", "package.json", "Cargo.toml", "go.mod")
_MOST = 500  # programs of one project
_SCRIPT = re.compile(r"\s*([\w.-]+)\s*=\s*([\w.]+)(?::([\w.]+))?")


def commands(path: str, text: str, lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The programs that a manifest puts onto a person's path, with their lines."""
    for name in islice(_programs(path, text), _MOST):
        word = rf"[\"']?{re.escape(name)}[\"']?"
        forms = (rf"^\s*{word}\s*=\s*[\"']?[\w.]+[:\w]", rf"{word}\s*:\s*\"[^\"]*[./]", rf"name[\"']?\s*[=:]\s*{word}")
        naming = [(n, line) for n, line in enumerate(lines, 1) if name in line]
        numbers = (n for form in forms for n, line in naming if re.search(form, line))
        yield name, next(numbers, 1)


def itself(path: str, text: str) -> Iterator[str]:
    """The names by which a project's program is called: its package's, and those of what its only program runs, or what
    the one that is called as the package does."""
    name = PurePosixPath(path).name
    if name == "go.mod":
        module = re.match(r"\s*module\s+(\S{1,200})", text)
        yield from re.findall(r"([\w.-]+)(?:/v\d+)?$", module[1]) if module else ()
        return
    tables = {"pyproject.toml": ("project",), "Cargo.toml": ("package",), "package.json": ()}
    held = _json(text) if name == "package.json" else _toml(text) if name in tables else {}
    package = _within(held, tables.get(name, ())).get("name")
    if isinstance(package, str):
        yield package.rpartition("/")[2]
    programs = _programs(path, text)
    main = programs.get(package) if isinstance(package, str) else None
    alone = len(set(programs.values())) == 1
    yield from islice((name for name, runs in programs.items() if alone or runs == main), _MOST)


def entries(path: str, text: str) -> Iterator[str]:
    """The functions at which the programs of a Python manifest begin."""
    for target in _scripts(path, text).values():
        yield target.rpartition(":")[2].split(".")[0]


def _programs(path: str, text: str) -> Mapping[str, str]:
    """Name -> what it runs."""
    name = PurePosixPath(path).name
    if name == "package.json" and "/" not in path:
        held = _json(text)
        programs, own = held.get("bin"), held.get("name")
        if isinstance(programs, str) and isinstance(own, str):
            programs = {own.rpartition("/")[2]: programs}
        return {key: str(value) for key, value in programs.items()} if isinstance(programs, dict) else {}
    if name == "Cargo.toml":
        programs = _toml(text).get("bin")
        tables = [each for each in programs if isinstance(each, dict)] if isinstance(programs, list) else []
        return {own: str(each.get("path", own)) for each in tables if isinstance(own := each.get("name"), str)}
    return _scripts(path, text)


def _scripts(path: str, text: str) -> Mapping[str, str]:
    """Name -> `module:function` of a Python project's programs, by any of the spellings."""
    name = PurePosixPath(path).name
    if name == "pyproject.toml":
        held = _toml(text)
        tables = (
            ("project", "scripts"),
            ("project", "gui-scripts"),
            ("project", "entry-points", "console_scripts"),
            ("tool", "poetry", "scripts"),
        )
        found = [_within(held, keys) for keys in tables]
        return {key: value for table in found for key, value in table.items() if isinstance(value, str)}
    if name == "setup.cfg":
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        try:
            parser.read_string(text)
        except configparser.Error:
            return {}
        return _spelled(parser.get("options.entry_points", "console_scripts", fallback="").splitlines())
    if name == "setup.py":
        return _spelled(_setup_scripts(text))
    return {}


def _setup_scripts(text: str) -> Iterator[str]:
    """The lines of `entry_points={"console_scripts": [...]}`."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "console_scripts":
                    yield from (
                        each.value
                        for each in ast.walk(value)
                        if isinstance(each, ast.Constant) and isinstance(each.value, str)
                    )


def _spelled(lines: Iterator[str] | Sequence[str]) -> dict[str, str]:
    found = (_SCRIPT.match(line) for line in lines)
    return {each[1]: f"{each[2]}:{each[3] or ''}" for each in found if each}


def _within(held: Mapping[str, Json], keys: Sequence[str]) -> Mapping[str, Json]:
    value: Json = dict(held)
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _toml(text: str) -> Mapping[str, Json]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):  # also an integer of thousands of digits
        return {}


def _json(text: str) -> Mapping[str, Json]:
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return held if isinstance(held, dict) else {}
