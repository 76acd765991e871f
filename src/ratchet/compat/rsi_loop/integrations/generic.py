"""Takes JSON files that any agent drops into a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Unpack

from ratchet.compat.rsi_loop.integrations.adapter import Adapter, Options
from ratchet.compat.rsi_loop.types import Outcome, Pattern
from ratchet.ids import hex_of


class GenericAdapter(Adapter):
    """Adapter of a watched folder; `ratchet watch FOLDER` and the server do the same for any format."""

    def __init__(self, watch_dir: str = "./rsi_inbox", data_dir: str | None = None, **options: Unpack[Options]) -> None:
        super().__init__(data_dir, **options)
        self._inbox = Path(watch_dir)

    def poll(self) -> list[Outcome]:
        """Record the outcomes of new files, then move each into `.processed`; one that is no JSON stays."""
        if not self._inbox.is_dir():
            return []
        done = self._inbox / ".processed"
        done.mkdir(exist_ok=True)
        outcomes = []
        for path in sorted(self._inbox.glob("[!.]*.json")):
            try:
                data = {"id": hex_of(f"{path.name} {path.stat().st_mtime_ns}")[:12]}  # delivered twice, it counts once
                data |= json.loads(path.read_text(encoding="utf-8"))
                outcomes.append(self.loop.observer.record(Outcome.from_dict(data)))
                path.rename(done / path.name)
            except (OSError, ValueError, TypeError):  # half-written, no outcome, or taken by another
                continue
        return outcomes

    def run_cycle(self) -> list[Pattern]:
        """Take new files, then go round once."""
        self.poll()
        return super().run_cycle()
