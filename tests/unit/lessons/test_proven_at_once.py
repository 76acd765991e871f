"""A remedy that the error itself names is trusted after one session in which the very step then worked."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from ratchet.failures.kinds.kind import kind_of
from ratchet.failures.patterns.ingest import ingest
from ratchet.failures.wordings import in_one_wording
from ratchet.lessons.ahead.making import triggers
from ratchet.lessons.ahead.sighted import sightings, tells_what_ran
from ratchet.lessons.ahead.trigger import Surroundings, met
from ratchet.lessons.grounding import answers
from ratchet.lessons.lessons import listed
from ratchet.lessons.mined import mine_session
from ratchet.lessons.mining.mining import resolutions
from ratchet.lessons.recall import recall
from ratchet.ports import Store
from ratchet.records import Lesson, Row
from ratchet.testing.stores import open_store
from support.sessions import call, session, shell

UNKNOWN_SKILL = "Unknown skill: review:plan"


def learnt(store: Store, *sessions: list[Row]) -> list[Lesson]:
    for number, calls in enumerate(sessions):
        ingest(store, session(calls, f"s{number}", start=1_700_000_000.0 + 3_600 * number))
        mine_session(store, f"s{number}")
    return [each for each in listed(store) if each.state == "active"]


@pytest.mark.parametrize(
    ("failed", "error", "worked"),
    [
        ("shopctl ls --quick", "Error: unknown flag: --quick", "shopctl ls"),
        ("./run.sh", "./run.sh: line 3: /tmp/shop-bin: No such file or directory", ""),
        (
            "git add cart.go .beads/issues.jsonl",
            "The following paths are ignored by one of your .gitignore files:\n.beads/issues.jsonl",
            "git add cart.go",
        ),
        ("tree lib/cart -L 2", "(eval):1: command not found: tree", "find lib/cart -type d"),
    ],
)
def test_a_cause_that_the_error_names_is_enough(tmp_path: Path, failed: str, error: str, worked: str) -> None:
    store = open_store(tmp_path)
    between = [] if worked else [shell("go build -o /tmp/shop-bin ./cmd/shop")]
    (lesson,) = learnt(store, [shell(failed, error), *between, shell(worked or failed)])
    assert lesson.state == "active"
    store.close()


USAGE = "usage: shopctl ls [<path>]\n\noptions:\n" + "\n".join(f"  --{name}  by {name}" for name in "abcdefghijk")


@pytest.mark.parametrize(
    ("error", "state"),
    [
        ("Error: unknown flag: --quick", ["active"]),
        (USAGE, ["active"]),
        (f"{USAGE}\n  --quick  with a look at the names alone", []),
        (f"{USAGE}\n  --[no-]quick  with a look at the names alone", []),
        ("usage: shopctl ls [<path>]", []),
    ],
    ids=["named", "not among all", "among all", "or its contrary", "its usage tells none"],
)
def test_an_option_that_the_error_names_is_known_to_be_none_though_nobody_tried_again(
    tmp_path: Path, error: str, state: list[str]
) -> None:
    store = open_store(tmp_path)
    learnt(store, [shell("shopctl ls --quick", error), shell("git status")])
    assert [each.state for each in listed(store)] == state
    store.close()


def test_an_option_that_a_text_does_not_show_is_said_with_the_lesson_about_it(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    usage = learnt(store, [shell("shopctl ls --quick", USAGE), shell("git status")])[0]
    (found,) = recall(store, USAGE).lessons
    assert (found.id, found.needs) == (usage.id, "--quick"), "the usage text tells nothing of it"
    (found,) = recall(store, f"{USAGE}\n(you gave --quick)").lessons
    assert (found.id, found.needs) == (usage.id, "")
    store.close()


def test_a_program_that_is_not_there_is_replaced_by_one_that_the_project_runs(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    ran = [[shell(f"python3 tools/{name}.py")] for name in ("a", "b", "c")]
    failed = shell("python tools/scan.py --all", "(eval):1: command not found: python")
    (lesson,) = learnt(store, *ran, [failed, shell("python3 tools/scan.py --all")])
    assert lesson.text.startswith("Use `python3` instead of `python`")
    store.close()


def test_options_that_were_added_are_one_lesson_whatever_the_command_was_run_on(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    error = "package shop/cart: build constraints exclude all Go files in /w/shop/cart\nFAIL shop/cart [setup failed]"

    def tagged(where: str) -> list[Row]:
        return [shell(f"go test {where}", error), shell(f"go test -tags=slow {where}")]

    ran = [[shell(f"go test -tags=slow ./{name}")] for name in ("a", "b", "c")]
    (lesson,) = learnt(store, *ran, tagged("./cart"), tagged("./bill -run TestSum"))
    assert lesson.text.startswith("Add `-tags=slow` to `go test`, as in `go test -tags=slow ./")
    held = store.get("lessons", lesson.id) or {}
    assert answers(held, message=error, tool="Bash", asked="go test ./x")
    assert not answers(held, message=error, tool="Bash", asked="go vet ./x")
    store.close()


def test_an_option_is_one_of_the_program_that_is_run_from_a_file(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    error = "could not open a new TTY: open /dev/tty: device not configured"
    ran = [[shell(f"go run ./cmd/shop {name} --json")] for name in ("a", "b", "c")]
    failed, worked = shell("go run ./cmd/shop list", error), shell("go run ./cmd/shop list --json")
    (lesson,) = learnt(store, *ran, [failed, worked])
    assert lesson.text.startswith("Add `--json` to `go run ./cmd/shop list`, as in `go run")
    store.close()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("could not open a new TTY: open /dev/tty: device not configured", 1),
        ("Flags:\n  --json  as JSON\ndial tcp 10.0.0.1:443: i/o timeout", 0),  # that passes by itself
        ("could not open a new TTY\nFAIL", 1),
    ],
)
def test_one_option_more_and_nothing_else_is_a_trial_of_its_own(tmp_path: Path, error: str, told: int) -> None:
    store = open_store(tmp_path)
    ran = [[shell(f"shopctl ls {name} --json")] for name in ("a", "b", "c")]
    other = [shell("shopctl pay x", "FAIL"), shell("shopctl due"), shell("shopctl pay x")]  # `FAIL` says no cause
    found = learnt(store, *ran, other, [shell("shopctl ls x", error), shell("shopctl ls x --json")])
    assert [each.text[:28] for each in found] == ["Add `--json` to `shopctl ls`"] * told
    store.close()


@pytest.mark.parametrize(
    ("command", "error", "advice"),
    [
        ("make && \\\nmake check | tail", "Exit code 126\n(eval):1: permission denied:", "one line"),
        ('AT=$(go env GOPATH) && ls "$AT" | head', "Exit code 1\n(eval):1: parse error near `('", "in quotes"),
        ("jq '.[] | select(.n != 1)' a.json", "jq: error: syntax error, unexpected INVALID_CHARACTER", "| not)"),
    ],
)
def test_what_the_shell_takes_otherwise_is_told_where_the_command_holds_it(
    tmp_path: Path, command: str, error: str, advice: str
) -> None:
    store = open_store(tmp_path)
    (lesson,) = learnt(store, [shell(command, error), shell("git status")])
    assert advice in lesson.text
    assert recall(store, error, project="/w/shop", states=("active",)).lessons
    held = store.get("lessons", lesson.id) or {}
    assert answers(held, message=error, tool="Bash", asked=command)
    assert not answers(held, message=error, tool="Bash", asked="make check")
    store.close()


CONTRADICTED = [
    (
        "make && \\\nmake check | tail",
        "Exit code 126\n(eval):1: permission denied:",
        "ls && \\\nmake list | sort",
    ),
    (
        'AT=$(go env GOPATH) && ls "$AT" | head',
        "Exit code 1\n(eval):1: parse error near `('",
        'cd shop && BASE=$(git merge-base main HEAD) && git diff "$BASE" | head',
    ),
    (
        "jq '.[] | select(.n != 1)' a.json",
        "jq: error: syntax error, unexpected INVALID_CHARACTER",
        "cat b.json | jq 'map(select(.id != null))'",
    ),
    ("shopctl ls --quick", "Error: unknown flag: --quick", "shopctl ls --quick ./cart"),
]


@pytest.mark.parametrize(("failed", "error", "worked"), CONTRADICTED)
@pytest.mark.parametrize("before", [True, False])
def test_what_is_said_not_to_be_taken_is_no_lesson_once_it_was(
    tmp_path: Path, failed: str, error: str, worked: str, before: bool
) -> None:
    store = open_store(tmp_path)
    sessions = [[shell(failed, error), shell("git status")], [shell(worked)]]
    assert learnt(store, *(reversed(sessions) if before else sessions)) == []
    (held,) = [each for each in listed(store) if "worked as it was written" in each.reason]
    assert held.state == "retired"
    store.close()


@pytest.mark.parametrize(
    "elsewhere",
    [
        "echo 'a != b' > jq.txt",
        "grep 'AT=$(' run.sh",
        "printf '%s' 'a\\b'",
        "shopctl find --quick",
        "git add cart.go \\\n  shop.go",  # without a pipe a client takes a line as it is
        'AT=$(go env GOPATH) && ls "$AT"',
        'for at in a b; do n=$(wc -l < $at); echo "$n"; done | sort',
        "cat b.json | jq 'map(select(.id != null))' 2>/dev/null | head",  # it may have failed unseen
    ],
)
def test_a_text_that_only_looks_like_it_contradicts_nothing(tmp_path: Path, elsewhere: str) -> None:
    store = open_store(tmp_path)
    sessions = [[shell(failed, error), shell("git status")] for failed, error, _ in CONTRADICTED]
    learnt(store, *sessions, [shell(elsewhere)])
    assert [each.state for each in listed(store)].count("retired") == 0
    store.close()


def test_an_option_is_not_spoken_of_where_the_error_names_another_one(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    learnt(store, [shell("shopctl ls --quick", "Error: unknown flag: --quick"), shell("shopctl ls")])
    texts = ("Error: unknown flag: --quick", "Error: unknown flag: --brief")
    assert [len(recall(store, text, project="/w/shop", states=("active",)).lessons) for text in texts] == [1, 0]
    store.close()


def test_a_value_that_the_message_lists_is_no_news_at_the_failure(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    unknown = "Agent type 'tidy' not found. Available agents: "
    tried = [
        call("Task", {"subagent_type": "tidy", "prompt": "tidy up"}, unknown + "Bash"),
        call("Task", {"subagent_type": "tidy:tidy", "prompt": "tidy up"}),
    ]
    (lesson,) = learnt(store, tried)
    assert "`tidy:tidy`" in lesson.text
    assert recall(store, unknown + "Bash", project="/w/shop", states=("active",)).lessons
    assert not recall(store, unknown + "Bash, tidy:tidy, Plan", project="/w/shop", states=("active",)).lessons
    store.close()


def test_a_step_that_merely_came_next_is_not(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    assert learnt(store, [shell("git push", "remote: busy, try again"), shell("git fetch"), shell("git push")]) == []
    store.close()


def test_a_wrong_value_is_answered_only_where_it_is_named(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    tried = [
        call("Skill", {"skill": "review:plan", "on": "x"}, UNKNOWN_SKILL),
        call("Skill", {"skill": "plan", "on": "x"}),
    ]
    (lesson,) = learnt(store, tried)
    assert "`plan`" in lesson.text
    found = recall(store, UNKNOWN_SKILL, project="/w/shop", states=("active",))
    assert [each.id for each in found.lessons] == [lesson.id]
    assert recall(store, "Unknown skill: review:code", project="/w/shop", states=("active",)).abstained
    store.close()


@pytest.mark.parametrize(
    "error",
    [
        "error: unrecognized subcommand 'bun'\n\nUsage: quiet [OPTIONS] <COMMAND>",
        'unknown command "bun" for "quiet"',
        "quiet: 'bun' is not a quiet command. See 'quiet --help'.",
        "quiet: error: argument command: invalid choice: 'bun' (choose from 'git', 'ls')",
    ],
)
def test_a_program_that_has_no_such_command_is_left_out_however_the_rest_ended(tmp_path: Path, error: str) -> None:
    store = open_store(tmp_path)
    failing = "3 pass\n2 fail\nerror: expected 3"
    calls = [shell("quiet bun run test", error), shell("bun run test", failing)]
    (lesson,) = learnt(store, calls, calls)
    assert lesson.text == "`quiet` has no `bun`: run `bun run test` itself, without it."
    held = store.get("lessons", lesson.id) or {}
    assert answers(held, message=error, tool="Bash", asked="quiet bun run lint")
    assert not answers(held, message=error, tool="Bash", asked="quiet npm run lint")
    store.close()


def test_a_program_without_such_a_command_teaches_nothing_where_nothing_was_run_in_its_place(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    assert not learnt(store, [shell("quiet bun run test", "error: unrecognized subcommand 'bun'"), shell("git status")])
    store.close()


def test_a_value_that_a_tool_does_not_know_is_told_after_two_sessions_and_for_that_value_only(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    sessions = [[call("Skill", {"skill": "commit"}, "Unknown skill: commit"), shell("git status")] for _ in range(2)]
    assert not learnt(store, sessions[0])
    (lesson,) = learnt(store, *sessions)
    assert "`commit`" in lesson.text
    held = store.get("lessons", lesson.id) or {}
    said = "Unknown skill: deploy"
    assert answers(held, message=said, tool="Skill", asked='{"skill":"commit"}')
    assert not answers(held, message=said, tool="Skill", asked='{"skill":"deploy"}')
    store.close()


@pytest.mark.parametrize("command", ["sed -n 1,9p cart.go | cat -A", "quiet proxy cat -A cart.go"])
def test_the_program_that_speaks_is_the_one_without_the_option(tmp_path: Path, command: str) -> None:
    store = open_store(tmp_path)
    error = "Exit code 1\ncat: illegal option -- A\nusage: cat [-belnstuv] [file ...]"
    (lesson,) = learnt(store, *[[shell(command, error), shell("git status")]] * 2)
    assert lesson.text == "`cat` has no `-A`: leave it out."
    store.close()


NOT_STARTED = "ENOENT: no such file or directory, posix_spawn '/opt/claude/2.1/claude'"


def test_a_tool_that_does_not_start_is_no_missing_file_and_the_shell_looks_in_its_place(tmp_path: Path) -> None:
    assert in_one_wording(NOT_STARTED) == NOT_STARTED
    assert kind_of(NOT_STARTED, tool="Grep") == "tool_not_found"
    store = open_store(tmp_path)
    looked = [
        call("Grep", {"pattern": "CartTotal", "path": "/w/shop/lib"}, NOT_STARTED),
        shell("grep -rn CartTotal lib | head -20"),
    ]
    found = [
        call("Glob", {"pattern": "**/payments/*.go"}, NOT_STARTED),
        shell("go build ./..."),  # it does not look for payments
        shell("ls lib/payments"),
    ]
    (lesson,) = learnt(store, found)
    said = "`Glob` cannot start its own program here: look by `Bash` instead."
    assert lesson.text == said
    assert learnt(store, found, looked) == [each for each in listed(store) if each.id == lesson.id]
    assert recall(store, "File does not exist.", states=("active",)).abstained
    store.close()


def test_that_there_is_no_such_option_is_told_though_what_worked_checks_less(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    failed = "golangci-lint run --enable=forbidigo --out-format=line-number"
    (lesson,) = learnt(store, [shell(failed, "Error: unknown flag: --out-format"), shell("golangci-lint run")])
    assert lesson.text == (
        "`golangci-lint run` has no `--out-format`: leave it out; `golangci-lint run --help` lists what there is."
    )
    assert not lesson.example
    rows = store.find("lessons").rows
    assert [tells_what_ran(row, sightings(store, rows)) for row in rows] == [True], "it is told at a start"
    store.close()


def test_what_another_option_took_the_place_of_is_not_to_be_left_out(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    error = "error: unexpected argument '-P' found\n\n  tip: to pass '-P' as a value, use '-- -P'"
    (lesson,) = learnt(store, [shell("mux send cart -P /tmp/a.md", error), shell("mux send cart --file /tmp/a.md")])
    assert lesson.text == "`mux send` has no `-P`; `mux send --help` lists what there is."
    store.close()


@pytest.mark.parametrize("name", ["all", "alls"])
def test_an_option_more_mends_a_bare_command_where_it_says_that_one_is_not_set(tmp_path: Path, name: str) -> None:
    """Cobra names it without its dashes."""
    store = open_store(tmp_path)
    calls = [shell("shopctl enable", f'Error: required flag(s) "{name}" not set'), shell("shopctl enable --all")]
    told = [each.text for each in learnt(store, calls)]
    assert told == (["Add `--all` to `shopctl enable`, as in `shopctl enable --all`."] if name == "all" else [])
    store.close()


@pytest.mark.parametrize("listed_there", [True, False])
def test_an_option_more_mends_a_bare_command_where_its_usage_lists_it(tmp_path: Path, listed_there: bool) -> None:
    store = open_store(tmp_path)
    option = "--strategy string   manual-commit or auto-commit" if listed_there else "--quiet   say less"
    error = f"Error: could not open a new TTY: device not configured\nUsage:\n  shopctl enable\n\nFlags:\n  {option}"
    calls = [shell("shopctl enable", error), shell("shopctl enable --strategy manual-commit")]
    told = [each.text for each in learnt(store, calls)]
    added = "Add `--strategy manual-commit` to `shopctl enable`, as in `shopctl enable --strategy manual-commit`."
    assert told == ([added] if listed_there else [])
    store.close()


UNTAKEN = (
    "InputValidationError: Look failed due to the following issue:\nAn unexpected parameter `file_path` was provided"
)


def look(error: str = "", **given: str) -> Row:
    return call("Look", {"pattern": "func total", **given}, error, kind="tool_arguments" if error else "")


def test_a_field_that_a_tool_does_not_take_is_told_by_the_one_that_its_calls_that_worked_have(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    worked = [look(path="/w/shop/cart.go", mode="content"), look(path="/w/shop/list.go", glob="*.go")]
    (lesson,) = learnt(store, [*worked, look(UNTAKEN, file_path="/w/shop/order.go"), shell("rg total order.go")])
    assert lesson.text == "Call Look with `path`; it takes no `file_path`."
    assert [each.id for each in recall(store, UNTAKEN, states=("active",)).lessons] == [lesson.id]
    assert recall(store, UNTAKEN.replace("file_path", "globs"), states=("active",)).abstained
    store.close()


@pytest.mark.parametrize(
    "worked",
    [
        [look(mode="content")],
        [look(file_path="/w/shop/cart.go", path="/w/shop")],
        [call("Other", {"path": "/w/shop"})],
    ],
    ids=["no value of its shape", "it is taken", "another tool"],
)
def test_of_a_field_that_is_not_taken_nothing_is_guessed(tmp_path: Path, worked: list[Row]) -> None:
    store = open_store(tmp_path)
    assert learnt(store, [*worked, look(UNTAKEN, file_path="/w/shop/order.go"), shell("rg total order.go")]) == []
    store.close()


def test_a_tool_that_is_not_allowed_is_given_no_way_around(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    denied = "Permission to use Grep has been denied."
    for number in range(3):
        calls = [
            call("Grep", {"pattern": "total", "path": "lib/cart"}, denied, kind="permission"),
            shell("grep -rn total lib/cart"),
        ]
        ingest(store, session(calls, f"s{number}", start=1_700_000_000.0 + 3_600 * number))
        mine_session(store, f"s{number}")
    assert [each.text for each in listed(store) if "Bash" in each.text] == []
    store.close()


def test_a_path_in_a_persons_home_is_no_advice() -> None:
    error, other = "could not open a new TTY: device not configured", "/Users/ann/bin/till list"
    made = resolutions(session([shell(other, error), shell(f"{other} --json")]))
    assert [each.text for each in made] == [""]


def test_that_a_program_was_built_anew_says_nothing_of_an_error_of_its_own(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    failed = shell("./shop enable", "Error: failed to install hooks: not a git repository")
    found = learnt(store, [failed, shell("go build -o shop ./cmd/shop"), shell("./shop enable")])
    assert [each for each in found if "go build" in each.text] == []
    store.close()


def test_a_value_that_a_tool_does_not_know_is_no_program_that_did_not_start(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    calls = [call("Skill", {"skill": "commit"}, "Unknown skill: commit"), shell("git log --grep commit")]
    learnt(store, calls, calls)
    told = [each.text for each in listed(store)]
    assert told == ["There is no `skill` called `commit` here: do not call Skill for it, do it by other means."]
    store.close()


WINDOWS = (
    "At line:1 char:11\n+ cd client && npm test\n+           ~~\n"
    "The token '&&' is not a valid statement separator in this version.\n"
    "    + CategoryInfo          : ParserError: (:) [], ParentContainsErrorRecordException\n"
    "    + FullyQualifiedErrorId : InvalidEndOfLine"
)


def test_a_shell_that_knows_no_double_ampersand_is_told_as_such(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    (lesson,) = learnt(store, [shell("cd client && npm test", WINDOWS), shell("cd client; npm test")])
    assert lesson.text == (
        "Put `;` for `&&`, or `a; if ($?) { b }` where b needs a: the shell here is Windows PowerShell."
    )
    assert not learnt(store, [], [shell("cd server && npm test")])  # another session's shell takes it
    store.close()


@pytest.mark.parametrize(
    ("failed", "error", "worked"),
    [
        (
            "git diff src/cart.go",
            "fatal: ambiguous argument 'src/cart.go': unknown revision or path not in the working tree.",
            "cd /w/shop && git diff -- src/cart.go",
        ),
        (
            "go test ./...",
            "pattern ./...: directory prefix . does not contain main module or its selected dependencies",
            "cd /w/shop/src && go test ./...",
        ),
    ],
    ids=["git", "go"],
)
def test_who_goes_to_a_folder_is_told_of_no_option_beside_it(
    tmp_path: Path, failed: str, error: str, worked: str
) -> None:
    store = open_store(tmp_path)
    calls = [shell("ls"), {**shell(failed, error), "project": "/w/shop/lib"}, shell(worked)]
    learnt(store, calls)
    texts = [each.text for each in listed(store)]
    assert not any(text.startswith("Add ") for text in texts)
    store.close()


@pytest.mark.parametrize(
    ("failed", "error", "begins"),
    [
        ("cat app/[id]/page.tsx", "(eval):1: no matches found: app/[id]/page.tsx", "Quote a path"),
        ("ls plans/*.md 2>/dev/null", "(eval):1: no matches found: plans/*.md", "List the folder"),
    ],
    ids=["a name", "a pattern"],
)
def test_zsh_ends_a_command_whose_pattern_meets_nothing(tmp_path: Path, failed: str, error: str, begins: str) -> None:
    store = open_store(tmp_path)
    (lesson,) = learnt(store, [shell(failed, error), shell("git status")], [shell("ls lib/*.md")])
    assert lesson.text.startswith(begins)
    store.close()


REFUSED = "cat: illegal option -- A\nusage: cat [-belnstuv] [file ...]"


@pytest.mark.parametrize(
    ("next_step", "told"),
    [
        ("sed -n '3,9p' cart.ts", "`cat` has no `-A`: leave it out."),
        ("sed -n '3,9p' cart.ts | cat -v", "`cat` has no `-A`: use `-v` instead of `-A`."),
    ],
)
def test_of_a_pipe_the_program_that_speaks_has_no_such_option(tmp_path: Path, next_step: str, told: str) -> None:
    store = open_store(tmp_path)
    (lesson,) = learnt(store, [shell("sed -n '3,9p' cart.ts | cat -A", REFUSED), shell(next_step)])
    assert lesson.text == told
    store.close()


NO_MODULE = "internal/modules/cjs/loader.js:888\n  throw err;\n  ^\n\nError: Cannot find module 'node:path'"


@pytest.mark.parametrize(
    ("command", "error", "since", "told"),
    [
        ("npm test", NO_MODULE, [], ["`npm test` has not worked here once"]),
        ("npm test", NO_MODULE, [shell("npm test")], []),  # it does work
        ("npm test --silent", NO_MODULE, [], []),  # perhaps it is about what it was given
        ("npm test", "src/cart.js:3:1: error: Cannot find module './total'", [], []),  # mended in that file
        ("npm test", "FAIL cart.test.js\n  1 failed", [], []),
    ],
)
def test_a_command_that_could_never_begin_is_told_before_it_runs(
    tmp_path: Path, command: str, error: str, since: list[Row], told: list[str]
) -> None:
    store = open_store(tmp_path)
    active = learnt(store, [shell(f"cd pkg && {command}", error)], [shell(command, error)], since)
    assert [each.text.partition(". ")[0] for each in active] == told
    (project,) = {str(row["project"]) for row in store.find("resolutions").rows} or {""}
    known = triggers(store, project)
    around = Surroundings("/p", "/p", lambda head: 0)
    lines = ((command, True), (f"cd pkg && {command} 2>&1 | tail -3", True), (f"nvm use && {command}", False))
    for line, is_met in lines:
        assert bool(met(known, "Bash", {"command": line}, around)) is (bool(told) and is_met)
    store.close()


TOO_LONG = "body's lines must not be longer than 100 characters [body-max-line-length]"


def test_another_message_is_no_advice_nor_is_what_puts_the_work_away() -> None:
    long, short = (shell(f'git commit -m "cart: {words}"') for words in ("w " * 90, "add it"))
    failed = shell(str(cast("Row", long["step"])["input"]), f"Exit code 1\n{TOO_LONG}")
    assert [each.text for each in resolutions(session([failed, short]))] == [""]
    test = "npx jest cart.test.ts"
    away = [shell(test, "Exit code 1\n✕ adds a line (3 ms)"), shell("git stash"), shell(test)]
    assert not any("stash" in each.text for each in resolutions(session(away)))
    assert kind_of(TOO_LONG, tool="Bash", exit_code=1) == "command_failed", "no model was asked"
    assert kind_of("prompt is too long: 213462 tokens > 200000 maximum") == "context_overflow"
