"""Says what agents took, and how much of it was waste: tokens and money by model, project, agent, tool, pattern or day.

Cost is everything; waste is the part of it that failures, failures repeated and loops took.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import add, itemgetter
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from ratchet.errors import UsageError
from ratchet.records import Json, Row, text_in, whole_in
from ratchet.sessions.listing import title_of
from ratchet.sessions.prices import Prices, Tokens

if TYPE_CHECKING:
    from ratchet.ports import Store, Where

CostBy = Literal["model", "project", "agent", "tool", "pattern", "session", "day"]
_TOKENS = ("given", "stored", "cached", "made", "unsplit", "stored_hour")  # the last ones are among the stored
_SUMS = ("calls", *_TOKENS, "cost_usd", "duration_s", "wasted_s", "begun")
_sums_of: Callable[[Row], tuple[float, ...]] = itemgetter(*_SUMS)
_IN_DAYS: Mapping[CostBy, tuple[str, str]] = {
    "project": ("model", "project"),
    "day": ("model", "day"),
    "pattern": ("signature", "name"),
}
"""What is not summed up under its own name -> the sums that tell it, and their column that does."""
_HOUR_S, _DAY_S = 3_600, 86_400.0
NAMELESS: Mapping[CostBy, str] = {
    "model": "no model named",
    "project": "outside any folder",
    "agent": "no agent named",
    "tool": "answers that called no tool",
    "pattern": "what did not fail",
    "session": "outside any session",
    "day": "",
}
"""What the row without a name stands for, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Sums of one name. `cost_usd` is None where no price is known, `unpriced` counts the tokens that it leaves out;
    `wasted_*` are the parts that were waste. `calls` are steps, `duration_s` time of the tools (`failures.waiting`)."""

    name: str
    calls: int
    tokens: Tokens
    cost_usd: float | None
    unpriced: int
    duration_s: float
    wasted_calls: int
    wasted_tokens: int
    wasted_usd: float | None
    wasted_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Everything of a stretch of time, by one thing, and what waste was made of."""

    by: CostBy
    total: Cost
    rows: tuple[Cost, ...]
    waste: tuple[Cost, ...]


_Used: TypeAlias = "tuple[float, ...]"
"""Sums of one name: those of `_SUMS`, the money as far as it is known; how many tokens have no price, and of how many
rows it is known."""
_NOTHING: _Used = (0,) * (len(_SUMS) + 2)
_USD = _SUMS.index("cost_usd")


def costs(
    store: Store,
    prices: Prices,
    *,
    by: CostBy,
    project: str | None = None,
    since: float | None = None,
    until: float | None = None,
) -> Costs:
    """Sum up what was used, by one thing, what costs most first (days in their order). `project` is a project's name.
    Raises UsageError for a thing that nothing is counted by."""
    if by not in get_args(CostBy):
        raise UsageError(f"no cost by {by!r}; there are {', '.join(get_args(CostBy))}")
    rows, column = _rows(store, by, {} if project is None else {"project": project}, since, until)
    return _summed(by, rows, _names(store, by, column), prices)


def costs_in(store: Store, prices: Prices, session: str) -> Costs:
    """Sum up what one session used, by tool, what costs most first."""
    rows = store.sum_by("spending", ("tool", "model", "waste"), _SUMS, {"session": session})
    return _summed("tool", rows, lambda row: text_in(row, "tool"), prices)


def costs_daily(
    store: Store,
    prices: Prices,
    *,
    project: str | None = None,
    since: float | None = None,
    until: float | None = None,
) -> dict[str, dict[str, float]]:
    """Sum up USD by day (YYYY-MM-DD, in no order) and model; what has no known price counts 0."""
    rows, column = _rows(store, "day", {} if project is None else {"project": project}, since, until)
    day_of = _names(store, "day", column)
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        day, model = found.setdefault(day_of(row), {}), text_in(row, "model")
        day[model] = day.get(model, 0.0) + _used(row, prices)[_USD]
    return found


def _summed(by: CostBy, rows: Sequence[Row], name_of: Callable[[Row], str], prices: Prices) -> Costs:
    parts: dict[tuple[str, str], _Used] = {}
    for row in rows:  # a hundred thousand where there are ten thousand patterns
        used, key = _used(row, prices), (name_of(row), text_in(row, "waste"))
        held = parts.get(key)
        parts[key] = used if held is None else _plus(held, used)
    whole: dict[str, _Used] = {}
    waste: dict[str, _Used] = {}
    causes: dict[str, _Used] = {}
    for (name, cause), used in parts.items():
        for sums, of in ((whole, name), (waste, name), (causes, cause))[: 3 if cause else 1]:
            held = sums.get(of)
            sums[of] = used if held is None else _plus(held, used)
    found = [_cost(name, used, waste.get(name, _NOTHING)) for name, used in whole.items()]
    found.sort(key=lambda each: (-(each.cost_usd or 0), -each.tokens.total, each.name))
    if by == "day":
        found.sort(key=lambda each: each.name)
    return Costs(
        by=by,
        total=_cost("", reduce(_plus, whole.values(), _NOTHING), reduce(_plus, causes.values(), _NOTHING)),
        rows=tuple(found),
        waste=tuple(_cost(cause, used, used) for cause, used in causes.items()),
    )


def _used(row: Row, prices: Prices) -> _Used:
    """Price what a row of sums says was used."""
    calls, *counts, said, duration_s, wasted_s, begun = _sums_of(row)
    usd = said or prices.priced(text_in(row, "model"), *counts)
    if usd is None:
        return (calls, *counts, 0.0, duration_s, wasted_s, begun, sum(counts[:-1]), 0)
    return (calls, *counts, usd, duration_s, wasted_s, begun, 0, usd > 0 or any(counts))


def _plus(one: _Used, other: _Used) -> _Used:
    return tuple(map(add, one, other))


def words_of(store: Store, found: Costs, limit: int) -> dict[str, str]:
    """Words for the first names of what is summed up by pattern or session, that are ids: the pattern's text, the first
    thing that was said."""
    names: list[Json] = [each.name for each in found.rows[:limit] if each.name]
    if found.by == "pattern":
        rows = store.sum_by("patterns", ("id", "template"), (), {"id": ("in", names)})
        return {text_in(row, "id"): text_in(row, "template") for row in rows}
    return {str(name): title_of(store, str(name)) for name in names} if found.by == "session" else {}


def _rows(store: Store, by: CostBy, where: Where, since: float | None, until: float | None) -> tuple[list[Row], str]:
    """Sum up use by model, waste and the column that is named with it: from sums by day, where the time
    begins with one and is not over."""
    ends = until is not None and until <= _newest(store)
    begun = since or 0.0
    if ends or begun % _DAY_S:
        column = {"pattern": "signature", "day": "hour"}.get(by, by)
        groups = dict.fromkeys((column, "model", "waste", *(("hour",) if ends else ())))
        rows = store.sum_by("spending", [*groups], _SUMS, {**where, "hour": (">=", int(begun // _HOUR_S))})
        return [row for row in rows if not ends or whole_in(row, "hour") * _HOUR_S < (until or 0.0)], column
    summed_by, column = _IN_DAYS.get(by, (by, "name"))
    asked: Where = {**where, "by": summed_by, "day": (">=", int(begun // _DAY_S))}
    rows = store.sum_by("spending_days", [*dict.fromkeys((column, "model", "waste"))], _SUMS, asked)
    return [row for row in rows if any(_sums_of(row))], column


def _newest(store: Store) -> float:
    """The end of the last hour in which anything was used."""
    newest = store.find("spending", order=("-hour",), limit=1).rows
    return (whole_in(newest[0], "hour") + 1) * _HOUR_S if newest else 0.0


def _names(store: Store, by: CostBy, column: str) -> Callable[[Row], str]:
    if by == "day":
        return lambda row: _day(whole_in(row, column) // (24 if column == "hour" else 1))
    if by != "pattern":
        return lambda row: text_in(row, column)
    held = store.sum_by("signatures", ("signature", "pattern"), ())
    patterns = {text_in(row, "signature"): text_in(row, "pattern") for row in held}
    return lambda row: patterns.get(text_in(row, column), "")


@cache
def _day(day: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(day * _DAY_S, UTC).date().isoformat()


def _cost(name: str, used: _Used, wasted: _Used) -> Cost:
    calls, given, stored, cached, made, unsplit, stored_hour, usd, duration_s, wasted_s, begun, unpriced, priced = used
    tokens = Tokens(
        given=int(given),
        stored=int(stored),
        stored_hour=int(stored_hour),
        cached=int(cached),
        made=int(made),
        unsplit=int(unsplit),
        begun=int(begun),
    )
    known = priced or not tokens.total
    return Cost(
        name=name,
        calls=int(calls),
        tokens=tokens,
        cost_usd=usd if known else None,
        unpriced=int(unpriced),
        duration_s=duration_s,
        wasted_calls=int(wasted[0]),
        wasted_tokens=int(sum(wasted[1 : len(_TOKENS)])),
        wasted_usd=float(wasted[_USD]) if known else None,
        wasted_s=wasted_s,
    )
