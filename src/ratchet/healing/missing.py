"""Name what a check needs and does not find, with the remedy: no edit of the project brings it."""

from __future__ import annotations

import difflib
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from shutil import which

from ratchet.healing.episode import Verdict
from ratchet.healing.judges.protection import is_test
from ratchet.healing.models.quoting import on_a_line
from ratchet.healing.testruns import reading, table_at, toml_of
from ratchet.sandbox.beneath import plain_content
from ratchet.sandbox.environments import SETTINGS, VENV_NAMES, environments
from ratchet.sandbox.ignore import Ignore

_MODULE = re.compile(r"No module named '?([A-Za-z_]\w*)")
_BENEATH = re.compile(r"No module named '([A-Za-z_]\w*(?:\.\w+)+)'")
_OPTION = re.compile(r"^.*error: unrecognized arguments: (--?[a-z][\w-]*)", re.MULTILINE)
_FIXTURE = re.compile(r"fixture '(mocker|benchmark|httpx_mock|requests_mock|freezer|faker|snapshot)' not found")
_PLUGIN = re.compile(r"""(?:^|["'\s])(pytest-[a-z][\w-]*)(?=[<>=~!"'\s,;\[]|$)""", re.MULTILINE | re.IGNORECASE)
_SUBMODULE = re.compile(r"^[ \t]*path[ \t]*=[ \t]*(\S.*)$", re.MULTILINE)
_REQUIREMENTS = ("requirements*.txt", "requirements/*.txt", "*requirements.txt")
_DECLARED = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", *_REQUIREMENTS)
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")  # of an extra or a group: PEP 508, PEP 735
_PATH = re.compile(r"/?[\w.][\w.@+-]*(?:/[\w.][\w.@+-]*)*")
_MOST_FILES = 20  # that one pattern finds
_SETTINGS_BYTES = 65_536
_VERSION = re.compile(r"pip-(\d{1,4})\.(\d{1,4})")
_GROUPS_SINCE = (25, 1)  # version of pip
_ENTRY = re.compile(r"^(\S+\.py):\d+: in ", re.MULTILINE)
_ERROR = re.compile(r"^E   (\S.*)$", re.MULTILINE)
_OTHER = "no edit of the project mends that: install another version of it, or run the tests under another Python"
_AGAIN = "bring it, then run it again"  # ahead of the command, which is copied to the end of the line
_SAME = 0.8  # similarity from which an unknown name is a misspelt known one
# Distributions that are called otherwise than their modules, as far as test suites import them.
_DISTRIBUTIONS = {"yaml": "pyyaml", "dateutil": "python-dateutil", "attr": "attrs", "bs4": "beautifulsoup4",
                  "PIL": "pillow", "sklearn": "scikit-learn", "cv2": "opencv-python", "dotenv": "python-dotenv",
                  "jwt": "pyjwt", "serial": "pyserial", "git": "gitpython", "OpenSSL": "pyopenssl",
                  "pkg_resources": "setuptools", "mocker": "pytest-mock", "benchmark": "pytest-benchmark",
                  "httpx_mock": "pytest-httpx", "requests_mock": "requests-mock",
                  "freezer": "pytest-freezer"}  # fmt: skip


def missing(verdict: Verdict, project: Path, *, declared: bool = False) -> str:
    """Name what is not installed, in one line that ends in its remedy; "" where a failure has another cause. With
    `declared` only what the project's files name: anything else may be what is still to be made."""
    text = f"{verdict.reason}\n{verdict.output}"
    names = [name for name in dict.fromkeys(_MODULE.findall(text)) if not _is_own(name, project)]
    wanted = {name: _requirement(name, project) for name in names if declared or not _is_misspelt(name, project)}
    wanted = {name: how for name, how in wanted.items() if how or not declared}
    if wanted:
        return _told(", ".join(wanted), (how or (_distribution(name),) for name, how in wanted.items()), project)
    if declared:
        return ""
    if unbuilt := next((each for each in _BENEATH.findall(text) if _is_built(each, project)), ""):
        return _told(f"{unbuilt}, which a build of the project makes and git ignores", [("-e", ".")], project)
    if found := _OPTION.search(text):
        lacking = _plugins_lacking(project)
        named = f"pytest-{found[1].lstrip('-').partition('-')[0]}"
        plugins = [named] if named in lacking or not lacking else lacking  # what it asks for rather than a guess
        return _told(
            f"the plugin that knows {found[1]}", (_requirement(each, project) or (each,) for each in plugins), project
        )
    if found := _FIXTURE.search(text):
        return _told(f"fixture {found[1]!r}", [(_DISTRIBUTIONS.get(found[1], f"pytest-{found[1]}"),)], project)
    for path in _submodules(project):
        if f"{path}/" in text and not _holds_anything(project / path):
            how = f"git submodule update --init {path}"
            return f"dependency_missing: {path}, a git submodule that is not checked out; {_AGAIN}: {how}"
    broken = outside(verdict, project)
    if verdict.tests is not None and broken.keys() >= {*verdict.tests.failed_ids}:
        return next((f"dependency_broken: {why}; {_OTHER}" for why in broken.values()), "")
    return ""


def outside(verdict: Verdict, project: Path) -> dict[str, str]:
    """Test files that cannot be collected for an error in a package that they import, with no code of the project
    between: file -> what happened. No edit of the project mends that."""
    found: dict[str, str] = {}
    for file, told in verdict.uncollected.items():
        *way, last = _ENTRY.findall(told) or [""]
        errors = _ERROR.findall(told)
        plain = errors and _PATH.fullmatch(last) and _PATH.fullmatch(file)
        if plain and not _is_here(last, project) and not any(_is_program(each, project) for each in way):
            found[file] = f"{last} raises {on_a_line(errors[-1])} when {file} imports it"
    return found


def _is_here(path: str, project: Path) -> bool:
    installed = {*VENV_NAMES, "site-packages", "dist-packages"}
    return not path.startswith(("/", "..")) and installed.isdisjoint(Path(path).parts) and (project / path).is_file()


def _is_program(path: str, project: Path) -> bool:
    return _is_here(path, project) and not is_test(path)


def _submodules(project: Path) -> list[str]:
    named = map(str.strip, _SUBMODULE.findall(reading(project)(".gitmodules")))
    return [each for each in named if _is_plain(each)]


def _is_plain(path: str) -> bool:
    """Tell whether a path is one below the project that a shell and an installer take for nothing else."""
    return _PATH.fullmatch(path) is not None and not path.startswith("/") and ".." not in path.split("/")


def _holds_anything(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _told(what: str, wanted: Iterable[tuple[str, ...]], project: Path) -> str:
    found = environments(project)
    venv = found.venv.name if found.venv else ""
    by_uv = bool(which("uv")) if not venv else b"uv =" in plain_content(project / venv / SETTINGS, _SETTINGS_BYTES)
    # A new environment lacks the project itself, where it is one that can be installed, and what runs its tests.
    itself = [("-e", ".")] if _is_installable(project) else []
    words = dict.fromkeys([*((*itself, ("pytest",)) if not venv else ()), *wanted])
    how = f"uv pip install --python {venv or '.venv'}" if by_uv else f"{venv or '.venv'}/bin/python -m pip install"
    anew = "--clear .venv" if found.unused else ".venv"
    made = "" if venv else f"uv venv {anew} && " if by_uv else f"python3 -m venv {anew} && "
    where = venv or f"the Python that runs the check{''.join(f' ({each})' for each in found.unused)}"
    knows = by_uv or not any("--group" in each for each in words) or _knows_groups(project / venv if venv else None)
    newer = "" if knows else f"{how} -U pip && "
    command = f"{made}{newer}{how} {' '.join(map(shlex.join, words))}"
    return f"dependency_missing: {what}, not installed in {where}; {_AGAIN}: {command}"


def _knows_groups(venv: Path | None) -> bool:
    """Tell whether the installer of an environment knows `--group`; one that is made anew mostly holds an older one."""
    named = [each.name for each in venv.glob("lib/*/site-packages/pip-*.dist-info")] if venv is not None else []
    versions = (_VERSION.match(each) for each in named)
    return any(found is not None and (int(found[1]), int(found[2])) >= _GROUPS_SINCE for found in versions)


def _is_installable(project: Path) -> bool:
    """Tell whether an installer takes the folder for a project (PEP 517, PEP 621): a file that only sets up tools
    makes it none."""
    told = toml_of(reading(project)("pyproject.toml"))
    return (project / "setup.py").is_file() or not told.keys().isdisjoint(("project", "build-system"))


def _distribution(name: str) -> str:
    return _DISTRIBUTIONS.get(name, name)


def _requirement(name: str, project: Path) -> tuple[str, ...]:
    """Words for an installer that bring a module, as the project's own files ask for it: a file of requirements, an
    extra, a group, or the requirement itself; none where none names it. Whoever writes these files is not to write a
    command: only plain names are taken."""
    read = reading(project)
    own = re.compile(rf"^{re.escape(_distribution(name))}(?![\w-])", re.IGNORECASE)
    for path in _files(project, _REQUIREMENTS):
        if _is_plain(path) and any(map(own.match, read(path).splitlines())):
            return ("-r", path)
    told = toml_of(read("pyproject.toml"))
    extras, groups = table_at(told, "project", "optional-dependencies"), table_at(told, "dependency-groups")
    for option, words, tables in (("-e", ".[{}]", extras), ("--group", "{}", groups)):
        for group, held in tables.items():
            texts = [each for each in held if isinstance(each, str)] if isinstance(held, list) else []
            if _NAME.fullmatch(group) and any(map(own.match, texts)):
                return (option, words.format(group))
    spelt = re.search(
        rf"""(?:^|["'\s])({re.escape(_distribution(name))}(?:\.py)?(?:[<>=~!]=?[\w.*]+)?)(?=["'\s,;]|$)""",
        "\n".join(_declared(project)), re.IGNORECASE | re.MULTILINE,
    )  # fmt: skip
    return (spelt[1],) if spelt else ()


def _plugins_lacking(project: Path) -> list[str]:
    """Plugins of pytest that the project's files name and its environment does not hold."""
    named = dict.fromkeys(each.lower() for text in _declared(project) for each in _PLUGIN.findall(text))
    packages = [each for name in VENV_NAMES for each in (project / name).glob("lib/*/site-packages/*.dist-info")]
    held = {each.name.partition("-")[0].lower() for each in packages}
    return [each for each in named if each.replace("-", "_") not in held]


def _is_own(name: str, project: Path) -> bool:
    """Tell whether the project itself holds such a module."""
    folders = [project, *(each for each in project.iterdir() if each.is_dir() and each.name not in VENV_NAMES)]
    return any((each / name).is_dir() or (each / f"{name}.py").is_file() for each in folders)


def _is_built(name: str, project: Path) -> bool:
    """Tell whether a module of the project's own is one that no file holds and git would ignore."""
    own = Path(*name.split("."))
    ignore = Ignore(project)
    for base in ("", "src", "lib"):
        path = Path(base) / own
        if (project / path.parent).is_dir() and not (project / path).is_dir():
            made = [(path.with_suffix(end).as_posix(), False) for end in (".py", ".so")]
            if ignore.among(made) and not any((project / each).exists() for each, _ in made):
                return True
    return False


def _is_misspelt(name: str, project: Path) -> bool:
    """Tell whether a name that no file declares is nearly one that is known: then the program is wrong."""
    if re.search(rf"\b{re.escape(_distribution(name))}\b", "\n".join(_declared(project)), re.IGNORECASE):
        return False
    known = [*sys.stdlib_module_names, *(path.stem for path in project.rglob("*.py") if ".venv" not in path.parts)]
    return bool(difflib.get_close_matches(name, [each for each in known if each != name], n=1, cutoff=_SAME))


def _declared(project: Path) -> Iterator[str]:
    yield from map(reading(project), _files(project, _DECLARED))


def _files(project: Path, patterns: Iterable[str]) -> Iterator[str]:
    for pattern in patterns:
        for path in sorted(project.glob(pattern))[:_MOST_FILES]:
            yield path.relative_to(project).as_posix()
