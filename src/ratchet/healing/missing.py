"""Name what a check needs and does not find, with the remedy: no edit of the project brings it."""

from __future__ import annotations

import difflib
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import which

from ratchet.healing.episode import Verdict
from ratchet.healing.judges.protection import is_test
from ratchet.sandbox.environments import SETTINGS, VENV_NAMES

_MODULE = re.compile(r"No module named '?([A-Za-z_]\w*)")
_OPTION = re.compile(r"^.*error: unrecognized arguments: (--?[a-z][\w-]*)", re.MULTILINE)
_FIXTURE = re.compile(r"fixture '(mocker|benchmark|httpx_mock|requests_mock|freezer|faker|snapshot)' not found")
_SUBMODULE = re.compile(r"^\s*path\s*=\s*(\S.*?)\s*$", re.MULTILINE)
_REQUIREMENTS = ("requirements*.txt", "requirements/*.txt", "*requirements.txt")
_DECLARED = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", *_REQUIREMENTS)
_COLLECTING = re.compile(r"^_+ ERROR collecting (\S+) _+\n(.*?)(?=^_{5,} |^={5,} |\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(\S+\.py):\d+: in ", re.MULTILINE)
_ERROR = re.compile(r"^E   (\S.*)$", re.MULTILINE)
_OTHER = "no edit of the project mends that: install another version of it, or run the tests under another Python"
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
        return _told(", ".join(wanted), [how or _distribution(name) for name, how in wanted.items()], project)
    if declared:
        return ""
    if found := _OPTION.search(text):
        word = found[1].lstrip("-").partition("-")[0]
        return _told(f"the plugin that knows {found[1]}", [f"pytest-{word}"], project)
    if found := _FIXTURE.search(text):
        return _told(f"fixture {found[1]!r}", [_DISTRIBUTIONS.get(found[1], f"pytest-{found[1]}")], project)
    for path in _submodules(project):
        if f"{path}/" in text and not _holds_anything(project / path):
            how = f"git submodule update --init {path}"
            return f"dependency_missing: {path}, a git submodule that is not checked out; {how}"
    broken = outside(verdict, project)
    if verdict.tests is not None and broken.keys() >= {*verdict.tests.failed_ids}:
        return next((f"dependency_broken: {why}; {_OTHER}" for why in broken.values()), "")
    return ""


def outside(verdict: Verdict, project: Path) -> dict[str, str]:
    """Test files that cannot be collected for an error in a package that they import, with no code of the project
    between: file -> what happened. No edit of the project mends that."""
    found: dict[str, str] = {}
    for file, told in _COLLECTING.findall(verdict.output):
        *way, last = _ENTRY.findall(told) or [""]
        errors = _ERROR.findall(told)
        if last and errors and not _is_here(last, project) and not any(_is_program(each, project) for each in way):
            found[file] = f"{last} raises {errors[-1][:200]} when {file} imports it"
    return found


def _is_here(path: str, project: Path) -> bool:
    installed = {*VENV_NAMES, "site-packages", "dist-packages"}
    return not path.startswith(("/", "..")) and installed.isdisjoint(Path(path).parts) and (project / path).is_file()


def _is_program(path: str, project: Path) -> bool:
    return _is_here(path, project) and not is_test(path)


def _submodules(project: Path) -> list[str]:
    held = project / ".gitmodules"
    return _SUBMODULE.findall(held.read_text(errors="replace")) if held.is_file() else []


def _holds_anything(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _told(what: str, wanted: Sequence[str], project: Path) -> str:
    venv = next((name for name in VENV_NAMES if (project / name / SETTINGS).is_file()), "")
    by_uv = bool(which("uv")) if not venv else "uv =" in (project / venv / SETTINGS).read_text(errors="replace")
    wanted = list(dict.fromkeys(wanted))
    if not venv:  # a new environment lacks the project itself, and what runs its tests
        wanted = ["-e .", "pytest", *(each for each in wanted if each != "pytest")]
    how = f"uv pip install --python {venv or '.venv'}" if by_uv else f"{venv or '.venv'}/bin/python -m pip install"
    made = "" if venv else "uv venv && " if by_uv else "python3 -m venv .venv && "
    where = venv or "the Python that runs the check"
    return f"dependency_missing: {what}, not installed in {where}; {made}{how} {' '.join(wanted)}"


def _distribution(name: str) -> str:
    return _DISTRIBUTIONS.get(name, name)


def _requirement(name: str, project: Path) -> str:
    """Words for an installer that bring a module, as the project's own files ask for it: a file of requirements, an
    extra, a group, or the requirement itself; "" where none names it."""
    own = re.compile(rf"^{re.escape(_distribution(name))}(?![\w-])", re.IGNORECASE)
    for pattern in _REQUIREMENTS:
        for path in sorted(project.glob(pattern)):
            if any(own.match(line) for line in path.read_text(errors="replace").splitlines()):
                return f"-r {path.relative_to(project)}"
    try:
        told = tomllib.loads((project / "pyproject.toml").read_text(errors="replace"))
    except (OSError, tomllib.TOMLDecodeError):
        told = {}
    extras = told.get("project", {}).get("optional-dependencies", {})
    for words, groups in (("-e '.[{}]'", extras), ("--group {}", told.get("dependency-groups", {}))):
        for group, held in groups.items():
            if any(own.match(str(each)) for each in held):
                return words.format(group)
    spelt = re.search(
        rf"""(?:^|["'\s])({re.escape(_distribution(name))}(?:\.py)?(?:[<>=~!]=?[\w.*]+)?)(?=["'\s,;]|$)""",
        "\n".join(_declared(project)), re.IGNORECASE | re.MULTILINE,
    )  # fmt: skip
    return shlex.quote(spelt[1]) if spelt else ""


def _is_own(name: str, project: Path) -> bool:
    """Tell whether the project itself holds such a module."""
    folders = [project, *(each for each in project.iterdir() if each.is_dir() and each.name not in VENV_NAMES)]
    return any((each / name).is_dir() or (each / f"{name}.py").is_file() for each in folders)


def _is_misspelt(name: str, project: Path) -> bool:
    """Tell whether a name that no file declares is nearly one that is known: then the program is wrong."""
    if re.search(rf"\b{re.escape(_distribution(name))}\b", "\n".join(_declared(project)), re.IGNORECASE):
        return False
    known = [*sys.stdlib_module_names, *(path.stem for path in project.rglob("*.py") if ".venv" not in path.parts)]
    return bool(difflib.get_close_matches(name, [each for each in known if each != name], n=1, cutoff=_SAME))


def _declared(project: Path) -> Iterator[str]:
    for pattern in _DECLARED:
        for path in sorted(project.glob(pattern))[:20]:
            yield path.read_text(errors="replace")[:200_000]
