"""Port `Measure` over every sandbox: what honest, clumsy and hostile agents come to, and what is left of them."""

from __future__ import annotations

import json
import pickle
import shlex
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ratchet.errors import SandboxError
from ratchet.evolving.bench.benchmark import Agent, BenchTask, Evaluation
from ratchet.evolving.bench.ground import executing, measuring
from ratchet.evolving.bench.measuring import Measuring
from ratchet.evolving.bench.running import limits_of
from ratchet.evolving.job import Job
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.bubblewrap import Bubblewrap
from ratchet.sandbox.landlock import Landlock
from support.sandboxes import working

SANDBOXES: dict[str, type[Bubblewrap | Landlock]] = {"bubblewrap": Bubblewrap, "landlock": Landlock}
SECRET = "grader-9f31c7"
TASK = BenchTask(
    id="greet",
    kind="code",
    split="gate",
    instruction="Write 'hello' to out.txt.",
    scorer="command",
    files={"notes/readme.txt": "the place for out.txt\n"},
    graders={"check.py": f"# {SECRET}\nprint(float(open('out.txt').read().strip() == 'hello'))\n"},
    spec={"command": ["python", "check.py"]},
    wall_s=20.0,
)
GOOD = "printf hello > out.txt"


def chosen(name: str, _unsafe: bool) -> Sandbox:
    return SANDBOXES[name]()


def broken(_unsafe: bool) -> Sandbox:
    raise SandboxError("user namespaces are gone")


def full(_sandbox: Sandbox, _project: Path, _place: Path) -> Workspace:
    raise OSError(28, "No space left on device")


class Ground:
    """An agent's folder, a task and the folders that a driver would have."""

    def __init__(self, folder: Path, measure: Measuring) -> None:
        self.folder = folder
        self.version = folder / "version"
        self.version.mkdir()
        (self.version / "prompt.md").write_text("be good\n")
        self.measure = measure
        self.jobs = 0

    def job(self, script: str = GOOD, *, agent: Agent | None = None, seconds: float = 60) -> Job:
        (self.version / "agent.sh").write_text(script)
        for path in (self.version, *self.version.iterdir()):
            path.chmod(0o755)
        self.jobs += 1
        argv = ("sh", "{agent}/agent.sh", "{task}", "{workdir}", "{seed}")
        return Job(
            id=f"job-{self.jobs}",
            run="r",
            candidate="c",
            agent=agent or Agent(how="command", argv=argv, folder=str(self.version)),
            version=str(self.version) if agent is None or agent.folder else "",
            settings={"tone": "warm"},
            task=TASK,
            seed=7,
            scratch=str(self.folder / "scratch"),
            cancel=str(self.folder / "cancel"),
            seconds=seconds,
        )

    def made(self, script: str = GOOD, **given: object) -> Evaluation:
        made = self.measure(self.job(script, **given))  # type: ignore[arg-type]
        scratch = self.folder / "scratch"
        assert list(scratch.iterdir()) == []
        return made


@pytest.fixture(scope="session", params=SANDBOXES)
def sandbox_name(request: pytest.FixtureRequest) -> str:
    working(SANDBOXES[request.param]())
    return str(request.param)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user reaches, as a driver's: what keeps an agent away must be the sandbox."""
    made = Path(tempfile.mkdtemp(prefix="measuring-"))
    made.chmod(0o755)
    yield made
    remove_tree(made)


@pytest.fixture
def ground(folder: Path, sandbox_name: str) -> Ground:
    measure = replace(measuring(folder / "home"), sandbox=partial(chosen, sandbox_name))
    return Ground(folder, measure)


# -- honest agents -----------------------------------------------------------------------------------------------------


def test_a_right_answer_passes_with_what_it_cost(ground: Ground) -> None:
    usage = json.dumps({"cost_usd": 0.25, "tokens": 1200})
    made = ground.made(f"{GOOD}; printf %s {shlex.quote(usage)} > usage.json; echo done")
    assert (made.result, made.score, made.cost_usd, made.tokens) == ("passed", 1.0, 0.25, 1200)
    assert "done" in made.output
    assert made.tampered == ()
    assert made.isolation == ground.measure.sandbox(False).name


def test_an_agent_is_told_the_task_its_folders_its_seed_and_its_settings(ground: Ground) -> None:
    script = (
        'echo "arg=$1 seed=$3 $RATCHET_SEED $PYTHONHASHSEED"; cat; cd "$2" && cat notes/readme.txt; '
        'cat "$RATCHET_AGENT/prompt.md"; echo "$RATCHET_AGENT_SETTINGS"'
    )
    output = ground.made(script).output
    assert f"arg={TASK.instruction} seed=7 7 7" in output
    assert output.count(TASK.instruction) == 2
    for said in ("the place for out.txt", "be good", '{"tone": "warm"}'):
        assert said in output


def test_a_callable_answers_by_what_it_returns(ground: Ground) -> None:
    (ground.version / "mine.py").write_text(
        "def solve(asked):\n    assert asked['settings'] == {'tone': 'warm'} and asked['seed'] == 7\n"
        "    return {'files': {'out.txt': 'hello'}, 'cost_usd': 0.5, 'tokens': 3}\n"
    )
    agent = Agent(how="callable", target="mine:solve", folder=str(ground.version))
    made = ground.made(agent=agent)
    assert (made.result, made.cost_usd, made.tokens) == ("passed", 0.5, 3)


def test_the_same_job_gives_the_same_evaluation_but_for_times(ground: Ground) -> None:
    dice = 'import random, os; random.seed(os.environ["RATCHET_SEED"]); print(random.random(), hash("a"))'
    script = f"python -c {shlex.quote(dice)}; {GOOD}"
    one, two = ground.made(script), ground.made(script)
    assert replace(one, at=0.0, wall_s=0.0) == replace(two, at=0.0, wall_s=0.0)


def test_it_measures_the_same_in_another_process(ground: Ground) -> None:
    job = ground.job()
    assert pickle.loads(pickle.dumps(ground.measure))(job).result == "passed"
    with executing("processes", 1) as executor:
        far = executor.submit(ground.measure, job).result()
    assert replace(far, at=0.0, wall_s=0.0) == replace(ground.measure(job), at=0.0, wall_s=0.0)


# -- what an agent does wrong ------------------------------------------------------------------------------------------


def test_a_crash_is_a_failure_that_names_its_error(ground: Ground) -> None:
    made = ground.made("python -c 'raise KeyError(\"no such tool\")'")
    assert (made.result, made.score, made.kind) == ("failed", 0.0, "code_error")
    assert "no such tool" in made.reason
    assert made.signature.startswith("v1:")


def test_a_wrong_answer_is_a_failure(ground: Ground) -> None:
    made = ground.made("printf goodbye > out.txt")
    assert (made.result, made.score, made.kind, made.killed) == ("failed", 0.0, "wrong_output", "")


def test_an_agent_that_does_not_end_is_ended_and_has_failed(ground: Ground) -> None:
    made = ground.made(f"{GOOD}; (while :; do :; done)", seconds=1.5)
    assert (made.result, made.killed, made.kind) == ("failed", "wall", "timeout")


def test_an_agent_that_goes_round_in_circles_is_ended_and_named(ground: Ground) -> None:
    loop = "i=0; while :; do i=$((i+1)); echo step; echo \"attempt $i failed: KeyError 'x'\"; sleep 0.05; done"
    made = ground.made(loop, seconds=60)
    assert (made.result, made.killed, made.kind) == ("failed", "looping", "loop_detected")
    assert made.wall_s < 15


def test_an_agent_with_nothing_to_wait_for_may_be_still_for_a_shorter_time(over: Ground) -> None:
    job = over.job(seconds=600)
    long = replace(job, task=replace(TASK, wall_s=500))
    assert limits_of(long).idle_s == 30
    assert limits_of(replace(long, agent=replace(job.agent, net="host"))).idle_s == 180
    assert limits_of(job).idle_s == limits_of(job).wall_s == TASK.wall_s


# -- what the machine does wrong ---------------------------------------------------------------------------------------


def test_an_agent_that_says_its_provider_failed_was_not_measured(ground: Ground) -> None:
    by_code = ground.made(f"{GOOD}; echo 'provider: 503 overloaded' >&2; exit 75")
    assert (by_code.result, by_code.kind) == ("unmeasured", "overloaded")
    assert "503" in by_code.reason
    usage = json.dumps({"infrastructure": "connection refused by the provider", "cost_usd": 0.1})
    by_file = ground.made(f"{GOOD}; printf %s {shlex.quote(usage)} > usage.json")
    assert (by_file.result, by_file.kind) == ("unmeasured", "network")
    assert by_file.cost_usd == pytest.approx(0.2)  # it was tried once more, which cost as much


def test_an_agent_that_cannot_be_started_was_not_measured(ground: Ground) -> None:
    gone = Agent(how="command", argv=("{agent}/gone.sh", "{task}"), folder=str(ground.version))
    made = ground.made(agent=gone)
    assert made.result == "unmeasured"
    assert "could not be started" in made.reason
    assert "gone.sh" in made.reason


@pytest.mark.parametrize(
    "argv", [("python3", "gone.py", "{task}"), ("sh", "-e", "{agent}/gone.sh"), ("sh", "./gone.sh")]
)
def test_an_agent_whose_own_file_is_nowhere_was_not_measured(ground: Ground, argv: tuple[str, ...]) -> None:
    made = ground.made(agent=Agent(how="command", argv=argv, folder=str(ground.version)))
    assert made.result == "unmeasured"
    assert "which neither its folder nor the task has" in made.reason
    assert "gone." in made.reason


def test_an_agent_that_runs_a_file_of_the_task_and_fails_is_measured(ground: Ground) -> None:
    argv = ("sh", "notes/readme.txt", "gone.py")
    made = ground.made(agent=Agent(how="command", argv=argv, folder=str(ground.version)))
    assert made.result == "failed"


def test_a_broken_sandbox_and_a_full_disk_are_no_wrong_answers(ground: Ground) -> None:
    for measure, said in (
        (replace(ground.measure, sandbox=broken), "user namespaces are gone"),
        (replace(ground.measure, copied=full), "No space left on device"),
    ):
        made = measure(ground.job())
        assert made.result == "unmeasured"
        assert said in made.reason
        assert list((ground.folder / "scratch").iterdir()) == []


@pytest.mark.parametrize("path", ["../out.txt", "/etc/motd", "a/../../b"])
def test_a_task_whose_files_lead_outside_is_not_laid(over: Ground, path: str) -> None:
    made = over.measure(replace(over.job(), task=replace(TASK, files={path: "x"})))
    assert made.result == "unmeasured"
    assert "no path within a task" in made.reason


# -- cancelling --------------------------------------------------------------------------------------------------------


def test_a_file_of_its_name_cancels_an_evaluation_in_another_process(ground: Ground) -> None:
    job = ground.job("sleep 0.2; echo begun; sleep 600")
    (ground.folder / "cancel").mkdir()
    with executing("processes", 1) as executor:
        far = executor.submit(ground.measure, job)
        time.sleep(2)
        (ground.folder / "cancel" / job.id).touch()
        made = far.result(timeout=30)
    assert (made.result, made.killed, made.kind) == ("unmeasured", "cancel", "cancelled")
    assert running("sleep 600") == []


# -- hostile agents ----------------------------------------------------------------------------------------------------


def test_nothing_of_an_agent_survives_it(ground: Ground) -> None:
    escape = "setsid sh -c 'sleep 4321' >/dev/null 2>&1 & (trap '' TERM INT HUP; sleep 4322) & "
    made = ground.made(f"{escape} {GOOD}; exit 0")
    assert made.result == "passed"
    assert running("sleep 432") == []


def test_a_fork_bomb_ends_with_its_agent(ground: Ground) -> None:
    made = ground.made("b() { b | b & }; b; sleep 1; printf hello > out.txt", seconds=5)
    assert made.result in ("failed", "passed")  # what it forks is bounded; whether it gets to write is its affair
    assert running("agent.sh") == []


def test_an_agent_cannot_change_or_delete_its_own_folder(ground: Ground) -> None:
    made = ground.made('rm -rf "$RATCHET_AGENT"; echo evil > "$RATCHET_AGENT/prompt.md"; ' + GOOD)
    assert (ground.version / "prompt.md").read_text() == "be good\n"
    assert made.result == "passed"
    assert any(str(ground.version) in each for each in made.tampered)


def test_an_agent_cannot_write_outside_and_the_attempt_is_named(ground: Ground) -> None:
    home = ground.folder / "home"
    home.mkdir()
    (home / "ratchet.db").write_text("memory")
    for each in (home, home / "ratchet.db"):
        each.chmod(0o777)
    ground.measure = replace(ground.measure, guarded=(str(home),))
    made = ground.made(f"rm -rf {home}/ratchet.db; echo 1 > {home}/score.json; {GOOD}")
    assert (home / "ratchet.db").read_text() == "memory"
    assert not (home / "score.json").exists()
    assert any(str(home) in each for each in made.tampered)


def test_an_agent_cannot_set_the_clock_and_the_attempt_is_named(ground: Ground) -> None:
    before = time.time()
    made = ground.made(f"date -s '2001-01-01'; {GOOD}")
    assert time.time() >= before
    assert "tried to set the clock" in " ".join(made.tampered)


def test_an_agent_that_reaches_for_scores_or_archive_is_named(ground: Ground) -> None:
    home = ground.folder / "home"
    script = f"import os\nfor p in ('score.json', 'bench/objects/x'):\n    try: open('{home}/' + p, 'w')\n"
    made = ground.made(f"python -c {shlex.quote(script + '    except OSError as e: print(e)')}; {GOOD}")
    assert len([each for each in made.tampered if "Ratchet's own files" in each]) == 2
    assert not home.exists()


def test_an_agent_finds_no_grader(ground: Ground) -> None:
    beside = "--exclude-dir=.venv"  # the interpreter and its packages, where the checkout lies in /tmp
    hunt = f"grep -rlI {beside} {SECRET[:8]} . /tmp /home /var/tmp /dev/shm 2>/dev/null"
    made = ground.made(f"{hunt} | head; ls -a; {GOOD}")
    assert SECRET not in made.output
    assert "check.py" not in made.output
    assert made.result == "passed"


def test_an_agent_that_plants_its_own_grader_is_judged_by_ours(ground: Ground) -> None:
    planted = "echo 'print(1.0)' > check.py; echo 'import os; os._exit(0)' > sitecustomize.py; printf no > out.txt"
    made = ground.made(planted)
    assert made.result == "failed"
    assert any("check.py" in each for each in made.tampered)


def test_giant_output_is_cut_short(ground: Ground) -> None:
    made = ground.made("yes 'no end of it' | head -c 300000000", seconds=20)
    assert made.result == "failed"
    assert len(made.output) <= 6_100


@pytest.mark.parametrize(
    "usage",
    [
        '{"cost_usd": NaN}',
        '{"cost_usd": -5, "tokens": -1}',
        '{"cost_usd": 1e999}',
        '{"tokens": "many"}',
        "[1]",
        "{",
        "[" * 9999,
    ],
)
def test_a_forged_account_costs_nothing_and_is_named(ground: Ground, usage: str) -> None:
    (ground.version / "usage").write_text(usage)
    made = ground.made(f'{GOOD}; cat "$RATCHET_AGENT/usage" > usage.json')
    assert (made.result, made.cost_usd, made.tokens) == ("passed", 0.0, 0)
    assert any("usage.json is not believed" in each for each in made.tampered)


@pytest.mark.parametrize("trick", ["mkfifo usage.json", "ln -s /etc/passwd usage.json", "mkdir usage.json"])
def test_an_account_that_is_no_plain_file_is_not_read(ground: Ground, trick: str) -> None:
    made = ground.made(f"{GOOD}; {trick}")
    assert made.cost_usd == 0
    assert made.result == "passed"


def test_a_variable_that_is_passed_on_does_not_show_in_the_output(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_PROVIDER_KEY", "plain-looking-value")
    agent = Agent(
        how="command", argv=("sh", "{agent}/agent.sh"), folder=str(ground.version), pass_env=("MY_PROVIDER_KEY",)
    )
    made = ground.made('echo "key=$MY_PROVIDER_KEY"', agent=agent)
    assert "key=" in made.output
    assert "plain-looking-value" not in made.output


# -- addresses ---------------------------------------------------------------------------------------------------------


class Server(ThreadingHTTPServer):
    """An agent behind an address. `answer` gives status, body and seconds to wait for a path."""

    daemon_threads = True

    def __init__(self, answer: Callable[[str], tuple[int, bytes, float]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.asked: list[dict[str, object]] = []

    def agent(self, path: str = "/solve") -> Agent:
        return Agent(how="http", target=f"http://127.0.0.1:{self.server_port}{path}")


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Server)
        server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        status, body, wait_s = server.answer(self.path)
        time.sleep(wait_s)
        try:
            self.send_response(status)
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.send_header("Content-Length", str(len(body) + 9 * self.path.startswith("/cut")))
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            return  # whoever asked has gone


ANSWERS: dict[str, tuple[int, bytes, float]] = {
    "/good": (200, b'{"files": {"out.txt": "hello"}, "cost_usd": 0.5, "tokens": 9}', 0),
    "/wrong": (200, b'{"files": {"out.txt": "bye"}}', 0),
    "/down": (503, b"busy", 0),
    "/limit": (429, b"too many", 0),
    "/refuses": (422, b"cannot", 0),
    "/moved": (302, b"", 0),
    "/cut": (200, b'{"files": {"out.txt"', 0),
    "/cut/well": (200, b'{"files": {}}', 0),
    "/slow": (200, b"{}", 5),
    "/garbage": (200, b"<html>", 0),
    "/list": (200, b"[]", 0),
    "/huge": (200, b'{"files": {"out.txt": "' + b"x" * 9_000_000 + b'"}}', 0),
    "/escapes": (200, b'{"files": {"../../escaped.txt": "x"}}', 0),
    "/odd": (200, b'{"files": {"out.txt": 7}}', 0),
    "/nan": (200, b'{"files": {"out.txt": "hello"}, "cost_usd": NaN, "tokens": -4}', 0),
    "/says": (200, b'{"infrastructure": "upstream 529"}', 0),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(ANSWERS.__getitem__) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def over(folder: Path) -> Ground:
    """What an address answers has nothing to do with the sandbox: the preferred one of this machine."""
    return Ground(folder, measuring(folder))


def test_an_address_is_asked_once_and_sees_no_grader(over: Ground, server: Server) -> None:
    server.asked.clear()
    made = over.made(agent=server.agent("/good"))
    assert (made.result, made.cost_usd, made.tokens, made.isolation) == ("passed", 0.5, 9, "endpoint")
    assert server.asked == [
        {"instruction": TASK.instruction, "files": dict(TASK.files), "seed": 7, "settings": {"tone": "warm"}}
    ]


@pytest.mark.parametrize(
    ("path", "asked"),
    [("/down", 2), ("/limit", 2), ("/moved", 2), ("/says", 2), ("/cut", 2), ("/cut/well", 2)],
)
def test_an_address_that_is_down_is_asked_again_and_then_not_measured(
    over: Ground, server: Server, path: str, asked: int
) -> None:
    server.asked.clear()
    made = over.made(agent=server.agent(path))
    assert made.result == "unmeasured"
    assert len(server.asked) == asked


def test_an_address_that_nobody_listens_to_is_not_measured(over: Ground) -> None:
    made = over.made(agent=Agent(how="http", target="http://127.0.0.1:1/"))
    assert (made.result, made.kind) == ("unmeasured", "network")


@pytest.mark.parametrize("path", ["/wrong", "/refuses", "/garbage", "/list", "/huge", "/escapes", "/odd"])
def test_a_wrong_answer_of_an_address_is_a_failure_and_leaves_nothing(over: Ground, server: Server, path: str) -> None:
    server.asked.clear()
    made = over.made(agent=server.agent(path))
    assert (made.result, made.score) == ("failed", 0.0)
    assert len(server.asked) == 1
    assert not list(over.folder.rglob("escaped.txt"))


def test_an_address_that_is_too_slow_has_failed(over: Ground, server: Server) -> None:
    made = over.made(agent=server.agent("/slow"), seconds=1)
    assert (made.result, made.killed, made.kind) == ("failed", "wall", "timeout")


def test_an_address_that_forges_its_account_pays_nothing_and_is_named(over: Ground, server: Server) -> None:
    made = over.made(agent=server.agent("/nan"))
    assert (made.result, made.cost_usd, made.tokens) == ("passed", 0.0, 0)
    assert made.tampered


def test_asking_an_address_can_be_cancelled(over: Ground, server: Server) -> None:
    job = over.job(agent=server.agent("/slow"), seconds=30)
    (over.folder / "cancel").mkdir()
    with ThreadPoolExecutor(1) as pool:
        far = pool.submit(over.measure, job)
        time.sleep(0.3)
        (over.folder / "cancel" / job.id).touch()
        assert far.result(timeout=60).killed == "cancel"


def running(words: str) -> list[str]:
    """Command lines of processes that hold these words, once those that are ending have had a moment."""
    found: list[str] = []
    for _ in range(400):
        found = [line for line in _command_lines() if words in line]
        if not found:
            return []
        time.sleep(0.05)
    return found


def _command_lines() -> Iterator[str]:
    if not sys.platform.startswith("linux"):
        return
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield each.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
