"""Say how a check runs a project's Python tests: one answer for judge, search and trace.

Pure but for the project's own files, which it reads through a function. What a shell line, a make target, tox, nox or a
script comes to is found by reading it, never by running it.
"""

from __future__ import annotations

import ast
import configparser
import posixpath
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from ratchet.errors import NotFound, Refused

Runner = Literal["pytest", "unittest", "module", "script", "code", "command"]
Read = Callable[[str], str]
"""The text of a file of the project, by its path from there; "" where there is none."""

_DEEPEST = 6  # a make target that starts tox that starts a script that starts pytest is 4
_LARGEST_BYTES = 1_048_576
_PYTHON = re.compile(r"(?:.*/)?(?:python|pypy)[\d.]*t?")
_SHELL = re.compile(r"(?:.*/)?(?:ba|da|z|k)?sh")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_UNREADABLE = re.compile(r"[`*?<(){}~]|\$\(|\$\{?\w")
_SPLIT = re.compile(r"\s*(?:&&|;|\n)\s*")
_REDIRECTED = re.compile(r"\s+(?:\d?>{1,2}&?\s*[\w./&-]+|2>&1)")
_QUOTED = re.compile(r"""'[^'\n]*'|"[^"$`\\\n]*\"""")
# Letters that mean something to a shell, and what stands for them where it reads nothing, as in a quoted test id.
_APART = {ord(each): chr(0xE000 + ord(each)) for each in "`*?<>(){}~$;&|"}
_BACK = {ord(apart): chr(each) for each, apart in _APART.items()}
_QUIET = frozenset(("set", "echo", ":", "true", "unset", "umask", "ulimit", "pwd", "which", "date", "trap"))
# Programs that start what follows them, with those of their options that take a word.
_STARTERS: Mapping[tuple[str, ...], str] = {
    ("uv", "run"): "-p --python --with --extra --group --package --env-file --project --directory",
    ("poetry", "run"): "-C --directory", ("pdm", "run"): "-p --project", ("pipenv", "run"): "", ("rye", "run"): "",
    ("hatch", "run"): "", ("pixi", "run"): "-e --environment", ("conda", "run"): "-n --name -p --prefix",
    ("exec",): "", ("time",): "", ("nice",): "-n", ("env",): "-u --unset -C --chdir", ("xvfb-run",): "-s -e -n",
    ("timeout",): "-k -s --signal --kill-after", ("coverage", "run"): "--source --rcfile --omit --include --data-file",
}  # fmt: skip
_WITH_WORD = ("-W", "-X")  # of the interpreter's own switches
# They show, stop early, distribute or measure: outcomes are told apart from that. Those with a value of its own word.
_DROPPED = re.compile(
    r"-x|--exitfirst|--(?:lf|ff|nf|sw)\b.*|--(?:last|failed|new|stepwise)-.*|--stepwise.*|--pdb.*|--trace"
)
_DROPPED_WITH_VALUE = re.compile(
    r"-n|--(?:numprocesses|dist|maxfail|junit-?xml|cov|cov-report|cov-config|cov-fail-under|html|durations|report-log)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRun:
    """One run of tests in Python. `cwd` is below the project ("" for the project itself).

    `exact`: the check is this run and nothing else, so whoever runs it so has run the check.
    """

    runner: Runner
    arguments: tuple[str, ...]
    cwd: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    exact: bool = True
    python: str = ""
    """The interpreter that is named, by a path; "" for the one on the PATH."""


def suite_run(check: Sequence[str], read: Read) -> SuiteRun:
    """The run that a check comes to; the check itself (`command`) where that cannot be read."""
    found = _resolved(list(check), read, SuiteRun(runner="command", arguments=tuple(check)), 0)
    return found or SuiteRun(runner="command", arguments=tuple(check))


_GOING_ON = "--continue-on-collection-errors"
"""A file that cannot be collected says nothing of the others."""


def counted_arguments(run: SuiteRun) -> list[str]:
    """The arguments of a run of pytest whose tests are to be told one by one: all of them, in one process."""
    if run.runner != "pytest":
        return list(run.arguments)
    kept: list[str] = []
    skip = False
    for word in run.arguments:
        name = word.partition("=")[0]
        if skip:
            skip = False
        elif _DROPPED.fullmatch(word) or (_DROPPED_WITH_VALUE.fullmatch(name) and "=" in word):
            continue
        elif _DROPPED_WITH_VALUE.fullmatch(word):
            skip = word != "--cov"
        elif not re.fullmatch(r"-n\d+|-nauto", word):
            kept.append(word)
    return kept if _GOING_ON in kept else [*kept, _GOING_ON]


def reading(folder: Path) -> Read:
    """Read a project's files below a folder; what is no small plain file is not there. A link is followed within the
    project."""

    def read(path: str) -> str:
        from ratchet.sandbox.beneath import read_beneath

        try:
            top = folder.resolve()
            real = (top / posixpath.normpath(path).lstrip("/")).resolve().relative_to(top)
            return read_beneath(top, str(real), _LARGEST_BYTES).decode("utf-8", "replace")
        except (OSError, ValueError, RuntimeError, NotFound, Refused):  # no path at all, one outside, a circle of links
            return ""

    return read


def _resolved(words: list[str], read: Read, at: SuiteRun, depth: int) -> SuiteRun | None:
    """The run of one command; None where it is no run of tests that can be read."""
    at, words = _started(words, at)
    if not words or depth > _DEEPEST:
        return None
    name = PurePosixPath(words[0]).name
    if _SHELL.fullmatch(words[0]) and len(words) > 2 and re.fullmatch(r"-[a-z]*c", words[1]):
        return _of_lines([words[2]], read, at, depth)
    if name in ("pytest", "py.test"):
        return replace(at, runner="pytest", arguments=tuple(words[1:]), python=at.python or _beside(words[0]))
    if _PYTHON.fullmatch(words[0]):
        return _of_python(words, read, at, depth)
    lines = _told(name, words[1:], read, at.cwd)
    if lines is None and (_SHELL.fullmatch(words[0]) or words[0].endswith(".sh")):
        script = next((each for each in words if each.endswith(".sh") or ("/" in each and each != words[0])), "")
        lines = [read(posixpath.join(at.cwd, script))] if script else None
    return _of_lines(lines, read, at, depth + 1) if lines else None


def _started(words: list[str], at: SuiteRun) -> tuple[SuiteRun, list[str]]:
    """Take off what only starts the rest: variables, `env`, `uv run`, `timeout 60`, `coverage run`."""
    while words:
        if _ASSIGNED.match(words[0]):
            name, _, value = words[0].partition("=")
            at, words = replace(at, environ={**at.environ, name: value}), words[1:]
            continue
        if len(words) > 3 and _PYTHON.fullmatch(words[0]) and words[1:4] == ["-m", "coverage", "run"]:
            at, words = replace(at, python=at.python or _named(words[0])), words[2:]
        starter = next((each for each in _STARTERS if tuple(words[: len(each)]) == each), None)
        if starter is None:
            break
        taking = _STARTERS[starter].split()
        words = words[len(starter) :]
        while words and words[0].startswith("-") and not (starter[0] == "coverage" and words[0] == "-m"):
            words = words[2:] if words[0] in taking else words[1:]
        if starter == ("timeout",):
            words = words[1:]
        if starter == ("coverage", "run"):
            words = ["python", *words]
        if starter == ("hatch", "run") and words and ":" in words[0]:
            words = [words[0].partition(":")[2], *words[1:]]
    return at, words


def _of_python(words: list[str], read: Read, at: SuiteRun, depth: int) -> SuiteRun | None:
    at = replace(at, python=at.python or _named(words[0]))
    rest = words[1:]
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c", "-"):
        rest = rest[2:] if rest[0] in _WITH_WORD else rest[1:]
    if len(rest) < 1 or rest[0] == "-":
        return None
    if rest[0] == "-c":
        return replace(at, runner="code", arguments=tuple(rest[1:])) if len(rest) > 1 else None
    if rest[0] != "-m":
        return replace(at, runner="script", arguments=tuple(rest))
    module, arguments = rest[1:2], tuple(rest[2:])
    if module in (["pytest"], ["py.test"]):
        return replace(at, runner="pytest", arguments=arguments)
    if module == ["unittest"]:
        return replace(at, runner="unittest", arguments=arguments)
    if module in (["tox"], ["nox"], ["hatch"], ["pdm"], ["poethepoet"]):
        return _resolved([*module, *arguments], read, at, depth + 1)
    return replace(at, runner="module", arguments=tuple(rest[1:])) if module else None


def _of_lines(lines: Iterable[str], read: Read, at: SuiteRun, depth: int) -> SuiteRun | None:
    """The one run of tests among the commands of a shell text; None for none or several."""
    found: list[SuiteRun] = []
    others = False
    plain = _QUOTED.sub(lambda found: found[0].translate(_APART), "\n".join(lines).replace("\\\n", " "))
    for text in _SPLIT.split(plain):
        if not text or text.startswith("#"):
            continue
        tail = re.split(r"\s*\|\|?\s*", text, maxsplit=1)
        try:
            words = [each.translate(_BACK) for each in shlex.split(_REDIRECTED.sub("", tail[0]))]
        except ValueError:
            return None
        if not words:
            continue
        if words[0] == "cd" and len(words) == 2 and not _UNREADABLE.search(words[1]):
            folder = posixpath.normpath(posixpath.join(at.cwd, words[1]))
            if folder.startswith(("..", "/")):
                return None
            at = replace(at, cwd="" if folder == "." else folder)
        elif words[0] == "export" and all(map(_ASSIGNED.match, words[1:])):
            at = replace(at, environ={**at.environ, **dict(each.split("=", 1) for each in words[1:])})
        elif words[0] in _QUIET or (words[0] in (".", "source") and words[-1].endswith("activate")):
            continue
        elif not _UNREADABLE.search(tail[0]) and (run := _resolved(words, read, at, depth)) is not None:
            found.append(run)
            others = others or len(tail) > 1
        else:
            others = True
    if len({(each.runner, each.arguments, each.cwd) for each in found}) != 1:
        return None
    return replace(found[0], exact=found[0].exact and not others and depth == 0)


def _told(name: str, words: list[str], read: Read, cwd: str) -> list[str] | None:
    """The commands behind the name of a task; None where nothing is known of such."""
    target = next((each for each in words if not each.startswith("-") and "=" not in each), "")
    after = words[words.index("--") + 1 :] if "--" in words else []
    if name in ("make", "gmake", "just"):
        names = ("Makefile", "makefile", "GNUmakefile") if name != "just" else ("justfile", "Justfile", ".justfile")
        return _recipe(next(filter(None, (read(posixpath.join(cwd, each)) for each in names)), ""), target or "test")
    if name == "tox":
        return list(_of_tox(read, after))
    if name == "nox":
        return list(_of_nox(read("noxfile.py")))
    project = toml_of(read("pyproject.toml")).get("tool")
    tools = project if isinstance(project, dict) else {}
    if name == "hatch" and words[:1] == ["test"]:
        return [shlex.join(["pytest", *words[1:]])]
    if name in ("pdm", "poe", "poethepoet", "hatch") or name in _scripts(tools):
        found = _scripts(tools).get(name if name in _scripts(tools) else target)
        return [found] if found else None
    return None


def _scripts(tools: Mapping[str, object]) -> dict[str, str]:
    """Commands that pyproject.toml names for pdm, poe and hatch."""
    places = [table_at(tools, "pdm", "scripts"), table_at(tools, "poe", "tasks")]
    environments = table_at(tools, "hatch", "envs").values()
    places += [table_at(each, "scripts") for each in environments if isinstance(each, dict)]
    found: dict[str, str] = {}
    for place in places:
        for name, said in place.items():
            said = said.get("cmd", said.get("shell")) if isinstance(said, dict) else said
            parts = [each for each in said if isinstance(each, str)] if isinstance(said, list) else [said]
            if all(isinstance(each, str) for each in parts):
                found.setdefault(name, re.sub(r"\{args(?::([^}]*))?\}", r"\1", " && ".join(map(str, parts))))
    return found


def _recipe(text: str, target: str) -> list[str]:
    """The commands of a target of a Makefile or justfile, with the variables that the file itself sets."""
    held = {name: value.strip() for name, value in re.findall(r"^(\w+)[ \t]*[?:]?=(.*)$", text, re.MULTILINE)}
    found = re.search(rf"^{re.escape(target)}\b[^\n=]*:(?!=)[^\n]*\n((?:[ \t]+[^\n]*\n?|\n)*)", text, re.MULTILINE)
    if found is None:
        return []

    def value(match: re.Match[str]) -> str:
        return str(held.get(match[1] or match[2], match[0]))

    lines = [line.strip().lstrip("@-+") for line in found[1].replace("\\\n", " ").splitlines() if line.strip()]
    for _ in range(3):  # a variable may be made of others
        lines = [re.sub(r"\$[({](\w+)[)}]|\{\{\s*(\w+)\s*\}\}", value, line) for line in lines]
    return lines


def _of_tox(read: Read, after: Sequence[str]) -> Iterator[str]:
    tools = toml_of(read("pyproject.toml")).get("tool")
    held = table_at(tools if isinstance(tools, dict) else {}, "tox")
    parser = configparser.RawConfigParser(strict=False)
    for text in filter(None, (read("tox.ini"), str(held.get("legacy_tox_ini", "")), read("setup.cfg"))):
        try:
            parser.read_string(text)
        except configparser.Error:
            continue
        if parser.has_option("testenv", "commands"):
            for line in parser.get("testenv", "commands").replace("\\\n", " ").splitlines():
                yield _filled(line.strip().lstrip("-"), after)
            return
    commands = {**toml_of(read("tox.toml")), **held}
    held_commands = table_at(commands, "env_run_base").get("commands")
    for each in held_commands if isinstance(held_commands, list) else ():
        if isinstance(each, list):
            words = [word for word in each if isinstance(word, str)]
            yield shlex.join([*words, *(after if len(words) < len(each) else ())])


def _filled(line: str, after: Sequence[str]) -> str:
    def posargs(found: re.Match[str]) -> str:
        return shlex.join(after) if after else (found[1] or "")

    line = re.sub(r"^[\w!,-]+:\s+", "", line)  # a condition: py311: pytest
    line = re.sub(r"\{posargs(?::([^}]*))?\}", posargs, line)
    return line.replace("{envpython}", "python").replace("{toxinidir}/", "").replace("{toxinidir}", ".")


def _of_nox(text: str) -> Iterator[str]:
    """`session.run("pytest", ...)` with words only; what is passed on (`*session.posargs`) is left out."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "run":
            words = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            if "pytest" in words or "unittest" in words:
                yield shlex.join(words)


def toml_of(text: str) -> dict[str, object]:
    """A project's TOML; {} for what is none."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):  # also an integer of thousands of digits
        return {}


def table_at(held: Mapping[str, object], *names: str) -> Mapping[str, object]:
    """A table within others; {} where something else, or nothing, has its name."""
    for name in names:
        found = held.get(name)
        held = found if isinstance(found, dict) else {}
    return held


def _named(word: str) -> str:
    """An interpreter that is named by its path."""
    return word if "/" in word else ""


def _beside(program: str) -> str:
    """The interpreter beside a program of a virtual environment that is named by its path."""
    return str(PurePosixPath(program).with_name("python")) if "/" in program else ""
