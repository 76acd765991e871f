"""Postgres: taking in batches of 500 outcomes, beside a bare COPY of the same rows by the same process.

    python benchmarks/postgres.py [--url postgresql://...] [--size 10000]

Without an address a server of its own is started (package pgserver, or the system's). Both sides parse the same JSON
text of a batch and commit it, in a process that has taken in some batches before. The bare side copies the outcome's
columns into its table; ours stores each outcome once by its id, classifies and signs failures, and moves every tally.
CPU time of this process and of the server's, best of interleaved rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

sys.path.append(str(Path(__file__).parent.parent / "tests"))  # their server

import psycopg

from figures import Figure, at_least, publish
from history import SIGNATURES, STARTED_AT, outcomes
from ratchet.failures.patterns.ingest import ingest
from ratchet.records import Row
from ratchet.store import rows as codec
from ratchet.store.postgres import PostgresStore
from ratchet.store.postgres_values import values_of
from ratchet.store.schema import TABLES
from support.postgres_server import Databases, PostgresServer, programs

Connection: TypeAlias = "psycopg.Connection[tuple[object, ...]]"

BATCH_ROWS = 500
DAY_S = 86_400.0
ROUNDS = 5
WARMING = 8  # batches first: the driver prepares a statement when it is met for the sixth time
SHARES = (0.0, 0.1, 0.3)
OUTCOMES = TABLES["outcomes"]


def batches(size: int, failing: float, seed: int) -> list[str]:
    """As a server meets them: ten thousand a day, up to now."""
    size += WARMING * BATCH_ROWS
    days = size / 10_000
    rows = list(outcomes(size, failing=failing, seed=seed, days=days, started_at=time.time() - days * DAY_S))
    return [json.dumps(rows[start : start + BATCH_ROWS]) for start in range(0, size, BATCH_ROWS)]


def cpu_us(texts: list[str], take: Callable[[list[Row]], object], connection: Connection) -> float:
    """Microseconds an outcome of this process and of the server process that works for it."""
    server = connection.info.backend_pid
    for text in texts[:WARMING]:
        take(json.loads(text))
    before = time.process_time() + server_s(server)
    count = 0
    for text in texts[WARMING:]:
        rows = json.loads(text)
        take(rows)
        count += len(rows)
    return (time.process_time() + server_s(server) - before) / count * 1e6


def server_s(pid: int) -> float:
    exact = Path(f"/proc/{pid}/schedstat")  # nanoseconds; the other counts hundredths of a second
    if exact.exists():
        return int(exact.read_text().split()[0]) / 1e9
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def copied(connection: Connection, table: str) -> Callable[[list[Row]], None]:
    names = ", ".join(f'"{name}"' for name in codec.column_names(OUTCOMES))
    statement = f"COPY {table} ({names}) FROM STDIN".encode()

    def take(rows: list[Row]) -> None:
        with connection.transaction(), connection.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(values_of(OUTCOMES, row))

    return take


def bare_us(url: str, texts: list[str], *, indexed: bool) -> float:
    """COPY into the table as it is laid out, or into one of its columns alone."""
    PostgresStore(url).close()
    with psycopg.connect(url, autocommit=True) as connection:
        if not indexed:
            connection.execute("CREATE TABLE plain (LIKE outcomes)")
        return cpu_us(texts, copied(connection, "outcomes" if indexed else "plain"), connection)


def ours_us(url: str, texts: list[str]) -> float:
    store = PostgresStore(url)
    before = STARTED_AT - 2 * DAY_S  # a cause is named once, and met for ever
    ingest(store, list(outcomes(SIGNATURES * 4, failing=1.0, seed=99, days=1, started_at=before)))
    try:
        return cpu_us(texts, lambda rows: ingest(store, rows), store._connections.held().connection)
    finally:
        store.close()


def measured(databases: Databases, size: int) -> list[Figure]:
    figures = []
    for share in SHARES:
        ours = bare = plain = float("inf")
        for number in range(ROUNDS):
            texts = batches(size, share, seed=number)
            ours = min(ours, ours_us(databases.bare(), texts))
            bare = min(bare, bare_us(databases.bare(), texts, indexed=True))
            plain = min(plain, bare_us(databases.bare(), texts, indexed=False))
        name = f"batches of {BATCH_ROWS}, {share:.0%} failures: speed of a bare COPY into the same table"
        beside = f"{bare:.1f} us an outcome, ours {ours:.1f}"
        figures.append(at_least(name, bare / ours, 0.5, unit="x", baseline=beside))
        name = "  of a bare COPY into a table without key and index"
        figures.append(Figure(name=name, measured=f"{plain / ours:.3f} x", baseline=f"{plain:.1f} us an outcome"))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="a server on which databases may be made and dropped")
    parser.add_argument("--size", type=int, default=10_000)
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
