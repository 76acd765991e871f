"""Judges running work by rules: it makes progress, goes round in circles, stands still, or costs too much. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ratchet.failures.circles import Circle, RecentCall, circle
from ratchet.failures.spans import span

SubjectKind: TypeAlias = Literal["session", "team run", "task", "evolution"]
Judgement: TypeAlias = Literal["progress", "looping", "stuck", "over_budget"]
Action: TypeAlias = Literal["tell", "redirect", "pause", "cancel"]

LADDER: tuple[Action, ...] = ("tell", "redirect", "pause", "cancel")
"""From the mildest on: each is tried before the next."""
PATIENCE = 2
"""Further repeats after an action before the next one: an agent reads what it is told with its next turn."""
SHORTEST_S, LONGEST_S = 5.0, 300.0
"""Between two looks: trouble is looked at again at once, progress each time after twice as long."""
_BACK = 4  # last calls that may close a circle: one that goes in turns is closed by each of its calls


@dataclass(frozen=True, slots=True, kw_only=True)
class SightLimits:
    """SightLimits that somebody set; None is none."""

    usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    quiet_s: float | None = None
    """How long it may go without a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """Running work as it was seen: its last calls in order (None: a word of a person), how many steps it has made, what
    it has used, and what can be done about it."""

    kind: SubjectKind
    id: str
    calls: Sequence[RecentCall | None] = ()
    steps: int = 0
    began_at: float = 0.0
    last_at: float = 0.0
    usd: float = 0.0
    tokens: int = 0
    limits: SightLimits = field(default_factory=SightLimits)
    can: frozenset[Action] = frozenset()
    project: str = ""
    about: str = ""
    """The part of it that the calls are of: a task of a team."""

    @property
    def key(self) -> str:
        return f"{self.kind} {self.id}" + (f" {self.about}" if self.about else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighted:
    """A judgement and its reason. `key` names the trouble as long as it is the same, `times` says how often it was met;
    `found` is the circle, where it is one."""

    judgement: Judgement
    reason: str = ""
    key: str = ""
    times: int = 0
    found: Circle | None = None


def judge(sight: Sight, now: float) -> Sighted:
    """Judge by the first rule that holds: a limit that is passed, a circle that the last calls close, silence."""
    over = _over(sight, now)
    if over:
        return Sighted(judgement="over_budget", reason=over, key="over_budget", times=1)
    for back in range(min(_BACK, len(sight.calls))):
        found = circle(sight.calls[: len(sight.calls) - back])
        if found is not None:
            return Sighted(
                judgement="looping", reason=_looping(found), key=found.key, times=_met(sight.calls, found), found=found
            )
    quiet_s = now - (sight.last_at or sight.began_at)
    limit = sight.limits.quiet_s
    if limit is not None and sight.began_at and quiet_s > limit:
        return Sighted(
            judgement="stuck", reason=f"no step for {span(quiet_s)}, and {span(limit)} is much", key="stuck", times=1
        )
    return Sighted(judgement="progress")


def next_look_s(judged: Sighted, before_s: float, *, moved: bool) -> float:
    """Seconds until the next look. Work that makes progress is looked at less and less; where nothing moved, the pace
    stays."""
    if judged.judgement != "progress":
        return SHORTEST_S
    return min(LONGEST_S, max(SHORTEST_S, before_s) * (2 if moved else 1))


def next_action(taken: Sequence[Action], can: Collection[Action], allowed: Collection[Action]) -> Action | None:
    """The mildest action that is possible, allowed, and not taken yet against this trouble; None where none is left."""
    left = (each for each in LADDER if each in can and each in allowed and each not in taken)
    return next((each for each in left if not taken or LADDER.index(each) > LADDER.index(taken[-1])), None)


def _over(sight: Sight, now: float) -> str:
    limits = sight.limits
    if limits.usd is not None and sight.usd > limits.usd:
        return f"it has cost {sight.usd:.2f} USD of {limits.usd:g}"
    if limits.tokens is not None and sight.tokens > limits.tokens:
        return f"it has taken {sight.tokens:,} tokens of {limits.tokens:,}"
    if limits.seconds is not None and sight.began_at and now - sight.began_at > limits.seconds:
        return f"it has run {span(now - sight.began_at)} of {span(limits.seconds)}"
    return ""


def _looping(found: Circle) -> str:
    what = "the same failure" if found.call.failed else "the same answer"
    ways = "" if found.wordings == 1 else f", worded in {found.wordings} ways"
    return f"{what} {found.times} times{ways}"


def _met(calls: Sequence[RecentCall | None], found: Circle) -> int:
    """Count how often the circle's result stands in what is seen: it grows while the circle goes on."""
    return sum(each is not None and each.brought_as(found.call) for each in calls)
