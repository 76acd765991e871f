"""Moves everything from one store to another and proves it: every row is read back, counted and hashed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path

from ratchet.config import FILE_NAME, Config
from ratchet.errors import Refused, StoreError, UsageError
from ratchet.ports import Progress, Store
from ratchet.records import Row
from ratchet.store import opening as stores
from ratchet.store.address import is_database, masked
from ratchet.store.declaring import Table
from ratchet.store.paging import rows_of
from ratchet.store.schema import TABLES

_BATCH_ROWS = 500
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One table: its rows, how many of them had to be copied now, and the hash over all of them on either side."""

    table: str
    rows: int
    copied: int
    hash: str
    arrived: str

    @property
    def same(self) -> bool:
        return self.hash == self.arrived


@dataclass(frozen=True, slots=True, kw_only=True)
class Relocated:
    """A finished move: where from and where to (without passwords), every table, and what a person does next."""

    source: str
    target: str
    tables: tuple[Moved, ...]
    advice: str


def relocate(config: Config, source: Store, place: str, progress: Progress) -> Relocated:
    """Copy the store of these settings to a database's address, or to a file (in a folder: its `ratchet.db`).

    Raises UsageError where it is there already, Refused and StoreError as `move`.
    """
    scheme, named, _ = place.partition("://")
    if named and not is_database(place):
        raise UsageError(f"{scheme}:// is no known database: give postgresql://..., or the path of a SQLite file")
    path = None if is_database(place) else Path(place).expanduser().absolute()
    if path is not None and path.is_dir():
        path /= stores.STORE_NAME
    own = config.home.absolute() / stores.STORE_NAME
    if place == config.database_url or (path == own and not config.database_url):
        raise UsageError(f"everything is in {stores.shown(config)} already; name another place")
    target = stores.opened_at(place if path is None else str(path))
    try:
        tables = move(source, target, progress)
    finally:
        target.close()
    if path is None:
        shown = masked(place)
        advice = f"set RATCHET_DATABASE_URL to that address, or database_url in {config.home / FILE_NAME}"
    else:
        shown = str(path)
        advice = "unset RATCHET_DATABASE_URL, and take database_url out of ratchet.toml"
        advice += "" if path == own else f"; it is used as {own}, or as {stores.STORE_NAME} of another --home"
    return Relocated(source=stores.shown(config), target=shown, tables=tuple(tables), advice=advice)


def move(source: Store, target: Store, progress: Progress) -> list[Moved]:
    """Copy what the target lacks; return what every table holds on both sides. A run that was cut off is continued, and
    one that was finished copies nothing. The source is held still meanwhile: who writes waits, or tries again later.

    Raises Refused when the target holds anything that the source does not; StoreError when what arrived is not what was
    sent.
    """
    with source.transaction():
        foreign = {name: n for name, table in TABLES.items() if (n := _foreign(source, target, table))}
        if foreign:
            held = ", ".join(f"{n:,} in {name}" for name, n in foreign.items())
            raise Refused(
                f"the target holds rows that are not those of the source ({held}), so nothing was copied: "
                "give an empty database, or empty that one"
            )
        moved = []
        for number, table in enumerate(TABLES.values()):
            progress(number, len(TABLES), table.name)
            moved.append(_copied(source, target, table))
        progress(len(TABLES), len(TABLES), "")
    lost = [each.table for each in moved if not each.same]
    if lost:
        raise StoreError(
            f"the copy of {', '.join(lost)} is not what was sent; is somebody writing to the target? The source is "
            "whole and stays in use; empty the target, then try again"
        )
    return moved


def _copied(source: Store, target: Store, table: Table) -> Moved:
    copied = 0
    for batch in _batches(_missing(_all(source, table), _all(target, table), table)):
        if table.clustered:
            target.add(table.name, batch)
        else:
            target.insert_new(table.name, batch)
        copied += len(batch)
    rows, sent = _digest(_all(source, table))
    _, arrived = _digest(_all(target, table))
    return Moved(table=table.name, rows=rows, copied=copied, hash=sent, arrived=arrived)


def _all(store: Store, table: Table) -> Iterator[Row]:
    return rows_of(store, table.name, {}, order=table.key)


def _missing(wanted: Iterator[Row], held: Iterator[Row], table: Table) -> Iterator[Row]:
    """Rows whose key `held` lacks. Both come in the order of their keys; `held` holds nothing else."""
    present = next(held, None)
    for row in wanted:
        if present is not None and _key(table, present) == _key(table, row):
            present = next(held, None)
        else:
            yield row


def _foreign(source: Store, target: Store, table: Table) -> int:
    """Count the target's rows that are not the source's."""
    wanted = _all(source, table)
    row = next(wanted, None)
    count = 0
    for held in _all(target, table):
        while row is not None and _key(table, row) != _key(table, held) and _key(table, row) < _key(table, held):
            row = next(wanted, None)
        count += row != held
    return count


def _key(table: Table, row: Row) -> tuple[str | int | float, ...]:
    return tuple(row[name] for name in table.key)  # type: ignore[misc]


def _digest(rows: Iterable[Row]) -> tuple[int, str]:
    """(number of rows, hash over them whatever their order)."""
    count = total = 0
    for row in rows:
        said = json.dumps(row, sort_keys=True, separators=(",", ":")).encode()
        total += int.from_bytes(blake2b(said, digest_size=_DIGEST_BYTES).digest(), "big")
        count += 1
    return count, f"{total % (1 << 8 * _DIGEST_BYTES):0{2 * _DIGEST_BYTES}x}"


def _batches(rows: Iterator[Row]) -> Iterator[Sequence[Row]]:
    while batch := list(islice(rows, _BATCH_ROWS)):
        yield batch
