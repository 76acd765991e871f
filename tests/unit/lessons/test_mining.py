"""What fixed what failed is found in a session; what merely happened later is not."""

from __future__ import annotations

import pytest

from ratchet.lessons.mining.drafts import draft, group_of
from ratchet.lessons.mining.habits import ProjectRuns
from ratchet.lessons.mining.mining import Resolution, resolutions
from ratchet.lessons.mining.remedy import PLACE
from ratchet.records import Row
from support.sessions import call, session, shell

NO_UPSTREAM = (
    "fatal: The current branch {0} has no upstream branch.\n"
    "To push the current branch and set the remote as upstream, use\n\n"
    "    git push --set-upstream origin {0}\n"
)
UNREAD = "File has not been read yet. Read it first before writing to it."
UNMATCHED = "String to replace not found in file.\nString: total - coupon"


def found_in(*calls: Row) -> list[Resolution]:
    return resolutions(session(calls))


def advice(*calls: Row) -> str:
    """The one reusable advice that a session teaches, "" for none."""
    texts = [each.text for each in found_in(*calls) if each.worked and each.text and not each.reason]
    assert len(texts) <= 1, texts
    return texts[0] if texts else ""


def test_the_same_command_with_what_the_error_asked_for_is_the_resolution() -> None:
    (found,) = found_in(
        shell("git push 2>&1", NO_UPSTREAM.format("spotter-dov")),
        shell("git push --set-upstream origin spotter-dov 2>&1"),
    )
    assert found.worked
    assert found.text == "Run `git push --set-upstream origin <branch>` instead of `git push`."
    assert found.do == "git push --set-upstream origin spotter-dov 2>&1"
    assert (found.failed_id, found.worked_id) == ("o-s1-0", "o-s1-1")


CURES = {
    "a container that holds the port is stopped": (
        [
            shell(
                "docker compose up -d",
                "Error response from daemon: Bind for 0.0.0.0:5432 failed: port is already allocated",
            ),
            shell("docker stop old-db"),
            shell("docker compose up -d"),
        ],
        "Run `docker stop old-db` first, then `docker compose up -d` again.",
    ),
    "a script named otherwise is made executable": (
        [
            shell("./scripts/run.sh", "bash: ./scripts/run.sh: Permission denied"),
            shell("chmod +x scripts/run.sh"),
            shell("./scripts/run.sh"),
        ],
        "Run `chmod +x <file>` first, then `./scripts/run.sh` again.",
    ),
    "a virtual environment is made": (
        [
            shell(
                "pip install httpx", "error: externally-managed-environment\n\n× This environment is externally managed"
            ),
            shell("python3 -m venv .venv"),
            shell(".venv/bin/pip install httpx"),
        ],
        "Run `python3 -m venv .venv && .venv/bin/pip install <package>` instead of `pip install <package>` alone.",
    ),
    "another program on the same operands": (
        [
            shell("rg -n total src", "bash: rg: command not found"),
            shell("grep -rn total src"),
        ],
        "`rg` is not available here: run `grep -rn <argument> <argument2>` instead of `rg -n <argument> <argument2>`.",
    ),
    "a module is installed": (
        [
            shell(
                "python app.py",
                "Traceback (most recent call last):\nModuleNotFoundError: No module named 'yaml'",
            ),
            shell("pip install yaml"),
            shell("python app.py"),
        ],
        "Run `pip install <module>` first, then `python <file>` again.",
    ),
    "an install in the same chain": (
        [
            shell("pytest tests/test_a.py", "ModuleNotFoundError: No module named 'freezegun'"),
            shell("pip install freezegun && pytest tests/test_a.py"),
        ],
        "Run `pip install <module>` first, then `pytest <test>` again.",
    ),
    "the command that the error names runs first, edits or not": (
        [
            shell('git commit -m "add the cart"', "[FORMAT] Code is not formatted.\nRun 'mix format' to fix."),
            call("Edit", {"file_path": "/w/shop/lib/a.ex", "old_string": "a", "new_string": "b"}),
            shell("mix format"),
            shell('git commit -m "add the cart and format"'),
        ],
        "Run `mix format` first, then `git commit` again.",
    ),
    "another interpreter": (
        [shell("python manage.py migrate", "zsh: command not found: python"), shell("python3 manage.py migrate")],
        "Use `python3` instead of `python`, as in `python3 manage.py migrate`.",
    ),
    "as a module of the interpreter": (
        [
            shell("pytest tests/test_a.py -q", "bash: pytest: command not found"),
            shell("python -m pytest tests/test_a.py -q"),
        ],
        "`pytest` is not there as such: run it through `python -m`, as in `python -m pytest tests/test_a.py -q`.",
    ),
    "another program on the same operand": (
        [shell("tree /w/shop/lib -L 3", "(eval):1: command not found: tree"), shell("find /w/shop/lib -type d | sort")],
        "`tree` is not available here: run `find <path> -type d` instead of `tree <path> -L 3`.",
    ),
    "an unknown flag is left out": (
        [
            shell("golangci-lint run --out-format=line-number", "Error: unknown flag: --out-format"),
            shell("golangci-lint run"),
        ],
        "`golangci-lint run` has no `--out-format`: leave it out (`golangci-lint run` works).",
    ),
    "the right folder": (
        [
            shell("npm test", 'npm error Missing script: "test"'),
            shell("cd frontend && npm test"),
        ],
        "Run `cd frontend && npm test` instead of `npm test` alone.",
    ),
    "the environment is activated": (
        [
            shell("pytest -q", "ModuleNotFoundError: No module named 'shop'"),
            shell("source .venv/bin/activate && pytest -q"),
        ],
        "Run `source .venv/bin/activate && pytest -q` instead of `pytest -q` alone.",
    ),
    "a script is made executable": (
        [
            shell("./scripts/deploy.sh", "bash: ./scripts/deploy.sh: Permission denied"),
            shell("chmod +x ./scripts/deploy.sh"),
            shell("./scripts/deploy.sh"),
        ],
        "Run `chmod +x <file>` first, then `./scripts/deploy.sh` again.",
    ),
    "a service is started": (
        [
            shell(
                "mix ecto.migrate",
                "** (DBConnection.ConnectionError) tcp connect (localhost:5432): connection refused",
            ),
            shell("docker compose up -d db"),
            shell("mix ecto.migrate"),
        ],
        "Run `docker compose up -d db` first, then `mix ecto.migrate` again.",
    ),
    "what the remote has is taken in first": (
        [
            shell(
                "git push",
                " ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs to 'origin'\n"
                "hint: use 'git pull' before pushing again.",
            ),
            shell("git pull --rebase"),
            shell("git push"),
        ],
        "Run `git pull --rebase` first, then `git push` again.",
    ),
    "a value that the error lists": (
        [
            call(
                "Task",
                {"prompt": "Simplify the code of the cart", "subagent_type": "simplifier"},
                "Agent type 'simplifier' not found. Available agents: Explore, code:simplifier",
            ),
            call("Task", {"prompt": "Simplify the code of the cart", "subagent_type": "code:simplifier"}),
        ],
        "Call Task with `code:simplifier` as `subagent_type`; there is no `simplifier`.",
    ),
    "a parameter that the error misses": (
        [
            call("mcp__db__query", {"sql": "select 1"}, "Missing required parameter: database"),
            call("mcp__db__query", {"sql": "select 1", "database": "shop"}),
        ],
        "Call mcp__db__query with `database` (for example database=shop).",
    ),
    "an absolute path for cd": (
        [
            shell("cd frontend && npm test", "(eval):cd:1: no such file or directory: frontend"),
            shell("cd /w/shop/frontend && npm test"),
        ],
        "Use an absolute path in `cd`: the shell keeps its folder.",
    ),
    "no cd": (
        [shell("cd frontend && npm test", "bash: line 1: cd: frontend: No such file or directory"), shell("npm test")],
        PLACE,
    ),
    "changes are put aside": (
        [
            shell(
                "git pull --rebase",
                "error: cannot pull with rebase: You have unstaged changes.\nPlease commit or stash them.",
            ),
            shell("git stash"),
            shell("git pull --rebase"),
        ],
        "Run `git stash` first, then `git pull --rebase` again.",
    ),
    "the branch is pushed before its pull request": (
        [
            shell(
                "gh pr create --fill",
                "must first push the current branch to a remote, or use the --head flag",
            ),
            shell("git push -u origin HEAD"),
            shell("gh pr create --fill"),
        ],
        "Run `git push -u origin HEAD` first, then `gh pr create --fill` again.",
    ),
    "a port is freed": (
        [
            shell("npm run dev", "Error: listen EADDRINUSE: address already in use :::3000"),
            shell("lsof -ti:3000 | xargs kill"),
            shell("npm run dev"),
        ],
        "Run `lsof -ti:<port> | xargs kill` first, then `npm run dev` again.",
    ),
    "a build comes first": (
        [
            shell("node cli.js", "Error: Cannot find module './dist/index.js'"),
            shell("npm run build"),
            shell("node cli.js"),
        ],
        "Run `npm run build` first, then `node <file>` again.",
    ),
    "quotes around a pattern": (
        [
            shell("grep -rn total --include=*.ts src", "zsh: no matches found: --include=*.ts"),
            shell("grep -rn total --include='*.ts' src"),
        ],
        "Run `grep -rn total --include='*.ts' src` instead of `grep -rn total --include=*.ts src`.",
    ),
    "a script as the module that it is": (
        [
            shell("python shop/cli.py", "ImportError: attempted relative import with no known parent package"),
            shell("python -m shop.cli"),
        ],
        "Run `python -m shop.cli` instead of `python <file>`.",
    ),
    "without a wrapper that is not there": (
        [shell("timeout 60 npm test", "zsh: command not found: timeout"), shell("npm test")],
        "`timeout` is not there: leave it out, as in `npm test`.",
    ),
    "what runs after it hides nothing of it": (
        [
            shell("npm run build", "sh: tsc: command not found"),
            shell("npm install"),
            shell("npm run build && ls dist 2>/dev/null || echo none"),
        ],
        "Run `npm install` first, then `npm run build` again.",
    ),
    "unformatted code": (
        [
            shell('git commit -m "x"', "[FORMAT] Code is not formatted."),
            call("Edit", {"file_path": "/w/shop/lib/a.ex", "old_string": "a", "new_string": "b"}),
            shell("mix format"),
            shell('git commit -m "x"'),
        ],
        "Run `mix format` first, then `git commit` again.",
    ),
    "from the project's folder": (
        [
            shell("cd /tmp/x && .claude/run.sh start", "(eval):1: no such file or directory: .claude/run.sh"),
            shell(".claude/run.sh start"),
        ],
        PLACE,
    ),
}


@pytest.mark.parametrize("name", CURES)
def test_a_cure_is_put_as_short_advice(name: str) -> None:
    calls, text = CURES[name]
    assert advice(*calls) == text


def test_what_worked_is_no_example_of_advice_about_where_the_shell_stands() -> None:
    calls, text = CURES["from the project's folder"]
    (found,) = [each for each in found_in(*calls) if each.text == text]
    assert found.do == text, "the command that worked elsewhere says nothing of it"


# What a tool's own message says at every failure is no lesson, nor is a failure that passes by itself.
NO_CURES = {
    "the file is read first": [
        call("Edit", {"file_path": "/w/shop/cart.py", "old_string": "a", "new_string": "b"}, UNREAD),
        call("Read", {"file_path": "/w/shop/cart.py"}),
        call("Edit", {"file_path": "/w/shop/cart.py", "old_string": "a", "new_string": "b"}),
    ],
    "the file is read again by a shell": [
        call("Edit", {"file_path": "/w/shop/cart.py", "old_string": "total - coupon", "new_string": "b"}, UNMATCHED),
        shell("sed -n 1,40p /w/shop/cart.py"),
        call("Edit", {"file_path": "/w/shop/cart.py", "old_string": "total-coupon", "new_string": "b"}),
    ],
    "indentation": [
        call("Edit", {"file_path": "/w/a.go", "old_string": "\treturn err\n}", "new_string": "b"}, UNMATCHED),
        call("Edit", {"file_path": "/w/a.go", "old_string": "\t\treturn err\n\t}", "new_string": "b"}),
    ],
    "every match": [
        call(
            "Edit",
            {"file_path": "/w/a.go", "old_string": "x", "new_string": "y", "replace_all": False},
            "Found 2 matches of the string to replace, but replace_all is false.",
        ),
        call("Edit", {"file_path": "/w/a.go", "old_string": "x", "new_string": "y", "replace_all": True}),
    ],
    "a part of a large file": [
        call(
            "Read",
            {"file_path": "/w/app.js"},
            "File content (806.5KB) exceeds maximum allowed size (256KB). Please use offset and limit parameters.",
        ),
        call("Read", {"file_path": "/w/app.js", "limit": 50}),
    ],
    "the path that the error suggests": [
        call("Read", {"file_path": "/w/.golangci.yml"}, "File does not exist. Did you mean .golangci.yaml?"),
        call("Read", {"file_path": "/w/.golangci.yaml"}),
    ],
    "the file is looked up": [
        call("Read", {"file_path": "/w/lib/session.ex"}, "File does not exist."),
        call("Glob", {"pattern": "**/session.ex"}),
        call("Read", {"file_path": "/w/lib/web/session.ex"}),
    ],
    "a folder is listed": [
        call("Read", {"file_path": "/w/shop"}, "EISDIR: illegal operation on a directory, read"),
        shell("ls -la /w/shop"),
    ],
    "a failure that passes by itself": [
        shell("npm ci", "npm error network request to registry failed, reason: connect ETIMEDOUT"),
        shell("npm ci"),
    ],
    "a patch after another look": [
        call(
            "apply_patch",
            {"input": "*** Begin Patch\n*** Update File: shop/cart.py\n@@\n-a\n+b"},
            "apply_patch verification failed: Failed to find expected lines in shop/cart.py",
        ),
        shell("sed -n '1,40p' shop/cart.py"),
        call("apply_patch", {"input": "*** Begin Patch\n*** Update File: shop/cart.py\n@@\n- a\n+ b"}),
    ],
    "another remote": [
        shell(
            "git push origin main",
            "fatal: unable to access 'https://example.org/': The requested URL returned error: 403",
        ),
        shell("git push backup main"),
    ],
    "another path": [
        shell("ls /w/nowhere", "ls: cannot access '/w/nowhere': No such file or directory"),
        shell("ls /w"),
    ],
    "another search": [
        shell("grep -rn total src", "grep: src: No such file or directory"),
        shell("grep -rn coupon lib"),
    ],
    "another test": [
        shell("pytest tests/test_a.py", "FAILED tests/test_a.py::test_a - assert 1 == 2"),
        shell("pytest tests/test_b.py"),
    ],
    "one test after all of them": [
        shell("pytest", "FAILED tests/test_a.py::test_a - assert 1 == 2"),
        shell("pytest tests/test_b.py"),
    ],
    "other code": [
        shell("python -c 'import json; print(json.loads(x))'", "NameError: name 'x' is not defined"),
        shell("python -c 'print(sum(range(10)))'"),
    ],
    "a code change": [
        shell("pytest tests/test_a.py", "FAILED tests/test_a.py::test_a - assert 1 == 2"),
        shell("git status"),
        shell("ls"),
        shell("pwd"),
        call("Edit", {"file_path": "/w/tests/test_a.py", "old_string": "1", "new_string": "2"}),
        shell("pytest tests/test_a.py"),
    ],
    "the same command passing by itself": [
        shell("pytest tests/test_a.py", "FAILED tests/test_a.py::test_a - assert 1 == 2"),
        shell("pytest tests/test_a.py"),
    ],
    "a look in between": [
        shell("make build", "make: *** [Makefile:3: build] Error 1\nld: undefined reference to `foo'"),
        shell("git status"),
        shell("make build"),
    ],
    "another file": [
        call("Edit", {"file_path": "/w/a.py", "old_string": "a", "new_string": "b"}, UNMATCHED),
        call("Read", {"file_path": "/w/b.py"}),
        call("Edit", {"file_path": "/w/b.py", "old_string": "a", "new_string": "b"}),
    ],
    "a file of another name": [
        call("Read", {"file_path": "/w/conn_case.ex"}, "File does not exist."),
        call("Glob", {"pattern": "**/*.ex"}),
        call("Read", {"file_path": "/w/data_case.ex"}),
    ],
    "a refusal": [
        shell("git push", "The user doesn't want to proceed with this tool use.", kind="user_denied"),
        shell("git push -u origin main"),
    ],
    "a cascade": [
        call("Read", {"file_path": "/w/a.py"}, "Sibling tool call errored", kind="cascade"),
        call("Read", {"file_path": "/w/a.py"}),
    ],
    "a parent folder for a missing one": [
        call("Grep", {"pattern": "total", "path": "/w/shop/cart"}, "Path does not exist: /w/shop/cart"),
        call("Grep", {"pattern": "total", "path": "/w/shop"}),
    ],
}


@pytest.mark.parametrize("name", NO_CURES)
def test_what_merely_succeeded_later_teaches_nothing(name: str) -> None:
    assert advice(*NO_CURES[name]) == ""


def test_a_fix_by_an_edit_is_kept_with_its_hunk() -> None:
    by_edit = [each for each in found_in(*NO_CURES["a code change"]) if each.way == "edit"]
    (found,) = by_edit
    assert (found.keys, found.worked, found.text) == (("t:assert # == #",), True, "")
    assert (found.removed, found.added) == (("1",), ("2",))


def test_a_long_name_made_short_is_one_fix_whatever_the_name() -> None:
    message = "Nested modules could be aliased at the top of the invoking module."
    for old, new in (("App.Telemetry.Otel.setup()", "Otel.setup()"), ("Lang.Models.Chat.new(%{", "Chat.new(%{")):
        said = f"┃ [D] → {message}\n┃       lib/app.ex:7:5 #(App.start)"
        edit: Row = {"file_path": "/w/shop/lib/app.ex", "old_string": old, "new_string": new}
        fixed = found_in(shell("mix credo", said), call("Edit", edit), shell("mix credo"))
        assert [each.forms for each in fixed if each.way == "edit"] == [("shorten a name",)]


def test_what_was_tried_in_vain_is_counted_and_named() -> None:
    error = NO_UPSTREAM.format("fix-cart")
    vain, found = found_in(
        shell("git push", error),
        shell("git push origin", error),
        shell("git push --set-upstream origin fix-cart"),
    )
    assert not vain.worked
    assert vain.failed_id == found.failed_id == "o-s1-0"
    assert found.tried == 1
    assert "--set-upstream origin <branch>" in found.text


def test_waste_runs_from_the_failure_to_its_resolution_without_the_time_a_person_was_away() -> None:
    rows = session(
        [shell("git push", NO_UPSTREAM.format("a")), shell("git status"), shell("git push -u origin a")],
    )
    (found,) = resolutions(rows)
    assert found.wasted_s == pytest.approx(19.0)  # 9 s, git status 1 s, 9 s
    assert found.wasted_tokens == 200
    rows[2]["started_at"] = float(str(rows[2]["started_at"])) + 86_400
    (found,) = resolutions(rows)
    assert found.wasted_s == pytest.approx(9 + 1 + 120)


def test_the_remedy_is_what_changed_last_when_the_error_changed_on_the_way() -> None:
    format_, credo = (
        "[FORMAT] Code is not formatted.\nRun 'mix format' to fix.",
        "[CREDO] 2 issues found in lib/cart.ex",
    )
    first, second = found_in(
        shell('git commit -m "x"', format_),
        shell("mix format"),
        shell('git commit -m "x"', credo),
        call("Edit", {"file_path": "/w/shop/lib/cart.ex", "old_string": "a", "new_string": "b"}),
        shell('git commit -m "x"'),
    )
    assert first.text == "Run `mix format` first, then `git commit` again."
    assert (second.text, second.worked) == ("", True)


SWITCHES = {
    "the hooks are skipped": (
        [shell('git commit -m "x"', "pre-commit failed: lint"), shell('git commit --no-verify -m "x"')],
        "--no-verify",
    ),
    "the good step came with a bad one": (
        [
            shell('git commit -m "x"', "[FORMAT] Code is not formatted.\nRun 'mix format' to fix."),
            shell('mix format && git commit --no-verify -m "x"'),
        ],
        "--no-verify",
    ),
}


@pytest.mark.parametrize("name", SWITCHES)
def test_a_resolution_that_switches_a_check_off_says_so_and_is_never_advice(name: str) -> None:
    calls, part = SWITCHES[name]
    assert part not in advice(*calls)
    assert any(part in each.reason or part in each.text for each in found_in(*calls) if each.reason)


IN_VAIN = {
    "a failure is hidden": [
        shell("npm run lint", "/w/a.js\n  1:1  error  'x' is not defined  no-undef\n1 problem (1 error)"),
        shell("npm run lint || true"),
    ],
    "what made it strict is left out": [
        shell("mypy --strict shop", "shop/a.py:3: error: Function is missing a type annotation"),
        shell("mypy shop"),
    ],
    "an ignore list is written": [
        shell("mix dialyzer", "lib/a.ex:3:pattern_match The pattern can never match.\nTotal errors: 1"),
        call("Write", {"file_path": "/w/.dialyzerignore", "content": "lib/a.ex:3"}),
        shell("mix dialyzer"),
    ],
}


@pytest.mark.parametrize("name", IN_VAIN)
def test_getting_past_a_check_is_no_remedy(name: str) -> None:
    assert advice(*IN_VAIN[name]) == ""


@pytest.mark.parametrize("tool", ["mcp__preview__preview_stop", "mcp__preview__previewStop"])
def test_an_error_that_names_what_to_call_first_is_no_reason_to_stay_away(tool: str) -> None:
    other = tool.rpartition("__")[2].replace("stop", "start").replace("Stop", "Start")
    told = session([call(tool, {"serverId": "a"}, f"Error: no server runs with this id. Call {other} first.")])
    assert not [each for each in resolutions(told) if each.rule == "never"]
    alone = session([call(tool, {"serverId": "a"}, "Error: TypeError: x is not a function")])
    assert [each.rule for each in resolutions(alone)] == ["never"]


def test_threads_of_subagents_are_mined_apart() -> None:
    rows = session([shell("git push", NO_UPSTREAM.format("a")), shell("git push -u origin a")])
    rows[1]["thread"] = "agent-1"
    assert resolutions(rows) == []


def test_order_is_by_time_and_never_by_arrival() -> None:
    rows = session([shell("git push", NO_UPSTREAM.format("a")), shell("git push --set-upstream origin a")])
    assert resolutions(list(reversed(rows))) == resolutions(rows)


def test_a_resolution_has_the_same_id_whenever_it_is_mined() -> None:
    rows = session([shell("git push", NO_UPSTREAM.format("a")), shell("git push --set-upstream origin a"), shell("ls")])
    assert [each.id for each in resolutions(rows)] == [each.id for each in resolutions(rows[:2])]


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"step": None},
        {"step": {}},
        {"id": 3, "step": {"tool": 3, "input": []}, "ok": "no", "started_at": "x", "failure": "y"},
        {"id": "a", "ok": False, "step": {"tool": "Bash", "input": "'\"((&&"}, "failure": {"message": None}},
    ],
)
def test_rows_of_any_shape_are_survived(row: Row) -> None:
    assert resolutions([row, row, *session([shell("ls")])]) == []


@pytest.mark.parametrize(("listed", "says"), [("Available: shop:reviewer, shop:tester", True), ("", False)])
def test_a_value_that_the_tool_lists_itself_is_no_news(listed: str, *, says: bool) -> None:
    said = f"Agent type 'reviewer' not found. {listed}"
    (found,) = found_in(
        call("Task", {"subagent_type": "reviewer", "prompt": "look"}, error=said),
        call("Task", {"subagent_type": "shop:reviewer", "prompt": "look"}),
    )
    drafted = draft(group_of(found), [found], [], ProjectRuns())
    assert drafted is not None
    assert drafted.verdict.says_itself is says
