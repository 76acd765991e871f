"""What can be replaced: the Protocols that loops call and backends implement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from ratchet.records import Json, Outcome, Quarantined, Row

Where = Mapping[str, "Json | tuple[str, Json]"]
"""Column -> value (equality), or (operator, value) with operator one of `= != < <= > >= in`. Conditions are ANDed."""


@dataclass(frozen=True, slots=True)
class Page:
    """Rows in order, and the cursor that continues after them (None: no more)."""

    rows: list[Row]
    cursor: str | None


class Store(Protocol):
    """Typed tables, declared once in `store.schema`. Verbs join the open transaction of their thread, else run in one
    of their own. Every write transaction is immediate: it sees the newest state and cannot fail to upgrade."""

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing. Nested use joins the outer one."""

    def insert_new(self, table: str, rows: Sequence[Row]) -> list[int]:
        """Insert rows whose key is new; return the positions (in `rows`) of those that were."""

    def get(self, table: str, key: str | tuple[str, ...]) -> Row | None:
        """The row of that key (a tuple where the key has several columns)."""

    def find(
        self,
        table: str,
        where: Where | None = None,
        *,
        order: Sequence[str] = (),
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page:
        """`order` names columns, `-name` for descending; the key breaks ties, so a cursor never skips or repeats."""

    def sum_by(self, table: str, by: Sequence[str], sums: Sequence[str], where: Where | None = None) -> list[Row]:
        """GROUP BY `by`; each of `sums` is `column` (sum), `min:column`, `max:column`, `count:*` or `distinct:column`;
        the result's key is that very string."""

    def add(self, table: str, rows: Sequence[Row]) -> None:
        """Upsert tallies: on an existing key, counter columns are added, `min_`/`max_` columns kept as extremes."""

    def match(self, table: str, words: Sequence[str], where: Where | None = None, *, limit: int = 64) -> list[Row]:
        """Rows whose indexed text shares words, best first (BM25)."""

    def swap(self, table: str, key: str | tuple[str, ...], revision: int, row: Row) -> bool:
        """Compare-and-set: write `row` iff the stored revision is `revision` (0: iff absent); stores revision + 1."""

    def delete_before(self, table: str, column: str, value: float) -> int: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What one piece of a file held: outcomes, and lines that could not be used. Store `items`, `offset` and the
    source's `carry` together, before the next piece is asked for: then a later read continues exactly there.

    `items` is empty where a piece (always the last one) only moves the offset. The last one also tells the `sessions`
    of the file, those without any outcome included, and in `note` why a well-formed file taught nothing.
    """

    items: tuple[Outcome | Quarantined, ...]
    offset: int
    sessions: tuple[str, ...] = ()
    note: str = ""


class Source(Protocol):
    """Reads one foreign history format."""

    @property
    def name(self) -> str: ...

    def claims(self, head: bytes) -> bool:
        """Whether this is its format, decided by content (the first 64 kB of it), never by the name."""

    def read(self, path: str, offset: int, carry: Row) -> Iterator[Read]:
        """Yield what the file holds from `offset` on (from its start when it was replaced since). `carry` is the
        source's own JSON-serialisable memory of the part before (open calls, token counts), updated in place and
        stored with the offset. Ids come from the content, so a piece met twice is stored once.

        Raises OSError or BackendError when the file cannot be opened; a bad line is a `Quarantined`, never raised.
        A non-empty file that yields nothing it understands yields a `Quarantined` of line 0.
        """


class Progress(Protocol):
    """Told about long work; a progress bar or nothing."""

    def __call__(self, done: int, total: int, what: str) -> None: ...


__all__ = ["Page", "Progress", "Read", "Source", "Store", "Where"]
