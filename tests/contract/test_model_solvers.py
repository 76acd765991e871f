"""Solvers that ask somebody else: a model, a coding agent's command line, or the cheap one first."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from ratchet.errors import ModelError, NotFound, Refused, UsageError
from ratchet.healing.episode import Attempt, Task, Verdict
from ratchet.healing.job import Purse, Solved, SolveJob, Solver, SolverOptions
from ratchet.healing.judges.model import SecondOpinion
from ratchet.healing.models.chain import Chain
from ratchet.healing.models.names import ModelName
from ratchet.healing.solvers import auto, command, model, repair
from ratchet.ports import Sandbox, Workspace
from ratchet.records import Json, Lesson
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.bubblewrap import Bubblewrap
from ratchet.sandbox.command import Command, Limits
from ratchet.sandbox.workspace import START, LayeredWorkspace
from ratchet.testing.model_server import ModelServer
from ratchet.testing.purses import PlainPurse
from ratchet.testing.wire import Reply
from support.sandboxes import working

PROGRAM = "def add(a, b):\n    return a - b\n"
FIXED = PROGRAM.replace("-", "+")
CHECK = "import calc\nassert calc.add(1, 2) == 3, calc.add(1, 2)\n"
FILES = {
    "calc.py": PROGRAM,
    "test_calc.py": "from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    "other.py": "x = 1\n",
    "run.sh": "#!/bin/sh\nexit 0\n",
}
OUTPUT = (
    'Traceback (most recent call last):\n  File "/work/calc.py", line 2, in add\n'
    "    assert add(1, 2) == 3\nAssertionError: -1\n"
)
SANDBOX = Bubblewrap()


@pytest.fixture(scope="module", autouse=True)
def _bubblewrap_works() -> None:
    working(SANDBOX)


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    folder = Path(tempfile.mkdtemp(prefix="solving-"))
    folder.chmod(0o755)
    project = folder / "project"
    project.mkdir()
    for name, text in FILES.items():
        (project / name).write_text(text, encoding="utf-8")
    (project / "run.sh").chmod(0o755)
    yield LayeredWorkspace.create(project, folder / "place")
    remove_tree(folder)


def checked(workspace: Workspace) -> Verdict:
    ran = SANDBOX.run(Command(argv=("python3", "-c", CHECK), view=workspace.view(), limits=Limits(wall_s=20)))
    passed = ran.exit_code == 0
    return Verdict(passed=passed, score=float(passed), output=ran.stderr.decode(), signature="" if passed else "v1:s")


def job_on(
    workspace: Workspace,
    *,
    purse: Purse | None = None,
    tried: tuple[Attempt, ...] = (),
    lessons: tuple[Lesson, ...] = (),
    protected: tuple[str, ...] = (),
    output: str = OUTPUT,
    notes: list[str] | None = None,
) -> SolveJob:
    task = Task(id="t", check=("python3", "-m", "pytest"), instruction="Mend add.", protected=protected)
    return SolveJob(
        task=task,
        workspace=workspace,
        sandbox=SANDBOX,
        failure=Verdict(passed=False, score=0.0, output=output, signature="v1:s", kind="assertion"),
        judge=checked,
        purse=purse or PlainPurse(),
        candidates=100,
        tried=tried,
        lessons=lessons,
        seed=7,
        limits=Limits(wall_s=30),
        note=(notes if notes is not None else []).append,
    )


def test_a_patch_that_the_full_check_had_no_time_for_is_not_called_refused(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    passing: dict[str, Json] = {"key": "k", "files": {"calc.py": b"x = 1\n".hex()}, "marks": []}
    asked: list[repair.SearchRequest] = []

    def found(request: repair.SearchRequest, *_args: object, **_more: object) -> repair.SearchResult:
        asked.append(request)
        return repair.SearchResult(patches=(passing,), tried=3, found_at=2)

    monkeypatch.setattr(repair, "search", found)
    late = Verdict(passed=False, score=0.0, killed="cancel", reason="the check was cancelled")
    job = job_on(workspace)
    slow = replace(job, judge=lambda _: late, failure=replace(job.failure, duration_s=40.0))
    solved = repair.Repair().solve(slow)
    assert (solved.status, len(asked)) == ("gave_up", 1)
    assert "the time was up before the full check could tell" in solved.reason
    assert asked[0].seconds <= job.purse.seconds_left() * 0.75 + 1, "the check has time of its own"
    assert solved.hints == ("3 small edits were tried; 1 of them pass the tests here",)


def test_a_check_that_a_person_stopped_is_not_said_to_have_had_no_time(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    passing: dict[str, Json] = {"key": "k", "files": {"calc.py": b"x = 1\n".hex()}, "marks": []}
    monkeypatch.setattr(repair, "search", lambda *_, **__: repair.SearchResult(patches=(passing,), tried=3, found_at=2))
    purse = PlainPurse()

    def stopped(_: Workspace) -> Verdict:
        purse.stopped = True
        return Verdict(passed=False, score=0.0, killed="cancel", reason="the check was cancelled")

    solved = repair.Repair().solve(replace(job_on(workspace, purse=purse), judge=stopped))
    assert "stopped before the full check could tell" in solved.reason
    assert "--budget-s" not in solved.reason


def asking(server: ModelServer, *, fast: bool = False) -> model.ModelSolver:
    named = ModelName(provider="openai-chat", name="any", base_url=server.openai_url)
    small = ModelName(provider="openai-chat", name="small", base_url=server.openai_url)
    return model.ModelSolver(Chain((named,), (small,) if fast else (), pause=lambda _seconds, _purse: None))


def edits(*given: Mapping[str, str], **said: str) -> Reply:
    return Reply(text=json.dumps({"cause": "minus", "fix": "plus", "edits": given, **said}))


RIGHT = edits({"file": "calc.py", "old": "return a - b", "new": "return a + b"})


def lesson(text: str) -> Lesson:
    return Lesson(
        id="l1", text=text, state="active", scope="project", signature="v1:s", kind="assertion", tried=3, worked=2
    )


# -- a model -----------------------------------------------------------------------------------------------------------


def test_a_model_mends_the_program(workspace: Workspace) -> None:
    with ModelServer(RIGHT) as server:
        solved = asking(server).solve(job_on(workspace, lessons=(lesson("compare the signs"),)))
    assert (solved.status, solved.cause, solved.fix, solved.candidates) == ("proposed", "minus", "plus", 1)
    assert workspace.read("calc.py") == FIXED.encode()
    assert checked(workspace).passed
    text = server.asked[0].text
    for told in ("Mend add.", "AssertionError: -1", "return a - b", "compare the signs", "ratchet-lessons-"):
        assert told in text
    assert "test_calc.py (read-only)" in text
    assert solved.memo["edits"]


def test_a_model_is_told_what_a_search_found_before(workspace: Workspace) -> None:
    with ModelServer(RIGHT) as server:
        asking(server).solve(replace(job_on(workspace), hints=("`-` became `*` at calc.py:2 was not enough",)))
    assert "# What a search over small edits found" in server.asked[0].text
    assert "`-` became `*` at calc.py:2 was not enough" in server.asked[0].text


@pytest.mark.parametrize(
    "reply",
    [
        Reply(text="I do not know."),
        Reply(text='{"edits": '),
        Reply(text=""),
        Reply(text="No.", ended="refusal"),
        Reply(text="", ended="content_filter"),
        Reply(text='{"edits": []}'),
        Reply(text="[" * 50_000),
        edits({"file": "../../etc/passwd", "new": "x"}),
        edits({"file": "/etc/passwd", "new": "x"}),
        edits({"file": ".git/config", "new": "x"}),
        edits({"file": "calc.py", "old": "nowhere", "new": "x"}),
        edits({"file": "calc.py", "new": "def add(a, b:"}),
        edits({"file": "test_calc.py", "new": "def test_add():\n    pass\n"}),
        edits({"file": "conftest.py", "new": "import os\n"}),
        edits({"file": "\ud800.py", "new": "x"}),
        edits({"file": "calc.py/x", "new": "x"}),
        edits({"file": "calc.py", "old": "return a - b", "new": "\ud800"}),
        Reply(text='{"cause": "c", "edits": [{"file": "calc.py", "old": "a", "new": null}]}'),
    ],
)
def test_every_answer_ends_in_a_proposal_and_none_reaches_what_it_must_not(reply: Reply, workspace: Workspace) -> None:
    with ModelServer(reply) as server:
        solved = asking(server).solve(job_on(workspace))
        assert len(server.asked) <= 6
    assert solved.status == "proposed"
    assert {each.path for each in workspace.diff()} <= {"calc.py"}
    assert not checked(workspace).passed


def test_edits_that_do_not_fit_are_asked_for_again_with_the_reason(workspace: Workspace) -> None:
    wrong = edits({"file": "calc.py", "old": "return a * b", "new": "return a + b"})
    with ModelServer(wrong, RIGHT) as server:
        solved = asking(server).solve(job_on(workspace))
    assert solved.fix == "plus"
    assert "not in the file" in server.asked[1].text
    assert checked(workspace).passed


def test_a_whole_file_in_a_fence_is_taken_for_an_answer(workspace: Workspace) -> None:
    with ModelServer(Reply(text=f"Change calc.py:\n```python\n{FIXED}```\n")) as server:
        asking(server).solve(job_on(workspace))
    assert checked(workspace).passed


def test_a_model_that_cannot_write_edits_is_asked_for_a_whole_file(workspace: Workspace) -> None:
    wrong = edits({"file": "calc.py", "old": "return a * b", "new": "return a + b"})
    with ModelServer(wrong, wrong, Reply(text=f"Here:\n```python\n{FIXED}```\n")) as server:
        solved = asking(server).solve(job_on(workspace))
        assert "Write the new calc.py" in server.asked[2].text
        assert "response_format" not in server.asked[2].body
    assert checked(workspace).passed
    assert solved.fix == "rewrote calc.py"
    earlier = Attempt(episode="e", n=1, status="failed", signature="v1:s", note=solved.note)
    with ModelServer(Reply(text=FIXED)) as server:
        asking(server).solve(job_on(workspace, tried=(earlier,)))
        assert "Write the new calc.py" in server.asked[0].text  # and at once, the next time


def test_a_model_that_writes_a_file_down_as_it_was_is_asked_for_its_suspect_lines(workspace: Workspace) -> None:
    earlier = Attempt(episode="e", n=1, status="failed", signature="v1:s", note="answered as a whole file")
    same = Reply(text=f"calc.py:\n```python\n{PROGRAM}```\n")
    with ModelServer(same, Reply(text="`return a + b`")) as server:
        solved = asking(server).solve(job_on(workspace, tried=(earlier,)))
        assert "What must the line `return a - b` be instead?" in server.asked[1].text
        assert "def add(a, b):" in server.asked[1].text
    assert checked(workspace).passed
    assert (solved.fix, "rewrote line" in solved.note) == ("rewrote line 2 of calc.py", True)


def test_a_file_that_may_be_run_stays_so(workspace: Workspace) -> None:
    with ModelServer(edits({"file": "run.sh", "old": "exit 0", "new": "exit 1"})) as server:
        asking(server).solve(job_on(workspace))
    (change,) = workspace.diff()
    assert (change.before_mode, change.after_mode) == (0o755, 0o755)


def test_protected_files_are_shown_as_such_and_stay(workspace: Workspace) -> None:
    with ModelServer(RIGHT) as server:
        solved = asking(server).solve(job_on(workspace, protected=("calc.py",)))
    assert "protected" in solved.reason
    assert workspace.diff() == []
    assert "calc.py (read-only)" in server.asked[0].text


def test_temperature_rises_while_attempts_end_in_the_same_failure(workspace: Workspace) -> None:
    tried = tuple(
        Attempt(episode="e", n=n, status="failed", signature="v1:s", diff=f"-try {n}", reason=f"still {n}")
        for n in (1, 2)
    )
    again = edits({"file": "calc.py", "old": "a - b", "new": "a * b"})
    with ModelServer(again) as server:
        for count in range(3):
            asking(server).solve(job_on(workspace, tried=tried[:count]))
    temperatures = {float(str(each.temperature)) for each in server.asked if "response_format" in each.body}
    assert sorted(temperatures) == pytest.approx([0.2, 0.5, 0.8])
    assert any("-try 2" in each.text for each in server.asked)


def test_a_long_output_is_summarised_by_the_fast_model(workspace: Workspace) -> None:
    def reply(asked: object) -> Reply:
        small = '"small"' in str(getattr(asked, "text", ""))
        return Reply(text='{"summary": "add subtracts"}') if small else RIGHT

    with ModelServer(reply) as server:
        asking(server, fast=True).solve(job_on(workspace, output=OUTPUT * 100))
    assert [each.body["model"] for each in server.asked] == ["small", "any"]
    assert "add subtracts" in server.asked[1].text


def test_a_model_with_a_small_window_is_asked_with_less(workspace: Workspace) -> None:
    def reply(asked: object) -> Reply:
        long = len(str(getattr(asked, "text", ""))) > 8_000
        return Reply(status=400, code="context_length_exceeded", text="maximum context length") if long else RIGHT

    workspace.write("calc.py", f"{PROGRAM}\n# {'x' * 90}\n".encode() + b"# filler line\n" * 900)
    with ModelServer(reply) as server:
        solved = asking(server).solve(job_on(workspace))
    assert solved.fix == "plus"
    assert "(in part)" in server.asked[-1].text


def test_the_function_that_the_failing_test_runs_is_shown_before_anything_else(tmp_path: Path) -> None:
    filler = "".join(f"def helper_{i}(x):\n    return x + {i}\n\n\n" for i in range(700))
    files = {
        "defs.py": "",
        "parse.py": f"from defs import *\n{filler}def wanted(text):\n    return text.strip().lower() + '!'\n",
        "test_parse.py": "from parse import wanted\n" + "# filler\n" * 300 + "\n\ndef test_wanted():\n"
        "    assert wanted(' A ') == 'a'\n",
    }
    project = tmp_path / "named_alike"
    project.mkdir()
    for name, text in files.items():
        (project / name).write_text(text)
    made = LayeredWorkspace.create(project, tmp_path / "alike")
    check = ("python", "-m", "pytest", "-q", "test_parse.py")
    with ModelServer(lambda _asked: RIGHT) as server:
        job = job_on(made, output="test_parse.py:305: AssertionError")
        asking(server).solve(replace(job, task=replace(job.task, check=check)))
    assert "def wanted" in server.asked[0].text
    assert "helper_3(" not in server.asked[0].text
    made.close()


def test_a_model_that_cannot_be_reached_is_the_machines_fault(workspace: Workspace) -> None:
    gone = ModelName(provider="openai-chat", name="any", base_url="http://127.0.0.1:9/v1")
    solver = model.ModelSolver(Chain((gone,), pause=lambda _seconds, _purse: None))
    with pytest.raises(ModelError, match="network"):
        solver.solve(job_on(workspace))


# -- a command ---------------------------------------------------------------------------------------------------------


def options(
    argument: str = "",
    *,
    named: Callable[[str], Solver] | None = None,
    net: Literal["none", "host"] = "none",
    environ: Mapping[str, str] | None = None,
    readable: tuple[Path, ...] = (),
    unpriced: bool = False,
) -> SolverOptions:
    def nobody(name: str) -> Solver:
        raise Refused(f"no solver {name}")

    return SolverOptions(
        argument=argument,
        named=named or nobody,
        net=net,
        environ=environ or {},
        readable=readable,
        allow_unknown_price=unpriced,
    )


def running(script: str, **given: object) -> command.CommandSolver:
    quoted = script.replace("'", "'\"'\"'")
    return command.create(options(f"python3 -c '{quoted}' {given.pop('more', '')}", **given))  # type: ignore[arg-type]


def test_a_command_works_on_the_files_and_is_told_the_task(workspace: Workspace) -> None:
    script = (
        "import os, sys; task = sys.stdin.read(); "
        "assert 'Mend add.' in task and 'AssertionError: -1' in task, task; "
        "assert open(os.environ['RATCHET_TASK_FILE']).read() in task; "
        "assert 'compare the signs' in open(os.environ['RATCHET_LESSONS_FILE']).read(); "
        "assert 'Mend add.' in sys.argv[1] and sys.argv[2] == os.environ['RATCHET_TASK_FILE'], sys.argv; "
        f"open('calc.py', 'w').write({FIXED!r}); print('turned minus into plus')"
    )
    solver = running(script, more="{task} {task_file}")
    solved = solver.solve(job_on(workspace, lessons=(lesson("compare the signs"),)))
    assert (solved.status, solved.reason, solved.fix) == ("proposed", "", "turned minus into plus")
    assert checked(workspace).passed
    assert [each.path for each in workspace.diff()] == ["calc.py"]


def test_a_command_gets_the_variables_and_folders_that_were_named_and_no_others(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_KEY", "other-secret")
    shown = Path(tempfile.mkdtemp(prefix="shown-"))
    shown.chmod(0o755)
    (shown / "settings").write_text("mine", encoding="utf-8")
    (tmp_path / "hidden").write_text("hidden", encoding="utf-8")
    script = (
        f"import os; print(os.environ['MY_KEY'], open({str(shown / 'settings')!r}).read(), "
        f"'OTHER_KEY' in os.environ, os.path.exists({str(tmp_path / 'hidden')!r}))"
    )
    solved = running(script, environ={"MY_KEY": "my-secret-1"}, readable=(shown,)).solve(job_on(workspace))
    shutil.rmtree(shown)
    assert solved.fix == "[redacted:passed] mine False False"


@pytest.mark.parametrize("key", ["passed-on-by-name", 'quoted "twice" by JSON'])
def test_no_part_of_a_passed_value_is_kept_where_what_a_command_said_is_cut(workspace: Workspace, key: str) -> None:
    script = (
        "import json, os; key = os.environ['MY_KEY']; "
        "print(json.dumps({'result': 'x' * 288 + ' ' + key, 'n': 1})); raise SystemExit('y' * 288 + ' ' + key)"
    )
    solved = running(script, environ={"MY_KEY": key}).solve(job_on(workspace))
    assert "[redacted" in solved.fix + solved.reason
    assert key[:6] not in solved.fix + solved.reason


def test_a_command_that_fails_may_have_mended_it_all_the_same(workspace: Workspace) -> None:
    script = f"open('calc.py', 'w').write({FIXED!r}); raise SystemExit('gave up')"
    solved = running(script).solve(job_on(workspace))
    assert solved.status == "proposed"
    assert "ended with 1: gave up" in solved.reason
    assert checked(workspace).passed


def test_a_command_that_cannot_start_is_refused_with_the_remedy(workspace: Workspace) -> None:
    with pytest.raises(Refused, match="no such program"):
        command.create(options("no-such-agent -p")).solve(job_on(workspace))


def test_a_command_ends_with_the_time(workspace: Workspace) -> None:
    solved = running("import time; time.sleep(60)").solve(job_on(workspace, purse=PlainPurse(seconds=1.5)))
    assert "ended by its limit" in solved.reason


def test_a_command_with_a_network_needs_a_price(workspace: Workspace) -> None:
    with pytest.raises(Refused, match="--allow-unknown-price"):
        running("print(1)", net="host").solve(job_on(workspace))
    purse = PlainPurse()
    running("print(1)", net="host", unpriced=True).solve(job_on(workspace, purse=purse))
    assert purse.settled == [0.0]


def test_the_cost_that_a_command_reports_is_paid(workspace: Workspace) -> None:
    purse = PlainPurse(usd=0.5)
    told = json.dumps({"type": "result", "result": "mended it", "total_cost_usd": 0.12})
    solved = running(f"import sys; print({told!r}, sys.argv[1])", net="host", more="{usd}").solve(
        job_on(workspace, purse=purse)
    )
    assert purse.reserved == [0.5]
    assert purse.settled == [0.5]  # what follows the object on its line makes it no report
    solved = running(f"print('working'); print({told!r})", net="host", more="{usd}").solve(
        job_on(workspace, purse=(again := PlainPurse()))
    )
    assert again.settled == [0.12]
    assert solved.fix == "mended it"


def test_a_cost_that_no_float_holds_is_none_and_the_whole_reservation_counts(workspace: Workspace) -> None:
    for cost in ("1" + "0" * 400, "1e999", "NaN", "-1"):
        told = f'{{"type": "result", "result": "x", "total_cost_usd": {cost}}}'
        running(f"print({told!r})", net="host", more="{usd}").solve(
            job_on(workspace, purse=(purse := PlainPurse(usd=0.5)))
        )
        assert purse.settled == [0.5]


def test_a_command_without_a_network_costs_nothing(workspace: Workspace) -> None:
    purse = PlainPurse(usd=0.0)
    running("print(1)").solve(job_on(workspace, purse=purse))
    assert purse.settled == [0.0]


@pytest.mark.parametrize("text", ["", "'unclosed"])
def test_a_command_that_is_none_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="command"):
        command.create(options(text))


# -- the cheap one first -----------------------------------------------------------------------------------------------


class Scripted:
    """A solver that does one thing."""

    def __init__(self, name: str, solved: Solved, write: str = "") -> None:
        self.name = name
        self._solved = solved
        self._write = write
        self.asked: list[SolveJob] = []

    def solve(self, job: SolveJob) -> Solved:
        self.asked.append(job)
        if self._write:
            job.workspace.write("calc.py", self._write.encode())
        return self._solved


def test_auto_takes_the_cheap_proposal_and_says_so(workspace: Workspace) -> None:
    cheap = Scripted("repair", Solved(status="proposed", candidates=3, note="template 7"), FIXED)
    dear = Scripted("model", Solved(status="proposed"))
    solved = auto.AutoSolver(cheap, dear).solve(job_on(workspace))
    assert (solved.by, solved.note, solved.candidates, dear.asked) == ("repair", "template 7", 3, [])
    assert cheap.asked[0].purse.seconds_left() < 21


def test_auto_asks_the_dear_one_on_clean_files_once_the_cheap_one_has_nothing_more(workspace: Workspace) -> None:
    found = "50 small edits were tried without success; the most suspect lines: calc.py:2"
    cheap = Scripted("repair", Solved(status="gave_up", candidates=50, hints=(found,)), "broken")
    dear = Scripted("model", Solved(status="proposed", candidates=1, note="asked x"))
    notes: list[str] = []
    solver = auto.AutoSolver(cheap, dear)
    solved = solver.solve(job_on(workspace, notes=notes))
    assert workspace.diff() == []
    assert (solved.by, solved.candidates, solved.note) == ("model", 51, "after 50 candidates of repair; asked x")
    assert "asking model" in notes[0]
    assert dear.asked[0].hints == (found,)
    solver.solve(job_on(workspace))
    assert (len(cheap.asked), len(dear.asked)) == (1, 2)


GUESS = Solved(status="proposed", standing="doubtful", candidates=3)
OTHER = PROGRAM.replace("-", "*")


@pytest.mark.parametrize(
    ("written", "more", "by"),
    [
        ([FIXED], True, ["model"]),
        ([OTHER, FIXED], True, ["model", "model"]),  # the first is shown what became of it
        ([OTHER, OTHER], True, ["model", "repair"]),
        ([OTHER], False, ["repair"]),  # nobody asks again
        ([], True, ["repair"]),  # no model answers
    ],
)
def test_a_guess_waits_until_the_model_has_read_the_words(
    workspace: Workspace, written: list[str], more: bool, by: list[str]
) -> None:
    """What a search guesses passes the check by chance more often than not; it has not read what is wanted."""
    cheap = Scripted("repair", GUESS, FIXED + "# a guess\n")
    solver = auto.AutoSolver(cheap, _Answering([*written]))
    found = []
    for _ in by:
        workspace.restore(START)
        found.append(solver.solve(replace(job_on(workspace), more=more)))
    assert [each.by for each in found] == by
    assert (b"# a guess" in workspace.read("calc.py")) == (by[-1] == "repair")
    assert checked(workspace).passed
    assert all(each.status == "proposed" for each in found)


class _Answering:
    """A model that writes one text after another, and then cannot be reached."""

    name = "model"

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    def solve(self, job: SolveJob) -> Solved:
        if not self._texts:
            raise ModelError("it does not answer", retryable=True)
        job.workspace.write("calc.py", self._texts.pop(0).encode())
        return Solved(status="proposed", candidates=1)


def test_a_guess_is_taken_at_once_where_nobody_wrote_what_is_wanted(workspace: Workspace) -> None:
    job = job_on(workspace)
    solver = auto.AutoSolver(Scripted("repair", GUESS, FIXED), _Answering([]))
    assert solver.solve(replace(job, task=replace(job.task, instruction=""))).by == "repair"


def test_auto_without_a_model_gives_up_and_says_what_is_missing(workspace: Workspace) -> None:
    cheap = Scripted("repair", Solved(status="gave_up", reason="no template fits"))

    def named(name: str) -> Solver:
        if name == "repair":
            return cheap
        raise Refused("set RATCHET_MODEL")

    solved = auto.create(options(named=named)).solve(job_on(workspace))
    assert solved.status == "gave_up"
    assert "no template fits" in solved.reason
    assert "set RATCHET_MODEL" in solved.reason


# -- a second opinion --------------------------------------------------------------------------------------------------


class Saying:
    """A judge with one verdict."""

    name = "command"

    def __init__(self, *, passed: bool) -> None:
        self._verdict = Verdict(passed=passed, score=float(passed), reason="" if passed else "no")

    def judge(
        self,
        workspace: Workspace,
        sandbox: Sandbox,
        task: Task,
        *,
        limits: Limits,
        purse: Purse,
        first: Verdict | None = None,
    ) -> Verdict:
        return self._verdict


@pytest.mark.parametrize(
    ("passed", "said", "expected"),
    [
        (True, '{"right": true}', True),
        (True, '{"right": false, "reason": "special-cases 3"}', False),
        (False, '{"right": true}', False),
        (True, "no idea", True),
    ],
)
def test_a_second_opinion_only_ever_doubts_a_pass(
    passed: bool, said: str, expected: bool, workspace: Workspace
) -> None:
    failed = Verdict(passed=False, score=0.0)
    workspace.write("calc.py", FIXED.encode())
    with ModelServer(Reply(text=said)) as server:
        named = ModelName(provider="openai-chat", name="any", base_url=server.openai_url)
        judge = SecondOpinion(Saying(passed=passed), Chain((named,)))
        task = Task(id="t", check=("true",))
        found = judge.judge(workspace, SANDBOX, task, limits=Limits(), purse=PlainPurse(), first=failed)
        assert found.passed is expected
        assert len(server.asked) == (0 if not passed else 2 if said == "no idea" else 1)
    if passed and not expected:
        assert "special-cases 3" in found.reason
        assert found.score < 1


def test_nothing_of_a_solver_is_left_on_the_host(workspace: Workspace) -> None:
    before = set(Path(tempfile.gettempdir()).glob("ratchet-task-*"))
    running("print(1)").solve(job_on(workspace))
    assert set(Path(tempfile.gettempdir()).glob("ratchet-task-*")) <= before
    with pytest.raises(NotFound):
        workspace.read("task.md")
    assert sys.executable
