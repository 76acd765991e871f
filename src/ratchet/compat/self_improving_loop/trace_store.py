"""Writes traces into a file that people can look into. The loop decides by Ratchet's store; this is its copy."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from ratchet import files
from ratchet.errors import Conflict
from ratchet.failures.redaction.text import redact_json
from ratchet.records import Row

_WAIT_S = 30.0


class JsonlTraceStore:
    """Lines of JSON. A file greater than `max_bytes` is packed into `archive_dir` before the next line; the newest
    `max_archives` stay. Safe under several processes."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        max_bytes: int | None = None,
        archive_dir: str | os.PathLike[str] | None = None,
        max_archives: int = 5,
    ) -> None:
        if max_bytes is not None and max_bytes < 1:
            raise ValueError(f"max_bytes is {max_bytes}: use 1 or more, or None")
        if max_archives < 1:
            raise ValueError(f"max_archives is {max_archives}: use 1 or more")
        self.path = Path(path)
        self.archive_dir = self.path.parent / "trace_archives" if archive_dir is None else Path(archive_dir)
        self._max_bytes = max_bytes
        self._max_archives = max_archives
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def append(self, trace: Row) -> None:
        """Write one trace, without its secrets."""
        line = json.dumps(redact_json(trace), ensure_ascii=False).encode() + b"\n"
        with self._locked():
            if self._max_bytes is not None and self._size() > self._max_bytes:
                self._pack()
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)

    def load(self, agent_id: str | None = None) -> list[Row]:
        """The traces of the file, of one agent or of all; lines that are none are passed over."""
        return [trace for trace in self._traces() if agent_id in (None, trace.get("agent_id"))]

    def rotate(self, force: bool = False) -> Path | None:
        """Pack the file away where it is too great, or at once; None where there was nothing to do."""
        with self._locked():
            due = force or (self._max_bytes is not None and self._size() > self._max_bytes)
            return self._pack() if due and self._size() else None

    def compact(self, max_entries: int) -> int:
        """Keep the newest traces only; return how many went."""
        if max_entries < 1:
            raise ValueError(f"max_entries is {max_entries}: use 1 or more")
        with self._locked():
            traces = [*self._traces()]
            kept = traces[-max_entries:]
            files.replace(self.path, "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in kept).encode())
        return len(traces) - len(kept)

    def _locked(self) -> files.Locked:
        busy = Conflict(f"another process keeps {self.path.parent} locked; the trace was not written")
        return files.Locked(self.path.parent, busy, wait_s=_WAIT_S)

    def _size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def _traces(self) -> Iterator[Row]:
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    trace = json.loads(line)
                except ValueError:  # torn, or written by somebody else
                    continue
                if isinstance(trace, dict):
                    yield trace

    def _pack(self) -> Path:
        self.archive_dir.mkdir(parents=True, exist_ok=True)
        name = f"{self.path.stem}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}Z{self.path.suffix}.gz"
        packed = self.archive_dir / name
        with self.path.open("rb") as plain, gzip.open(packed, "wb") as file:
            shutil.copyfileobj(plain, file)
        self.path.unlink()
        for old in sorted(self.archive_dir.glob(f"{self.path.stem}-*{self.path.suffix}.gz"))[: -self._max_archives]:
            old.unlink()
        return packed


class SQLiteTraceStore:
    """The same in a table of SQLite."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(self._connected()) as held, held:
            held.execute("CREATE TABLE IF NOT EXISTS traces (id INTEGER PRIMARY KEY, agent_id, timestamp, payload)")
            held.execute("CREATE INDEX IF NOT EXISTS traces_by_agent ON traces (agent_id)")

    def append(self, trace: Row) -> None:
        """Write one trace, without its secrets."""
        row = (trace.get("agent_id"), trace.get("timestamp"), json.dumps(redact_json(trace), ensure_ascii=False))
        with closing(self._connected()) as held, held:
            held.execute("INSERT INTO traces (agent_id, timestamp, payload) VALUES (?, ?, ?)", row)

    def load(self, agent_id: str | None = None) -> list[Row]:
        """The traces in the order in which they came, of one agent or of all."""
        where, given = ("", ()) if agent_id is None else (" WHERE agent_id = ?", (agent_id,))
        with closing(self._connected()) as held:
            rows = held.execute(f"SELECT payload FROM traces{where} ORDER BY id", given).fetchall()  # noqa: S608
        return [json.loads(payload) for (payload,) in rows]

    def _connected(self) -> sqlite3.Connection:
        held = sqlite3.connect(self.path, timeout=_WAIT_S)
        held.execute("PRAGMA journal_mode = WAL")
        return held
