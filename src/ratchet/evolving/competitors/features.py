"""Features of a project, each with the file and line that shows it. Pure: texts in, features out.

Python is parsed; of JavaScript, Go and Rust the calls of the usual command-line and web libraries are read by line.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

FeatureKind = Literal["command", "option", "tool", "endpoint", "format", "topic"]
KINDS: tuple[FeatureKind, ...] = ("command", "option", "tool", "endpoint", "format", "topic")
_METHODS = frozenset(("get", "post", "put", "delete", "patch", "route", "websocket"))
_DOCS = re.compile(r"(?:^|/)(?:readme[^/]*|docs?/.*)\.(?:md|mdx|rst)$", re.IGNORECASE)
_RELEASES = re.compile(r"(?:^|/)(?:change|history|news|release)[^/]*$", re.IGNORECASE)
_APART = re.compile(r"(?:^|/)(?:tests?|testing|examples?|benchmarks?|vendor|third_party|node_modules|site-packages)/")
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|[^/]*\.(?:test|spec)|conftest)\.\w+$")
_HEADING = re.compile(r"^#{2,3}\s+(.{3,80}?)\s*#*$")
_UNDERLINED = re.compile(r"^[=~^-]{3,}$")
_LINES: Mapping[str, Sequence[tuple[FeatureKind, re.Pattern[str]]]] = {
    "js": (
        ("command", re.compile(r"\.command\(\s*['\"`]([a-z][\w-]*)")),
        ("option", re.compile(r"\.(?:option|addOption|requiredOption)\(\s*['\"`][^'\"`]*?(--[a-z][\w-]+)")),
        (
            "endpoint",
            re.compile(r"\b(?:app|router|server|fastify)\.(?:get|post|put|delete|patch)\(\s*['\"`](/[^'\"`]*)"),
        ),
        ("tool", re.compile(r"\b(?:registerTool|server\.tool|addTool)\(\s*['\"`]([\w-]+)")),
    ),
    "go": (
        ("command", re.compile(r"\bUse:\s*\"([a-z][\w-]*)")),
        ("option", re.compile(r"\.Flags\(\)\.\w+\((?:&?[\w.]+,\s*)?\"([a-z][\w-]*)\"")),
        ("endpoint", re.compile(r"\bHandle(?:Func)?\(\s*\"(?:[A-Z]+ )?(/[^\"]*)\"")),
    ),
    "rs": (("option", re.compile(r"\blong\s*=\s*\"([a-z][\w-]*)\"")),),
}
_SUFFIXES = {".js": "js", ".mjs": "js", ".cjs": "js", ".ts": "js", ".tsx": "js", ".jsx": "js", ".go": "go", ".rs": "rs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One thing that a project offers, and the line that shows it."""

    kind: FeatureKind
    name: str
    file: str
    line: int
    shown: str = ""
    """The line itself, cut."""

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


def features(texts: Mapping[str, str]) -> tuple[Feature, ...]:
    """The features of a project's files (path -> text): each once, at the first line that shows it. Tests, examples and
    foreign code are left out: what they use is not what the project offers."""
    found: dict[tuple[str, str], Feature] = {}
    own = [path for path in texts if not (_APART.search(path) or _TEST_FILE.search(path))]
    started = frozenset(name for path in own if path.endswith(_STARTERS) for name in _called(texts[path]))
    for path in sorted(own, key=lambda each: (each.count("/"), each)):
        lines = texts[path].split("\n")
        for kind, name, line in _of(path, texts[path], lines, started):
            shown = lines[line - 1].strip()[:160] if 0 < line <= len(lines) else ""
            made = Feature(kind=kind, name=name, file=path, line=line, shown=shown)
            found.setdefault((kind, name), made)
    return tuple(sorted(found.values(), key=lambda each: (KINDS.index(each.kind), each.name)))


Found = tuple[FeatureKind, str, int]


def _of(path: str, text: str, lines: Sequence[str], started: frozenset[str]) -> Iterator[Found]:
    pure = PurePosixPath(path)
    if pure.suffix == ".py" and not path.startswith("docs/"):
        yield from _of_python(text, started)
    elif pure.suffix in _SUFFIXES:
        for number, line in enumerate(lines, 1):
            for kind, pattern in _LINES[_SUFFIXES[pure.suffix]]:
                yield from ((kind, _named(kind, each[1]), number) for each in pattern.finditer(line[:2_000]))
    elif pure.name == "pyproject.toml":
        yield from _of_pyproject(text, lines)
    elif pure.name == "package.json" and "/" not in path:
        yield from _of_package(text, lines)
    elif _DOCS.search(path) and not _RELEASES.search(path):
        yield from _of_docs(lines)


def _named(kind: FeatureKind, name: str) -> str:
    return f"--{name.lstrip('-')}" if kind == "option" else name


# -- Python ------------------------------------------------------------------------------------------------------------


_CALLED = re.compile(r"(?<!def )(?<![\w.@])([A-Za-z_]\w*)(?:\.main)?\(")
_ENTRY = re.compile(r"^\s*[\"']?[\w.-]+[\"']?\s*=\s*[\"'][\w.]+:([A-Za-z_]\w*)[\"']", re.MULTILINE)


_STARTERS = ("__main__.py", "pyproject.toml", "setup.py", "setup.cfg")


def _called(text: str) -> Iterator[str]:
    """Names that a file calls, or names as a script's entry."""
    for form in (_CALLED, _ENTRY):
        yield from form.findall(text)


def _of_python(text: str, started: frozenset[str]) -> Iterator[Found]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    started = started.union(_called(text))  # a group that is started is the program; the others are commands of it
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                yield from _of_decorator(decorator, node, started)
        elif isinstance(node, ast.Call):
            yield from _of_call(node)
            yield from _of_suffix(node)
        elif isinstance(node, ast.Compare) and _asks_suffix(node.left):
            for each in ast.walk(node):
                yield from _format(each)


def _asks_suffix(node: ast.expr) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr == "suffix" for each in ast.walk(node))


def _of_suffix(call: ast.Call) -> Iterator[Found]:
    """Formats that a call asks for: by the end of a name, or all files of a kind."""
    if _name(call.func) in ("endswith", "removesuffix", "with_suffix", "glob", "rglob"):
        for argument in call.args:
            for each in ast.walk(argument):
                yield from _format(each)


def _format(node: ast.AST) -> Iterator[Found]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        ending = re.search(r"(?:^|\*)(\.[a-z][a-z0-9]{1,7})$", node.value)
        if ending:
            yield "format", ending[1], node.lineno


def _of_decorator(
    decorator: ast.expr, function: ast.FunctionDef | ast.AsyncFunctionDef, started: frozenset[str]
) -> Iterator[Found]:
    call = decorator if isinstance(decorator, ast.Call) else None
    name = _name(call.func if call else decorator)
    given = _text(call.args[0]) if call and call.args else ""
    named = next((_text(each.value) for each in call.keywords if each.arg == "name"), "") if call else ""
    # A name that is the function's own stands in its first line, not in the decorator's.
    line = decorator.lineno if given or named else function.lineno
    if name == "group" and function.name in started and not (given or named):
        return
    if name in ("command", "group"):
        own = function.name.removesuffix("_command").removesuffix("_cmd").replace("_", "-")
        yield "command", given or named or own, line
    elif name in ("tool", "function_tool"):
        yield "tool", given or named or function.name, line
    elif name in _METHODS and given.startswith("/"):
        yield "endpoint", given, decorator.lineno


def _of_call(call: ast.Call) -> Iterator[Found]:
    name = _name(call.func)
    if name in ("option", "add_argument", "Option"):
        for each in call.args:
            for word in _text(each).split("/"):
                if re.fullmatch(r"--[a-z][\w-]*", word):
                    yield "option", word, each.lineno
    elif name == "add_parser" and call.args and (given := _text(call.args[0])):
        yield "command", given, call.args[0].lineno
    elif name == "add_api_route" and call.args and (given := _text(call.args[0])).startswith("/"):
        yield "endpoint", given, call.args[0].lineno


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


# -- what else tells ---------------------------------------------------------------------------------------------------


def _of_pyproject(text: str, lines: Sequence[str]) -> Iterator[Found]:
    try:
        held = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    poetry = held.get("tool", {}).get("poetry", {}) if isinstance(held.get("tool"), dict) else {}
    for scripts in (held.get("project", {}).get("scripts", {}), poetry.get("scripts", {})):
        for name in scripts if isinstance(scripts, dict) else ():
            yield "command", name, _line_of(lines, re.compile(rf"^\s*\"?{re.escape(name)}\"?\s*="))


def _of_package(text: str, lines: Sequence[str]) -> Iterator[Found]:
    try:
        held = json.loads(text)
    except ValueError:
        return
    commands = held.get("bin") if isinstance(held, dict) else None
    for name in commands if isinstance(commands, dict) else ():
        yield "command", name, _line_of(lines, re.compile(rf"\"{re.escape(name)}\"\s*:\s*\"[^\"]*[./]"))


def _of_docs(lines: Sequence[str]) -> Iterator[Found]:
    fenced = False
    for number, line in enumerate(lines, 1):
        fenced ^= line.lstrip().startswith("```")
        if fenced:
            continue
        heading = _HEADING.match(line)
        if heading:
            yield "topic", _plain(heading[1]), number
        elif number > 1 and _UNDERLINED.match(line) and 3 <= len(lines[number - 2].strip()) <= min(80, len(line) + 1):
            yield "topic", _plain(lines[number - 2]), number - 1


def _plain(text: str) -> str:
    """A heading without its markup."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return " ".join(re.sub(r"[`*#\[\]<>{}]|:\w+:", " ", text).split())


def _line_of(lines: Sequence[str], pattern: re.Pattern[str]) -> int:
    return next((number for number, line in enumerate(lines, 1) if pattern.search(line)), 1)
