"""Finds a project's virtual environment, and the files of its Python that a sandbox may show.

All that a project's own files say is untrusted: its links and its pyvenv.cfg may name any path of the machine. So only
a Python installation that is one on the disk is shown, and of it only what belongs to Python by its name: a run may
have put a standard library beside a person's own files.
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ratchet.errors import Refused, SandboxError
from ratchet.sandbox.beneath import open_beneath, read_beneath
from ratchet.sandbox.ignore import SECRET_FOLDERS, is_home

VENV_NAMES = (".venv", "venv", "env")
SETTINGS = "pyvenv.cfg"
MADE_INSIDE = ".made-in-sandbox"
"""A file that marks an environment which a command in a sandbox made, or could have changed: nobody is to trust it."""
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32", "/nix/store")
"""Shown to every command, so that nothing in them has to be named."""
_MACHINE = ("/proc", "/sys", "/dev")
_MOST_LINKS = 40  # as the kernel
_MOST_SETTINGS_BYTES = 65_536
PROGRAM = re.compile(r"python[0-9.]*[dt]*")
_LIBRARY = re.compile(r"python3\.[0-9]+t?")
_SHARED = re.compile(r"[\w.+-]+\.(?:so|dylib)[\d.]*")
_OWN = (SETTINGS, "bin", "lib", "lib64", "include", "share")  # of an environment
_DATA = ("share/zoneinfo", "share/terminfo")  # conda's own; elsewhere the system's are used


@dataclass(frozen=True, slots=True)
class Shown:
    """Part of a Python that a sandbox shows: real `paths` read-only, and `links` (name -> real path) that lead to
    them."""

    paths: frozenset[str]
    links: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Environments:
    """The virtual environment that a folder brings, and a line for each that is there and is not used."""

    venv: Path | None = None
    unused: tuple[str, ...] = ()

    @property
    def closed(self) -> list[str]:
        """List what a command must not write to, though it lies in its folder."""
        return [self.venv.name] if self.venv is not None else []


def environments(folder: Path) -> Environments:
    """Look for the virtual environment of a project. The first that can be trusted is used; the others are not."""
    used: Path | None = None
    unused: list[str] = []
    for name in VENV_NAMES:
        venv = folder / name
        if used is not None or not os.path.lexists(venv / SETTINGS):
            continue
        judged = judge(venv, (folder,))
        if isinstance(judged, Shown):
            used = venv
        else:
            unused.append(f"{name} is not used: {judged}")
    return Environments(used, tuple(unused))


def judge(venv: Path, writable: Iterable[Path]) -> Shown | str:
    """The files of the Python that a virtual environment stands on, or why it is not trusted. `writable`: folders that
    commands in a sandbox write to, whose files prove nothing."""
    if venv.is_symlink():
        return "it is a link"
    if os.path.lexists(venv / MADE_INSIDE):
        return f"a command in the sandbox made it, or could change it; make it anew: python -m venv --clear {venv}"
    try:
        return _shown(venv, tuple(os.path.realpath(each) for each in writable))
    except UntrustedError as error:
        return str(error)
    except (OSError, Refused) as error:
        return f"it cannot be read: {error}"


def check_closed(root: int, closed: Iterable[str]) -> None:
    """Raise SandboxError where an environment is no longer what was judged: another run had the folder meanwhile."""
    for name in closed:
        try:
            with _opened(root, name) as venv:
                marked = MADE_INSIDE in os.listdir(venv)
        except OSError:
            marked = True
        if marked:
            raise SandboxError(f"{name} was changed by another command in the sandbox; run this one again")


def distrust(root: int, closed: Collection[str]) -> list[str]:
    """Mark every environment in a folder that a command could write to, after it has run. Returns what had to be
    removed where no mark can be set."""
    removed = []
    for name in VENV_NAMES:
        if name in closed:
            continue
        with suppress(OSError), _opened(root, name) as venv:
            os.stat(SETTINGS, dir_fd=venv, follow_symlinks=False)
            with suppress(OSError):  # another user's stays as it is
                os.fchmod(venv, os.fstat(venv).st_mode & 0o777 | 0o700)
            try:
                os.close(
                    os.open(MADE_INSIDE, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=venv)
                )
            except OSError:  # a full disk, or its place is taken, which marks it as well
                if MADE_INSIDE not in os.listdir(venv):
                    os.unlink(SETTINGS, dir_fd=venv)
                    removed.append(f"{name}/{SETTINGS}")
    return removed


@contextmanager
def _opened(root: int, name: str) -> Iterator[int]:
    opened = open_beneath(root, os.fsencode(name), os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield opened
    finally:
        os.close(opened)


class UntrustedError(Exception):
    """Why an environment is not used."""


def judge_program(program: str, writable: Iterable[Path]) -> Shown | None:
    """The files of the Python that somebody names by its path, with those of its environment; None for what is no
    Python, or not to be trusted (see `judge`)."""
    outside = tuple(os.path.realpath(each) for each in writable)
    prefix = os.path.dirname(os.path.dirname(program))
    real = os.path.realpath(prefix)
    if any(_inside(real, each) for each in outside):
        return None
    try:
        if not os.path.lexists(os.path.join(prefix, SETTINGS)):
            return _standing(program, [os.path.dirname(program)], outside)
        _check_place(real)
        shown = _shown(Path(prefix), outside)
    except (UntrustedError, OSError, Refused):
        return None
    own = {os.path.join(each, name) for each in (prefix, real) for name in _OWN}
    return Shown(shown.paths | frozenset(filter(os.path.exists, own)), shown.links)


def _shown(venv: Path, writable: tuple[str, ...]) -> Shown:
    place = os.path.realpath(venv)
    return _standing(os.path.join(place, "bin", "python"), [_home_of(venv)], writable, place)


def _standing(asked: str, bins: list[str], writable: tuple[str, ...], place: str = "") -> Shown:
    """The files of the Python to which a program leads, and of those whose programs lie in `bins`, but for what lies in
    an environment's `place`. Raises UntrustedError, OSError."""
    program, names = walked(asked)
    copied = bool(place) and _inside(program, place)  # it stands on what the settings name
    if not copied:
        bins = [*bins, os.path.dirname(program)]
    paths: set[str] = set()
    links: dict[str, str] = {}
    for each in bins:
        real, spelled = os.path.realpath(each), os.path.dirname(each)
        prefix = _checked(real, writable)
        for name, path in _parts(prefix):
            paths.add(path)
            links.update({os.path.join(above, name): path for above in (prefix, spelled)})
    if not copied and program not in paths:
        raise UntrustedError(f"its python leads to {program}, which is no Python")
    links.update(dict.fromkeys(names, program))
    there = (*map(os.path.realpath, SYSTEM), *SYSTEM, *_MACHINE, *writable, *filter(None, (place,)))
    named = {path for path in paths if not any(_inside(path, each) for each in there)}
    there += tuple(filter(os.path.isdir, named))
    return Shown(
        frozenset(named),
        frozenset(
            (name, path)
            for name, path in links.items()
            if name not in paths and not any(_inside(name, each) for each in there)
        ),
    )


def _home_of(venv: Path) -> str:
    """The folder of programs that pyvenv.cfg names. Raises UntrustedError, OSError, Refused."""
    text = read_beneath(venv, SETTINGS, _MOST_SETTINGS_BYTES).decode("utf-8", "replace")
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if name.strip().lower() == "home":
            home = value.strip()
            if not os.path.isabs(home) or "\0" in home:
                break
            return os.path.normpath(home)
    raise UntrustedError(f"its {SETTINGS} names no home of a Python")


def walked(path: str) -> tuple[str, list[str]]:
    """The file that a path leads to, and each link on the way as it is asked for. Raises UntrustedError, OSError."""
    names: list[str] = []
    for _ in range(_MOST_LINKS):
        if not os.path.islink(path):
            return os.path.realpath(path), names
        names.append(path)
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
    raise UntrustedError("its python is a link that goes round in a circle")


def _checked(folder: str, writable: Iterable[str]) -> str:
    """The prefix of the installation whose programs lie in a folder (a real path). Raises UntrustedError."""
    prefix = os.path.dirname(folder)
    libraries = list(_libraries(prefix)) if os.path.basename(folder) == "bin" else []
    if not libraries:
        raise UntrustedError(f"{prefix} is no Python installation")
    if _is_system(prefix):
        return prefix
    if any(_inside(prefix, each) or any(_inside(each, library) for library in libraries) for each in writable):
        raise UntrustedError(f"{prefix} lies where commands in the sandbox write")
    _check_place(prefix)
    if any(os.lstat(each).st_uid not in (0, os.getuid()) for each in (prefix, *libraries)):
        raise UntrustedError(f"{prefix} belongs to another user")
    return prefix


def _check_place(prefix: str) -> None:
    """Raise UntrustedError for a folder that is no place for a Python: one that holds a home, or lies among secrets."""
    if any(_inside(home, prefix) for home in homes()):
        raise UntrustedError(f"{prefix} holds a home with all its secrets")
    above = [prefix, *map(str, Path(prefix).parents)]
    if any(os.path.basename(each) in SECRET_FOLDERS or is_home(each) for each in above):
        raise UntrustedError(f"{prefix} lies among secrets")


def _libraries(prefix: str) -> Iterator[str]:
    """The standard libraries of a prefix: real folders, not links."""
    for each in (os.path.join(prefix, name) for name in ("lib", "lib64")):
        for name in _named(each, _LIBRARY):
            library = os.path.join(each, name)
            marker = os.path.join(library, "os.py")
            if os.path.isfile(marker) and os.path.realpath(marker) == marker:
                yield library


def _parts(prefix: str) -> Iterator[tuple[str, str]]:
    """List what of a prefix belongs to Python: (name within it, real path). A link counts where it leads to a
    neighbour."""
    shared = (("lib", _SHARED), ("lib64", _SHARED)) if not _is_system(prefix) else ()
    for library in _libraries(prefix):
        yield os.path.relpath(library, prefix), library
        headers = os.path.join(prefix, "include", os.path.basename(library))
        if os.path.isdir(headers) and os.path.realpath(headers) == headers:
            yield os.path.relpath(headers, prefix), headers
    for within, fitting in (("bin", PROGRAM), *shared):
        folder = os.path.join(prefix, within)
        for name in _named(folder, fitting):
            real = os.path.realpath(os.path.join(folder, name))
            beside = os.path.dirname(real) == folder and fitting.fullmatch(os.path.basename(real))
            if beside and os.path.isfile(real):
                yield f"{within}/{name}", real
    for name in _DATA:
        data = os.path.join(prefix, name)
        if os.path.isdir(data) and os.path.realpath(data) == data:
            yield name, data


def _named(folder: str, fitting: re.Pattern[str]) -> list[str]:
    """The names in a folder that fit; none where there is no such folder, or it is a link."""
    if os.path.realpath(folder) != folder:
        return []
    with suppress(OSError):
        return sorted(name for name in os.listdir(folder) if fitting.fullmatch(name))
    return []


def homes() -> Iterator[str]:
    """The home that a shell knows, and the one that the system does, should HOME say something else."""
    yield os.path.realpath(os.path.expanduser("~"))
    with suppress(KeyError):  # a user of a container without a name
        yield os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir)


def _is_system(prefix: str) -> bool:
    return any(_inside(prefix, os.path.realpath(each)) for each in SYSTEM)


def _inside(path: str, above: str) -> bool:
    return path == above or path.startswith(f"{above.rstrip('/')}/")
