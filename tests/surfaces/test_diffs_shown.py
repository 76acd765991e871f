"""A patch is kept exactly as it is, for its owner; wherever one is shown, it is shown without secrets."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from ratchet.cli import show_heal
from ratchet.cli.app import cli
from ratchet.errors import UsageError
from ratchet.healing import report
from ratchet.healing.book import HealMeans, HealRequest
from ratchet.healing.episode import Episode
from ratchet.healing.job import Solved, SolveJob, Solver, SolverOptions
from ratchet.healing.landing.destination import Landing
from ratchet.healing.sibling_checks import SiblingPatch
from ratchet.healing.solvers import command
from ratchet.healing.solvers.prompting import ROOMS, Material, prompt
from ratchet.runtime import Runtime
from ratchet.serving.shapes.tasks import SiblingShape
from ratchet.testing.healing import ScriptedSolver
from support.healing import needs_sandbox

KEYS = {
    "a line beside": "sk-ant-api03-" + "a1B2" * 20,
    "a line taken away": "ghp_" + "a1B2c3D4e5F6" * 3,
    "a line added": "AKIA" + "Q3EXZ7WMPLR9TVKN",
    "a value of a manifest": "aHVudGVyMnh5ejk5OQ==",
    "a line of a private key": base64.b64encode(bytes(range(7, 55))).decode(),
    "a line of a block that stays": "Rk4Zq1mVb7TtY2wN",
    "a line of a block taken away": "Lx9Pd3sHc8JjU5eA",
    "a line of a block added": "Wm6Fo2gXr4KkB0yS",
    "a value in brackets": "hunter2xyz99correct",
}
WRONG = """\
BESIDE = "{beside}"


def add(a, b, key="{old}"):
    return a - b
"""
FAR = "\n".join(f"  place{n}: here" for n in range(8))
LINES = [base64.b64encode(bytes(range(n, n + 48))).decode() for n in range(60, 180, 10)]
LINES[6] = KEYS["a line of a private key"]
BLOCK = [f"{n}{KEYS['a line of a block that stays']}{n}" for n in range(8)]
UNDER = {
    "deploy.yaml": (
        f"kind: Secret\nmetadata:\n{FAR}\ndata:\n  mode: wrong\n  dbpw: {KEYS['a value of a manifest']}\n",
        ("mode: wrong", "mode: right"),
    ),
    "inner.txt": (
        "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *LINES, "-----END RSA PRIVATE KEY-----", ""]),
        (LINES[7], LINES[7][::-1]),
    ),
    "login.yaml": (
        "user: me\npassword: |\n  " + "\n  ".join([*BLOCK, KEYS["a line of a block taken away"]]) + "\nport: 1\n",
        (KEYS["a line of a block taken away"], KEYS["a line of a block added"]),
    ),
    "secret_place.py": (f"PASSWORD = (\n    '{KEYS['a value in brackets']}'\n)\nPORT = 1\n", ("PORT = 1", "PORT = 2")),
}
"""Files in which a line far above a hunk says that the hunk holds secrets: each with a change below that line."""
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"


@dataclass
class Healed:
    """An episode whose patch has secrets in it, and texts that solvers were given on the way."""

    episode: Episode
    home: Path
    project: Path
    patch: Path
    prompts: list[str] = field(default_factory=list)


def _program(body: str, key: str) -> str:
    text = WRONG.format(beside=KEYS["a line beside"], old=KEYS["a line taken away"])
    return text.replace(KEYS["a line taken away"], key).replace("    return a - b", body)


def _all(body: str) -> dict[str, str]:
    """The changed files of an answer."""
    return {"calc.py": _program(body, KEYS["a line added"])} | {
        path: text.replace(*change) for path, (text, change) in UNDER.items()
    }


@pytest.fixture(scope="module")
def healed(tmp_path_factory: pytest.TempPathFactory) -> Healed:
    folder = tmp_path_factory.mktemp("diffs")
    needs_sandbox(folder / "canary")
    home, project, patch = folder / "home", folder / "project", folder / "it.patch"
    project.mkdir()
    (project / "calc.py").write_text(_program("    return a - b", KEYS["a line taken away"]))
    (project / "test_calc.py").write_text(TEST)
    for path, (text, _) in UNDER.items():
        (project / path).write_text(text)
    told: list[str] = []

    def second(job: SolveJob) -> Solved:
        """Asks as the solvers over a model and over an agent do, and mends it."""
        told.append(prompt(Material(job=job, files=(), room=ROOMS[0])))
        start = job.workspace.checkpoint()
        command.create(SolverOptions(argument="tee told.txt", named=_none)).solve(job)
        told.append(job.workspace.read("told.txt").decode())
        job.workspace.restore(start)
        for path, held in _all("    total = a\n    return total + b").items():
            job.workspace.write(path, held.encode())
        return Solved(status="proposed", cause="a sign", fix=f"plus, and the key {KEYS['a line added']}")

    script = ScriptedSolver([_all("    return 0"), second])
    with Runtime.open(home=home) as runtime:
        words = "Mend the sum, deploy.yaml, inner.txt and login.yaml."  # what no task names is no part of a fix
        asked = HealRequest(check=("python", "-m", "pytest", "-q"), folder=project, instruction=words)
        landing = Landing(to="patch", name=str(patch))
        ended = runtime.episodes.run(asked, HealMeans(solver=script), landing=landing)
    assert ended.status == "passed", ended.reason
    return Healed(ended, home, project, patch, told)


def _none(name: str) -> Solver:
    raise UsageError(name)


def _hidden(text: str) -> None:
    """All of the secrets are out, and what was changed is there."""
    assert "total + b" in text
    _without(text)


def _without(text: str) -> None:
    assert not [where for where, key in KEYS.items() if key in text or key[:12] in text]


def test_the_patch_that_is_kept_is_exact_and_only_its_owner_can_read_it(healed: Healed, tmp_path: Path) -> None:
    with Runtime.open(home=healed.home) as runtime:
        kept = runtime.episodes.diff(healed.episode.id)
    assert all(key in kept for key in KEYS.values())
    assert healed.patch.read_text() == kept
    assert healed.patch.stat().st_mode & 0o077 == 0
    copy = tmp_path / "copy"
    shutil.copytree(healed.project, copy)
    subprocess.run(["git", "apply", "-p1", str(healed.patch)], cwd=copy, check=True)
    assert (copy / "calc.py").read_text() == _program("    total = a\n    return total + b", KEYS["a line added"])
    for file in healed.home.rglob("*"):
        if file.is_file() and any(key.encode() in file.read_bytes() for key in KEYS.values()):
            assert file.stat().st_mode & 0o077 == 0, f"{file} holds a secret and others can read it"
            assert file.name.startswith("ratchet.db"), f"{file} holds a secret"


@pytest.mark.parametrize(
    "words",
    [("episodes", "show", "ID"), ("episodes", "show", "ID", "--json"), ("episodes", "list", "--json")],
    ids=" ".join,
)
def test_commands_show_it_without_secrets(
    healed: Healed, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show_heal, "_DIFF_LINES", 1_000)
    asked = [healed.episode.id if each == "ID" else each for each in words]
    done = CliRunner().invoke(cli, ["--home", str(healed.home), *asked])
    assert done.exit_code == 0, done.output
    _hidden(done.output)


def test_reports_show_it_without_secrets(healed: Healed) -> None:
    one = healed.episode
    sibling = SiblingPatch(path="calc.py", line=1, function="add", diff=one.diff, shown=one.shown, check=(), kept=0)
    _hidden(report.markdown(healed.episode, [sibling]))
    failed = replace(healed.episode, status="failed", reason=f"401 for {KEYS['a line added']}")
    _without(report.markdown(failed))
    _hidden(SiblingShape.built(sibling).diff)


def test_pages_and_http_show_it_without_secrets(healed: Healed) -> None:
    pytest.importorskip("fastapi")
    from support.api_client import client

    with client(healed.home, workers=0) as held:
        for path in (f"/v1/tasks/{healed.episode.id}", f"/v1/tasks/{healed.episode.id}/timeline"):
            answer = held.get(path)
            assert answer.status_code == 200, answer.text
            _hidden(answer.text)
        page = held.get(f"/ui/episodes/{healed.episode.id}", headers={"accept": "text/html"}).text
        _hidden(re.sub(r"<[^>]*>", "", page))


def test_tools_over_mcp_show_it_without_secrets(healed: Healed) -> None:
    pytest.importorskip("mcp")
    from ratchet.serving.mcp.tasktools import Place, TaskTools

    with Runtime.open(home=healed.home) as runtime:
        _hidden(TaskTools(runtime, Place()).task_status(healed.episode.id).model_dump_json())


def test_whoever_mends_it_next_is_shown_it_without_secrets(healed: Healed) -> None:
    assert len(healed.prompts) == 2
    for text in healed.prompts:
        assert "return 0" in text
        _without(text)


def test_what_is_learnt_of_it_holds_no_secret(healed: Healed) -> None:
    with Runtime.open(home=healed.home) as runtime:
        learnt = [runtime.lessons.show(each) for each in healed.episode.learnt]
    assert learnt
    _without(str(learnt))
