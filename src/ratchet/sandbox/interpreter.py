"""Which folders make `python` work inside as it does outside: its own, those of its base, and its packages."""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

VENV_NAMES = (".venv", "venv", "env")
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ANSWERS = tuple(
    os.path.join(os.path.realpath(os.path.dirname(os.path.dirname(__file__))), *each.split("/"))
    for each in ("evolving/bench/core", "tasks/library", "demo/agent")
)
"""Folders of this package that hold tasks with their graders and right answers. They come along with the packages that
a sandbox shows, and no command is to read them: an agent would be measured by how well it looks things up."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A `python` as a sandbox shows it: `folders` read-only at their own path, `links` that lead to them (path ->
    target), `bin` first on PATH, and variables."""

    bin: str
    folders: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    environ: tuple[tuple[str, str], ...]


def own() -> Interpreter:
    """The interpreter that runs Ratchet, with its packages."""
    found = [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix]
    importable = _named_for_packages()
    found += [each for each in sys.path if each and os.path.abspath(each) in importable and _is_package_folder(each)]
    links = list(_chain(sys.executable))
    environ = []
    if sys.prefix != sys.base_prefix:
        environ.append(("VIRTUAL_ENV", sys.prefix))
    named = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each in found]
    if named:
        environ.append(("PYTHONPATH", os.pathsep.join(named)))
    if site.ENABLE_USER_SITE and site.getuserbase() and os.path.isdir(site.getusersitepackages()):
        environ.append(("PYTHONUSERBASE", site.getuserbase()))
    folders = _shown([*found, *(os.path.dirname(path) for path, _ in links)])
    return Interpreter(os.path.dirname(sys.executable), folders, tuple(links), tuple(environ))


def project_venv(folder: Path) -> Path | None:
    """The virtual environment of a project, if it has one that works: found by what is in it."""
    for name in VENV_NAMES:
        venv = folder / name
        if venv.is_dir() and not venv.is_symlink() and _base_of(venv) is not None:
            return venv
    return None


def of_venv(venv: Path, at: str) -> Interpreter:
    """The interpreter of a virtual environment that is shown at `at`."""
    base = _base_of(venv)
    assert base is not None
    links = tuple(_chain(str(venv / "bin" / "python")))
    outside = tuple(link for link in links if not link[0].startswith(f"{venv}/"))
    folders = _shown([base, *(os.path.dirname(path) for path, _ in outside)])
    return Interpreter(f"{at}/bin", folders, outside, (("VIRTUAL_ENV", at),))


def _base_of(venv: Path) -> str | None:
    """The installation that a virtual environment stands on. What pyvenv.cfg says is believed only where a Python
    really is: the file may come from a stranger, and what it names is shown to the sandbox."""
    try:
        text = (venv / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    settings: dict[str, str] = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals:
            settings[name.strip().lower()] = value.strip()
    home = settings.get("home", "")
    if not os.path.isabs(home) or not (venv / "bin" / "python").exists():
        return None
    prefix = os.path.dirname(os.path.realpath(home))
    library = any(Path(prefix, "lib").glob("python3*/os.py"))
    foreign = Path(prefix).stat().st_uid in (0, os.getuid())
    return prefix if library and foreign and not _holds_secrets(prefix) else None


def _named_for_packages() -> set[str]:
    """Folders from which any `python` of this installation would import: those for packages, those that their .pth
    files name (packages under development), and those of PYTHONPATH. Not the folder of the script that runs, nor what a
    program has put on its path: there lie a person's own files."""
    places = site.getsitepackages()
    if site.ENABLE_USER_SITE:
        places.append(site.getusersitepackages())
    named = [*places, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    for place in places:
        for each in sorted(Path(place).glob("*.pth")):
            lines = each.read_text(encoding="utf-8", errors="replace").splitlines()
            named += [os.path.join(place, line.rstrip()) for line in lines if not line.startswith(("#", "import "))]
    return {os.path.abspath(each) for each in named}


def _is_package_folder(path: str) -> bool:
    """Not a working directory that is merely on the path, nor a home."""
    return os.path.isdir(path) and os.path.realpath(path) != os.path.realpath(os.getcwd()) and not _holds_secrets(path)


def _holds_secrets(path: str) -> bool:
    """Whether a folder is a home or above one: that is never shown."""
    home = os.path.realpath(os.path.expanduser("~"))
    real = os.path.realpath(path)
    return home == real or home.startswith(real.rstrip("/") + "/")


def _chain(path: str) -> Iterator[tuple[str, str]]:
    """Every symbolic link on the way from a path to the file: (link, target as it is written)."""
    for _ in range(20):
        if not os.path.islink(path):
            return
        target = os.readlink(path)
        yield path, target
        path = os.path.normpath(os.path.join(os.path.dirname(path), target))


def _shown(paths: list[str]) -> tuple[str, ...]:
    """Each folder by the name it is asked by and by its real one, without those that lie within another or the
    system's own; a folder that holds a home is left out."""
    names = {each for path in paths for each in (os.path.abspath(path), os.path.realpath(path))}
    wanted = sorted(each for each in names if not _holds_secrets(each) and not each.startswith("/usr/"))
    kept: list[str] = []
    for each in wanted:
        if each not in ("/", "/usr", "/bin") and not any(each.startswith(f"{above}/") for above in kept):
            kept.append(each)
    return tuple(kept)
