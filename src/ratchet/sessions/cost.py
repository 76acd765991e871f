"""Says what agents took, and how much of it was waste: tokens and money by model, project, agent, tool, pattern or day.

Cost is everything; waste is the part of it that failures, failures repeated and loops took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import add
from typing import TYPE_CHECKING, Literal, get_args

from ratchet.errors import UsageError
from ratchet.records import Json, Row, number_in, text_in, whole_in
from ratchet.sessions.prices import Prices, Tokens

if TYPE_CHECKING:
    from ratchet.ports import Store

CostBy = Literal["model", "project", "agent", "tool", "pattern", "session", "day"]
_SUMS = ("calls", "given", "stored", "cached", "made", "unsplit", "cost_usd", "duration_s", "wasted_s")
_COLUMNS = {"pattern": "signature", "day": "hour"}
_HOUR_S = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Sums of one name. `cost_usd` is None where no price is known, `unpriced` counts the tokens that it leaves out;
    `wasted_*` are the parts that were waste, `wasted_s` seconds of tools alone."""

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


_TOKENS = ("given", "stored", "cached", "made", "unsplit")
_Key = tuple[str, str, str]  # a name, a model, a waste


@dataclass(frozen=True, slots=True)
class _Priced:
    """Sums of one key, with what they cost; `usd` is None where nobody knows the price."""

    name: str
    waste: str
    calls: int
    counts: tuple[int, ...]
    usd: float | None
    said: bool
    duration_s: float
    wasted_s: float


@dataclass(slots=True)
class _Used:
    calls: int = 0
    counts: tuple[int, ...] = (0,) * len(_TOKENS)
    usd: float = 0.0
    priced: bool = False
    unpriced: int = 0
    duration_s: float = 0.0
    wasted_s: float = 0.0

    def add(self, more: _Priced) -> None:
        self.calls += more.calls
        self.counts = tuple(map(add, self.counts, more.counts))
        self.duration_s += more.duration_s
        self.wasted_s += more.wasted_s
        if more.usd is None:
            self.unpriced += sum(more.counts)
        else:
            self.usd += more.usd
            self.priced = self.priced or more.said or any(more.counts)


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
    column = _COLUMNS.get(by, by)
    where: dict[str, Json | tuple[str, Json]] = {}
    if project is not None:
        where["project"] = project
    if since is not None:
        where["hour"] = (">=", int(since // _HOUR_S))
    ends = until is not None and until <= _newest(store)
    groups = list(dict.fromkeys((column, "model", "waste", *(("hour",) if ends else ()))))
    rows = store.sum_by("spending", groups, _SUMS, where)
    if ends:
        rows = [row for row in rows if whole_in(row, "hour") * _HOUR_S < (until or 0)]
    summed = _summed(rows, _names(store, by, rows))
    priced = [_priced(key, sums, prices) for key, sums in summed.items()]
    found = _folded(priced, lambda each: each.name)
    found.sort(key=lambda each: (-(each.cost_usd or 0), -each.tokens.total, each.name))
    if by == "day":
        found.sort(key=lambda each: each.name)
    return Costs(
        by=by,
        total=next(iter(_folded(priced, lambda _each: "")), _cost("", _Used(), _Used())),
        rows=tuple(found),
        waste=tuple(_folded([each for each in priced if each.waste], lambda each: each.waste)),
    )


def _newest(store: Store) -> float:
    """The end of the last hour in which anything was used."""
    newest = store.find("spending", order=("-hour",), limit=1).rows
    return (whole_in(newest[0], "hour") + 1) * _HOUR_S if newest else 0.0


def _summed(rows: Iterable[Row], name_of: Callable[[Row], str]) -> dict[_Key, list[float]]:
    """Sums by name, model and waste, in the order of `_SUMS`."""
    found: dict[_Key, list[float]] = {}
    for row in rows:
        key = (name_of(row), text_in(row, "model"), text_in(row, "waste"))
        more = [number_in(row, name) for name in _SUMS]
        held = found.get(key)
        found[key] = more if held is None else [one + other for one, other in zip(held, more, strict=True)]
    return found


def _priced(key: _Key, sums: Sequence[float], prices: Prices) -> _Priced:
    name, model, waste = key
    counts = tuple(map(int, sums[1:6]))
    said = sums[6]
    usd = said or prices.of(model, Tokens(**dict(zip(_TOKENS, counts, strict=True))))
    return _Priced(name, waste, int(sums[0]), counts, usd, said > 0, sums[7], sums[8])


def _names(store: Store, by: CostBy, rows: Iterable[Row]) -> Callable[[Row], str]:
    if by == "day":
        return lambda row: _day(whole_in(row, "hour"))
    if by != "pattern":
        return lambda row: text_in(row, by)
    wanted: list[Json] = [*{text_in(row, "signature") for row in rows} - {""}]
    held = store.find("signatures", {"signature": ("in", wanted)}).rows
    patterns = {text_in(row, "signature"): text_in(row, "pattern") for row in held}
    return lambda row: patterns.get(text_in(row, "signature"), "")


def _day(hour: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(hour * _HOUR_S, UTC).date().isoformat()


def _folded(priced: Iterable[_Priced], name_of: Callable[[_Priced], str]) -> list[Cost]:
    whole: dict[str, _Used] = {}
    wasted: dict[str, _Used] = {}
    for each in priced:
        name = name_of(each)
        whole.setdefault(name, _Used()).add(each)
        if each.waste:
            wasted.setdefault(name, _Used()).add(each)
    return [_cost(name, held, wasted.get(name, _Used())) for name, held in whole.items()]


def _cost(name: str, held: _Used, wasted: _Used) -> Cost:
    tokens = Tokens(**dict(zip(_TOKENS, held.counts, strict=True)))
    known = held.priced or not tokens.total
    return Cost(
        name=name,
        calls=held.calls,
        tokens=tokens,
        cost_usd=held.usd if known else None,
        unpriced=held.unpriced,
        duration_s=held.duration_s,
        wasted_calls=wasted.calls,
        wasted_tokens=sum(wasted.counts),
        wasted_usd=wasted.usd if known else None,
        wasted_s=held.wasted_s,
    )
