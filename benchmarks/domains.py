"""Ways round a network of named domains, through Ratchet's sandbox and, beside it, through Anthropic's sandbox-runtime.

usage: python benchmarks/domains.py [--srt PATH]      PATH: the `srt` of `npm install @anthropic-ai/sandbox-runtime`

Everything listens on this machine's loopback, and what gets through is heard there. The other sandbox finds the names
in /etc/hosts, so this runs once more in a mount namespace with a file of its own there: it needs root, or user
namespaces. Its settings are those that its own documents give for local servers; TLS is not opened by either.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from figures import Figure, publish
from ratchet.sandbox.bubblewrap import Bubblewrap
from ratchet.sandbox.command import Command, Limits, View
from ratchet.testing.abuse_domains import HONEST, WAYS, Run, broken, through
from ratchet.testing.domain_world import DomainWorld, domain_world

_NAME = re.compile(r"[a-z0-9][a-z0-9.]*\.test\b")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--srt", type=Path, default=shutil.which("srt"))
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.srt and not given.inside:
        raise SystemExit(with_names([sys.executable, __file__, "--inside", "--srt", str(given.srt)]))
    with domain_world() as world, tempfile.TemporaryDirectory(prefix="bench-") as folder:
        Path(folder).chmod(0o777)
        figures = measured("Ratchet, bubblewrap", ours(world, Path(folder)), world)
        if given.srt:
            version = json.loads((given.srt.resolve().parent.parent / "package.json").read_text())["version"]
            figures += measured(f"sandbox-runtime {version}", theirs(world, Path(folder), given.srt), world)
    publish("domains", figures)


def with_names(argv: list[str]) -> int:
    """Run a command where every name of the battery leads to this machine."""
    names = sorted({name for way in (*WAYS, *HONEST) for name in _NAME.findall(way.code)})
    with tempfile.NamedTemporaryFile("w", suffix=".hosts") as file:
        file.write(f"127.0.0.1 localhost {' '.join(names)}\n::1 localhost\n")
        file.flush()
        script = f'mount --bind "{file.name}" /etc/hosts && exec "$@"'
        user = [] if os.geteuid() == 0 else ["-r"]
        return subprocess.run(["unshare", "-m", *user, "sh", "-c", script, "sh", *argv], check=False).returncode


def measured(name: str, run: Run, world: DomainWorld) -> list[Figure]:
    failing = broken(run, world)
    started = time.monotonic()
    passed = through(run, world)
    seconds = time.monotonic() - started
    for what in (*failing, *passed):
        print(f"  {name}: {what}")
    return [
        Figure(
            name=f"ways round that pass, {name}",
            measured=f"{len(passed)} of {len(WAYS)}",
            goal="0" if name.startswith("Ratchet") else "",
            holds=not passed if name.startswith("Ratchet") else None,
            baseline=f"{seconds / len(WAYS):.1f} s a way",
        ),
        Figure(
            name=f"honest work that passes, {name}",
            measured=f"{len(HONEST) - len(failing)} of {len(HONEST)}",
            goal=f"{len(HONEST)}" if name.startswith("Ratchet") else "",
            holds=not failing if name.startswith("Ratchet") else None,
        ),
    ]


def ours(world: DomainWorld, folder: Path) -> Run:
    def run(code: str, argument: str) -> str:
        argv = ("python", "-c", code, argument)
        ran = Bubblewrap().run(Command(argv=argv, view=View(folder=folder), limits=Limits(wall_s=60), net=world.net))
        return (ran.stdout + ran.stderr).decode(errors="replace")

    return run


def theirs(world: DomainWorld, folder: Path, srt: Path) -> Run:
    ports = (world.welcome, world.welcome_tls)
    # "A dev setup where myapp.test maps to a local server allow-lists myapp.test and 127.0.0.1:3000": its README.
    allowed = [f"{name}:{port}" for name in ("welcome.test", "*.below.test", "127.0.0.1") for port in ports]
    settings = folder.with_suffix(".json")
    settings.write_text(
        json.dumps(
            {
                "network": {"allowedDomains": allowed, "deniedDomains": []},
                "filesystem": {"denyRead": [], "allowWrite": [str(folder)], "denyWrite": []},
            }
        )
    )

    def run(code: str, argument: str) -> str:
        script = folder / "code.py"
        script.write_text(code)
        done = subprocess.run(
            [srt, "--settings", settings, "--", sys.executable, str(script), argument],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
        return done.stdout + done.stderr

    return run


if __name__ == "__main__":
    main()
