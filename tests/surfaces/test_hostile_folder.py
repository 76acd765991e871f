"""Whatever Ratchet starts in a strange folder, no module of that folder runs on the host."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from ratchet.integrations import hook_entries
from ratchet.sandbox.bubblewrap import Bubblewrap
from ratchet.sandbox.probe import probe

OWN = ("ratchet", "sitecustomize", "usercustomize", "click", "rich", "uvicorn", "fastapi", "starlette", "mcp", "anyio")
NAMES = (*sorted(sys.stdlib_module_names), *OWN)
EVENTS = ("SessionStart", "PreToolUse", "PostToolUseFailure", "SessionEnd")
RATCHET = str(Path(sys.executable).with_name("ratchet"))


@pytest.fixture(params=["modules", "packages"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder that holds, by the name of every module that a program may ask for, one that leaves a trace."""
    made = tmp_path / "strange"
    made.mkdir()
    for name in NAMES:
        text = f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r} + ' ')\nraise SystemExit(9)\n"
        path = made / f"{name}.py" if request.param == "modules" else made / name / "__init__.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (made / "evil.pth").write_text(f"import os; open({str(tmp_path / 'ran')!r}, 'a').write('pth ')\n")
    (made / ".env").write_text(f"PYTHONPATH={made}\nPYTHONSTARTUP={made}/json.py\nRATCHET_HOME={made}\n")
    return made


@pytest.fixture
def environ(folder: Path, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment to start things with; at the end no module of the folder has run."""
    found = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RATCHET", "COV_"))}
    yield {**found, "HOME": str(tmp_path), "RATCHET_HOME": str(tmp_path / "home")}
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()


def run(command: list[str], folder: Path, environ: dict[str, str], *, stdin: str = "") -> str:
    done = subprocess.run(
        command, cwd=folder, env=environ, input=stdin, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout


def script(tmp_path: Path, text: str) -> list[str]:
    """A program that lies elsewhere, as the `ratchet` command does: its own folder is the first on its path."""
    path = tmp_path / "scripts" / "program.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"if __name__ == '__main__':\n    {text}\n")
    return [sys.executable, str(path)]


def test_the_command_line(folder: Path, environ: dict[str, str]) -> None:
    run([RATCHET, "version"], folder, environ)
    run([RATCHET, "patterns"], folder, environ)


def test_the_server_and_what_drains_beside_it(folder: Path, environ: dict[str, str]) -> None:
    served = subprocess.Popen(
        [RATCHET, "serve", "--port", "0"], cwd=folder, env={**environ, "PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE
    )
    try:
        assert served.stdout is not None
        assert any(line.strip().startswith(b"stop") for line in served.stdout)
    finally:
        served.send_signal(signal.SIGTERM)
        served.communicate(timeout=60)


def test_the_process_that_drains(folder: Path, environ: dict[str, str], tmp_path: Path) -> None:
    asked = (
        "import json, sys; from types import SimpleNamespace as N; from ratchet.serving.api.drainer import command\n"
        "    print(json.dumps(command(N(runtime=N(home=sys.argv[1]), serving=N(drain_s=1)))))"
    )
    command = json.loads(run([*script(tmp_path, asked), str(tmp_path / "home")], folder, environ))
    run(command, folder, environ)  # its standard input has ended, and so does it


def test_the_workers_of_a_benchmark(folder: Path, environ: dict[str, str], tmp_path: Path) -> None:
    asked = (
        "import os; from ratchet.evolving.bench.ground import executing\n"
        "    with executing('processes', 2) as found:\n"
        "        print([each.result() for each in [found.submit(os.getenv, 'PYTHONSAFEPATH') for _ in range(4)]])\n"
        "    print(os.environ.get('PYTHONSAFEPATH'))"
    )
    assert run(script(tmp_path, asked), folder, environ).split("\n") == ["[None, None, None, None]", "None", ""]


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_the_workers_of_a_cluster(folder: Path, environ: dict[str, str], tmp_path: Path, name: str) -> None:
    if find_spec({"dask": "distributed"}.get(name, name)) is None:
        pytest.skip(f"{name} is not installed: pip install 'ratchet-ai[cluster,ray]'")
    asked = (
        "from pathlib import Path; from ratchet.evolving.bench.benchmark import Agent, BenchTask\n"
        "    from ratchet.evolving.bench.ground import executing\n"
        "    from ratchet.evolving.job import Job\n"
        "    from ratchet.testing.evolving import SyntheticMeasure\n"
        "    task = BenchTask(id='t', kind='code', split='gate', instruction='-', scorer='command')\n"
        "    job = Job(id='e', run='r', candidate='c', agent=Agent(how='command', argv=('true',)), version='',\n"
        "              settings={}, task=task, seed=0, scratch='', cancel='')\n"
        f"    with executing({name!r}, 1, place=Path({str(tmp_path / 'workers')!r})) as found:\n"
        "        print(type(found.submit(SyntheticMeasure(), job).exception(timeout=100)).__name__)"
    )
    assert "FileNotFoundError" in run(
        script(tmp_path, asked), folder, environ
    )  # there is no version: it was looked for


@pytest.mark.parametrize("event", EVENTS)
def test_the_hooks_that_are_installed(folder: Path, environ: dict[str, str], tmp_path: Path, event: str) -> None:
    command = hook_entries.command(event, home=tmp_path / "home", environ=environ)
    said = {
        "hook_event_name": event,
        "session_id": "s",
        "cwd": str(folder),
        "tool_name": "Bash",
        "error": "no such file",
    }
    run(["sh", "-c", command], folder, environ, stdin=json.dumps({**said, "tool_input": {"command": "cat x"}}))


def test_what_a_sessions_end_leaves_to_a_process_of_its_own(
    folder: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    asked = "from ratchet.integrations import detached as d; "
    asked += "d.wait_for(d.start({!r}, 'end', client='claude-code', project={!r}, session='s'), 60)"
    run(script(tmp_path, asked.format(str(tmp_path / "home"), str(folder))), folder, environ)


def test_the_server_for_agents_as_it_is_registered(folder: Path, environ: dict[str, str]) -> None:
    asked = "import json, sys; from pathlib import Path; from ratchet import registry; "
    asked += "from ratchet.integrations import server_entries as m; "
    asked += "print(json.dumps(m.entry(registry.client('claude-code'), home=Path(sys.argv[1]), extra={})))"
    entry = json.loads(run([*script(folder.parent, asked), environ["RATCHET_HOME"]], folder, environ))
    run([entry["command"], *entry["args"]], folder, environ)


def test_the_keeper_of_the_sandbox(folder: Path, environ: dict[str, str], tmp_path: Path) -> None:
    if not probe(Bubblewrap(), quick=True).works:
        pytest.skip("bubblewrap does not work on this machine")
    (tmp_path / "work").mkdir()
    (tmp_path / "work").chmod(0o755)
    run([RATCHET, "sandbox", "exec", "--workdir", str(tmp_path / "work"), "--", "true"], folder, environ)


def test_the_command_line_as_a_module_where_python_got_as_far(folder: Path, environ: dict[str, str]) -> None:
    """`python -m` looks into the folder for the package, and for what it needs itself, before a line of ours runs."""
    asked = [sys.executable, "-I", "-c", "import runpy, sys; print(*sys.modules)"]
    loaded = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
    for name in {"ratchet", *(each.partition(".")[0] for each in loaded)}:
        (folder / f"{name}.py").unlink(missing_ok=True)
        shutil.rmtree(folder / name, ignore_errors=True)
    assert sum(1 for _ in folder.iterdir()) > 100
    run([sys.executable, "-m", "ratchet", "patterns"], folder, environ)


def test_the_trace_is_left_where_a_python_is_not_isolated(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("open('ran', 'a').write('json')\n")
    subprocess.run([sys.executable, "-c", "import json"], cwd=tmp_path, check=True)
    assert (tmp_path / "ran").read_text() == "json"
