"""Name what a check needs and does not find, with the remedy: no edit of the project brings it."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from ratchet.healing.episode import Verdict
from ratchet.sandbox.environments import SETTINGS, VENV_NAMES

_MODULE = re.compile(r"No module named '?([A-Za-z_]\w*)")
_OPTION = re.compile(r"^.*error: unrecognized arguments: (--?[a-z][\w-]*)", re.MULTILINE)
_FIXTURE = re.compile(r"fixture '(mocker|benchmark|httpx_mock|requests_mock|freezer|faker|snapshot)' not found")
_SUBMODULE = re.compile(r"^\s*path\s*=\s*(\S.*?)\s*$", re.MULTILINE)
_DECLARED = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "requirements*.txt",
             "requirements/*.txt", "*requirements.txt")  # fmt: skip
_SAME = 0.8  # similarity from which an unknown name is a misspelt known one
# Distributions that are called otherwise than their modules, as far as test suites import them.
_DISTRIBUTIONS = {"yaml": "pyyaml", "dateutil": "python-dateutil", "attr": "attrs", "bs4": "beautifulsoup4",
                  "PIL": "pillow", "sklearn": "scikit-learn", "cv2": "opencv-python", "dotenv": "python-dotenv",
                  "jwt": "pyjwt", "serial": "pyserial", "git": "gitpython", "OpenSSL": "pyopenssl",
                  "pkg_resources": "setuptools", "mocker": "pytest-mock", "benchmark": "pytest-benchmark",
                  "httpx_mock": "pytest-httpx", "requests_mock": "requests-mock",
                  "freezer": "pytest-freezer"}  # fmt: skip


def missing(verdict: Verdict, project: Path) -> str:
    """Name what is not installed, in one line that ends in its remedy; "" where a failure has another cause."""
    text = f"{verdict.reason}\n{verdict.output}"
    for name in dict.fromkeys(reversed(_MODULE.findall(text))):
        if not _is_own(name, project) and not _is_misspelt(name, project):
            return _told(name, _DISTRIBUTIONS.get(name, name), project)
    if found := _OPTION.search(text):
        word = found[1].lstrip("-").partition("-")[0]
        return _told(f"the plugin that knows {found[1]}", f"pytest-{word}", project)
    if found := _FIXTURE.search(text):
        return _told(f"fixture {found[1]!r}", _DISTRIBUTIONS.get(found[1], f"pytest-{found[1]}"), project)
    for path in _submodules(project):
        if f"{path}/" in text and not _holds_anything(project / path):
            how = f"git submodule update --init {path}"
            return f"dependency_missing: {path}, a git submodule that is not checked out; {how}"
    return ""


def _submodules(project: Path) -> list[str]:
    held = project / ".gitmodules"
    return _SUBMODULE.findall(held.read_text(errors="replace")) if held.is_file() else []


def _holds_anything(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _told(what: str, distribution: str, project: Path) -> str:
    venv = next((name for name in VENV_NAMES if (project / name / SETTINGS).is_file()), "")
    if not venv:
        how = f"make an environment with it: uv venv && uv pip install -e . {distribution}"
    elif "uv =" in (project / venv / SETTINGS).read_text(errors="replace"):
        how = f"uv pip install --python {venv} {distribution}"
    else:
        how = f"{venv}/bin/python -m pip install {distribution}"
    return f"dependency_missing: {what}, not installed in {venv or 'the Python that runs the check'}; {how}"


def _is_own(name: str, project: Path) -> bool:
    """Tell whether the project itself holds such a module."""
    folders = [project, *(each for each in project.iterdir() if each.is_dir() and each.name not in VENV_NAMES)]
    return any((each / name).is_dir() or (each / f"{name}.py").is_file() for each in folders)


def _is_misspelt(name: str, project: Path) -> bool:
    """Tell whether a name that no file declares is nearly one that is known: then the program is wrong."""
    if re.search(rf"\b{re.escape(_DISTRIBUTIONS.get(name, name))}\b", "\n".join(_declared(project)), re.IGNORECASE):
        return False
    known = [*sys.stdlib_module_names, *(path.stem for path in project.rglob("*.py") if ".venv" not in path.parts)]
    return bool(difflib.get_close_matches(name, [each for each in known if each != name], n=1, cutoff=_SAME))


def _declared(project: Path) -> Iterator[str]:
    for pattern in _DECLARED:
        for path in sorted(project.glob(pattern))[:20]:
            yield path.read_text(errors="replace")[:200_000]
