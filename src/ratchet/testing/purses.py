"""A purse for tests of solvers: it keeps every reservation and settlement to look at."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ratchet.errors import Refused


@dataclass(slots=True, kw_only=True)
class PlainPurse:
    """Port `Purse` in memory. `reserved` and `settled` hold USD in the order of the calls."""

    usd: float = 1.0
    seconds: float = 60.0
    reserved: list[float] = field(default_factory=list)
    settled: list[float] = field(default_factory=list)
    tokens: int = 0
    stopped: bool = False
    _open: dict[str, float] = field(default_factory=dict)
    _started: float = field(default_factory=time.monotonic)

    def seconds_left(self) -> float:
        return max(0.0, self.seconds - (time.monotonic() - self._started))

    def usd_left(self) -> float:
        return max(0.0, self.usd - sum(self.settled) - sum(self._open.values()))

    def reserve(self, usd: float) -> str:
        if self.cancelled():
            raise Refused("no time is left")
        if usd > self.usd_left():
            raise Refused(f"{usd:.4f} USD are more than is left")
        self.reserved.append(usd)
        name = str(len(self.reserved))
        self._open[name] = usd
        return name

    def settle(self, reservation: str, usd: float, *, tokens: int = 0) -> None:
        del self._open[reservation]
        self.settled.append(usd)
        self.tokens += tokens

    def cancelled(self) -> bool:
        return self.stopped or self.seconds_left() <= 0
