"""Searches the declared settings of an agent without a model: one setting at a time, what helped first.

Coordinate search under noise. A choice is tried through its options. A number is tried to both sides of where it is, a
quarter of its range away, then half and an eighth, and so on; a range that spans orders of magnitude is walked by
factors. A move that was kept, or that looked better than it was worse, makes the next one of the same kind come first.
No value of a setting is proposed twice, and the seed decides among equals.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, exp, log

from ratchet.evolving.candidate import Candidate
from ratchet.evolving.job import ProposalJob, Proposed, ProposerOptions
from ratchet.evolving.proposers.answers import nothing, plain, refused
from ratchet.evolving.proposers.evidence import start_of, values_of
from ratchet.improving.settings.knob import Choice, Knob, Range, described_knob
from ratchet.records import Json

_STEPS = (1 / 4, 1 / 2, 1 / 8, 1 / 16, 1 / 32, 1)  # of a range, each to both sides
_WIDE = 100  # a range from low to this many times low is walked by factors, as time-outs and sizes are chosen
_FEW = 64  # whole numbers which are all tried at last
_DIGITS = 3
_STATE_WEIGHT = {"kept": 2.0, "waiting": 1.0, "screened_out": -1.0}
_NO_PAIRS = frozenset(("screened_out", "cancelled", "proposed"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Move:
    """One setting to another value."""

    name: str
    value: Json
    upwards: int
    """1 or -1 along a range; 0 for a choice."""
    step: int
    """Its place among the moves of its setting."""


class SettingsProposer:
    """Port `AgentProposer` over the knobs that an agent declares."""

    name = "settings"

    def propose(self, job: ProposalJob) -> Proposed:
        """The likeliest move that was not tried yet."""
        knobs = {name: described_knob(dict(each)) for name, each in job.agent.knobs.items()}
        searched = {name: each for name, each in knobs.items() if isinstance(each, Choice | Range)}
        if not searched:
            return refused("the agent declares no setting that can be searched: declare a Choice or a Range")
        now = values_of(job)
        seen = _seen(job, now)
        moves = [
            move
            for name, knob in searched.items()
            for move in _moves(name, knob, now.get(name))
            if _key(move.value) not in seen.get(name, ())
        ]
        if not moves:
            return nothing("every value within reach of every setting was tried")
        merits = _merits(job, now)
        order = _shuffled(searched, job.seed)
        best = min(moves, key=lambda move: (-_merit(move, merits), move.step, order[move.name], -move.upwards))
        return _proposed(best, now, merits)


def create(options: ProposerOptions) -> SettingsProposer:
    """The proposer `settings`."""
    del options
    return SettingsProposer()


# -- what was tried ----------------------------------------------------------------------------------------------------


def _seen(job: ProposalJob, now: Mapping[str, Json]) -> dict[str, set[str]]:
    """The values that every setting ever had in this run."""
    seen: dict[str, set[str]] = {}
    start = start_of(job)
    for values in (start, now, *({**start, **each.settings} for each in job.tried)):
        for name, value in values.items():
            seen.setdefault(name, set()).add(_key(value))
    return seen


def _merits(job: ProposalJob, now: Mapping[str, Json]) -> dict[tuple[str, int], float]:
    """(setting, direction) -> how much its moves helped so far."""
    start = start_of(job)
    versions = {each.id: {**start, **each.settings} for each in job.tried}
    versions.setdefault(job.parent.id, dict(now))
    merits: dict[tuple[str, int], float] = {}
    for one in job.tried:
        values, before = versions[one.id], versions.get(one.parent, start)
        moved = [name for name in values if _key(values[name]) != _key(before.get(name))]
        for name in moved:
            direction = _direction(before.get(name), values[name])
            if not direction:  # what one option is worth says nothing of another
                continue
            worth = _worth(one) / len(moved)
            merits[name, direction] = merits.get((name, direction), 0.0) + worth
            if worth < 0:  # what made it worse one way may make it better the other way
                merits[name, -direction] = merits.get((name, -direction), 0.0) - worth / 2
    return merits


def _worth(one: Candidate) -> float:
    """From 2 for a move that was kept to -1; a difference of ten points that was not decided on counts 1."""
    if one.state in _STATE_WEIGHT:
        return _STATE_WEIGHT[one.state]
    if one.state in _NO_PAIRS or not one.pairs:
        return 0.0
    return min(1.0, max(-1.0, 10 * one.mean))


def _direction(before: Json, after: Json) -> int:
    if not _is_number(before) or not _is_number(after):
        return 0
    assert isinstance(before, int | float)
    assert isinstance(after, int | float)
    return (after > before) - (after < before)


# -- what can be tried -------------------------------------------------------------------------------------------------


def _moves(name: str, knob: Choice | Range, now: Json) -> Iterator[_Move]:
    """The moves of a setting, the first to try first. Values are those that the knob allows."""
    if isinstance(knob, Choice):
        for step, option in enumerate(knob.options):
            yield _Move(name=name, value=plain(option), upwards=0, step=step)
        return
    points = _points(knob, now if _is_number(now) else plain(knob.default))
    given: set[str] = set()
    for step, (upwards, point) in enumerate(points):
        value = plain(knob.check(knob.nearest(point)))
        if _key(value) not in given:
            given.add(_key(value))
            yield _Move(name=name, value=value, upwards=upwards, step=step // 2)


def _points(knob: Range, now: Json) -> Iterator[tuple[int, float]]:
    """Points to both sides of where a number is; at last, of a short range of whole numbers, all that are left."""
    assert isinstance(now, int | float)
    for share in _STEPS:
        yield 1, _along(knob, now, share)
        yield -1, _along(knob, now, -share)
    if knob.integer and knob.high - knob.low <= _FEW:
        whole = range(ceil(knob.low), int(knob.high) + 1)
        yield from ((1 if each > now else -1, each) for each in sorted(whole, key=lambda each: abs(each - now)))


def _along(knob: Range, here: float, share: float) -> float:
    """The point that lies a share of the range away."""
    if knob.low > 0 and knob.high / knob.low >= _WIDE and here > 0:
        low, high = log(knob.low), log(knob.high)
        point = exp(min(high, log(here) + share * (high - low)))
    else:
        point = here + share * knob.high - share * knob.low  # (the width itself may be beyond every float)
    bounded = min(max(point, knob.low), knob.high)
    return bounded if bounded in (knob.low, knob.high) else float(f"{bounded:.{_DIGITS}g}")


def _shuffled(knobs: Mapping[str, Knob], seed: int) -> dict[str, int]:
    names = sorted(knobs)
    random.Random(seed).shuffle(names)  # noqa: S311  (an order, no secret)
    return {name: at for at, name in enumerate(names)}


def _merit(move: _Move, merits: Mapping[tuple[str, int], float]) -> float:
    return round(merits.get((move.name, move.upwards), 0.0), 6)


def _proposed(move: _Move, now: Mapping[str, Json], merits: Mapping[tuple[str, int], float]) -> Proposed:
    merit = _merit(move, merits)
    why = "what was tried this way so far looked better" if merit > 0 else "new ground"
    values = f"{_key(now.get(move.name))} becomes {_key(move.value)}"
    return Proposed(status="proposed", hypothesis=f"{move.name}: {values} ({why})", settings={move.name: move.value})


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _key(value: Json) -> str:
    """A value as text by which equal ones are equal: 1 is 1.0."""
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    return json.dumps(number, sort_keys=True, ensure_ascii=False)
