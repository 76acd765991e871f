"""A loop is the same call again and again with nothing new in between, also where each call succeeds."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.failures.intent import intent
from ratchet.failures.patterns.health import health
from ratchet.failures.patterns.ingest import DERIVED, ingest
from ratchet.failures.patterns.loops import PAUSE_S, SAME_RESULT, TRANSIENT, UNSURE, loops
from ratchet.failures.patterns.patterns import patterns
from ratchet.failures.tool_call import result_mark
from ratchet.recording.rows import row_of
from ratchet.recording.sources import source_for
from ratchet.recording.sources.calls import Result, closed, opened
from ratchet.records import Json, Outcome, Row
from ratchet.testing.stores import open_store

Steps = list[Row]


class Session:
    """Writes down what an agent does, a minute a call."""

    def __init__(self) -> None:
        self.rows: Steps = []
        self._numbers = count()

    def bash(self, command: str, brought: str | None = "same", *, error: str = "", kind: str = "") -> None:
        head, target = intent("Bash", {"command": command})
        self.call("Bash", command, brought, error=error, kind=kind, head=head, target=target)

    def read(self, path: str, brought: str | None = "same") -> None:
        self.call("Read", '{"file_path":"' + path + '"}', brought, head="read", target=path)

    def edit(self, path: str, *, error: str = "") -> None:
        self.call("Edit", '{"file_path":"' + path + '"}', None, error=error, head="edit", target=path, change="+ x")

    def call(
        self, tool: str, asked: str, brought: str | None = None, *, error: str = "", kind: str = "", **step: Json
    ) -> None:
        number = next(self._numbers)
        row: Row = {
            "id": f"o{number:03d}",
            "agent": "claude-code",
            "ok": not error,
            "started_at": 60.0 * number,
            "duration_s": 2.0,
            "tokens": 10,
            "session": "s",
            "step": {"tool": tool, "input": asked, **step},
        }
        if error:
            row["failure"] = {"message": error, "kind": kind or "command_failed"}
        elif brought is not None:
            row["context"] = {"result": result_mark(brought)}
        self.rows.append(row)

    @property
    def found(self) -> list[tuple[str, int]]:
        return [(str(row["task"]), len(calls_of(row))) for row in loops(self.rows)]


def calls_of(row: Row) -> list[Json]:
    context = row["context"]
    assert isinstance(context, dict)
    calls = context["calls"]
    assert isinstance(calls, list)
    return calls


@pytest.fixture
def session() -> Session:
    return Session()


def test_the_same_successful_call_three_times_is_a_loop(session: Session) -> None:
    for _ in range(SAME_RESULT):
        session.bash("pytest -q tests")
    (row,) = loops(session.rows)
    failure = row["failure"]
    assert isinstance(failure, dict)
    assert failure["kind"] == "loop_detected"
    assert failure["flagged"] is False
    assert (row["ok"], row["source"], row["task"], row["session"]) == (False, DERIVED, "Bash", "s")
    assert calls_of(row) == ["o000", "o001", "o002"]
    assert row["started_at"] == 120.0


def test_a_loop_counts_nothing_that_its_calls_count_already(session: Session) -> None:
    for said in ("", "", "boom", "boom"):
        session.call("Bash", "make", None if said else "done", error=said, head="make")
    session.call("Bash", "make", "done", head="make")
    (row,) = loops([each for each in session.rows if each["ok"]])
    assert not {"tokens", "duration_s", "cost_usd"} & row.keys()
    context = row["context"]
    assert isinstance(context, dict)
    assert (context["tokens"], context["duration_s"]) == (20, 4.0)


def test_what_a_loop_repeated_is_what_its_pattern_wasted(tmp_path: Path, session: Session) -> None:
    for _ in range(4):
        session.bash("pytest -q tests")
    store = open_store(tmp_path)
    ingest(store, session.rows)
    ingest(store, loops(session.rows))
    (found,) = patterns(store, now=1000.0)
    store.close()
    assert (found.wasted_s, found.wasted_tokens) == (6.0, 30)


def test_twice_is_none(session: Session) -> None:
    session.bash("pytest -q tests")
    session.bash("pytest -q tests")
    assert session.found == []


def test_the_same_failing_call_is_a_loop(session: Session) -> None:
    for _ in range(3):
        session.bash("npm run build", error="error TS2345: no")
    assert session.found == [("Bash", 3)]


def test_what_trims_the_output_or_talks_to_people_makes_no_other_call(session: Session) -> None:
    for command in ("mise run lint", "mise run lint 2>&1 | head -50", "mise  run lint 2>&1 | tail -20"):
        session.bash(command)
    for words in ("Look at it", "Look again", "Once more"):
        session.call("Search", '{"query":"x","description":"' + words + '"}', "same")
    assert session.found == [("Bash", 3), ("Search", 3)]


def test_nearly_the_same_call_with_the_same_result_is_a_loop(session: Session) -> None:
    for flag in ("-n", "-rn", "-rin", "-rl"):
        session.bash(f"grep {flag} 'def main' src/app/main.py src/app/cli.py src/app/run.py src/app/serve.py")
    assert session.found == [("Bash", UNSURE)]


def test_reading_on_in_a_file_is_no_loop(session: Session) -> None:
    for offset in range(8):
        asked = '{"file_path":"/srv/app/main.py","limit":200,"offset":' + str(offset * 200) + "}"
        session.call("Read", asked, f"part {'abcdefgh'[offset]}", head="read", target="/srv/app/main.py")
    assert session.found == []


def test_different_files_are_different_calls(session: Session) -> None:
    for name in "abcdefgh":
        session.read(f"/srv/app/{name}.py", "empty")
    assert session.found == []


def test_an_edit_in_between_ends_a_run_and_a_failed_one_does_not(session: Session) -> None:
    for _ in range(4):
        session.bash("pytest -q tests")
        session.edit("/srv/app.py")
    assert session.found == []
    for _ in range(3):
        session.bash("pytest -q tests")
        session.edit("/srv/app.py", error="old_string not found")
    assert ("Bash", 3) in session.found


@pytest.mark.parametrize(
    "command", ["git commit -m x", "pip install y", "sed -i s/a/b/ f.py", "echo x > f.txt", "make generate"]
)
def test_a_command_that_changes_things_in_between_ends_a_run(session: Session, command: str) -> None:
    session.bash("pytest -q tests")
    session.bash("pytest -q tests")
    session.bash(command, "changed")
    session.bash("pytest -q tests")
    assert session.found == []


@pytest.mark.parametrize("command", ["git status", "ls -la", "cat app.py", "grep -n x app.py 2>&1 | head"])
def test_looking_around_in_between_changes_nothing(session: Session, command: str) -> None:
    for number in range(3):
        session.bash("pytest -q tests")
        session.bash(f"{command} {number}", f"seen {number}")
        session.read(f"/srv/{number}.py", "text")
    assert session.found == [("Bash", 3)]


def test_going_round_in_several_steps_is_a_loop(session: Session) -> None:
    for _ in range(5):
        session.call("browser_open", "http://a", "page", head="browser_open")
        session.call("browser_click", "login", "denied", head="browser_click")
    assert {tool for tool, _ in session.found} == {"browser_open", "browser_click"}


@pytest.mark.parametrize(
    "said",
    [
        "TypeError: bad operand (pid {0}7{0}1)",
        "TypeError: <Foo object at 0x7f{0}ab> is not callable",
        '{{"error":"bad request","request_id":"9b2d7c1e-0000-4000-8000-00000000000{0}"}}',
        "Error: Cannot resolve './x'\nA complete log is in: /home/dev/.npm/_logs/2026-11-03T10_0{0}_00Z-debug.log",
        "cc1: fatal error: /tmp/cc{1}.c: No such file or directory",
    ],
)
def test_a_failure_is_the_same_whatever_it_is_numbered(session: Session, said: str) -> None:
    for number, name in enumerate("aqxzk"):
        session.bash("make all", error=said.format(number, name * 4))
    assert session.found == [("Bash", 5)]


def test_edits_that_do_not_touch_a_failure_go_round_with_it(session: Session) -> None:
    for _ in range(UNSURE - 1):
        session.edit("/srv/app.js")
        session.bash("npm test", error="FAIL app.test.js:4:2 expected 2")
        session.bash("git checkout app.js", "Updated 1 path")
    assert session.found == []
    session.bash("npm test", error="FAIL app.test.js:9:2 expected 2")
    assert session.found == [("Bash", UNSURE)]
    [found] = loops(session.rows)
    assert "whatever was changed in between" in str(found["failure"])


def test_a_failure_that_moves_on_after_each_edit_is_no_loop(session: Session) -> None:
    for number in range(6):
        session.edit("/srv/app.js")
        session.bash("npm test", error=f"{6 - number} failed, {number} passed")
    for _ in range(3):
        session.bash("make", error="no rule to make target")
        session.edit("/srv/Makefile")
    session.bash("make", "built")
    session.bash("make", error="no rule to make target")
    assert session.found == []


@pytest.mark.parametrize(("said", "found"), [("Pressed key ArrowDown", 0), ("Row 3 of 3 is shown", 1)])
def test_a_key_that_says_only_that_it_was_pressed_is_no_loop(said: str, found: int) -> None:
    rows: Steps = []
    for number in range(6):
        call = opened("mcp__browser__press_key", {"key": "ArrowDown"}, at=60.0 * number)
        result = Result(text=said, at=60.0 * number + 1)
        rows.append(row_of(closed(call, result, agent="a", session="s", key=str(number))))
    assert len(loops(rows)) == found


def test_polling_with_changing_results_is_no_loop(session: Session) -> None:
    for number in range(8):
        session.bash("gh run view 17", f"step {number} of 8 done")
    assert session.found == []


def test_results_that_differ_only_in_their_timing_are_the_same(session: Session) -> None:
    for number in range(3):
        session.bash("pytest -q", f"5 passed in 0.{number}2s at 10:0{number}:11")
    assert session.found == [("Bash", 3)]


def test_without_knowing_the_results_it_takes_one_more(session: Session) -> None:
    for _ in range(UNSURE - 1):
        session.bash("pytest -q", None)
    assert session.found == []
    session.bash("pytest -q", None)
    assert session.found == [("Bash", UNSURE)]


def test_retrying_what_may_pass_by_itself_is_right_up_to_a_point(session: Session) -> None:
    for _ in range(TRANSIENT - 1):
        session.bash("curl x", error="429 Too Many Requests", kind="rate_limit")
    assert session.found == []
    session.bash("curl x", error="429 Too Many Requests", kind="rate_limit")
    assert session.found == [("Bash", TRANSIENT)]


def test_refused_steps_waiting_and_notes_are_no_loops(session: Session) -> None:
    for _ in range(6):
        session.bash("rm -rf build", error="The user doesn't want to proceed", kind="user_denied")
        session.call("TodoWrite", "{}", "ok")
        session.call("BashOutput", '{"id":1}', "running")
        session.bash("sleep 5", "")
    assert session.found == []


def test_a_long_pause_starts_anew(session: Session) -> None:
    for _ in range(4):
        session.bash("pytest -q tests")
    for number, row in enumerate(session.rows):
        row["started_at"] = number * (PAUSE_S + 1)
    assert session.found == []


def test_subagents_are_searched_apart(session: Session) -> None:
    for thread in ("", "x", "y"):
        session.bash("pytest -q tests")
        session.rows[-1]["thread"] = thread
    assert session.found == []


def test_outcomes_without_a_step_are_passed_over() -> None:
    assert loops([{"id": "o1", "agent": "a", "ok": True, "started_at": 1.0, "session": "s"}] * 5) == []


@given(st.permutations(range(9)))
def test_the_order_of_arrival_does_not_matter(order: list[int]) -> None:
    session = Session()
    for number in range(9):
        session.bash("pytest -q tests" if number % 2 else f"git show {number}", "same" if number % 2 else str(number))
    assert loops([session.rows[number] for number in order]) == loops(session.rows)


def test_a_loop_is_stored_once_as_a_pattern_and_leaves_health_alone(session: Session, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for _ in range(3):
        session.bash("pytest -q tests")
    ingest(store, session.rows)
    ingest(store, loops(session.rows))
    session.bash("pytest -q tests")  # the session goes on: the loop is the same one
    ingest(store, session.rows)
    ingest(store, loops(session.rows))
    (found,) = patterns(store, now=1000.0)
    assert (found.kind, found.count, found.wasted_s) == ("loop_detected", 1, 4.0)
    assert health(store).score == 1.0
    store.close()


def test_successful_edits_are_no_loop_however_alike(session: Session) -> None:
    for number in range(6):
        asked = json.dumps(
            {"file_path": "/srv/app.json", "old_string": "x" * 90 + str(number), "new_string": "y " * 60}
        )
        session.call("Edit", asked, "updated", head="edit", target="/srv/app.json", change="- x\n+ y")
        session.bash("echo done >> log.txt", "")
        session.bash("git add -A", "")
    assert session.found == []


def test_the_same_failing_edit_is_a_loop_though_its_long_text_is_worded_anew(session: Session) -> None:
    for word in ("a", "b", "c", "d"):
        asked = json.dumps({"file_path": "/srv/app.json", "old_string": f"{word} " + "some words of a text " * 8})
        session.call("Edit", asked, error="String to replace not found", head="edit", target="/srv/app.json")
    assert session.found == [("Edit", UNSURE)]


@pytest.mark.parametrize(
    ("tool", "field", "values"),
    [
        ("Grep", "pattern", ("useAuth", "AuthProvider", "loginUser", "SessionToken", "logout")),
        ("Read", "offset", (1, 200, 400, 600, 800)),
        ("WebSearch", "query", ("redis ttl 2022", "redis ttl 2023", "redis ttl 2024", "redis ttl 2025", "redis ttl")),
        ("Grep", "-i", (True, False, "yes", None, 1)),
    ],
)
def test_another_value_of_a_short_field_is_another_question(
    session: Session, tool: str, field: str, values: tuple[Json, ...]
) -> None:
    around = {"path": "/home/dev/shop/src/components/pages", "output_mode": "content", "note": "words " * 40}
    for value in values:
        session.call(tool, json.dumps({**around, field: value}), "No matches found", head="search", target="/home")
    assert session.found == []


def test_a_listing_and_its_longer_form_are_one_loop(session: Session) -> None:
    for _ in range(5):
        session.bash("ls /srv/custom/", "custom.css")
        session.bash("ls -la /srv/custom/", "custom.css")
    assert session.found == [("Bash", 10)]


def test_a_listing_and_its_longer_form_are_one_loop_also_where_each_brings_its_own(session: Session) -> None:
    for _ in range(5):
        session.bash("ls /srv/custom/", "custom.css")
        session.bash("ls -la /srv/custom/", "-rw-r--r-- custom.css")
    assert session.found == [("Bash", 10)]


@pytest.mark.parametrize("asked", ["", "{}", '{"key":"[redacted:token]"}', "x [... 90 characters left out ...] y"])
def test_what_is_not_known_is_not_the_same(session: Session, asked: str) -> None:
    for _ in range(8):
        session.call("Lookup", asked, "nothing")
    assert session.found == []


def test_pictures_are_never_the_same(session: Session) -> None:
    for _ in range(8):
        session.call("mcp__browser__screenshot", '{"fullPage":true}', "Took it\n[image]")
    assert session.found == []


def test_a_persons_word_is_a_boundary(session: Session) -> None:
    for turn in range(6):
        session.bash("pytest -q tests")
        session.rows[-1]["context"] = {"result": result_mark("same"), "turn": turn}
    assert session.found == []


@pytest.mark.parametrize(
    "command", ["sleep 30 && gh run view 7", "gh run view 7 --watch", "sleep 5; curl -s localhost"]
)
def test_polling_that_waits_is_no_loop(session: Session, command: str) -> None:
    for _ in range(8):
        session.bash(command, "pending")
    assert session.found == []


@pytest.mark.parametrize("waiting", ["mcp__browser__wait_for", "mcp__browser__wait", "BashOutput", "Sleep"])
def test_a_wait_in_between_lets_the_world_move(session: Session, waiting: str) -> None:
    for _ in range(8):
        session.bash("gh run view 7", "pending")
        session.call(waiting, '{"time":2}', "Waited for 2")
    assert session.found == []


@pytest.mark.parametrize(("tool", "found"), [("search", 1), ("list", 1), ("write", 0), ("create", 0), ("edit", 0)])
def test_a_servers_tool_looks_or_changes_as_its_name_says(session: Session, tool: str, found: int) -> None:
    for _ in range(4):
        session.call(f"mcp__files__{tool}", '{"path":"/srv/app"}', "same")
    assert len(session.found) == found


def test_calls_that_were_made_at_once_are_no_repetition(session: Session) -> None:
    for _ in range(5):
        session.call("Task", '{"prompt":"solve it"}', "done")
    assert session.found == [("Task", 5)]
    for row in session.rows:
        row["started_at"], row["duration_s"] = 0.0, 60.0
    assert session.found == []


def test_what_is_piped_into_a_file_changes_it(session: Session) -> None:
    for _ in range(4):
        session.bash("echo x | tee -a notes.txt", "x")
    assert session.found == []


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("false_loop_f_edits", 0),
        ("false_loop_j_patch", 0),
        ("false_loop_four_different_greps", 0),
        ("false_loop_screenshots", 0),
        ("missed_near_equal_loop_ls", 1),
    ],
)
def test_loops_of_recorded_sessions(tmp_path: Path, name: str, found: int) -> None:
    case = Path(__file__).parents[4] / "shared/cases/histories" / f"{name}.jsonl"
    if not case.exists():
        pytest.skip(f"no {case}: clone the shared data beside this repository")
    store = open_store(tmp_path)
    source = source_for(str(case))
    read = [item for each in source.read(str(case), 0, {}) for item in each.items if isinstance(item, Outcome)]
    ingest(store, [row_of(item) for item in read])
    assert len(loops(store.find("outcomes", {}, order=("started_at",)).rows)) == found
    store.close()


@pytest.mark.parametrize(
    "command",
    [
        "gh run watch 1", "gh pr checks 1 --watch", "kubectl wait --for=condition=ready pod/x", "docker wait web",
        "Start-Sleep 30; gh run view 1", "timeout /t 30 & curl x", "sleep 5 && curl x", "tail -f app.log",
    ],
)  # fmt: skip
def test_a_command_that_waits_is_asked_again(session: Session, command: str) -> None:
    for _ in range(8):
        session.bash(command, "in progress")
    assert session.found == []


def test_a_folder_with_and_without_a_slash_is_one(session: Session) -> None:
    for command in ("ls src", "ls -la src/", "ls -l src", "ls src/"):
        session.bash(command, "a b")
    assert session.found == [("Bash", UNSURE)]
