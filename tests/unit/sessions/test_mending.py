"""One verdict says which failed steps a later one mended, wherever a session is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from ratchet.ports import Store
from ratchet.records import Json, Page, Row
from ratchet.runtime import Runtime
from ratchet.sessions import opening
from ratchet.sessions.mending import fixes_of
from ratchet.sessions.prices import Prices
from support.histories import SESSION, lines, result, use
from support.shop import key, shell, words

GONE = "Request failed with status code 404"


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with Runtime.open(home=tmp_path / "home") as opened:
        yield opened


def call(name: str, tool: str, given: Json, said: str, second: float, *, failed: bool = False) -> list[Row]:
    return [
        use(key(name), tool, given, second, message=f"m-{name}", tokens=100),
        result(key(name), said, second + 1, is_error=True if failed else None),
    ]


def fetch(name: str, url: str, said: str, second: float) -> list[Row]:
    given: Json = {"url": url, "prompt": "Find the limits."}
    return call(name, "WebFetch", given, said, second, failed=said == GONE)


def read(name: str, path: str, said: str, second: float, *, failed: bool = False) -> list[Row]:
    return call(name, "Read", {"file_path": path}, said, second, failed=failed)


def test_a_fetch_of_another_address_mends_nothing(runtime: Runtime, tmp_path: Path) -> None:
    asked = "https://example.org/docs/cli/how-it-works"
    calls = [*fetch("a", asked, GONE, 1), *fetch("b", "https://example.org/docs", "fine", 3)]
    runtime.learn([lines(tmp_path / "web.jsonl", calls)])
    shown = runtime.sessions.show(SESSION)
    assert [each.failure.message for each in shown.unfixed if each.failure] == [GONE]
    assert [each.fixed_by for each in shown.steps] == ["", ""]
    assert [each.fixes for each in shown.steps] == [(), ()]
    assert asked in runtime.sessions.handoff(SESSION).text.partition("What was not seen to be fixed")[2]


@pytest.mark.parametrize(
    ("missing", "found", "said"),
    [
        ("/p/shop/src/pool.py", "/p/shop/lib/pool.py", "File does not exist."),
        ("/p/shop/pool.yml", "/p/shop/pool.yaml", "File does not exist. Did you mean pool.yaml?"),
    ],
)
def test_a_file_that_is_found_elsewhere_or_was_named_is_the_same(
    runtime: Runtime, tmp_path: Path, missing: str, found: str, said: str
) -> None:
    calls = [*read("a", missing, said, 1, failed=True), *read("b", found, "POOL = 3", 3)]
    runtime.learn([lines(tmp_path / "read.jsonl", calls)])
    shown = runtime.sessions.show(SESSION)
    verdicts = {bool(each.fixed_by) for each in shown.steps if not each.outcome.ok}
    handed = runtime.sessions.handoff(SESSION).text
    assert len(verdicts) == 1
    assert ("What was not seen to be fixed" in handed) is bool(shown.unfixed) is (verdicts == {False})


def test_a_handoff_is_what_the_next_one_needs(runtime: Runtime, tmp_path: Path) -> None:
    asked = "the build of the shop fails as soon as two of its workers ask for the same connection"
    calls = [
        words(asked, 0),
        *shell("a", "make build", "make: *** No rule to make target 'build'.  Stop.", 1, failed=True),
        words(f"{asked}, please look into it", 3),
        *shell("b", 'echo "=== THE SHOP ==="', "=== THE SHOP ===", 4),
        *shell("c", "cat Makefile", "all:", 6),
        *shell("d", "make all", "built", 8),
        *shell("e", "make all -j2", "built", 10),
    ]
    runtime.learn([lines(tmp_path / "shop.jsonl", calls)])
    text = runtime.sessions.handoff(SESSION).text
    assert text.count(asked) == 1
    assert "please look into it" in text
    assert "THE SHOP" not in text
    assert "cat Makefile" not in text
    assert "`make all -j2`" in text
    assert "`make all`" not in text
    assert "How it ended" in text


LINT = "lint: main.go:3: unused variable"
BOTH = "lint: main.go:3: unused variable; and: pool.go:9: no comment"
MEANT = "File does not exist. Did you mean pool.yaml?"


@pytest.mark.parametrize(
    ("calls", "fixed"),
    [
        ([("Bash", "make lint", LINT), ("Bash", "make lint 2>&1 | tail -3", "")], {0: 1}),
        ([("Bash", "make lint", LINT), ("Bash", "make lint", BOTH), ("Bash", "make lint", "")], {0: 2, 1: 2}),
        ([("Bash", "make lint", LINT), ("Bash", "make lint", BOTH)], {}),
        ([("Bash", "find /p/shop/css -type f", "find: /p/shop/css"), ("Bash", "find /p/shop/lib -type f", "")], {}),
        ([("Glob", "**/*.css", "Path does not exist"), ("Glob", "**/*.py", "")], {}),
        ([("Read", "/p/shop/pool.yml", MEANT), ("Read", "/p/shop/pool.yaml", "")], {0: 1}),
    ],
    ids=["the same command", "through one that failed", "nothing", "another place", "another pattern", "as it named"],
)
def test_the_headline_counts_the_failed_steps_that_name_no_fix(
    runtime: Runtime, tmp_path: Path, calls: list[tuple[str, str, str]], fixed: dict[int, int]
) -> None:
    names = {"Bash": "command", "Glob": "pattern", "Read": "file_path"}
    rows = [
        row
        for at, (tool, given, failed) in enumerate(calls)
        for row in call(f"s{at}", tool, {names[tool]: given}, failed or "fine", 1 + 3 * at, failed=bool(failed))
    ]
    runtime.learn([lines(tmp_path / "lint.jsonl", rows)])
    shown = runtime.sessions.show(SESSION)
    steps = [each.outcome.id for each in shown.steps]
    assert {steps.index(each.outcome.id): steps.index(each.fixed_by) for each in shown.steps if each.fixed_by} == fixed
    nameless = [each.outcome.id for each in shown.steps if not (each.outcome.ok or each.fixed_by)]
    assert [each.id for each in shown.unfixed] == nameless
    assert {failed: each.outcome.id for each in shown.steps for failed in each.fixes} == {
        each.outcome.id: each.fixed_by for each in shown.steps if each.fixed_by
    }


FAILS = "--- FAIL: TestPay (0.00s)\n    pay_test.go:9: got 3, want 4\nFAIL\tshop/pay\t0.2s"
UNBUILT = "# shop/pay [shop/pay.test]\npay/pay_test.go:9:4: undefined: total"


@pytest.mark.parametrize(
    ("failed", "said", "later", "fixes"),
    [
        ("go test -tags=integration ./pay", FAILS, "mise run test && mise run lint", False),
        ("go test -tags=integration ./pay", FAILS, "go test ./...", False),
        ("go test -tags=integration ./pay", FAILS, "go test -tags=integration ./...", True),
        ("go test -tags=integration ./pay", FAILS, "mise run test:integration", True),
        ("mise run test:integration", UNBUILT, "mise run lint", False),
        ("mise run test:integration", FAILS, "mise run test", False),
        ("mise run test", FAILS, "mise run lint", False),
        ("mise run test", FAILS, "mise run test && mise run lint", True),
        ("go test ./pay -run TestPay", FAILS, 'go test ./pay -run "TestShip|TestReturn"', False),
        ("go test ./pay -run TestPay", FAILS, 'go test ./pay -run "TestShip|TestPay"', True),
        ("go test ./pay -run 'TestShip|TestPay'", FAILS, "go test ./pay -run TestPay -v", True),
        ("go test ./pay -run TestPayment", FAILS.replace("TestPay", "TestPayment"), "go test ./pay -run TestPay", True),
        ("go test ./pay -run TestPay", FAILS, "go test ./pay", True),
        ("go test ./pay", FAILS, "go test ./ship", False),
        ("go test ./pay", FAILS, "go test ./...", True),
        ("go test ./pay -run TestPay", UNBUILT, "go test ./pay -run TestShip", True),
        (
            "pytest tests/a.py -k refund",
            "FAILED tests/a.py::test_refund - assert 3",
            "pytest tests/a.py -k ship",
            False,
        ),
        ("pytest tests/a.py -k refund", "FAILED tests/a.py::test_refund - assert 3", "pytest tests", True),
    ],
)
def test_a_check_is_fixed_by_a_run_that_would_have_shown_the_failure(
    runtime: Runtime, tmp_path: Path, failed: str, said: str, later: str, fixes: bool
) -> None:
    edit: Row = {"file_path": "/p/shop/pay/pay.go", "old_string": "return 3", "new_string": "return total + 1"}
    calls = [
        *call("a", "Bash", {"command": failed}, said, 1, failed=True),
        *call("b", "Edit", edit, "fine", 4),
        *call("c", "Bash", {"command": later}, "ok", 7),
    ]
    runtime.learn([lines(tmp_path / "checks.jsonl", calls)])
    shown = runtime.sessions.show(SESSION)
    assert bool(shown.steps[0].fixed_by) is fixes
    assert bool(shown.unfixed) is not fixes


class Counting:
    """A store that counts how often each table is looked through."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.asked: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def find(self, table: str, *args: Any, **named: Any) -> Page:
        self.asked[table] += 1
        return self._store.find(table, *args, **named)


def test_what_was_mined_of_many_sessions_is_asked_for_once_and_of_one_it_is_worked_out_once(runtime: Runtime) -> None:
    for number in range(5):
        for at, ok in enumerate((False, True)):
            runtime.record("coder", task="Bash", session=f"s{number}", started_at=1_700_000_000.0 + 100 * number + at,
                           step={"tool": "Bash", "head": "make", "input": "make build"},
                           **({"ok": True} if ok else {"error": "make: *** [build] Error 2"}))  # fmt: skip
    runtime.drain()
    failed = [(each.session, each.started_at, each.id) for each in runtime.sessions.outcomes(ok=False).items]
    store = Counting(runtime.store)
    found = fixes_of(cast("Store", store), failed)
    assert {step: by.session for step, by in found.items()} == {step: session for session, _, step in failed}
    assert store.asked == {"resolutions": 1, "outcomes": 5}, "of outcomes those of each session, and none twice"
    store = Counting(runtime.store)
    row = {"session": "s0", **next(iter(runtime.store.find("session_tallies", {"session": "s0"}).rows))}
    opened = opening.opened(cast("Store", store), row, opening.AskedSteps(), Prices({}), now=1_700_000_500.0)
    assert [bool(each.fixed_by) for each in opened.steps] == [True, False]
    assert (opened.unfixed, store.asked["resolutions"]) == ((), 1)
