"""Finds the files that make `python` work inside as it does outside: its own, those of its base, and its packages."""

from __future__ import annotations

import importlib.util
import os
import site
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ratchet.sandbox.command import Command
from ratchet.sandbox.environments import PROGRAM, SETTINGS, Shown, homes, judge, judge_program, walked

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ANSWERS = tuple(
    os.path.join(os.path.realpath(os.path.dirname(os.path.dirname(__file__))), *each.split("/"))
    for each in ("evolving/bench/core", "tasks/library", "demo/agent")
)
"""Folders of this package that hold tasks with their graders and right answers. They come along with the packages that
a sandbox shows, and no command is to read them: an agent would be measured by how well it looks things up."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A `python` as a sandbox shows it: `paths` read-only at their own place, `links` that lead to them (name -> real
    path), `bin` first on PATH, and variables."""

    bin: str
    paths: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    environ: tuple[tuple[str, str], ...]


def of(folder: Path, overlaid: Mapping[str, Path], command: Command) -> Interpreter:
    """The interpreter of a command: the one that it names by its path; else that of the first virtual environment among
    what is `overlaid` (where it is shown -> where it lies); else the one of the person's shell (`usual`). None is used
    that cannot be trusted. `folder` is the one that the command writes to. What the environments among its `readable`
    stand on is shown, too: they would not run without."""
    named = _installed(command.argv[0], folder) if os.path.isabs(command.argv[0]) else None
    found = ((at, _stands_on(venv, folder)) for at, venv in overlaid.items())
    at, shown = next(((at, shown) for at, shown in found if shown is not None), ("", None))
    theirs = Interpreter(f"{at}/bin", *_sorted(shown), (("VIRTUAL_ENV", at),)) if shown is not None else None
    made = named or theirs or usual(folder)
    for each in command.readable:
        paths, links = _sorted(_stands_on(each, folder))
        made = replace(made, paths=(*made.paths, *paths), links=(*made.links, *links))
    return replace(made, paths=tuple(dict.fromkeys(made.paths)), links=tuple(dict(made.links).items()))


def _sorted(shown: Shown | None) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    return (tuple(sorted(shown.paths)), tuple(sorted(shown.links))) if shown is not None else ((), ())


def _stands_on(venv: Path, folder: Path) -> Shown | None:
    if not os.path.lexists(venv / SETTINGS):
        return None
    judged = judge(venv, (venv.parent, folder))
    return judged if isinstance(judged, Shown) else None


def usual(folder: Path) -> Interpreter:
    """The interpreter of a check for which the project brings none: that of the environment that is active, else
    Ratchet's own; but where that one has no pytest, as a tool's own has none, the first on the PATH that has it."""
    active = os.environ.get("VIRTUAL_ENV", "")
    if active and (made := _installed(os.path.join(active, "bin", "python"), folder)) is not None:
        return made
    if importlib.util.find_spec(_RUNNER) is None:
        for program in _on_path(os.environ.get("PATH", "")):
            made = _installed(program, folder)
            if made is not None and _holds_runner(os.path.dirname(made.bin)):
                return made
    return own()


@cache
def _on_path(path: str) -> tuple[str, ...]:
    """The Pythons of a PATH. One that a version manager answers for (pyenv, mise, asdf) is a script, which is asked,
    away from every project, for the program behind it."""
    found = []
    for place in filter(os.path.isabs, path.split(os.pathsep)):
        program = next(filter(os.path.isfile, (os.path.join(place, name) for name in ("python", "python3"))), "")
        if program and _is_script(program):
            with suppress(OSError, subprocess.SubprocessError, UnicodeDecodeError):
                command = [program, "-I", "-S", "-c", "import sys; print(sys.executable)"]
                ran = subprocess.run(command, cwd="/", capture_output=True, timeout=_ASKED_S, check=True)  # noqa: S603
                program = ran.stdout.decode().strip()
        found.append(program)
    return tuple(filter(os.path.isabs, found))


def _is_script(program: str) -> bool:
    with open(program, "rb") as file:
        return file.read(2) == b"#!"


_ASKED_S = 10
_RUNNER = "pytest"


def _holds_runner(prefix: str) -> bool:
    folders = ("lib/python3*/site-packages", "lib/python3*/dist-packages", "lib/python3/dist-packages")
    return any(True for each in folders for _ in Path(prefix).glob(f"{each}/{_RUNNER}"))


def _installed(program: str, folder: Path) -> Interpreter | None:
    """The Python of this path, where it is one and can be trusted."""
    if not os.path.isfile(program) or not PROGRAM.fullmatch(os.path.basename(program)):
        return None
    if os.path.realpath(os.path.dirname(os.path.dirname(program))) == os.path.realpath(sys.prefix):
        return own()
    shown = judge_program(program, (folder,))
    if shown is None:
        return None
    place = os.path.dirname(program)
    venv = os.path.dirname(place)
    environ = (("VIRTUAL_ENV", venv),) if os.path.lexists(os.path.join(venv, SETTINGS)) else ()
    return Interpreter(place, *_sorted(shown), environ)


def own() -> Interpreter:
    """The interpreter that runs Ratchet, with its packages."""
    found = [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix]
    importable = _named_for_packages()
    found += [each for each in sys.path if each and os.path.abspath(each) in importable and _is_package_folder(each)]
    program, names = walked(sys.executable)
    environ = []
    if sys.prefix != sys.base_prefix:
        environ.append(("VIRTUAL_ENV", sys.prefix))
    named = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each in found]
    if named:
        environ.append(("PYTHONPATH", os.pathsep.join(named)))
    if site.ENABLE_USER_SITE and site.getuserbase() and os.path.isdir(site.getusersitepackages()):
        environ.append(("PYTHONUSERBASE", site.getuserbase()))
    folders = _shown(found)
    links = tuple((name, program) for name in names if not any(name.startswith(f"{each}/") for each in folders))
    return Interpreter(os.path.dirname(sys.executable), folders, links, tuple(environ))


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
    """A folder that is a home or above one is never shown."""
    real = os.path.realpath(path).rstrip("/")
    return any(home == real or home.startswith(f"{real}/") for home in homes())


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
