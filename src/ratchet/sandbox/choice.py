"""Which sandbox is used here, and what runs in it: the operations behind `ratchet sandbox` and every episode."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet import __version__, registry
from ratchet.errors import Refused, SandboxError, UsageError

if TYPE_CHECKING:
    from ratchet.ports import Sandbox
    from ratchet.sandbox.command import Command, Isolation, Ran

REMEDY = (
    "allow user namespaces (kernel.unprivileged_userns_clone=1, or an AppArmor profile for bwrap), use Linux 5.13 or "
    "newer with Landlock, or accept the risk with --unsafe-no-sandbox"
)
_BUILT_IN = {"Linux": ("bubblewrap", "landlock", "docker"), "Darwin": ("seatbelt", "docker")}
_TRIED = {"Linux": ("bubblewrap", "landlock")}  # where the abuse suite runs with every change
_PROVED = ("files", "network", "pids", "secrets")


def opens(folder: Path, home: Path) -> bool:
    """Tell whether who is shown a folder sees anything of a home of Ratchet's, wherever links lead."""
    shown, own = (Path(os.path.realpath(each)) for each in (folder, home))  # a link to itself is no fault here
    return own.is_relative_to(shown) or shown.is_relative_to(own)


class Sandboxes:
    """The sandboxes of this machine. What the canary saw is kept in the home until the machine starts again."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._cache = home / "sandbox.json"

    def probe(self, *, quick: bool = False) -> list[Isolation]:
        """Test what every sandbox holds here, the preferred one first: the canary runs now. `quick` leaves memory and
        disk out, which take a second each."""
        from ratchet.sandbox.probe import probe

        found = [probe(each, verified=verified, quick=quick) for each, verified in _known()]
        self._keep(next((each.name for each in found if proves(each)), ""))
        return found

    def chosen(self, *, unsafe: bool = False) -> Sandbox:
        """The first sandbox that keeps files, network, processes and secrets here; plain processes if `unsafe`.

        Raises Refused where none does.
        """
        if unsafe:
            from ratchet.sandbox.plain import Plain

            return Plain()
        kept = self._kept()
        if kept in _BUILT_IN.get(platform.system(), ()):
            return _made(kept)
        known = {each.name: (each, verified) for each, verified in _known()}
        if kept in known:
            return known[kept][0]
        from ratchet.sandbox.probe import probe

        notes: list[str] = []
        for sandbox, verified in known.values():
            found = probe(sandbox, verified=verified, quick=True)
            if proves(found):
                self._keep(found.name)
                return sandbox
            notes.append(f"{found.name}: {found.note or _open(found)}")
        raise Refused(f"no sandbox holds on this machine ({'; '.join(notes)}); {REMEDY}")

    def run(
        self,
        command: Command,
        *,
        unsafe: bool = False,
        cancelled: Callable[[], bool] | None = None,
        paused: Callable[[], bool] | None = None,
        on_output: Callable[[str, bytes], None] | None = None,
    ) -> Ran:
        """Run one command confined. Raises Refused where that cannot be done, or its folder would show it the home and
        have it write there; SandboxError where it breaks."""
        folder = command.view.folder
        if not unsafe and opens(folder, self._home):
            # Who may run a command may not therefore read what was learnt, or write tokens and lessons.
            raise Refused(
                f"{folder} would open {self._home}, where Ratchet keeps what it knows: work in another folder"
            )
        return self.chosen(unsafe=unsafe).run(command, cancelled=cancelled, paused=paused, on_output=on_output)

    def _kept(self) -> str:
        try:
            kept = json.loads(self._cache.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return ""
        known = isinstance(kept, dict) and kept.get("of") == _circumstances()
        return str(kept.get("name", "")) if known else ""

    def _keep(self, name: str) -> None:
        if not name or not self._cache.parent.is_dir():
            return
        # On a full disk, or in a home that is only read, the canary runs again the next time.
        with contextlib.suppress(OSError):
            self._cache.touch(mode=0o600)
            self._cache.write_text(json.dumps({"name": name, "of": _circumstances()}), encoding="utf-8")


def _known() -> list[tuple[Sandbox, bool]]:
    """Every sandbox for this system, preferred first, and whether the abuse suite has been run there.

    Who installs a plugin wants its sandbox, so plugins come first; like the others they are used once the canary has
    found that they hold.
    """
    system = platform.system()
    tried = _TRIED.get(system, ())
    names = [*registry.plugin_sandboxes(), *_BUILT_IN.get(system, ("docker",))]
    return [(_made(name), name in tried) for name in names]


def _made(name: str) -> Sandbox:
    try:
        return registry.sandbox(name)
    except (UsageError, ImportError, AttributeError) as error:  # a plugin that broke is listed with its reason
        return _Broken(name, str(error))


class _Broken:
    """A sandbox that cannot be loaded."""

    overlays = False

    def __init__(self, name: str, reason: str) -> None:
        self.name, self._reason = name, reason

    def run(self, *_: object, **__: object) -> Ran:
        raise SandboxError(f"the sandbox {self.name} cannot be loaded ({self._reason}); install it again, or remove it")


def proves(found: Isolation) -> bool:
    """Tell whether a sandbox keeps what must be kept before anything runs in it."""
    return found.works and all(getattr(found, name) != "none" for name in _PROVED)


def _open(found: Isolation) -> str:
    return f"does not keep {', '.join(name for name in _PROVED if getattr(found, name) == 'none')}"


def _circumstances() -> str:
    """Return what a proof depends on: this start of the machine, this container and its rights, this user, this
    Ratchet."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace").splitlines()
        rights = " ".join(line for line in status if line.startswith(("CapEff", "NoNewPrivs", "Seccomp:")))
        boot = f"{boot} {Path('/proc/self/ns/user').readlink()} {Path('/proc/self/ns/mnt').readlink()} {rights}"
    except OSError:
        boot = ""
    return f"{boot} {os.geteuid()} {sys.executable} {__version__}"
