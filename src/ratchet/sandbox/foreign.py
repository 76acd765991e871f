"""Sandboxes for other systems, on which nobody has run the abuse suite yet: the canary decides there, every time."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.errors import Refused, SandboxError
from ratchet.sandbox.bubblewrap import PLACE, checked, readable
from ratchet.sandbox.host import HostSandbox, plan_on_host, python_for
from ratchet.sandbox.plan import Plan

if TYPE_CHECKING:
    from ratchet.sandbox.command import Command

_MACOS_READABLE = (
    "/usr",
    "/bin",
    "/sbin",
    "/System",
    "/Library/Developer",
    "/private/etc/ssl",
    "/opt/homebrew",
    "/dev",
)


class Seatbelt(HostSandbox):
    """macOS's own sandbox, by a profile (port `Sandbox`)."""

    name = "seatbelt"

    def planned(self, command: Command, place: Path) -> Plan:
        program = "/usr/bin/sandbox-exec"
        if not os.path.exists(program):
            raise SandboxError("sandbox-exec is not there: this is not macOS")
        folder = checked(command.view.folder)
        if command.view.layers:
            raise Refused("Seatbelt cannot show layers: use a workspace that copies")
        python, found = python_for(command, folder)
        shown = [*python.paths, *(str(readable(path)) for path in command.readable)]
        profile = seatbelt_profile(str(folder), str(place), shown, net=command.net == "host")
        made = plan_on_host("seatbelt", command, folder, place, python, found)
        return replace(made, argv=[program, "-p", profile, *command.argv])


def seatbelt_profile(folder: str, place: str, shown: list[str], *, net: bool) -> str:
    """A profile that denies everything but what is named."""
    reads = "".join(f"(subpath {_quoted(path)})" for path in (*_MACOS_READABLE, *shown, folder, place))
    writes = "".join(f"(subpath {_quoted(path)})" for path in (folder, place))
    repository = f"(subpath {_quoted(os.path.join(folder, '.git'))})"
    return "".join(
        (
            "(version 1)(deny default)(allow process-fork)(allow process-exec)(allow sysctl-read)",
            "(allow signal (target same-sandbox))(allow file-read-metadata)",
            f"(allow file-read* {reads})(allow file-write* {writes})",
            '(allow file-write* (literal "/dev/null"))',
            f"(deny file-read* file-write* {repository})",
            "(allow network*)" if net else "(deny network*)",
        )
    )


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class Docker(HostSandbox):
    """A container for each command (port `Sandbox`), from the image that RATCHET_SANDBOX_IMAGE names, which must hold
    what the command needs. Without a Python at the path of Ratchet's own the canary fails, and this is not chosen."""

    name = "docker"

    def planned(self, command: Command, place: Path) -> Plan:
        program, image = shutil.which("docker"), os.environ.get("RATCHET_SANDBOX_IMAGE", "")
        if program is None or not image:
            raise SandboxError("docker needs the docker command and an image named by RATCHET_SANDBOX_IMAGE")
        folder = checked(command.view.folder)
        if command.view.layers:
            raise Refused("docker cannot show layers: use a workspace that copies")
        return Plan(
            means="docker",
            argv=[program, *docker_arguments(command, folder, image)],
            environ={"PATH": os.environ.get("PATH", ""), "HOME": str(place / "home")},
            cwd=str(folder),
            folder=str(folder),
            in_place=True,
            limits=command.limits,
            net=command.net,
            temporary=str(place),
        )


def docker_arguments(command: Command, folder: Path, image: str) -> list[str]:
    """`docker run` and its options: no capability, no network, nothing writable but the folder and a small /tmp."""
    limits = command.limits
    made = ["run", "--rm", "--init", "--interactive", "--read-only", "--cap-drop=ALL"]
    made += ["--security-opt=no-new-privileges", f"--network={command.net}", f"--user={os.getuid()}:{os.getgid()}"]
    made += [f"--memory={limits.memory_mb}m", f"--memory-swap={limits.memory_mb}m", f"--pids-limit={limits.pids}"]
    made += [f"--ulimit=fsize={limits.file_mb << 20}", f"--ulimit=nofile={limits.descriptors}", "--ulimit=core=0"]
    made += [f"--tmpfs=/tmp:size={limits.disk_mb // 2}m,mode=1777", f"--volume={folder}:{PLACE}", f"--workdir={PLACE}"]
    if (folder / ".git").is_dir():
        made.append(f"--tmpfs={PLACE}/.git:size=1m,ro")
    made += [f"--volume={readable(path)}:{path.absolute()}:ro" for path in command.readable]
    made += [f"--env={name}={value}" for name, value in {"HOME": "/tmp", **command.environ}.items()]  # noqa: S108
    return [*made, image, *command.argv]
