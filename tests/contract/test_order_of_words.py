"""What people said is kept alike whatever is read first, on every store."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratchet.lessons.learning import mine_pending, take
from ratchet.lessons.words.kept import hear
from ratchet.lessons.words.rules import Correction, corrections
from ratchet.ports import Store
from ratchet.records import Row, Saying
from ratchet.store.sqlite import SqliteStore
from support.postgres_server import Databases

SESSIONS = 4
TEXTS = (
    "never push to main",
    "never push to main please",
    "no, use pnpm, not npm",
    "stop, rename the branch before you push",
)
REFUSED = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"


def _calls(number: int) -> list[Row]:
    """A push, one that a person refused in every second session, and what was run then."""
    refused = f"{REFUSED}never force a push" if number % 2 else ""
    asked = (("git push", ""), ("git push --force", refused), ("pnpm install", ""))
    rows: list[Row] = []
    for at, (command, said) in enumerate(asked):
        row: Row = {
            "id": f"n{number}-{at}",
            "agent": "claude-code",
            "ok": not said,
            "started_at": 100.0 * number + 10 * at,
            "duration_s": 0.5,
            "session": f"n{number}",
            "project": f"/home/{'kim' if number % 2 else 'lee'}/shop",
            "task": "Bash",
            "step": {"tool": "Bash", "head": " ".join(command.split()[:2]), "target": "", "input": command},
        }
        if said:
            row["failure"] = {"message": said, "kind": "user_denied", "signature": "x", "template": "t"}
        rows.append(row)
    return rows


def _words(number: int) -> list[Saying]:
    project = f"/home/{'kim' if number % 2 else 'lee'}/shop"
    return [
        Saying(
            id=f"w{number}-{at}",
            who="person",
            way="interrupted" if at else "typed",
            agent="claude-code",
            session=f"n{number}",
            project=project,
            at=100.0 * number + 10 * at + 5,
            text=TEXTS[(number + at) % len(TEXTS)],
            chars=len(TEXTS[(number + at) % len(TEXTS)]),
            after=f"n{number}-{at}",
        )
        for at in range(2)
    ]


PIECES = [(number, what) for number in range(SESSIONS) for what in ("first calls", "later calls", "words")]


Rows = list[list[tuple[str, str]]]


def _read(store: Store, order: list[tuple[int, str]], *, mined_each: bool) -> tuple[Rows, Rows, tuple[Correction, ...]]:
    for number, what in order:
        if what == "words":
            with store.transaction():
                hear(store, _words(number))
        else:
            rows = _calls(number)
            take(store, rows[:1] if what == "first calls" else rows[1:], lambda *_: None)
        if mined_each:
            mine_pending(store, lambda *_: None)
    mine_pending(store, lambda *_: None)
    return _rows(store, "sayings"), _rows(store, "moves"), corrections(store, every=True)


def _rows(store: Store, table: str) -> Rows:
    rows = store.find(table, {}).rows
    return sorted(sorted((name, str(value)) for name, value in row.items() if name != "revision") for row in rows)


Opened = Callable[[], AbstractContextManager[Store]]
_NUMBERS = itertools.count()


@pytest.fixture(params=["sqlite", "postgres"])
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """Opens an empty store."""
    if request.param == "postgres":
        databases: Databases = request.getfixturevalue("postgres")

    @contextmanager
    def opened() -> Iterator[Store]:
        url = ""
        if request.param == "sqlite":
            store: Store = SqliteStore(tmp_path / f"{next(_NUMBERS)}.db")
        else:
            from ratchet.store.postgres import PostgresStore

            url = databases.fresh()
            store = PostgresStore(url)
        try:
            yield store
        finally:
            store.close()
            if url:
                databases.give_back(url)

    return opened


@pytest.mark.parametrize("mined_each", [True, False], ids=["one by one", "at once"])
@settings(max_examples=5, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(PIECES))
def test_any_order_of_reading_keeps_the_same_words_and_moves(
    fresh: Opened, mined_each: bool, order: list[tuple[int, str]]
) -> None:
    found = []
    for read in (PIECES, order):
        with fresh() as store:
            found.append(_read(store, read, mined_each=mined_each))
    assert found[0] == found[1]
    _, moves, told = found[0]
    assert len(moves) > SESSIONS
    assert any(each.lesson for each in told)
