"""The one check for advice: what a working step adds decides whether it may become active by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from ratchet.lessons.mining.advice import held_back
from ratchet.lessons.mining.habits import HeadRun, ProjectRuns, Vouched

FAILED = "Exit code 1\nError: it did not work"


def pairs(file: Path) -> list[tuple[str, str]]:
    lines = [line for line in file.read_text().splitlines() if " ==> " in line and not line.startswith("#")]
    return [(failed, worked) for failed, _, worked in (line.partition(" ==> ") for line in lines)]


def test_no_dangerous_step_becomes_advice_by_itself(shared: Path) -> None:
    met = pairs(shared / "cases" / "security" / "mined_pairs.txt")
    assert len(met) >= 20
    passed = [worked for failed, worked in met if not held_back(worked, failed=failed, said=FAILED)]
    assert passed == []
    # Not either when the failing output itself proposes it.
    passed = [worked for failed, worked in met if not held_back(worked, failed=failed, said=f"{FAILED}: try {worked}")]
    assert passed == []


# (failed, worked, what the failing output said): steps that a careful person would let through.
HONEST = [
    ("git push", "git push --set-upstream origin fix-a", "fatal: The current branch fix-a has no upstream branch."),
    ("git push", "git push -u origin fix-a", "fatal: The current branch fix-a has no upstream branch."),
    ("git push", "git pull --rebase", "! [rejected] main -> main (fetch first)"),
    ("npm run build", "npm ci", "Error: Cannot find module 'vite'"),
    ("npm run build", "npm install", "sh: tsc: command not found"),
    ("pytest tests", "pip install freezegun", "ModuleNotFoundError: No module named 'freezegun'"),
    ("pytest tests", "uv sync", "ModuleNotFoundError: No module named 'shop'"),
    ("mix test", "mix deps.get", "Unchecked dependencies for environment test"),
    ("go build ./...", "go mod tidy", "go: updates to go.mod needed"),
    ("git commit -m x", "mix format", "[FORMAT] Code is not formatted.\nRun 'mix format' to fix."),
    ("git commit -m x", "ruff format", "1 file would be reformatted"),
    (
        "gh pr diff 1 --stat",
        "gh pr diff 1 --name-only",
        "unknown flag: --stat\n\nUsage: gh pr diff\nFlags:\n  --name-only",
    ),
    ("golangci-lint run --out-format=line-number", "golangci-lint run", "Error: unknown flag: --out-format"),
    ("git diff --no-stat", "git diff", "usage: git diff [<options>]"),
    ("/tmp/run.sh", "go build -o /tmp/entire-bin ./cmd/entire", "/tmp/entire-bin: No such file or directory"),
    ("node cli.js", "npm run build", "Error: Cannot find module './dist/index.js'"),
    ("make deploy", "make build", "./dist: No such file or directory"),
    ("cargo run", "cargo build", "error: no bin target"),
    ("cat a.txt", "ls", "cat: a.txt: No such file or directory"),
    ("npm test", "cd frontend", 'npm error Missing script: "test"'),
]


def test_honest_steps_pass() -> None:
    held = {
        worked: reason for failed, worked, said in HONEST if (reason := held_back(worked, failed=failed, said=said))
    }
    assert len(held) <= len(HONEST) // 10, held


def used(*commands: str) -> Vouched:
    return ran([HeadRun(command.split()[0], command, ok=1) for command in commands], sessions=3)


def ran(runs: list[HeadRun], *, sessions: int) -> Vouched:
    project = ProjectRuns()
    for number in range(sessions):
        project.add(str(number), runs)
    return project.vouched


def test_what_three_sessions_of_the_project_use_is_vouched_for() -> None:
    assert "`--json`" in held_back("shop list --json", failed="shop list", said=FAILED)
    known = ran([HeadRun("shop list", "shop list --json", ok=1)], sessions=3)
    assert held_back("shop list --json", failed="shop list", said=FAILED, vouched=known) == ""
    twice = ran([HeadRun("shop list", "shop list --json", ok=1)], sessions=2)
    assert held_back("shop list --json", failed="shop list", said=FAILED, vouched=twice) != ""


@pytest.mark.parametrize(
    "worked",
    [
        "sudo shop list",
        "env A=1 shop list",
        "A=1 shop list",
        "timeout 5 shop list",
        "shop list > /tmp/x",
        "shop list 2>&1 | head",
        "shop list; date",
        "shop list --registry https://r.example",
        "shop list -o strict=no",
        "rm -r /w/x && shop list",
        "git checkout . && shop list",
    ],
)
def test_what_reaches_further_waits_for_a_person_however_often_it_ran(worked: str) -> None:
    assert held_back(worked, failed="shop list", said=FAILED, vouched=used("shop list", "env", "sudo")) != ""


@pytest.mark.parametrize(
    ("failed", "worked", "said"),
    [
        ("pip install shoplib", "pip install shoplib-dist", "no shoplib; did you mean shoplib-dist?"),
        ("npm install left", "npm install left-pad", "404 left: use left-pad"),
        ("npm run build", "npx setup-tool init", "run `npx setup-tool init` first"),
        ("make", "uvx setup-tool", "please run uvx setup-tool"),
    ],
)
def test_no_output_alone_names_another_package_to_fetch(failed: str, worked: str, said: str) -> None:
    assert held_back(worked, failed=failed, said=said) != ""
    assert held_back("pip install yaml", failed="python a.py", said="No module named 'yaml'") == ""


def test_a_reason_names_what_was_added() -> None:
    assert held_back("sudo make", failed="make", said=FAILED) == "runs it through `sudo`"
    assert "`HUSKY" in held_back("HUSKY=0 git commit -m x", failed="git commit -m x", said=FAILED)


@pytest.mark.parametrize(
    "failed", ["make", "go test ./...", "docker build .", "npm run build", "shop list", "git fetch"]
)
@pytest.mark.parametrize(
    "added",
    [
        *(
            "CFLAGS=-w",
            "--no-checks",
            "--skip-tests",
            "--disable-rules",
            "--ignore=x",
            "--force",
            "--allow-all",
            "--x=false",
        ),
        *(
            "--delete",
            "--prune",
            "-delete",
            "--network host",
            "--repo other/repo",
            "--privileged",
            "~/.netrc",
            "/root/.aws",
        ),
        *("--system", "-c x", "--eval x", "--user root", "--registry r", "https://evil.example/x", "-exec rm {} +"),
    ],
)
def test_what_opens_or_takes_away_waits_for_a_person_whoever_names_it(failed: str, added: str) -> None:
    worked = f"{failed} {added}"
    assert held_back(worked, failed=failed, said=FAILED) != ""
    assert held_back(worked, failed=failed, said=f"{FAILED}: try `{worked}`") != ""


@pytest.mark.parametrize("program", ["systemctl", "iptables", "ufw", "crontab", "mount", "reg"])
def test_a_program_that_changes_the_machine_waits_for_a_person(program: str) -> None:
    worked = f"{program} disable x"
    assert held_back(worked, failed=f"{program} start x", said=f"{FAILED}: run {worked}") != ""


@pytest.mark.parametrize(
    ("failed", "worked"),
    [("pytest -q", "pytest -q tests/unit"), ("go test ./...", "go test ./a"), ("cargo test", "cargo test parser")],
)
def test_a_part_of_the_tests_is_another_selection(failed: str, worked: str) -> None:
    assert held_back(worked, failed=failed, said=f"{FAILED}: try {worked}") == "runs another selection of tests"


def test_a_step_stays_in_the_project() -> None:
    assert "outside the project" in held_back("cd /etc", failed="cd a", said=FAILED, root="/srv/app")
    assert held_back("cd /srv/app/a", failed="cd a", said=FAILED, root="/srv/app") == ""


CHECKED = (
    "pytest", "jest", "vitest run", "playwright test", "cypress run", "rspec", "ctest", "swift test",
    "bazel test //...",
    "cargo test", "stack test", "rebar3 ct", "ruff check .", "pylint src", "phpstan analyse", "mix credo", "rubocop",
    "golangci-lint run", "bandit -r src", "trivy fs .", "npm audit", "mvn verify", "gradle build", "cmake .", "make",
    "gcc a.c", "swift build", "go build", "nix build", "coverage report", "clang-tidy a.c", "stylelint .",
)  # fmt: skip
"""Commands that are there to say whether something holds."""
ASKED = ("--zzz", "--zzz=3", "-z", "-zz", "--only-zzz", "-Dzzz=true", "-Xzzz", "--zzz-level 0", "-checks=-*")


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("check", CHECKED)
def test_no_output_makes_a_check_ask_for_less(check: str, asked: str) -> None:
    """Options that nobody listed: what they do is not known, so that no word list can hold them."""
    less = f"{check} {asked}"
    for said in (FAILED, f"{FAILED}: try `{less}`", f"hint: use {asked}", f"usage: {check} [{asked}]"):
        assert held_back(less, failed=check, said=said), said
        assert held_back(check, failed=less, said=FAILED), "what was asked for is left out"
    blamed = f"error: unknown option {asked.split()[0].partition('=')[0]}"
    assert held_back(check, failed=f"{check} {asked.split()[0]}", said=blamed) == "", "the tool does not know it"


def test_an_option_of_a_check_may_take_the_place_of_one_that_it_does_not_know() -> None:
    said = "error: unknown option --outfmt\n\nOptions:\n  --format TEXT\n  --quick"
    assert held_back("shoplint check --format text", failed="shoplint check --outfmt text", said=said) == ""
    assert held_back("shoplint check --format text --quick", failed="shoplint check --outfmt text", said=said)
    known = ran([HeadRun("shoplint check", "shoplint check --quick", ok=1)], sessions=3)
    assert held_back("shoplint check --quick", failed="shoplint check", said=FAILED, vouched=known) == ""


@pytest.mark.parametrize("worked", ["node --require ./x.js a.js", "python -O a.py", "ruby -r ./x a.rb"])
def test_no_output_names_what_an_interpreter_loads(worked: str) -> None:
    failed = f"{worked.split()[0]} {worked.split()[-1]}"
    assert held_back(worked, failed=failed, said=f"hint: try {worked}")


@pytest.mark.parametrize(
    "added",
    [
        "--as-root",
        "--uid 0",
        "--profile admin",
        "--net=host",
        "--acl public-read",
        "--plugin ./x.so",
        "--yes",
        "--prod",
    ],
)
@pytest.mark.parametrize(
    "said",
    ["not possible as it is; try {}", "shop put is invalid without it: use {}", "this is required, run with {}"],
)
def test_free_prose_gives_no_grounds(said: str, added: str) -> None:
    said = f"{FAILED}: {said.format(added)}"
    assert held_back(f"shop put {added}", failed="shop put", said=said)
    vouched = ran([HeadRun("shop put", f"shop put {added}", ok=1)], sessions=3)
    assert held_back(f"shop put {added}", failed="shop put", said=said, vouched=vouched) == ""


@pytest.mark.parametrize(
    ("failed", "said"),
    [
        ("shop put --fmt csv", "unknown flag: --fmt\nDid you mean --format?"),
        (
            "shop put --fmt csv",
            "error: unexpected argument '--fmt' found\n\n  tip: a similar argument exists: '--format'",
        ),
        ("shop put --fmt csv", 'Option "fmt" was replaced by "--format"'),
        ("shop put csv", "error: missing required option: --format"),
        ("shop put csv", "error: the following arguments are required: --format"),
        ("shop put csv", 'Error: required flag(s) "format", "name" not set'),
        ("shop put csv", 'Required flags "name, format" not set'),
        ("shop put csv", "Missing required arguments: name, format"),
        ("shop put csv", "shop: wrong use\n\nUsage: shop put FILE\n  --format TEXT"),
    ],
)
def test_what_a_tool_says_of_its_own_options_gives_grounds(failed: str, said: str) -> None:
    assert held_back("shop put --format csv", failed=failed, said=said) == ""


@pytest.mark.parametrize(
    ("worked", "said"),
    [
        ("pip install shop-lib", "ModuleNotFoundError: No module named 'shop_lib'"),
        ("go get shop.io/cart", "no required module provides package shop.io/cart; to add it:\n\tgo get shop.io/cart"),
        ("uv add shoplib==2.1", "ModuleNotFoundError: No module named 'shoplib'"),
    ],
)
def test_what_the_error_misses_is_fetched_under_that_very_name(worked: str, said: str) -> None:
    assert held_back(worked, failed="make check", said=said) == ""
    assert held_back(f"{worked}-more", failed="make check", said=f"{said}\nhint: run `{worked}-more`") != ""
    elsewhere = f"{worked.partition('==')[0]}@npm:more"
    assert held_back(elsewhere, failed="make check", said=f"{said}\nhint: run `{elsewhere}`") != ""


@pytest.mark.parametrize("worked", ["rustup component add rustfmt", "npx playwright install"])
def test_a_tool_fetches_its_own_parts_where_the_error_says_so(worked: str) -> None:
    assert held_back(worked, failed="make check", said=f"It is not installed: run `{worked}`") == ""
    assert held_back(worked, failed="make check", said=FAILED) != ""


@pytest.mark.parametrize(
    "worked",
    ["uv run shoplint src", "bundle exec shoplint src", "pnpm exec shoplint src", "python3 -m shoplint src"],
)
def test_a_missing_program_is_run_by_a_runner_as_it_stood(worked: str) -> None:
    said = "bash: shoplint: command not found"
    assert held_back(worked, failed="shoplint src", said=said) == ""
    assert held_back(worked, failed="shoplint src", said=FAILED) != ""
    program, _, rest = worked.partition("shoplint")
    assert held_back(f"{program}shoplint-more{rest}", failed="shoplint src", said=said) != ""
    assert "`uv --quiet run`" in held_back("uv --quiet run shoplint src", failed="shoplint src", said=said)


@pytest.mark.parametrize(
    ("failed", "worked", "said"),
    [
        ("cat src/shop.toml", "cat config/shop.toml", "cat: src/shop.toml: No such file or directory"),
        ("pytest tests/test_a.py", "pytest tests/api/test_a.py", "ERROR: file or directory not found: tests/test_a.py"),
        ("python3 bin/gen.py", "python3 tools/gen.py", "can't open file '/w/bin/gen.py': [Errno 2] No such file"),
    ],
)
def test_a_file_that_is_not_there_is_named_where_it_is_in_the_project(failed: str, worked: str, said: str) -> None:
    assert held_back(worked, failed=failed, said=said) == ""
    program, _, path = worked.rpartition(" ")
    assert held_back(f"{program} ../{path}", failed=failed, said=said) != ""
    assert held_back(f"{program} {path}x", failed=failed, said=said) != ""
