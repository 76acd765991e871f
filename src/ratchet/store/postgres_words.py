"""Words of declared text columns in Postgres, ranked by BM25 as SQLite's FTS5 ranks them.

Postgres' own ranking knows nothing of how rare a word is, and its parser takes file names and numbers apart by rules
of its own. So each word of a row is a row of `TABLE_words`, cut as FTS5 cuts them: letters, digits and underscores of
any script, in lower case. The empty word stands in every row and carries the row's length.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

from ratchet.ports import Where
from ratchet.records import Json, Row
from ratchet.store.declaring import Table
from ratchet.store.rows import read_names
from ratchet.store.search import index_of
from ratchet.store.sql import POSTGRES, conditions

_WORD = re.compile(r"\w+")
_WORD_CHARS = 200  # an index entry holds no more than 2,704 bytes


def create(table: Table) -> list[str]:
    name = index_of(table)
    number = f'"row" bigint NOT NULL REFERENCES "{table.name}" ("rowid_") ON DELETE CASCADE'
    columns = f'"word" text COLLATE "C" NOT NULL, {number}, "n" integer NOT NULL, "length" integer NOT NULL'
    return [
        f'CREATE TABLE "{name}" ({columns}, PRIMARY KEY ("word", "row"))',
        f'CREATE INDEX "{name}_by_row" ON "{name}" ("row")',
    ]


@cache
def forget(table: Table) -> str:
    """Take a row's words out; its parameter is the row's number."""
    return f'DELETE FROM "{index_of(table)}" WHERE "row" = %s'


@cache
def keep(table: Table) -> str:
    """Put a row's words in; its parameters are those of `entries`."""
    return (
        f'INSERT INTO "{index_of(table)}" ("word", "row", "n", "length") '
        "SELECT word, %s, n, %s FROM unnest(%s::text[], %s::integer[]) AS said (word, n)"
    )


def entries(table: Table, number: int, row: Row) -> list[object]:
    """The words of row `number`, as the parameters of `keep`."""
    said: Counter[str] = Counter()
    for name in table.words:
        text = row.get(name)
        if isinstance(text, str):
            said.update(words_of(text))
    length = said.total()
    return [number, length, ["", *said], [1, *said.values()]]


def words_of(text: str) -> list[str]:
    readable = text.encode("utf-8", "replace").decode()
    return [word[:_WORD_CHARS] for word in _WORD.findall(readable.lower())]


def select(table: Table, words: Sequence[str], where: Where | None, limit: int) -> tuple[str, list[Json]]:
    """Rows that share any of the words, best first.

    The formula and its constants (k1 = 1.2, b = 0.75, no weight below 1e-6) are those of FTS5's `bm25()`
    (sqlite.org/fts5.html, 5.1.1); a word's number of rows is that of its entries.
    """
    name = index_of(table)
    said, values = conditions(table, where, POSTGRES, prefix="held.")
    columns = ", ".join(f'held."{column}"' for column in read_names(table))
    found: Json = list(dict.fromkeys(each for asked in words for each in words_of(asked)))
    text = (
        f'WITH whole AS MATERIALIZED (SELECT count(*)::float8 AS rows, avg("length")::float8 AS length '
        f'FROM "{name}" WHERE "word" = \'\'), '
        f'said AS (SELECT "row", "n", "length", count(*) OVER (PARTITION BY "word") AS rows '
        f'FROM "{name}" WHERE "word" = ANY(%s)), '
        'scored AS (SELECT said."row", sum(GREATEST(ln((whole.rows - said.rows + 0.5) / (said.rows + 0.5)), 1e-6) '
        '* said."n" * 2.2 / (said."n" + 1.2 * (0.25 + 0.75 * said."length" / whole.length))) AS score '
        'FROM said, whole GROUP BY said."row") '
        f'SELECT {columns} FROM scored JOIN "{table.name}" AS held ON held."rowid_" = scored."row"'
    )
    if said:
        text += f" WHERE {said}"
    return f'{text} ORDER BY scored.score DESC, scored."row" LIMIT %s', [found, *values, limit]
