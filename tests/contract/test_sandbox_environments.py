"""Virtual environments inside every sandbox of this machine: real ones work, and none opens a path of the host."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.errors import SandboxError
from ratchet.ports import Sandbox
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.bubblewrap import Bubblewrap
from ratchet.sandbox.command import Command, Ran, View
from ratchet.sandbox.environments import MADE_INSIDE
from ratchet.sandbox.landlock import Landlock
from ratchet.sandbox.probe import probe
from support.sandboxes import working

SANDBOXES: dict[str, Sandbox] = {"bubblewrap": Bubblewrap(), "landlock": Landlock()}
NAMED = f"python{sys.version_info[0]}.{sys.version_info[1]}"
ASKED = "import json, sqlite3, sys, zlib; print(sys.prefix != sys.base_prefix, sys.version_info[:2], sys.base_prefix)"


@pytest.fixture(scope="module", params=SANDBOXES)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return working(SANDBOXES[request.param])


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that every user reaches, with a home, and a project in it."""
    folder = Path(tempfile.mkdtemp(prefix="venvs-")).resolve()
    (folder / "home" / "proj").mkdir(parents=True)
    for each in (folder, folder / "home", folder / "home" / "proj"):
        each.chmod(0o755)
    monkeypatch.setenv("HOME", str(folder / "home"))
    yield folder
    remove_tree(folder)


def run(sandbox: Sandbox, project: Path, *argv: str) -> Ran:
    return sandbox.run(Command(argv=argv, view=View(folder=project)))


def linked(project: Path, python: str | Path, home: str | Path) -> None:
    (project / ".venv" / "bin").mkdir(parents=True)
    (project / ".venv" / "bin" / "python").symlink_to(python)
    (project / ".venv" / "pyvenv.cfg").write_text(f"home = {home}\n")


@pytest.fixture(scope="module")
def copied() -> Iterator[Path]:
    """An installation of its own beside another's files, asked for by a folder that is a link, as uv has them."""
    folder = Path(tempfile.mkdtemp(prefix="pythons-")).resolve()
    prefix = folder / "python-x.y.z"
    base = Path(sys.base_prefix)
    left_out = shutil.ignore_patterns("site-packages", "test", "__pycache__", "idlelib", "config-*", "tkinter")
    shutil.copytree(base / "lib" / NAMED, prefix / "lib" / NAMED, ignore=left_out)
    (prefix / "bin").mkdir()
    shutil.copy2(os.path.realpath(base / "bin" / NAMED), prefix / "bin" / NAMED)
    (prefix / "bin" / "python3").symlink_to(NAMED)
    for each in (base / "lib").glob("libpython*"):
        shutil.copy2(each, prefix / "lib" / each.name, follow_symlinks=False)
    for name in ("secret", "lib/secret", "bin/secret"):
        (prefix / name).write_text(secrets.token_hex(8))
    (folder / "python-x.y").symlink_to(prefix.name)
    folder.chmod(0o755)
    yield folder
    remove_tree(folder)


FARMS = {
    "a link of a dotfile": (".ssh/config", "/usr/bin"),
    "a link to a folder": ("snap/current", "/usr/bin"),
    "a link of a shell's settings": (".bashrc", "/usr/bin"),
    "links of the machine": ("/etc/localtime", "/usr/bin"),
    "a folder of the system": ("/bin", "/usr/bin"),
    "a home that is named": (f"/usr/bin/{NAMED}", ".ssh"),
    "a home with a library": ("bin/python3", "bin"),
}


@pytest.mark.parametrize("farm", FARMS)
def test_an_environment_opens_nothing_of_the_host(sandbox: Sandbox, place: Path, farm: str) -> None:
    home, project = place / "home", place / "home" / "proj"
    for name in (".ssh/id", ".config/rc", "snap/1/logins", "bin/python3", "lib/python3.11/os.py"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"{secrets.token_hex(8)}\n")
    for name, target in {".ssh/config": "../.config/rc", ".bashrc": ".config/rc", "snap/current": "1"}.items():
        (home / name).symlink_to(target)
    python, settings = FARMS[farm]
    linked(project, home / python, home / settings)
    files = sorted(str(each) for each in home.rglob("*") if each.is_file() and not each.is_relative_to(project))
    assert len(files) == 7
    for path in [*files, "/etc/shadow", "/etc/machine-id"]:
        ran = run(sandbox, project, "cat", path)
        assert (ran.exit_code, ran.stdout) == (1, b""), path
        assert [line.partition(":")[0] for line in ran.unused] == [".venv is not used"]
    assert run(sandbox, project, "python", "-c", "print(1)").stdout == b"1\n"


def test_an_environment_of_an_installation_works_and_shows_nothing_beside_it(
    sandbox: Sandbox, place: Path, copied: Path
) -> None:
    project = place / "home" / "proj"
    linked(project, copied / "python-x.y" / "bin" / NAMED, copied / "python-x.y" / "bin")
    ran = run(sandbox, project, "python", "-c", ASKED)
    assert ran.unused == ()
    assert ran.stdout.decode().split()[0] == "True", ran.stderr.decode()
    assert str(copied) in ran.stdout.decode()
    for name in ("secret", "lib/secret", "bin/secret"):
        for prefix in ("python-x.y", "python-x.y.z"):
            assert run(sandbox, project, "cat", str(copied / prefix / name)).exit_code == 1


@pytest.mark.parametrize("python", sorted(map(str, Path(sys.base_prefix).parent.glob("*/bin/python3"))))
def test_environments_of_the_pythons_here_work(sandbox: Sandbox, place: Path, python: str) -> None:
    project = place / "home" / "proj"
    made = subprocess.run([python, "-m", "venv", "--without-pip", project / ".venv"], check=False, capture_output=True)
    if made.returncode:
        pytest.skip(f"{python} makes no virtual environment: {made.stderr.decode(errors='replace')}")
    asked = [python, "-c", "import sys; print(sys.version_info[:2])"]
    version = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    ran = run(sandbox, project, "python", "-c", "import json, sys, zlib; print(sys.version_info[:2], sys.prefix)")
    assert (ran.exit_code, ran.unused) == (0, ()), ran.stderr.decode()
    assert ran.stdout.decode().startswith(version)
    assert ran.stdout.decode().strip().endswith("/.venv")


def test_an_environment_that_a_run_made_does_not_count_until_it_is_made_anew(sandbox: Sandbox, place: Path) -> None:
    project = place / "home" / "proj"
    made = run(sandbox, project, "python", "-m", "venv", "--without-pip", ".venv")
    assert made.exit_code == 0, made.stderr.decode()
    assert (project / ".venv" / MADE_INSIDE).is_file()
    asked = ("sh", "-c", "echo ${VIRTUAL_ENV-none}; rm .venv/.made*; touch .venv/written")
    for _ in range(2):
        ran = run(sandbox, project, *asked)
        assert b"proj/.venv" not in ran.stdout
        assert b"/workspace/.venv" not in ran.stdout
        assert len(ran.unused) == 1
        assert "a command in the sandbox made it" in ran.unused[0]
        assert (project / ".venv" / MADE_INSIDE).is_file()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--clear", project / ".venv"], check=True)
    ran = run(sandbox, project, *asked)
    assert ran.unused == ()
    assert ran.stdout.strip().endswith(b"/.venv")


def test_a_folder_that_a_run_closed_is_marked_all_the_same(sandbox: Sandbox, place: Path) -> None:
    project = place / "home" / "proj"
    script = "mkdir -p venv/bin && touch venv/pyvenv.cfg && ln -s /usr/bin/python3 venv/bin/python && chmod 555 venv"
    assert run(sandbox, project, "sh", "-c", script).exit_code == 0
    assert (project / "venv" / MADE_INSIDE).is_file()


def test_what_is_shown_within_the_folder_is_a_file_or_a_folder_and_never_what_a_link_leads_to(place: Path) -> None:
    sandbox = SANDBOXES["bubblewrap"]
    if not probe(sandbox, quick=True).works:
        pytest.skip("bubblewrap does not work on this machine")
    project = place / "home" / "proj"
    (place / "kept").mkdir()
    for name in ("kept/file", "kept/secret"):
        (place / name).write_text("kept\n")
    shown = {"file": place / "kept" / "file", "folder": place / "kept"}
    view = View(folder=project, overlaid=shown)
    assert sandbox.run(Command(argv=("cat", "file", "folder/file"), view=view)).stdout == b"kept\nkept\n"
    (place / "link").symlink_to("kept")
    with pytest.raises(SandboxError, match="a link stands where"):
        sandbox.run(Command(argv=("ls", "link"), view=View(folder=project, overlaid={"link": place / "link"})))
