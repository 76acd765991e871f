"""The wheel, installed with its dependencies alone: the demo, learning and the hook need nothing of the checkout."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
# Loaded by every Python of the environment, also under `-I`: an opened file or an import below the checkout is noted.
WATCH = """import sys
def watch(event, told):
    if event in ("open", "os.listdir", "os.scandir") and isinstance(told[0], str) and told[0].startswith({root!r}):
        sys.stderr.write("the checkout was read: " + told[0])
        sys.exit(70)
sys.addaudithook(watch)
"""


class Installed:
    """An environment that has the wheel and what it declares, and a user of it."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.user = folder / "env" / "bin", folder / "user"
        self.user.mkdir()

    def run(self, *command: str, stdin: str = "") -> str:
        """Run a command as that user; return what it printed."""
        environ = {"HOME": str(self.user), "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        environ["RATCHET_WITHHELD_SHARE"] = "0"  # no coin: each session is shown what is known
        done = subprocess.run(
            command, cwd=self.user, env=environ, input=stdin, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        assert "the checkout was read" not in done.stderr, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "env", with_pip=False, symlinks=True)
    (packages,) = (folder / "env" / "lib").glob("python*/site-packages")
    command = ["-m", "pip", "--python", str(folder / "env" / "bin" / "python"), "install", "--no-deps", "--no-index"]
    subprocess.run([a_python_with_pip(), *command, "--quiet", "--disable-pip-version-check", str(wheel)], check=True)
    for name in declared("ratchet-ai"):
        copy(name, packages)
    (packages / "watch.py").write_text(WATCH.format(root=f"{ROOT}{os.sep}"), encoding="utf-8")
    (packages / "watch.pth").write_text("import watch\n", encoding="utf-8")
    return Installed(folder)


def a_python_with_pip() -> str:
    """A Debian Python may lack ensurepip: then the environment has no pip, and the Python that made it has."""
    for python in (sys.executable, getattr(sys, "_base_executable", ""), shutil.which("python3") or ""):
        asked = [python, "-m", "pip", "--version"]
        if python and subprocess.run(asked, capture_output=True, check=False).returncode == 0:
            return python
    pytest.skip("needs pip, in this environment or in the Python that made it")


def declared(name: str) -> Iterator[str]:
    """What a distribution requires without any extra, and what that requires."""
    for line in importlib.metadata.requires(name) or []:
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            yield wanted.name
            yield from declared(wanted.name)


def copy(name: str, packages: Path) -> None:
    """Copy a distribution of this environment, without its scripts."""
    for file in importlib.metadata.files(name) or []:
        if ".." not in file.parts and file.suffix != ".pyc":
            target = packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(Path(str(file.locate())), target)


def test_the_environment_stands_alone(installed: Installed) -> None:
    where = installed.run("python", "-c", "import ratchet, click, rich, sys; print(ratchet.__file__, *sys.path)")
    assert str(ROOT) not in where
    with pytest.raises(AssertionError, match="the checkout was read"):
        installed.run("python", "-c", f"open({str(ROOT / 'README.md')!r})")


def test_the_demo_runs_from_the_wheel(installed: Installed) -> None:
    told = json.loads(installed.run("ratchet", "demo", "--json"))
    assert told["steps_without"] > told["steps_with"]


def test_the_hook_of_the_wheel_answers_a_failing_step(installed: Installed) -> None:
    history = installed.run("python", "-c", "import ratchet.demo as d; print(d.__path__[0] + '/history')").strip()
    installed.run("ratchet", "learn", history)
    installed.run("ratchet", "install", "claude-code", "--hooks-only")
    settings = json.loads((installed.user / ".claude" / "settings.json").read_text(encoding="utf-8"))
    (hook,) = settings["hooks"]["PostToolUseFailure"][0]["hooks"]
    assert str(ROOT) not in hook["command"]
    failure = {
        "session_id": "wheel",
        "hook_event_name": "PostToolUseFailure",
        "cwd": "/home/dev/shop",
        "tool_name": "Bash",
        "tool_input": {"command": "pytest tests/test_cart.py -q"},
        "tool_use_id": "toolu_01ABCDEFGHIJKLMNOPQRSTUV",
        "error": "Exit code 4\nE   ModuleNotFoundError: No module named 'flask'",
    }
    assert "uv run pytest" in installed.run("sh", "-c", hook["command"], stdin=json.dumps(failure))


@pytest.mark.parametrize(
    "words", ["models list", "services status", "sessions list", "bench list", "report", "loop --once"]
)
def test_what_needs_no_extra_runs_without_one(installed: Installed, words: str) -> None:
    installed.run("ratchet", *words.split())
