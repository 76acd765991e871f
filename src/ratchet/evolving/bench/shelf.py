"""The benchmarks that can be used here: those that came along, and those that were imported, as frozen files.

An imported benchmark is one JSON file in the home, written whole or not at all, and is only used while its tasks have
the hash that it was frozen with.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from ratchet import files
from ratchet.errors import Conflict, NotFound, StoreError
from ratchet.evolving.bench import shipped
from ratchet.evolving.bench.benchmark import Benchmark
from ratchet.evolving.bench.importing import checked_name
from ratchet.recording.journal import make_private
from ratchet.records import Json, record_of

FORMAT = 1


class BenchShelf:
    """Benchmarks by name."""

    def __init__(self, home: Path) -> None:
        self._home, self._folder = home, home / "benchmarks"

    def names(self) -> list[str]:
        """The shipped ones first, then the imported."""
        held = (each.name.removesuffix(".json") for each in self._folder.glob("*.json"))
        return [*shipped.names(), *sorted(held)]

    def get(self, name: str) -> Benchmark:
        """A benchmark with all its tasks. Raises NotFound, Conflict for one that was changed since it was frozen."""
        if name in shipped.names():
            return shipped.shipped(name)
        path = self._path(name)
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            made = _benchmark(held)
        except FileNotFoundError as error:
            raise NotFound(f"no benchmark {name!r}; there are: {', '.join(self.names())}") from error
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StoreError(f"{path} cannot be read ({error}); remove it and import {name} again") from error
        if made.hash != held.get("hash"):
            raise Conflict(f"{path} was changed since it was frozen; remove it and import {name} again")
        return made

    def place(self, name: str) -> Path:
        """The file or folder that a benchmark lies in: whoever runs agents guards it."""
        return Path(shipped.__file__).parent / name if name in shipped.names() else self._path(name)

    def holds(self, made: Benchmark) -> bool:
        """Tell whether this very benchmark is kept under its name."""
        return made.name in self.names() and self.get(made.name).hash == made.hash

    def keep(self, made: Benchmark) -> bool:
        """Freeze a benchmark; False where the same one is kept under this name already. Raises Conflict where it is
        another one."""
        if made.name in shipped.names():
            raise Conflict(f"{made.name} is the name of a shipped benchmark; choose another with --name")
        if self.holds(made):
            return False
        if made.name in self.names():
            raise Conflict(
                f"there is another benchmark {made.name!r}, and a benchmark never changes; choose another with --name, "
                f"or remove {self._path(made.name)}"
            )
        make_private(str(self._home))
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        text = json.dumps({"format": FORMAT, "hash": made.hash, **asdict(made)}, ensure_ascii=True)
        files.replace(self._path(made.name), text.encode("ascii"), mode=0o400)
        return True

    def _path(self, name: str) -> Path:
        return self._folder / f"{checked_name(name)}.json"


def _benchmark(held: Mapping[str, Json]) -> Benchmark:
    if held.get("format") != FORMAT:
        raise ValueError(f"it has format {held.get('format')!r}, this Ratchet reads {FORMAT}")
    return record_of(Benchmark, held)
