"""Remembers what long looks saw, so that many who look at the same cost one look, and a page begins at once."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar, cast

from ratchet.errors import RatchetError
from ratchet.failures.redaction.text import clean
from ratchet.ports import Store
from ratchet.records import Json

log = logging.getLogger(__name__)

T = TypeVar("T")
KEPT_S = 60.0
SLOW_S = 0.1
"""Processor time from which on a look is long: what people notice (Nielsen, Usability Engineering, 1993)."""
AFTER_S = 0.15  # before a look in the background: who is there is served first, since threads share one interpreter
_LOOKS = 24  # that are kept: the pages in their ranges; the largest are 10,000 patterns, some 10 MB


@dataclass(frozen=True, slots=True)
class _Glimpse:
    """One look: of when, how much processor time it took, and the store's mark then."""

    mark: tuple[Json, ...]
    at: float
    took_s: float
    value: object

    @property
    def age_s(self) -> float:
        return time.monotonic() - self.at


class Glance:
    """The last looks, as long as nothing has happened since.

    Where outcomes came since, a long look is given as it was to who takes a `late` one, at most `KEPT_S` old, while a
    thread looks again; `renewed` is called then. What a person or a loop decided is seen at once: an event ends it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._one = threading.Lock()  # a look in the background at a time: the others are for who waits
        self._seen: OrderedDict[Hashable, _Glimpse] = OrderedDict()
        self._under_way: set[Hashable] = set()
        self.renewed: Callable[[], object] = lambda: None

    def at(self, store: Store, look: Callable[[], T], asked: Hashable = "", *, late: bool = False) -> T:
        """Return what a look says now; `asked` tells it from other looks. At most `KEPT_S` old: what ages by itself (a
        trend, a deadline) is looked at again."""
        mark = _mark(store)
        with self._lock:
            seen = self._seen.get(asked)
            if seen is not None and seen.age_s < KEPT_S:
                same = seen.mark == mark
                may_wait = late and seen.took_s >= SLOW_S and seen.mark[-1] == mark[-1]
                if not same and may_wait:
                    self._look_again(look, asked, mark)
                if same or may_wait:
                    self._seen.move_to_end(asked)
                    return cast(T, seen.value)
        return self._looked(look, asked, mark)

    def _looked(self, look: Callable[[], T], asked: Hashable, mark: tuple[Json, ...]) -> T:
        began, spent = time.monotonic(), time.thread_time()
        found = look()
        with self._lock:
            self._seen[asked] = _Glimpse(mark, began, time.thread_time() - spent, found)
            self._seen.move_to_end(asked)
            if len(self._seen) > _LOOKS:
                self._seen.popitem(last=False)
        return found

    def _look_again(self, look: Callable[[], object], asked: Hashable, mark: tuple[Json, ...]) -> None:
        """Look in a thread of its own, unless one is at it."""
        if asked in self._under_way:
            return
        self._under_way.add(asked)

        def again() -> None:
            try:
                time.sleep(AFTER_S)
                with self._one:
                    self._looked(look, asked, mark)
                self.renewed()
            except RatchetError as error:  # whoever asks next hears of it
                log.warning("look.failed", extra={"why": clean(str(error))})
            finally:
                with self._lock:
                    self._under_way.discard(asked)

        threading.Thread(target=again, name="ratchet-look", daemon=True).start()


def _mark(store: Store) -> tuple[Json, ...]:
    """Changes with every outcome, and in its last part with every event."""
    totals = store.sum_by("activity", (), ("calls", "failures", "excused"))
    newest = store.find("events", order=("-at", "-id"), limit=1).rows
    counted = totals[0] if totals else {}
    return (*(counted.get(name) for name in ("calls", "failures", "excused")), newest[0]["id"] if newest else None)
