"""The one place where an episode's budget is enforced.

Money is reserved before a call and settled after it; time is looked at before anything starts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ratchet import ids
from ratchet.errors import Refused
from ratchet.healing.episode import Budget
from ratchet.healing.job import Purse
from ratchet.ports import Store
from ratchet.records import Row, number_in, whole_in

_CENT_FRACTION = 1e-9  # rounding of sums of prices is no overdraft


class EpisodePurse:
    """Port `Purse` over the store: what an earlier process of the same episode spent counts, and a call of it whose end
    nobody saw counts in full.

    `used_s` are seconds that the episode took before; `cancelled` says whether a person wants it to end.
    """

    def __init__(
        self,
        store: Store,
        episode: str,
        budget: Budget,
        *,
        used_s: float = 0.0,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        self._store = store
        self._episode = episode
        self._budget = budget
        self._started = time.monotonic() - used_s
        self._person_cancelled = cancelled
        self._lock = threading.Lock()
        self._open: dict[str, float] = {}
        rows = store.find("charges", {"episode": episode}).rows
        self._spent = sum(number_in(row, "usd" if row.get("settled") else "reserved_usd") for row in rows)
        self._refused = False
        self.attempt = 0
        """The attempt that charges belong to."""

    def allow(self, budget: Budget) -> None:
        """Count against this budget from now on; what was spent stays spent."""
        with self._lock:
            self._budget = budget
            self._refused = False

    def seconds_used(self) -> float:
        return time.monotonic() - self._started

    def seconds_left(self) -> float:
        return max(0.0, self._budget.seconds - self.seconds_used())

    def usd_spent(self) -> float:
        """Settled, and what is reserved."""
        with self._lock:
            return self._spent + sum(self._open.values())

    def usd_left(self) -> float:
        return max(0.0, self._budget.usd - self.usd_spent())

    def cancelled(self) -> bool:
        return self._person_cancelled() or self.seconds_left() <= 0

    def person_cancelled(self) -> bool:
        return self._person_cancelled()

    def spent(self) -> str:
        """Say what of the budget is used up, in one line; "" while there is some of everything."""
        if self.seconds_left() <= 0:
            return f"{self._budget.seconds:g} s are over"
        if self._refused:
            return f"the next call might cost more than is left of {self._budget.usd:g} USD"
        return ""

    def reserve(self, usd: float) -> str:
        if not 0 <= usd < float("inf"):
            raise Refused(f"a call that costs {usd!r} USD cannot be paid for: name a price, 0 for none")
        if self.cancelled():
            raise Refused("no time is left for another call")
        with self._lock:
            left = self._budget.usd - self._spent - sum(self._open.values())
            if usd > left + _CENT_FRACTION:
                self._refused = True
                raise Refused(
                    f"the call may cost {usd:.4f} USD and {max(0.0, left):.4f} of {self._budget.usd:g} are left;"
                    " give more with --budget-usd"
                )
            reservation = ids.uuid7()
            row: Row = {
                "id": reservation,
                "episode": self._episode,
                "attempt": self.attempt,
                "reserved_usd": usd,
                "usd": 0.0,
                "tokens": 0,
                "settled": False,
                "at": time.time(),
                "revision": 1,
            }
            self._store.insert_new("charges", [row])
            self._open[reservation] = usd
        return reservation

    def settle(self, reservation: str, usd: float, *, tokens: int = 0) -> None:
        with self._lock:
            if self._open.pop(reservation, None) is None:
                return  # settled already
            row = self._store.get("charges", reservation) or {}
            self._spent += usd
            settled: Row = {**row, "usd": usd, "tokens": tokens, "settled": True}
            self._store.swap("charges", reservation, whole_in(row, "revision"), settled)

    def charged(self, attempt: int) -> tuple[float, int]:
        """USD and tokens of one attempt, what is still reserved included."""
        rows = self._store.find("charges", {"episode": self._episode, "attempt": attempt}).rows
        usd = sum(number_in(row, "usd" if row.get("settled") else "reserved_usd") for row in rows)
        return usd, int(sum(number_in(row, "tokens") for row in rows))


class ShorterPurse:
    """A purse with less time in it; money and cancelling are the purse's own."""

    def __init__(self, purse: Purse, seconds: float) -> None:
        self._purse = purse
        self._ends_left = max(0.0, purse.seconds_left() - seconds)

    def seconds_left(self) -> float:
        return max(0.0, self._purse.seconds_left() - self._ends_left)

    def usd_left(self) -> float:
        return self._purse.usd_left()

    def reserve(self, usd: float) -> str:
        return self._purse.reserve(usd)

    def settle(self, reservation: str, usd: float, *, tokens: int = 0) -> None:
        self._purse.settle(reservation, usd, tokens=tokens)

    def cancelled(self) -> bool:
        return self._purse.cancelled() or self.seconds_left() <= 0
