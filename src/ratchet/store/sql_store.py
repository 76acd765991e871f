"""Verbs of `ports.Store` that every SQL database has alike: `sql` writes the statement, the database runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from ratchet.errors import UsageError
from ratchet.store import rows as codec
from ratchet.store import search, sql
from ratchet.store.schema import table_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ratchet.ports import Where
    from ratchet.records import Json, Page, Row
    from ratchet.store.declaring import Table


class SqlStore(ABC):
    """Reads, and deletes; a database adds how it writes, and what its columns make of a value that is asked for."""

    dialect: sql.Dialect

    def insert_new(self, table: str, rows: Sequence[Row]) -> list[int]:
        """Insert rows whose key is new; return the positions of those that were. Of equal keys the first wins."""
        if not rows:
            return []
        declared = table_of(table)
        if declared.clustered:
            raise UsageError(f"table {table} holds counters; use add")
        return self._insert_new(declared, rows)

    def get(self, table: str, key: str | tuple[str, ...]) -> Row | None:
        declared = table_of(table)
        found = self._read(sql.select_key(declared, self.dialect), self._fitted_key(declared, key))
        return codec.row_of(declared, found[0]) if found else None

    def find(
        self,
        table: str,
        where: Where | None = None,
        *,
        order: Sequence[str] = (),
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page:
        """Rows in order (see `ports.Store`), read whole when there is no `limit`."""
        declared = table_of(table)
        full = sql.full_order(declared, order)
        after = None if cursor is None else self._fitted_after(declared, full, sql.after_cursor(full, cursor))
        ask = None if limit is None else max(0, limit) + 1  # one more tells whether anything follows
        fit = self._fitted_where(declared, where)
        text, values = sql.select(declared, fit, self.dialect, order=order, limit=ask, after=after)
        return sql.page_of(declared, full, self._read(text, values), limit)

    def sum_by(self, table: str, by: Sequence[str], sums: Sequence[str], where: Where | None = None) -> list[Row]:
        declared = table_of(table)
        text, values = sql.group(declared, by, sums, self._fitted_where(declared, where), self.dialect)
        return codec.rows_of((*by, *sums))(self._sums(self._read(text, values)))

    def add(self, table: str, rows: Sequence[Row]) -> None:
        """Upsert: counters are added, extremes widened, other columns keep what came first."""
        if rows:
            self._add(table_of(table), rows)

    def match(
        self, table: str, weights: Mapping[str, float], where: Where | None = None, *, limit: int = 64
    ) -> list[Row]:
        declared = search.searched(table_of(table))
        words = {term: weight for term, weight in weights.items() if term.isalnum()}  # no other term is in any row
        found = self._weighed(declared, words, self._fitted_where(declared, where), limit) if words else []
        return [codec.row_of(declared, held) for held in found]

    def having(
        self,
        table: str,
        words: Sequence[str],
        where: Where | None = None,
        *,
        without: Sequence[str] = (),
        limit: int = 50,
    ) -> list[Row]:
        declared = search.worded(table_of(table))
        asked, fit = search.asked_words(words), self._fitted_where(declared, where)
        text, values = self._having(declared, asked, without, fit, limit)
        return [codec.row_of(declared, held) for held in self._read(text, values)]

    def spread(self, table: str, terms: Sequence[str]) -> dict[str, int]:
        declared = search.searched(table_of(table))
        among = self.dialect.among.format("term")
        text = f'SELECT term, n FROM "{search.spread_of(declared)}" WHERE {among}'
        return {str(term): int(n) for term, n in self._read(text, [self.dialect.listed(list(terms))])}

    def delete_before(self, table: str, column: str, value: float) -> int:
        name = sql.column_of(table_of(table), column).name
        with self._writing() as run:
            return int(run.execute(f'DELETE FROM "{table}" WHERE "{name}" < {self.dialect.mark}', (value,)).rowcount)

    def delete(self, table: str, where: Where) -> int:
        declared = table_of(table)
        text, values = sql.delete(declared, self._fitted_where(declared, where) or {}, self.dialect)
        with self._writing() as run:
            return int(run.execute(text, values).rowcount)

    def derive(self) -> None:
        from ratchet.store.deriving import derive

        with self._writing() as run:
            derive(run, self.dialect.mark)

    # -- a database's own ----------------------------------------------------------------------------------------------

    @abstractmethod
    def _read(self, text: str, values: Sequence[Json]) -> list[Any]:
        """All rows that a query finds."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Any]:
        """This thread's connection in a transaction, its errors as ours."""

    @abstractmethod
    def _insert_new(self, table: Table, rows: Sequence[Row]) -> list[int]: ...

    @abstractmethod
    def _add(self, table: Table, rows: Sequence[Row]) -> None: ...

    @abstractmethod
    def _weighed(self, table: Table, weights: Mapping[str, float], where: Where | None, limit: int) -> list[Any]:
        """The best rows by the sum of the weights of their terms."""

    @abstractmethod
    def _having(
        self, table: Table, words: Sequence[str], without: Sequence[str], where: Where | None, limit: int
    ) -> tuple[str, list[Json]]:
        """The statement that finds rows by their words."""

    def _fitted_where(self, table: Table, where: Where | None) -> Where | None:  # noqa: ARG002
        return where

    def _fitted_key(self, table: Table, key: str | tuple[str, ...]) -> Sequence[Json]:
        return codec.key_values(table, key)

    def _fitted_after(
        self,
        table: Table,  # noqa: ARG002
        order: Sequence[tuple[str, bool]],  # noqa: ARG002
        after: Sequence[Json],
    ) -> Sequence[Json]:
        return after

    def _sums(self, found: list[Any]) -> Iterable[Any]:
        return found
