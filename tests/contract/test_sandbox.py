"""The abuse suite over every sandbox that this machine can have: each abuse is held, each honest program works."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.ports import Sandbox
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.bubblewrap import Bubblewrap
from ratchet.sandbox.command import Command, View
from ratchet.sandbox.landlock import Landlock
from ratchet.sandbox.probe import probe
from ratchet.testing.abuse_suite import CASES, Case, problems

SANDBOXES: dict[str, Sandbox] = {"bubblewrap": Bubblewrap(), "landlock": Landlock()}
LACKS = {"landlock": frozenset({"namespaces"})}


@pytest.fixture(scope="session", params=SANDBOXES)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    chosen = SANDBOXES[request.param]
    found = probe(chosen, quick=True)
    if not found.works:
        pytest.skip(f"{request.param} does not work on this machine: {found.note}")
    return chosen


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """An empty folder that every user reaches: what keeps the attack away must be the sandbox."""
    folder = Path(tempfile.mkdtemp(prefix="abuse-"))
    folder.chmod(0o755)
    yield folder
    remove_tree(folder)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_sandbox_holds_the_abuse_and_lets_honest_work_pass(sandbox: Sandbox, case: Case, open_folder: Path) -> None:
    if case.needs & LACKS.get(sandbox.name, frozenset()):
        pytest.skip(f"{sandbox.name} has no namespaces, which this case needs")
    assert problems(sandbox, case, open_folder) == []


def test_a_script_may_open_its_streams_by_their_names(sandbox: Sandbox, open_folder: Path) -> None:
    script = "cat /dev/stdin > /dev/stdout; echo wrong > /dev/stderr"
    ran = sandbox.run(Command(argv=("sh", "-c", script), view=View(folder=open_folder), stdin=b"given\n"))
    assert (ran.exit_code, ran.stdout, ran.stderr) == (0, b"given\n", b"wrong\n")


def test_the_folder_of_the_script_that_runs_ratchet_is_not_shown(sandbox: Sandbox, open_folder: Path) -> None:
    script, work = open_folder / "app" / "agent.py", open_folder / "work"
    for folder in (script.parent, work):
        folder.mkdir(mode=0o755)
    (script.parent / ".env").write_text("KEY=secret\n")
    script.write_text(
        f"from pathlib import Path\nfrom {type(sandbox).__module__} import {type(sandbox).__name__} as Sandbox\n"
        "from ratchet.sandbox.command import Command, View\n"
        f"command = Command(argv=('cat', {str(script.parent / '.env')!r}), view=View(folder=Path({str(work)!r})))\n"
        "ran = Sandbox().run(command)\nprint(ran.exit_code, ran.stdout.decode())\n"
    )
    done = subprocess.run([sys.executable, script], cwd="/", capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


def test_right_answers_of_shipped_tasks_are_not_shown_though_the_package_is(
    sandbox: Sandbox, open_folder: Path
) -> None:
    program = (
        "import os, ratchet, ratchet.records\n"
        "top = os.path.dirname(ratchet.__file__)\n"
        "for place in ('bench/core', 'tasks/library', 'demo/agent'):\n"
        "    for above, _, names in os.walk(os.path.join(top, place)):\n"
        "        for name in names:\n"
        "            try:\n"
        "                open(os.path.join(above, name)).close()\n"
        "                print('read', above, name)\n"
        "            except OSError:\n"
        "                continue\n"
    )
    ran = sandbox.run(Command(argv=("python", "-c", program), view=View(folder=open_folder)))
    assert (ran.exit_code, ran.stdout, ran.stderr) == (0, b"", b"")


def test_the_suite_has_fifty_cases_at_least_each_with_its_control() -> None:
    assert len({case.name for case in CASES}) >= 50
    assert all(case.honest.strip() for case in CASES)
