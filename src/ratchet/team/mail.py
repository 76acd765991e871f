"""The mailbox of a run: letters between workers and tasks, each a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ratchet.records import Json, Row
from ratchet.team.ledger import Ledger
from ratchet.team.rows import letter, read_rows


class Mailbox:
    """Letters that nobody has read, by whom they are for. A letter is delivered with an attempt, and is read once that
    attempt ended well: at least once, so that none is lost in a crash."""

    def __init__(self, run: str, ledger: Ledger, unread: Iterable[Row]) -> None:
        self._run, self._ledger = run, ledger
        self._unread: dict[str, list[Row]] = {}
        self._seen: set[str] = set()
        self.take_in(unread)

    def take_in(self, letters: Iterable[Row]) -> None:
        """Take letters that others wrote into the store."""
        for each in letters:
            if str(each["id"]) not in self._seen:
                self._seen.add(str(each["id"]))
                self._unread.setdefault(str(each["to"]), []).append(each)

    def send(self, sender: str, to: str, body: Json) -> None:
        """Write a letter. It is on disk before the attempt that sent it is."""
        written = letter(self._run, sender, to, body)
        self._ledger.note("team_mail", [written], new=True)
        self.take_in([written])

    def for_(self, worker: str, task: str) -> list[Row]:
        """Letters to a worker or a task, oldest first."""
        found = [*self._unread.get(worker, ()), *self._unread.get(task, ())]
        return sorted(found, key=lambda each: (str(each["at"]), str(each["id"]))) if found else []

    def read(self, letters: Sequence[Row]) -> None:
        """Note that letters have arrived."""
        if not letters:
            return
        gone = {str(each["id"]) for each in letters}
        for to in {str(each["to"]) for each in letters}:
            self._unread[to] = [each for each in self._unread.get(to, ()) if str(each["id"]) not in gone]
        self._ledger.note("team_mail", read_rows(letters))
