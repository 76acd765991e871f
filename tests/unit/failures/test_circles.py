"""An agent that goes round in a circle is told so at the third or fourth time; honest work is left alone."""

from __future__ import annotations

import pytest

from ratchet.failures.circles import Circle, RecentCall, circle
from ratchet.records import Json

PERSON = None


def bash(command: str, said: str, *, failed: bool = False, at: float = 0.0) -> RecentCall:
    return RecentCall("Bash", {"command": command, "description": "Run it"}, said, failed=failed, at=at)


def edit(path: str = "/p/a.ts", number: int = 0) -> RecentCall:
    given: Json = {"file_path": path, "old_string": f"a{number}", "new_string": f"b{number}"}
    return RecentCall("Edit", given, f"The file {path} has been updated.")


def told_at(calls: list[RecentCall | None]) -> tuple[int, Circle] | None:
    """The first call, counted from 1, that closes a circle."""
    made = [
        call and RecentCall(call.tool, call.given, call.said, failed=call.failed, at=call.at, turn=turn)
        for turn, call in enumerate(calls)
    ]
    for number in range(1, len(made) + 1):
        found = circle(made[:number])
        if found is not None:
            return number, found
    return None


# --- after public reports -------------------------------------------------------------------------------------------


def test_the_same_command_that_times_out_again_and_again() -> None:
    """anthropics/claude-code 15909: a subagent ran one npm install 300 times."""
    said = "Command timed out after 3m 0s\nnpm warn idealTree"
    found = told_at([bash("npm install -D @vitest/coverage-v8", said, failed=True) for _ in range(8)])
    assert found is not None
    assert (found[0], found[1].times, found[1].wordings) == (4, 4, 1)


def test_the_same_command_that_fails_outright_is_told_at_the_third_time() -> None:
    """anthropics/claude-code 19699: one make target that is not there, seven times."""
    said = "Exit code 2\nmake: *** No rule to make target 'run-runner'.  Stop."
    found = told_at([bash('ssh host "make run-runner" 2>&1', said, failed=True) for _ in range(7)])
    assert found is not None
    assert found[0] == 3


def test_the_same_error_after_every_fix() -> None:
    """anthropics/claude-code 38405: each fix of a TypeScript error leaves it as it was."""
    said = "Exit code 2\nsrc/a.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'."
    calls: list[RecentCall | None] = []
    for number in range(6):
        calls += [edit(number=number), bash("npx tsc --noEmit", said, failed=True)]
    found = told_at(calls)
    assert found is not None
    assert found[1].times == 4


def test_the_same_error_after_every_fix_wherever_the_fix_moved_it() -> None:
    """anthropics/claude-code 57535 and its like: an edit above a finding moves it, and leaves it as it was."""
    said = "Exit code 2\nsrc/a.ts({0},5): error TS2322: Type 'string' is not assignable to type 'number'.\n{0} | x = y"
    calls: list[RecentCall | None] = []
    for number in range(6):
        calls += [edit(number=number), bash("npx tsc --noEmit", said.format(10 + 3 * number), failed=True)]
    found = told_at(calls)
    assert found is not None
    assert found[1].times == 4


def test_a_request_that_is_sent_again_every_minute() -> None:
    """anthropics/claude-code 35166, of which only the title was to be had: a request sent hundreds of times."""
    said = 'Exit code 22\n{"type":"error","error":{"type":"overloaded_error"},"request_id":"req_011CZ%d4f6h8j0"}'
    calls = [bash("curl -sf api/run -d @job.json", said % (n + 10), failed=True, at=60.0 * n) for n in range(12)]
    found = told_at([*calls])
    assert found is not None
    assert found[0] == 4


def test_the_same_content_written_to_two_places_in_turns() -> None:
    """openclaw 112479."""
    calls: list[RecentCall | None] = [
        RecentCall("write", {"path": path, "content": "The body."}, f"Successfully wrote 9 bytes to {path}")
        for _ in range(6)
        for path in ("/tmp/issue-body.md", "/tmp/issue.md")
    ]
    found = told_at(calls)
    assert found is not None
    assert found[1].times == 4


def test_one_file_that_says_the_same_whatever_it_is_asked() -> None:
    """Its end again: each call asks for another place behind it."""
    said = "Warning: the file exists but is shorter than the provided offset. The file has 12 lines."

    def read(path: str, offset: int) -> RecentCall:
        return RecentCall("Read", {"file_path": path, "offset": offset}, said)

    found = told_at([read("/p/a.log", 100 * n) for n in range(8)])
    assert found is not None
    assert (found[0], found[1].wordings) == (4, 4)
    assert told_at([read(f"/p/{n}.log", 100 * n) for n in range(8)]) is None
    assert told_at([call for n in range(8) for call in (read("/p/a.log", n), edit("/p/a.log", n))]) is None


def test_the_same_failure_in_other_words() -> None:
    """openclaw 117637, which 118071 mends there: forty commands that open one missing file, each with another slice."""
    said = "Exit code 1\nFileNotFoundError: [Errno 2] No such file or directory: '/data/report.csv'"
    calls: list[RecentCall | None] = [
        bash(f"python3 -c \"print(open('/data/report.csv').read()[:{n}00])\"", said, failed=True) for n in range(1, 9)
    ]
    found = told_at(calls)
    assert found is not None
    assert (found[0], found[1].wordings) == (4, 4)


def test_probes_that_fail_without_a_word_are_no_circle() -> None:
    """openclaw 118071: what only ends with a code says nothing about a cause that comes again."""
    for said in ("", "Exit code 1", "(no output)\nCommand exited with code 1"):
        assert told_at([bash(f"test -e /p/part-{n}.csv", said, failed=True) for n in range(12)]) is None, said


def test_two_searches_in_turns_that_find_the_same() -> None:
    """A client's session of 153 calls, 141 of them two greps in turns."""
    one = bash("grep -rn getShellCommandPolicy src", "src/base-agent.ts:731: getShellCommandPolicy(): Policy;")
    other = bash("grep -rln shell-command-policy .", "docs/plan.md\ndocs/older-plan.md")
    calls: list[RecentCall | None] = [
        bash(*pair) for _ in range(6) for pair in ((one.input, one.said), (other.input, other.said))
    ]
    found = told_at(calls)
    assert found is not None
    assert found[0] == 5  # the third of the first search


def test_a_round_of_four_reads_that_bring_nothing_new() -> None:
    """clacky-ai/openclacky 440: four calls in a fixed order, nine rounds of them."""
    texts = [f"{n} lines of a file that nobody has changed" for n in range(4)]
    calls: list[RecentCall | None] = [
        RecentCall("Read", {"file_path": "/p/open_ai.rb", "offset": at * 50}, text)
        for _ in range(9)
        for at, text in enumerate(texts)
    ]
    found = told_at(calls)
    assert found is not None
    assert found[0] == 9  # the third round begins


def test_a_failure_whose_words_hold_another_time_or_number_each_time() -> None:
    """openclaw 93917: one command that fails, with a time and a counter in what it prints."""
    calls: list[RecentCall | None] = [
        bash("sh -c 'sync --since now'", f"Exit code 1\n17848{n}9312 sync: request {n} was refused", failed=True)
        for n in range(6)
    ]
    found = told_at(calls)
    assert found is not None
    assert found[0] == 3


def test_a_message_that_is_sent_again_and_again_gets_an_identifier_each_time() -> None:
    """openclaw 89090: each answer holds a messageId of its own."""
    given: Json = {"to": "team", "text": "done"}
    calls: list[RecentCall | None] = [
        RecentCall("message", given, f'{{"ok":true,"messageId":"om_x100b{n}9f3e2d1c0a8b7e6d"}}') for n in range(8)
    ]
    found = told_at(calls)
    assert found is not None
    assert found[0] == 4


def test_a_call_without_any_output_that_is_made_again_and_again() -> None:
    """openclaw 71369: a tool that prints nothing; 34574: one that prints the same 121 times."""
    found = told_at([bash("graf export --id 7", "") for _ in range(8)])
    assert found is not None
    assert found[0] == 4
    again = told_at([RecentCall("exec", {"command": "graf list"}, "panel 1\npanel 2, nothing else") for _ in range(8)])
    assert again is not None
    assert again[0] <= 4


def test_a_file_that_is_written_again_and_again_in_the_same_words() -> None:
    """openclaw 81706: one rule was written six times into one file."""
    given: Json = {"path": "SOUL.md", "content": "Never repeat yourself."}
    found = told_at([RecentCall("write", given, "Successfully wrote 22 bytes to SOUL.md") for _ in range(8)])
    assert found is not None
    assert found[0] == 4


def test_a_command_that_is_started_again_while_it_still_runs() -> None:
    """openclaw 128855: each start gets a process of its own, and nobody looks at the first."""
    said = "Command still running (pid {}). Use process for follow-up."
    found = told_at([bash("bash run_scan.sh", said.format(179249 + n)) for n in range(8)])
    assert found is not None
    assert found[0] == 4


def test_one_file_that_refuses_every_wording_of_an_edit() -> None:
    """The old text is not there, nor is any other one: what follows the first line quotes the call."""

    def refused(path: str, old: str) -> RecentCall:
        given: Json = {"file_path": path, "old_string": old, "new_string": "x"}
        return RecentCall("Edit", given, f"String to replace not found in file.\nString: {old}", failed=True)

    found = told_at([refused("/p/a.ts", f"attempt {name}") for name in "abcdef"])
    assert found is not None
    assert (found[0], found[1].wordings) == (4, 4)
    assert told_at([refused(f"/p/{name}.ts", f"attempt {name}") for name in "abcdef"]) is None


def test_a_failure_that_names_another_temporary_file_each_time() -> None:
    said = "Exit code 1\ncc1: fatal error: /tmp/cc{}.c: No such file or directory"
    assert told_at([bash("make", said.format(name), failed=True) for name in ("aXw", "bQr", "cZk")]) is not None
    edited = [
        each for name in "abcd" for each in (edit(number=ord(name)), bash("make", said.format(name), failed=True))
    ]
    assert told_at([*edited]) is not None


@pytest.mark.parametrize(
    "said", ["String to replace not found in file.\nString: x = 1", "File has not been read yet. Read it first."]
)
def test_a_refused_edit_is_the_same_with_and_without_the_tags_of_its_client(said: str) -> None:
    """A hook hears what a transcript holds in other words."""
    given: Json = {"file_path": "/p/a.py", "old_string": "x = 1", "new_string": "x = 2"}
    tagged = f"<tool_use_error>{said}</tool_use_error>"
    found = told_at([RecentCall("Edit", given, each, failed=True) for each in (said, said, tagged)])
    assert found is not None
    assert found[0] == 3


def test_one_cause_that_stops_every_command() -> None:
    """openclaw 75923: a run that turns from one failing command to the next."""
    said = "Exit code 1\nbash: cannot create temp file for here-document: No space left on device"
    commands = ("make build", "npm test", "git commit -am x", "python3 run.py", "ls > out")
    found = told_at([bash(command, said, failed=True) for command in commands])
    assert found is not None
    assert found[0] == 4


# --- what is no circle ----------------------------------------------------------------------------------------------


def test_polling_that_waits_is_left_alone() -> None:
    pending = "build 4711: in progress, no log yet"
    assert told_at([bash("sleep 30 && gh run view 4711", pending) for _ in range(9)]) is None
    in_turns: list[RecentCall | None] = []
    for _ in range(6):
        in_turns += [bash("sleep 20", "slept for a while now"), bash("gh run view 4711", pending)]
    assert told_at(in_turns) is None
    assert told_at([bash("gh run view 4711", pending, at=60.0 * n) for n in range(9)]) is None
    assert told_at([RecentCall("BashOutput", {"bash_id": "b1"}, pending) for _ in range(9)]) is None


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("until curl -sf localhost:3000; do sleep 2; done", "Exit code 143\nCommand timed out after 2m 0.0s"),
        ("timeout 60 bash -c 'while ! nc -z db 5432; do sleep 1; done'", "Exit code 124"),
        ("sleep 20 && curl -sf localhost:3000/health", "Exit code 7\ncurl: (7) Failed to connect to localhost"),
        ("kubectl wait --for=condition=ready pod/x", "Exit code 1\nerror: timed out waiting for the condition"),
        ("gh run watch 4711", "Exit code 1\nbuild 4711: in progress, no log yet"),
    ],
)
def test_a_wait_that_fails_is_left_alone(command: str, said: str) -> None:
    assert told_at([bash(command, said, failed=True) for _ in range(9)]) is None


ECHOES: list[tuple[str, Json, str]] = [
    ("mcp__browser__computer", {"action": "left_click", "coordinate": [5, 6]}, "Clicked at (5, 6)"),
    ("mcp__browser__computer", {"action": "scroll", "direction": "down", "amount": 5}, "Scrolled down by 5 ticks"),
    ("mcp__browser__press_key", {"key": "ArrowDown"}, "Pressed key ArrowDown"),
    ("mcp__browser__click", {"uid": "1_4"}, "Successfully clicked on the element"),
    ("mcp__phone__swipe_on_screen", {"direction": "up"}, "Swiped up on screen"),
    ("mcp__browser__navigate_back", {}, "Went back"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "given", "said"), ECHOES)
def test_a_click_that_says_only_that_it_was_made_is_left_alone(tool: str, given: Json, said: str) -> None:
    """It says nothing of the page to which it led."""
    assert told_at([RecentCall(tool, given, said) for _ in range(9)]) is None


@pytest.mark.parametrize("tool", ["mcp__tracker__get_issue", "mcp__tracker__issue_state"])
def test_an_answer_about_the_state_is_no_echo(tool: str) -> None:
    given: Json = {"id": "A-1"}
    assert told_at([RecentCall(tool, given, "Issue A-1 waits for review by 2 people") for _ in range(9)]) is not None


def test_a_poll_whose_answer_changes_is_left_alone() -> None:
    assert told_at([bash("kubectl get pods", f"web-1 Running, {n} of 9 pods are ready") for n in range(9)]) is None


def test_retries_with_a_wait_between_are_left_alone() -> None:
    calls: list[RecentCall | None] = []
    for _ in range(5):
        calls += [
            bash("curl -s api", "HTTP 429 Too Many Requests", failed=True),
            bash("sleep 60", "slept for a minute"),
        ]
    assert told_at(calls) is None


def test_test_driven_work_is_left_alone() -> None:
    calls: list[RecentCall | None] = []
    for number in range(8):
        calls += [
            edit(number=number),
            bash("pytest -q", f"Exit code 1\n{8 - number} failed, {number} passed", failed=True),
        ]
    assert told_at(calls) is None


def test_what_worked_in_between_or_what_a_person_asked_for_is_left_alone() -> None:
    failing = bash("git push", "Exit code 128\nfatal: no upstream branch", failed=True)
    worked = bash("git push", "Everything up-to-date, done")
    assert told_at([failing, failing, worked, failing, worked, failing]) is None
    assert told_at([failing, PERSON, failing, PERSON, failing, PERSON, failing]) is None


def test_a_success_after_a_change_is_asked_anew() -> None:
    calls: list[RecentCall | None] = []
    for number in range(6):
        calls += [edit(number=number), bash("git status --short", " M a.ts, the only file that changed")]
    assert told_at(calls) is None


def test_calls_of_one_turn_did_not_know_of_each_other() -> None:
    said = "File has not been read yet. Read it first before writing to it."
    calls: list[RecentCall | None] = [
        RecentCall("Edit", {"file_path": "/p/a", "old_string": f"{n}"}, said, failed=True) for n in range(6)
    ]
    assert all(circle(calls[: n + 1]) is None for n in range(6))


@pytest.mark.parametrize("said", ["Sibling tool call errored", "The user doesn't want to proceed with this tool use."])
def test_what_was_not_carried_out_is_no_failure_of_the_call(said: str) -> None:
    assert told_at([bash("go test ./...", said, failed=True) for _ in range(6)]) is None


def test_short_answers_say_too_little_of_different_calls() -> None:
    found_nothing = [bash(f"grep -rn name{n} src", "Exit code 1", failed=True) for n in range(6)]
    assert told_at([*found_nothing]) is None
    assert told_at([bash(f"wc -l a{n}", "12") for n in range(6)]) is None


def test_a_finding_that_an_edit_answers_and_the_next_place_has_too_is_left_alone() -> None:
    calls: list[RecentCall | None] = []
    for n in range(8):
        said = f"Exit code 1\nsrc/file{n}.py:{n}: error: Incompatible types\nFound {9 - n} errors"
        calls += [edit(f"src/file{n}.py", n), bash("mypy src", said, failed=True)]
    assert told_at(calls) is None


def test_a_failing_check_whose_counts_change_after_each_edit_is_left_alone() -> None:
    calls: list[RecentCall | None] = []
    for n in range(8):
        calls += [edit(number=n), bash("npm run lint", f"Exit code 1\n{20 - n} problems, {n} fixed", failed=True)]
    assert told_at(calls) is None
