"""Finds the files that make `python` work inside as it does outside: its own, those of its base, and its packages."""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ratchet.sandbox.environments import SETTINGS, Shown, homes, judge, walked

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


def of(folder: Path, overlaid: Mapping[str, Path], readable: Iterable[Path]) -> Interpreter:
    """The interpreter of a command: that of the first virtual environment among what is `overlaid` (where it is shown
    -> where it lies) that can be trusted, else Ratchet's own. `folder` is the one that the command writes to. What the
    environments among `readable` stand on is shown, too: they would not run without."""
    found = ((at, _stands_on(venv, folder)) for at, venv in overlaid.items())
    at, shown = next(((at, shown) for at, shown in found if shown is not None), ("", None))
    made = Interpreter(f"{at}/bin", *_sorted(shown), (("VIRTUAL_ENV", at),)) if shown is not None else own()
    for each in readable:
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
