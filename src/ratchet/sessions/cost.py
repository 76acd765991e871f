"""Says what agents took, and how much of it was waste: tokens and money by model, project, agent, tool, pattern or day.

Cost is everything; waste is the part of it that failures, failures repeated and loops took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class _Used:
    calls: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    usd: float = 0.0
    priced: bool = False
    unpriced: int = 0
    duration_s: float = 0.0
    wasted_s: float = 0.0

    def add(self, row: Row, prices: Prices) -> None:
        tokens = Tokens(**{name: whole_in(row, name) for name in ("given", "stored", "cached", "made", "unsplit")})
        said = number_in(row, "cost_usd")
        usd = said or prices.of(text_in(row, "model"), tokens)
        self.calls += whole_in(row, "calls")
        self.tokens += tokens
        self.duration_s += number_in(row, "duration_s")
        self.wasted_s += number_in(row, "wasted_s")
        if usd is None:
            self.unpriced += tokens.total
        else:
            self.usd += usd
            self.priced = self.priced or tokens.total > 0 or said > 0


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
    groups = list(dict.fromkeys((column, "model", "waste", *(("hour",) if until is not None else ()))))
    rows = store.sum_by("spending", groups, _SUMS, where)
    if until is not None:
        rows = [row for row in rows if whole_in(row, "hour") * _HOUR_S < until]
    name_of = _names(store, by, rows)
    found = _folded(rows, name_of, prices)
    found.sort(key=lambda each: (-(each.cost_usd or 0), -each.tokens.total, each.name))
    if by == "day":
        found.sort(key=lambda each: each.name)
    return Costs(
        by=by,
        total=next(iter(_folded(rows, lambda _row: "", prices)), _cost("", _Used(), _Used())),
        rows=tuple(found),
        waste=tuple(_folded([row for row in rows if row["waste"]], lambda row: text_in(row, "waste"), prices)),
    )


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


def _folded(rows: Iterable[Row], name_of: Callable[[Row], str], prices: Prices) -> list[Cost]:
    whole: dict[str, _Used] = {}
    wasted: dict[str, _Used] = {}
    for row in rows:
        name = name_of(row)
        whole.setdefault(name, _Used()).add(row, prices)
        if row["waste"]:
            wasted.setdefault(name, _Used()).add(row, prices)
    return [_cost(name, held, wasted.get(name, _Used())) for name, held in whole.items()]


def _cost(name: str, held: _Used, wasted: _Used) -> Cost:
    known = held.priced or not held.tokens.total
    return Cost(
        name=name,
        calls=held.calls,
        tokens=held.tokens,
        cost_usd=held.usd if known else None,
        unpriced=held.unpriced,
        duration_s=held.duration_s,
        wasted_calls=wasted.calls,
        wasted_tokens=wasted.tokens.total,
        wasted_usd=wasted.usd if known else None,
        wasted_s=held.wasted_s,
    )
