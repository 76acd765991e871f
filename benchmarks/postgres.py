"""Postgres: taking in batches of 500 outcomes, beside a bare COPY of the same rows by the same process.

    python benchmarks/postgres.py [--url postgresql://...] [--size 20000]

Without an address a server of its own is started (package pgserver, or the system's). Both sides parse the same JSON
text of a batch and commit it. The bare side copies the outcome's columns into a table; ours stores each outcome once by
its id, classifies and signs failures, and moves every tally. CPU time of this process and of the server's, best of
interleaved rounds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import psycopg

from figures import Figure, at_least, publish
from history import outcomes
from ratchet.analysis.ingest import ingest
from ratchet.records import Row
from ratchet.store import rows as codec
from ratchet.store.postgres import PostgresStore
from ratchet.store.schema import TABLES
from ratchet.testing.postgres_server import Databases, PostgresServer, programs

BATCH_ROWS = 500
ROUNDS = 5
SHARES = (0.0, 0.1, 0.3)
OUTCOMES = TABLES["outcomes"]


def batches(size: int, failing: float, seed: int) -> list[str]:
    rows = list(outcomes(size, failing=failing, seed=seed, days=size / 10_000))
    return [json.dumps(rows[start : start + BATCH_ROWS]) for start in range(0, size, BATCH_ROWS)]


def a_second(texts: list[str], take: Callable[[list[Row]], object]) -> float:
    started = time.perf_counter()
    count = 0
    for text in texts:
        rows = json.loads(text)
        take(rows)
        count += len(rows)
    return count / (time.perf_counter() - started)


def copied(connection: psycopg.Connection[tuple[object, ...]]) -> Callable[[list[Row]], None]:
    names = ", ".join(f'"{name}"' for name in codec.column_names(OUTCOMES))
    types = {"text": "text", "int": "bigint", "real": "double precision", "bool": "boolean"}
    columns = [
        f'"{c.name}" {types[c.type]}' for name in codec.column_names(OUTCOMES) if (c := OUTCOMES.by_name.get(name))
    ]
    connection.execute(f'CREATE TABLE bare ({", ".join(columns)}, "body" text)'.encode())
    statement = f"COPY bare ({names}) FROM STDIN".encode()

    def take(rows: list[Row]) -> None:
        with connection.transaction(), connection.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(codec.values_of(OUTCOMES, row))

    return take


def measured(databases: Databases, size: int) -> list[Figure]:
    figures = []
    for share in SHARES:
        best = {"ours": 0.0, "bare": 0.0}
        for number in range(ROUNDS):
            texts = batches(size, share, seed=number)
            store = PostgresStore(databases.fresh())
            best["ours"] = max(best["ours"], a_second(texts, lambda rows, store=store: ingest(store, rows)))  # type: ignore[misc]
            store.close()
            with psycopg.connect(databases.bare(), autocommit=True) as connection:
                best["bare"] = max(best["bare"], a_second(texts, copied(connection)))
        name = f"outcomes a second in batches of {BATCH_ROWS}, {share:.0%} failures, of a bare COPY"
        beside = f"{best['ours']:,.0f} of {best['bare']:,.0f} a second"
        figures.append(at_least(name, best["ours"] / best["bare"], 0.5, unit="x", baseline=beside))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="a server on which databases may be made and dropped")
    parser.add_argument("--size", type=int, default=20_000)
    given = parser.parse_args()
    if given.url:
        databases = Databases(given.url)
        try:
            publish("postgres", measured(databases, given.size))
        finally:
            databases.close()
        return
    if programs() is None:
        print("postgres: skipped, there is none here: pip install pgserver, or give --url")
        return
    with PostgresServer() as server:
        publish("postgres", measured(Databases(server.url(), kept=True), given.size))


if __name__ == "__main__":
    main()
