"""Reads which agent is meant: a folder that declares itself, a command, a Python callable, or an address.

ratchet-agent.toml                      a folder's declaration
  command = "python {agent}/agent.py"   or  callable = "agent:solve"   or  url = "http://127.0.0.1:8000/solve"
  changes = ["prompts/*.md", "agent.py"]
  check = "python -m pytest -q"
  net = "host"            pass_env = ["OPENAI_API_KEY"]           readable = ["../models"]
  [settings]              temperature = 0.2
  [knobs.temperature]     type = "range"  low = 0  high = 1
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from ratchet.errors import NotFound, UsageError
from ratchet.evolving.bench.benchmark import Agent
from ratchet.improving.settings.knob import Choice, Knob, Range
from ratchet.records import Json
from ratchet.sandbox.git import names_repository
from ratchet.sandbox.network import checked
from ratchet.sandbox.wildcards import compiled

FILE_NAME = "ratchet-agent.toml"
KEYS = ("command", "callable", "url", "changes", "settings", "knobs", "check", "net", "pass_env", "readable")
_HOWS = ("command", "callable", "url")
_KNOB_KEYS = ("type", "default", "options", "low", "high", "integer")
_CALLABLE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt/homebrew", "/nix", "/etc", "/dev", "/proc", "/sys")
_SHARED = ("/tmp", "/var/tmp", "/", "/home", "/root", "/opt", "/srv", "/var", "/mnt", "/data")  # noqa: S108
_PROGRAMS = ("bin", "sbin", "shims", "Scripts")
_BESIDE = (".venv", "venv", "env", "node_modules")
_EXAMPLE = f'write {FILE_NAME} there, such as:  command = "python {{agent}}/agent.py"  changes = ["*.md", "*.py"]'


def agent_of(
    spec: str,
    *,
    cwd: Path,
    net: str | None = None,
    pass_env: Sequence[str] = (),
    readable: Sequence[Path] = (),
) -> Agent:
    """The agent that a text names; what is given besides adds to what it declares itself.

    A folder with a `ratchet-agent.toml`; `http://...` or `https://...`; `module:function`, looked for in `cwd` and
    among the installed packages; else a command. A command that names a file brings the file's folder along as the
    agent's own. Raises UsageError, NotFound.
    """
    text = spec.strip()
    if not text or "\0" in text:
        raise UsageError("no agent is named: give a folder, a command, module:function or an address")
    made = _named(text, cwd)
    return replace(
        made,
        net=net or made.net,
        pass_env=tuple(dict.fromkeys((*made.pass_env, *pass_env))),
        readable=tuple(dict.fromkeys((*made.readable, *(str(_existing(each, cwd)) for each in readable)))),
    )


def may_change(agent: Agent, path: str) -> bool:
    """Tell whether a file of the agent's folder is declared as one that may change. Its declaration never is."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or path == FILE_NAME or any(map(names_repository, parts)):
        return False
    # A folder's name with a closing slash means all that is in it.
    globs = (f"{glob}**" if glob.endswith("/") else glob for glob in agent.changes)
    return any(compiled(glob, loose=True).fullmatch(path) for glob in globs)


def shown(agent: Agent) -> str:
    """The agent in a few words, as people know it."""
    if agent.how == "http":
        return agent.target
    said = agent.target if agent.how == "callable" else " ".join(agent.argv)
    return f"{Path(agent.folder).name}: {said}" if agent.folder else said


def _named(text: str, cwd: Path) -> Agent:
    if re.match(r"https?://", text, re.IGNORECASE):
        return _of_address(text)
    place = cwd / Path(text).expanduser()
    if place.is_dir():
        return declared(place.resolve())
    if place.name == FILE_NAME and place.is_file():
        return declared(place.parent.resolve())
    if _CALLABLE.fullmatch(text):
        return _of_callable(text, cwd)
    if len(text.split()) == 1 and text.endswith(os.sep):
        raise NotFound(f"there is no folder {text}")
    return _of_command(_split(text, "the agent's command"), cwd)


# -- a folder that declares itself -------------------------------------------------------------------------------------


def declared(folder: Path) -> Agent:
    """The agent that a folder declares itself to be. Raises UsageError."""
    path = folder / FILE_NAME
    if not path.is_file():
        raise UsageError(f"{folder} does not say how its agent runs: {_EXAMPLE}")
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); mend its permissions") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error
    for key in said:
        _known(key, KEYS, str(path))
    hows = [name for name in _HOWS if name in said]
    if len(hows) != 1:
        raise UsageError(f"{path} names {' and '.join(hows) or 'none'} of command, callable and url; name one")
    changes = tuple(_glob(each, path) for each in _texts(said.get("changes", []), "changes", path))
    knobs = _knobs(_table(said.get("knobs", {}), "knobs", path), path)
    readable = (Path(each) for each in _texts(said.get("readable", []), "readable", path))
    net = said.get("net", "none")
    try:
        checked(net if isinstance(net, str) else repr(net))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    made = _running(hows[0], said[hows[0]], folder, path)
    return replace(
        made,
        folder=str(folder),
        changes=changes,
        settings=_settings(_table(said.get("settings", {}), "settings", path), knobs, path),
        knobs={name: knob.described() for name, knob in knobs.items()},
        own_check=_words(said["check"], "check", path) if "check" in said else (),
        net=net,
        pass_env=tuple(_texts(said.get("pass_env", []), "pass_env", path)),
        readable=(*made.readable, *(str(_existing(each, folder)) for each in readable)),
    )


def _running(how: str, said: object, folder: Path, path: Path) -> Agent:
    if how == "command":
        return _of_own_files(_words(said, "command", path), folder)
    if not isinstance(said, str):
        raise UsageError(f"{path}: {how} is {said!r}; use a text")
    if how == "url":
        return _of_address(said)
    if not _CALLABLE.fullmatch(said):
        raise UsageError(f"{path}: callable is {said!r}; write module:function")
    return Agent(how="callable", target=said)


def _of_own_files(argv: tuple[str, ...], folder: Path) -> Agent:
    """The command with the folder's own files named by the folder: a version lies somewhere else. Its virtual
    environment and its installed modules belong to no version: they are shown where they are."""
    made: list[str] = []
    beside: list[str] = []
    for at, word in enumerate(argv):
        name = word.removeprefix("{agent}/").removeprefix("./")
        own = not word.startswith(("-", "/")) and (at > 0 or "/" in word) and (folder / name).is_file()
        top = name.partition("/")[0]
        if own and top in _BESIDE and not (folder / top).is_symlink():
            made.append(str(folder / name))
            beside.append(str(folder / top))
        else:
            made.append(f"{{agent}}/{name}" if own else word)
    return Agent(how="command", argv=tuple(made), readable=tuple(dict.fromkeys(beside)))


def _settings(said: Mapping[str, object], knobs: Mapping[str, Knob], path: Path) -> dict[str, Json]:
    """The values in force: those set, else each knob's default. Only declared knobs check theirs."""
    made: dict[str, Json] = {name: _plain(knob.default, f"knobs.{name}", path) for name, knob in knobs.items()}
    for name, value in said.items():
        if name in knobs:
            try:
                knobs[name].check(value)
            except UsageError as error:
                raise UsageError(f"{path}: settings.{name}: {error}") from error
        made[name] = _plain(value, f"settings.{name}", path)
    return made


def _plain(value: object, name: str, path: Path) -> Json:
    """A value of TOML that JSON has, too."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and value - value == 0:
        return value
    if isinstance(value, list | tuple):
        return [_plain(each, name, path) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each, name, path) for key, each in value.items()}
    raise UsageError(f"{path}: {name} is {value!r}; use a text, a finite number, true, false, a list or a table")


def _knobs(said: Mapping[str, object], path: Path) -> dict[str, Knob]:
    made: dict[str, Knob] = {}
    for name, row in said.items():
        table = _table(row, f"knobs.{name}", path)
        for key in table:
            _known(key, _KNOB_KEYS, f"{path}, knobs.{name}")
        try:
            made[name] = _knob(table)
        except (UsageError, TypeError) as error:
            raise UsageError(f"{path}: knobs.{name}: {error}") from error
    return made


def _knob(said: Mapping[str, object]) -> Knob:
    kind, default = said.get("type"), said.get("default")
    options = said.get("options")
    if kind == "choice" or (kind is None and options is not None):
        if not isinstance(options, list) or not options:
            raise UsageError('a choice needs its options: options = ["short", "long"]')
        return Choice(*options, default=default)
    low, high = said.get("low"), said.get("high")
    if kind in ("range", None) and isinstance(low, int | float) and isinstance(high, int | float):
        if default is not None and (isinstance(default, bool) or not isinstance(default, int | float)):
            raise UsageError(f"the default {default!r} is no number")
        number = default if isinstance(default, int | float) else None
        return Range(low, high, default=number, integer=said.get("integer") is True)
    raise UsageError('say type = "range" with low and high, or type = "choice" with options')


# -- what is named directly --------------------------------------------------------------------------------------------


def _of_address(text: str) -> Agent:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        known = bool(parts.hostname) and parts.scheme.lower() in ("http", "https") and parts.port != 0
    except ValueError as error:
        raise UsageError(f"{text!r} is no address: {error}") from error
    if not known or any(letter.isspace() for letter in text):
        raise UsageError(f"{text!r} is no address; write http://HOST[:PORT]/PATH")
    if parts.username or parts.password:
        raise UsageError("the agent's address holds a name or password, which would be stored; leave it out")
    return Agent(how="http", target=text)


def _of_callable(text: str, cwd: Path) -> Agent:
    """A callable of a module in the folder, else of an installed package."""
    top = text.partition(":")[0].split(".")[0]
    here = (cwd / f"{top}.py").is_file() or (cwd / top).is_dir()
    if here:
        return Agent(how="callable", target=text, folder=str(_own_folder(cwd.resolve(), f"module {top}")))
    from importlib.machinery import PathFinder

    if PathFinder.find_spec(top) is None and top not in sys.builtin_module_names:
        raise NotFound(f"there is no module {top!r} in {cwd} or among the installed packages")
    return Agent(how="callable", target=text)


def _of_command(argv: tuple[str, ...], cwd: Path) -> Agent:
    import shutil

    program = argv[0]
    if "/" not in program and shutil.which(program) is None and program != "python":
        raise NotFound(f"there is no program {program!r} here, no folder and no module:function of that name")
    alone = len(argv) == 1 or program.startswith(("/", "~"))  # else it may be a file of each task
    if "/" in program and alone and "{" not in program and not (cwd / Path(program).expanduser()).exists():
        raise NotFound(f"there is neither a folder nor a program {program}: each task would count as lost")
    folder, made, readable = "", [], []
    for at, word in enumerate(argv):
        path = Path(os.path.normpath(cwd / Path(word).expanduser()))
        if word.startswith(("-", "{")) or (at == 0 and "/" not in word) or not path.is_file() or _is_system(path):
            made.append(word)
        elif at == 0 and path.parent.name in _PROGRAMS:
            made.append(str(path))
            readable.append(_installation(path, cwd))
        elif not folder and not _is_shared(path.parent):
            folder = str(path.parent.resolve())
            made.append(f"{{agent}}/{path.name}")
        elif folder and path.is_relative_to(folder):
            made.append(f"{{agent}}/{path.relative_to(folder)}")
        else:
            readable.append(str(path))
            made.append(str(path))
    return Agent(how="command", argv=tuple(made), folder=folder, readable=tuple(readable))


def _installation(program: Path, cwd: Path) -> str:
    """Find the folder that a program's own one lies in. Of what a link of the working directory leads to only the
    program is shown: a stranger may have set it."""
    whole = program.parent.parent
    linked = program.is_relative_to(cwd) and not whole.resolve().is_relative_to(cwd.resolve())
    return str(program if linked or _is_shared(whole) else whole)


def _is_system(path: Path) -> bool:
    """Tell whether the sandbox shows a file anyway: the system's, and those of the Python that runs this."""
    own = (sys.prefix, sys.base_prefix, str(Path(sys.executable).parent))
    return any(path.is_relative_to(each) for each in (*_SYSTEM, *own)) and not path.is_relative_to("/usr/local/src")


def _is_shared(folder: Path) -> bool:
    """Tell whether a folder holds more than an agent: then only the named file is shown, not its neighbours."""
    home = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111  (never raises)
    real = folder.resolve()
    return str(real) in _SHARED or real == home or real in home.parents


def _own_folder(folder: Path, what: str) -> Path:
    if _is_shared(folder):
        raise UsageError(f"{what} lies in {folder}, with much that is not the agent's: put it into a folder of its own")
    return folder


# -- small pieces ------------------------------------------------------------------------------------------------------


def _known(key: str, keys: Sequence[str], where: str) -> None:
    if key in keys:
        return
    near = difflib.get_close_matches(key, keys, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]}?" if near else f"known keys: {', '.join(keys)}"
    raise UsageError(f"unknown key {key!r} in {where}: {hint}")


def _split(text: str, what: str) -> tuple[str, ...]:
    try:
        argv = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{what} {text!r} cannot be split into words: {error}") from error
    if not argv:
        raise UsageError(f"{what} is empty")
    return argv


def _words(said: object, name: str, path: Path) -> tuple[str, ...]:
    if isinstance(said, str):
        return _split(said, f"{path}: {name}")
    words = tuple(_texts(said, name, path))
    if not words:
        raise UsageError(f"{path}: {name} is empty")
    return words


def _texts(said: object, name: str, path: Path) -> list[str]:
    if not isinstance(said, list) or not all(isinstance(each, str) for each in said):
        raise UsageError(f"{path}: {name} is {said!r}; use a list of texts")
    return [str(each) for each in said]


def _table(said: object, name: str, path: Path) -> Mapping[str, object]:
    if not isinstance(said, dict):
        raise UsageError(f"{path}: {name} is {said!r}; use a table: [{name}]")
    return said


def _glob(glob: str, path: Path) -> str:
    parts = PurePosixPath(glob).parts
    if not parts or glob.startswith("/") or ".." in parts:
        raise UsageError(f"{path}: changes names {glob!r}; use globs of files within the folder, such as prompts/*.md")
    return glob.removeprefix("./")


def _existing(path: Path, folder: Path) -> Path:
    found = Path(os.path.normpath(folder / path.expanduser()))
    if not found.exists():
        raise UsageError(f"{found} does not exist: it cannot be shown to the agent")
    return found
