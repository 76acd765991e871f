"""Redis beside the store: how long recall takes with and without it, and whether it finds the same.

    python benchmarks/redis_recall.py [--lessons 10000] [--loghub DIR] [--index flat|hnsw]

Lines of loghub-2k (as in `recall.py`) with more memories in their words, once in SQLite and once in Postgres; the same
200 queries of each store alone and with vectors in a Redis of its own (`scripts/redis.sh` brings one). Wall time, since
the servers work for it; the processes share this machine's cores. "Sure" is what may be handed to an agent, by the hook
and others; "with lists" also ranks what is only possible, for a person.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "tests"))  # their servers

from figures import Figure, at_least, publish
from ratchet.failures.features import KEPT
from ratchet.failures.kinds.kind import kind_of
from ratchet.failures.redaction.text import clean
from ratchet.failures.signature import sign, template_of
from ratchet.lessons.calibration import calibrate
from ratchet.lessons.finding import quoted_names
from ratchet.lessons.lessons import add
from ratchet.lessons.mining.triggers import lesson_id_of
from ratchet.lessons.recall import Recalled, recall
from ratchet.lessons.rows import told
from ratchet.ports import Store
from ratchet.records import Row
from ratchet.runtime import unwatched
from ratchet.store.paging import rows_of
from ratchet.store.postgres import PostgresStore
from ratchet.store.redis.beside import StoreBesideRedis
from ratchet.store.redis.longterm import Algorithm
from ratchet.store.redis.tiers import RedisTiers
from ratchet.store.sqlite import SqliteStore
from recall import SHARED, enlarged
from recall_sets import RecallSet, logs
from support.postgres_server import PostgresServer, programs
from support.redis_server import PLACE, SearchRedis

ASKED, WARMING = 200, 50
AT_ONCE = 2_000  # rows of a transaction
SAME = 0.98  # of the answers: a graph of vectors is an estimate, whose misses must be rare


def filled(store: Store, held: RecallSet, size: int) -> None:
    """Put in the rows that `lessons.add` would write, thousands in a transaction."""
    texts = enlarged(held.memory, size)
    name, text = next(iter(texts.items()))
    added = add(store, when=text, do=f"advice {name}", state="active", source=held.source, now=0.0)
    like = store.get("lessons", added.id) or {}
    rows: list[Row] = []
    for at, (name, text) in enumerate(texts.items()):
        said, advice, kind = clean(text, KEPT), f"advice {name}", kind_of(text)
        template = template_of(said)
        row: Row = {"id": lesson_id_of("written", advice, template, "project"), "signature": sign(kind, template)}
        row |= {"kind": kind, "when_text": template, **told(said, held.source), "text": advice, "example": advice}
        row |= {"names": [*quoted_names(said)], "created_at": float(at), "updated_at": float(at)}
        rows.append({**like, **row})
    for start in range(1, len(rows), AT_ONCE):
        store.insert_new("lessons", rows[start : start + AT_ONCE])
    calibrate(store)


@contextmanager
def stores(folder: Path, held: RecallSet, size: int) -> Iterator[Iterator[tuple[str, Store]]]:
    """The same memories in each kind of store."""
    plain = SqliteStore(folder / "ratchet.db")
    filled(plain, held, size)
    server = PostgresServer() if programs() else None

    def each() -> Iterator[tuple[str, Store]]:
        yield "SQLite", plain
        if server is not None:
            shared = PostgresStore(server.url())
            for table in ("lessons", "meta"):
                rows = list(rows_of(plain, table, {}, order=()))
                for start in range(0, len(rows), AT_ONCE):
                    shared.insert_new(table, rows[start : start + AT_ONCE])
            yield "Postgres", shared
            shared.close()

    try:
        yield each()
    finally:
        plain.close()
        if server is not None:
            server.close()


def asked(
    stores: Sequence[Store], texts: Sequence[str], *, listing: bool
) -> tuple[list[list[float]], list[list[Recalled]]]:
    """Of each store the milliseconds of each answer, in order, and the answers. The stores take turns, so that a busy
    machine is one for all of them."""
    taken: list[list[float]] = [[] for _ in stores]
    found: list[list[Recalled]] = [[] for _ in stores]
    for text in texts[:WARMING]:
        for store in stores:
            recall(store, text, listing=listing)
    for text in texts:
        for at, store in enumerate(stores):
            started = time.perf_counter()
            found[at].append(recall(store, text, listing=listing))
            taken[at].append(1_000 * (time.perf_counter() - started))
    return [sorted(each) for each in taken], found


def compared(name: str, store: Store, texts: Sequence[str], algorithm: Algorithm | None, size: int) -> list[Figure]:
    figures = []
    with SearchRedis() as server:
        beside = StoreBesideRedis(store, RedisTiers(server.url))
        started = time.perf_counter()
        states = beside.rebuild(unwatched, algorithm=algorithm)
        filled_s = time.perf_counter() - started
        index = states[0].algorithm
        for listing in (False, True):
            (alone_ms, with_ms), (alone, found) = asked((store, beside), texts, listing=listing)
            p95 = int(0.95 * len(texts))
            what = "with lists" if listing else "sure"
            figures.append(
                Figure(
                    name=f"{size:,} lessons in {name}, {index}, {what}: recall p95 with Redis, of that without",
                    measured=f"{with_ms[p95] / alone_ms[p95]:.2f} x ({with_ms[p95]:.1f} ms)",
                    baseline=f"{alone_ms[p95]:.1f} ms (p50 {_middle(alone_ms):.1f}, with {_middle(with_ms):.1f})",
                )
            )
            of = _listed if listing else _first
            same = sum(of(one) == of(other) for one, other in zip(alone, found, strict=True)) / len(texts)
            if listing:
                figures.append(
                    Figure(name="... the same five, in the same order", measured=f"{same:.3f}", baseline="1")
                )
            else:
                figures.append(at_least("... the same sure answer", same, SAME, baseline="1"))
        figures.append(Figure(name="... vectors brought, a second", measured=f"{size / filled_s:,.0f}"))
    return figures


def _middle(taken: Sequence[float]) -> float:
    return taken[len(taken) // 2]


def _first(found: Recalled) -> list[str]:
    return [each.id for each in found.lessons[:1]]


def _listed(found: Recalled) -> list[str]:
    return [each.id for each in (*found.lessons, *found.possibly)][:5]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lessons", type=int, default=10_000)
    parser.add_argument("--loghub", type=Path, default=SHARED / "loghub")
    parser.add_argument("--index", choices=("flat", "hnsw"))
    given = parser.parse_args()
    if not (PLACE / "bin" / "redis-server").exists():
        print("redis_recall: left out, since no Redis with vector search is here; scripts/redis.sh brings it")
        return
    held = logs(given.loghub)
    texts = [query.text for query in random.Random(2).sample(held.of("dev"), ASKED)]
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder, stores(Path(folder), held, given.lessons) as both:
        for name, store in both:
            figures += compared(name, store, texts, given.index, given.lessons)
    publish("redis_recall", figures)


if __name__ == "__main__":
    main()
