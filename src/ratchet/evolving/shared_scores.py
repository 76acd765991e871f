"""The gate over scores that several processes write down: one file of JSON lines, a run each, under a lock.

The order of the file is the order of the runs, so every process comes to the same decisions. Runs are made outside of
the lock; a process that is killed leaves whole lines or none.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from ratchet.errors import Conflict, UsageError
from ratchet.files import Locked
from ratchet.files import replace as write_file
from ratchet.gate.scores import ScoreAnswer, ScoreGate

_WAIT_S = 60.0  # for others to write a line or two, each a matter of milliseconds

Scored = float | Mapping[str, float]
"""The score of a run, or of each of its tasks by name."""


class VersionFiles:
    """The versions of a table of scores, each a file beside it, named by the hash of what it holds."""

    def __init__(self, table: str | os.PathLike[str]) -> None:
        self._folder = Path(f"{os.fspath(table)}.versions")

    def add(self, content: bytes, suffix: str = "") -> str:
        """Keep a version; return its name."""
        version = hashlib.sha256(content).hexdigest()[:16]
        self._folder.mkdir(parents=True, exist_ok=True)
        write_file(self._folder / f"{version}{suffix}", content)
        return version

    def path(self, version: str) -> Path:
        """The file of a version."""
        return next(self._folder.glob(f"{version}.*"), self._folder / version)


class SharedScores:
    """A table of scores and its gate. `gate` must be made alike, and be fresh, in every process."""

    def __init__(self, path: str | os.PathLike[str], gate: ScoreGate) -> None:
        self.path = Path(path)
        self.gate = gate
        self._offset = 0
        self._origin = ""
        """The version of the first line."""

    def decide(self, version: str, run: Callable[[str], Scored]) -> ScoreAnswer | None:
        """Run the version, and what stands, as `ScoreGate.decide` does, until it is kept or discarded; None for the
        first version of a table, which then stands. Raises UsageError naming the line of a table that is damaged."""
        self.begin(version, run)
        if self._origin == version:
            return None
        is_known = any(each.version == version for each in self.gate.answers())
        wanted = self.gate.answer(version).next if is_known else version
        while wanted:
            self._add(wanted, run(wanted))
            self._catch_up()
            wanted = self.gate.answer(version).next
        return self.gate.answer(version)

    def begin(self, version: str, run: Callable[[str], Scored]) -> None:
        """Run what stands at first; nothing where the table has a row already."""
        self._catch_up()
        if not self._origin:
            self._add(version, run(version))
            self._catch_up()

    def _add(self, version: str, scored: Scored) -> None:
        rows = scored.items() if isinstance(scored, Mapping) else [("", scored)]
        text = "".join(json.dumps({"version": version, "task": task, "score": score}) + "\n" for task, score in rows)
        with self._locked(), self.path.open("ab") as file:
            file.write(text.encode())

    def _catch_up(self) -> None:
        """Read what others wrote since."""
        if not self.path.exists():
            return
        with self._locked(), self.path.open("rb") as file:
            file.seek(self._offset)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        for line in whole.splitlines():
            try:
                row = json.loads(line)
                self._origin = self._origin or str(row["version"])
                self.gate.add(str(row["version"]), row["score"], task=str(row.get("task", "")))
            except (ValueError, KeyError, TypeError) as error:
                raise UsageError(f"{self.path} holds a line that is no run of a version: {error}") from error
        self._offset += len(whole)

    def _locked(self) -> Locked:
        busy = Conflict(f"{self.path} is held by another process for {_WAIT_S:g} s; end it, then go on")
        return Locked(self.path.with_name(f"{self.path.name}.lock"), busy, wait_s=_WAIT_S)
