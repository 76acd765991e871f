"""A coin for settings that are global: tossed for a block of calls, judged by one score a block. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from ratchet import ids
from ratchet.gate.bets import inside, positive, real, whole

BLOCK_CALLS = 10
BLOCK_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A closed block of calls that shared one setting: its arm and its mean score, which is one unit of evidence."""

    number: int
    new_arm: bool
    score: float
    calls: int


class Switchback:
    """Tosses one coin for a block of calls, where a setting is global and single calls cannot differ.

    A block ends after 10 calls or 5 minutes, whichever is first; it gives one score, since its calls are not
    independent of one another. Feed it to a `RankBet` as exp(score), higher being worse. Calls that started in a block
    count for it. One process keeps the blocks; keep `number` with the trial, so that a restart opens a new one.
    """

    __slots__ = ("_calls", "_number", "_opened_s", "_salt", "_share", "_sum", "_trial")

    def __init__(self, *, salt: str, trial: str, share: float = 0.5, number: int = 0, opened_s: float = 0.0) -> None:
        self._salt, self._trial = salt, trial
        self._share = inside("share", share)
        self._number = whole("number", number)
        self._opened_s = real("opened_s", opened_s)
        self._calls = 0
        self._sum = 0.0

    @property
    def number(self) -> int:
        """The open block's number."""
        return self._number

    @property
    def new_arm(self) -> bool:
        """Tell whether the open block runs the new setting: by its number alone, so the same in every process."""
        return ids.toss(self._salt, self._trial, f"block-{self._number}", share=self._share)

    def update(self, *, score: float, now_s: float) -> Block | None:
        """Count one ended call of the open block. Gives the block when this call closed it."""
        self._sum += real("score", score)
        self._calls += 1
        return self.close(now_s=now_s) if self._calls >= BLOCK_CALLS else self.tick(now_s=now_s)

    def tick(self, *, now_s: float) -> Block | None:
        """Close the open block if its time is over. A block without calls gives no evidence."""
        return self.close(now_s=now_s) if now_s - self._opened_s >= BLOCK_S else None

    def close(self, *, now_s: float) -> Block | None:
        """Close the open block now, whatever its age; None if it had no calls."""
        calls, mean = self._calls, self._sum / max(self._calls, 1)
        closed = Block(number=self._number, new_arm=self.new_arm, score=mean, calls=calls) if calls else None
        self._number += 1
        self._opened_s = real("now_s", now_s)
        self._calls, self._sum = 0, 0.0
        return closed


def relative_score(value: float) -> float:
    """A duration or cost as a block's score: its logarithm, so that a block's mean is not ruled by its slowest call."""
    return log(positive("value", value))
