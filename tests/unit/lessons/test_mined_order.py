"""The state of a lesson is a function of its evidence: the order and the number of readings change nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import ratchet
from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons import lessons
from ratchet.lessons.mined import keep_evidence, mine_session, recount
from ratchet.lessons.mining.calls import calls_of
from ratchet.lessons.mining.habits import runs
from ratchet.ports import Store
from ratchet.records import Row
from ratchet.runtime import Runtime
from ratchet.store.schema import TABLES
from ratchet.testing.stores import open_store
from support.campaigns import many
from support.sessions import call, session, shell

HISTORY = Path(ratchet.__file__).parent / "demo" / "history"
NO_UPSTREAM = "fatal: The current branch fix-{0} has no upstream branch."
MISSING = "Error: Cannot find module 'vite'"


def finding(line: int) -> str:
    said = "error returned from external package is unwrapped: sig: func os.Open (wrapcheck)"
    return f"cmd/cart.go:{line}:9: {said}\n\treturn err"


def wrapped(line: int, by: str = "fmt.Errorf") -> list[Row]:
    edit: Row = {
        "file_path": "/w/shop/cmd/cart.go",
        "old_string": "\treturn err",
        "new_string": f'\treturn {by}("open {line}: %w", err)',
    }
    return [shell("golangci-lint run", finding(line)), call("Edit", edit), shell("golangci-lint run")]


def pushed(number: int, *, vain: bool = False) -> list[Row]:
    error = NO_UPSTREAM.format(number)
    return [shell("git push", error), shell(f"git push --set-upstream origin fix-{number}", error if vain else "")]


def wrote(text: str) -> Row:
    return call("Write", {"file_path": "/w/shop/cmd/cart.go", "content": text})


def silenced(line: int) -> list[Row]:
    new = "\treturn err //nolint:wrapcheck // it is its own"
    edit: Row = {"file_path": "/w/shop/cmd/cart.go", "old_string": "\treturn err", "new_string": new}
    return [shell("golangci-lint run", finding(line)), call("Edit", edit), shell("golangci-lint run")]


def installed(by: str) -> list[Row]:
    return [shell("npm run build", MISSING), shell(by), shell("npm run build")]


SESSIONS = [
    *(wrapped(each) for each in (3, 40, 88)),
    wrapped(9, "errors.Wrap"),
    *(pushed(each) for each in range(3)),
    pushed(7, vain=True),
    installed("npm ci"),
    installed("npm ci"),
    installed("pnpm install"),
    *([shell("git push")] for _ in range(2)),
    [shell("npm run build")],
    *(installed("npm ci") for _ in range(4)),
    [shell("npm run build", MISSING), shell("npm ci"), shell("npm run build", MISSING)],
    [call("Plan", {"plan": "x"}, "The user doesn't want to proceed with this tool use.", kind="user_denied")],
    *(
        [wrote('import (\n\t"fmt"\n\t"shop.io/cart"\n)'), wrote("\treturn err //nolint:wrapcheck // its own")]
        for _ in "abc"
    ),
    [wrote('import "shop.io/v2/cart"'), *silenced(7)],
    [wrote('import "shop.io/v2/cart"'), *silenced(8)],
]
ELSEWHERE = {14: "/w/bar", 15: "/w/bar", 16: "/w/pub", 17: "/w/pub", 18: "/w/pub"}


def rows_of(number: int) -> list[Row]:
    project = ELSEWHERE.get(number, "/w/shop")
    return session(SESSIONS[number], f"s{number}", project=project, start=1_700_000_000.0 + 10_000 * number)


def state_of(store: Store) -> list[Row]:
    """All that was learnt, without what says when it was written down."""
    dated = ("created_at", "updated_at", "revision", "pattern")
    found = store.find("lessons", order=("id",)).rows + store.find("facts", order=("session", "tool", "head")).rows
    return [{name: value for name, value in row.items() if name not in dated} for row in found]


def learnt(folder: Path, order: list[int], how: str = "one by one") -> list[Row]:
    folder.mkdir()
    store = open_store(folder)
    try:
        for table in ("outcomes", "lessons", "answers", "resolutions", "habits", "facts", "signatures", "patterns"):
            store.delete(table, {TABLES[table].key[0]: (">=", "")})  # one server for all, where the run has one
        touched: set[str] = set()
        for number in order:
            rows = rows_of(number)
            if how == "live":  # a part of it was met as it happened
                ingest(store, rows[: 1 + number % len(rows)])
                mine_session(store, f"s{number}")
            ingest(store, rows)
            if how == "at once":
                touched |= keep_evidence(store, f"s{number}", rows).touched
            else:
                mine_session(store, f"s{number}")
        recount(store, touched)
        return state_of(store)
    finally:
        store.close()


def any_order_gives_the_same(folder: Path, seeds: range) -> None:
    numbers = list(range(len(SESSIONS)))
    expected = learnt(folder / "in-order", numbers)
    assert {str(row.get("state")) for row in expected} >= {"active", "candidate"}
    assert any(row.get("generic") for row in expected)
    for seed in seeds:
        shuffled = random.Random(seed).sample(numbers, len(numbers))
        for how in ("one by one", "at once", "live"):
            assert learnt(folder / f"{how} {seed}", shuffled, how) == expected, f"seed {seed}, {how}"


def test_any_order_gives_the_same_lessons_and_facts(tmp_path: Path) -> None:
    any_order_gives_the_same(tmp_path, range(many(4)))


@pytest.mark.soak
def test_any_of_two_hundred_orders_gives_the_same_lessons_and_facts(tmp_path: Path) -> None:
    any_order_gives_the_same(tmp_path, range(200))


def test_learning_a_session_twice_changes_nothing(tmp_path: Path) -> None:
    numbers = list(range(len(SESSIONS)))
    assert learnt(tmp_path / "once", numbers) == learnt(tmp_path / "twice", [*numbers, *numbers])


def test_a_retired_lesson_comes_back_when_its_evidence_does(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for number, calls in enumerate([pushed(1), pushed(2), *([shell("git push")] for _ in range(6))]):
        ingest(store, session(calls, f"a{number}", start=1_700_000_000.0 + 10_000 * number))
        mine_session(store, f"a{number}")
    (found,) = lessons.listed(store)
    assert (found.state, found.reason) == ("retired", "the step works as it stands in 6 sessions since")
    ingest(store, session(pushed(3), "b", start=1_800_000_000.0))
    mine_session(store, "b")
    (found,) = lessons.listed(store)
    assert found.state == "active"
    store.close()


def test_files_give_the_same_in_any_order_at_once_or_one_by_one(tmp_path: Path) -> None:
    def read(name: str, batches: list[list[Path]]) -> list[Row]:
        (tmp_path / name).mkdir()
        with Runtime.open(home=tmp_path / name) as runtime:
            for batch in batches:
                runtime.learn(batch)
            return state_of(runtime.store)

    files = sorted(HISTORY.glob("*.jsonl"))
    assert len(files) >= 3
    expected = read("at-once", [files])
    for seed in range(2):
        shuffled = random.Random(seed).sample(files, len(files))
        assert read(f"one-by-one-{seed}", [[each] for each in shuffled]) == expected
        assert read(f"shuffled-{seed}", [shuffled]) == expected


def test_the_ways_of_one_edit_are_counted_in_the_same_order_by_every_process() -> None:
    wrote_all = wrote("import (\n" + "\n".join(f'\t"shop.io/{name}"' for name in "hbdcagfe") + "\n)")
    forms = [run.form for run in runs(calls_of(session([wrote_all])))]
    assert len(forms) == 8
    assert forms == sorted(forms)
