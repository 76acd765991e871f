"""What a person wrote for one error is not offered for another that shares only what every error says."""

from __future__ import annotations

from pathlib import Path

import pytest

from ratchet.lessons.lessons import add
from ratchet.lessons.recall import recall
from ratchet.store.sqlite import SqliteStore

IN_USE = "Error: listen EADDRINUSE: address already in use :::3000"
OTHERS = (
    "Error: EISDIR: illegal operation on a directory, read",
    "Error: connect ECONNREFUSED 127.0.0.1:5432",
    "Error: Cannot find module 'express'",
    "Error: getaddrinfo ENOTFOUND registry.npmjs.org",
    "psycopg2.pool.PoolError: connection pool exhausted",
)


@pytest.mark.parametrize("others", [0, 5])
def test_words_that_every_error_has_are_no_match(tmp_path: Path, others: int) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    add(store, when=IN_USE, do="Stop the old server first: npm run stop", state="active", scope="global")
    for number in range(others):
        add(
            store,
            when=f"Error: cannot load part{chr(97 + number)} of the page",
            do=f"Build it: npm run build{number}",
            state="active",
            scope="global",
        )
    for text in OTHERS:
        found = recall(store, text)
        about = [each.score for each in (*found.lessons, *found.possibly) if "old server" in each.text]
        assert all(score < 0.5 for score in about), (text, about)
    assert "old server" in recall(store, "what if the address is in use already?").possibly[0].text
    store.close()


def test_nothing_that_is_listed_fits_equally_well(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    trace = 'Traceback (most recent call last):\n  File "/app/{0}.py", line 4, in {0}\n    {1}\n{2}'
    add(
        store,
        when=trace.format("cart", "total()", "KeyError: 'price'"),
        do="Give it a price",
        state="active",
        scope="global",
    )
    add(
        store,
        when=trace.format("tax", "rate()", "ValueError: no rate"),
        do="Give it a rate",
        state="active",
        scope="global",
    )
    found = recall(store, trace.format("worker", "pool.getconn()", "PoolError: connection pool exhausted"))
    assert (found.silent == "ambiguous") <= bool(found.possibly)
    store.close()
