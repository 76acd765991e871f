"""Sessions, what agents did step by step, and what all of it took."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import accumulate, pairwise
from typing import Literal, get_args

from fastapi import Request
from starlette.responses import Response

from ratchet.failures.health import EXCUSED
from ratchet.records import Outcome
from ratchet.serving.api import looks
from ratchet.serving.api.access import READS
from ratchet.serving.api.pages import Cursor
from ratchet.serving.api.serving import Operations, Shared
from ratchet.serving.api.ui import asking
from ratchet.serving.api.ui.asking import following, moment_of
from ratchet.serving.api.ui.drawing import Drawn, Plot, below, stacked
from ratchet.serving.api.ui.ranges import Order, ordered, range_links, with_query
from ratchet.serving.api.ui.rendering import drawn, moment
from ratchet.sessions.cost import NAMELESS, Cost, CostBy
from ratchet.sessions.listing import SessionOrder
from ratchet.sessions.moments import StepMoment
from ratchet.sessions.prices import remedy
from ratchet.sessions.session import SessionDetail, SessionStep

router = asking.router()
_STEPS = 60
_FAILED = 200
_COLUMNS, _LEAST_DRAWN, _LEAST_S = 72, 4, 10.0  # of a session's chart, and the steps and seconds that are worth one
_SERIES, _MOST_DAYS = 4, 92  # models that have a colour of their own, and columns that are days
_REST = "series-5"
_TOOLS = 6
_DAY_S = 86_400.0
PAUSE_S = 600.0
"""A pause of a session is drawn as long as this at most: or nothing were left of the hour in which it worked."""


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One line of a session's page: a step of it, or words that were said then."""

    what: Literal["step", "person", "agent"]
    at: float
    text: str = ""
    step: SessionStep | None = None


@router.get("/ui/sessions", dependencies=[READS])
def sessions(
    request: Request,
    runtime: Operations,
    project: str = "",
    agent: str = "",
    since: str = "",
    until: str = "",
    sort: str = "",
    after: Cursor = None,
) -> Response:
    """All sessions that fit a filter, the one that did something last first unless another order is asked for."""
    by: SessionOrder = next((each for each in get_args(SessionOrder) if each == sort.lstrip("-")), "last")
    order = Order(request, by, up=bool(sort) and not sort.startswith("-"))
    found = runtime.sessions.list(
        project=project or None,
        agent=agent or None,
        since=moment_of(since),
        until=moment_of(until),
        order=by,
        up=order.up,
        limit=asking.ROWS,
        cursor=after,
    )
    return drawn(
        request,
        "sessions.html",
        rows=found.items,
        next=following(request, "after", found.next) if found.next else "",
        order=order,
        asked={"project": project, "agent": agent, "since": since, "until": until},
    )


@router.get("/ui/cost", dependencies=[READS])
def cost(request: Request, held: Shared, by: CostBy = "model", project: str = "") -> Response:
    """Show what agents took in a range, and how much of it was waste."""
    within = held.runtime.failing.window(request.query_params.get("range", ""))
    found = looks.costs(held, by, within, project)
    orders: dict[str, Callable[[Cost], float | str]] = {
        "name": lambda each: each.name,
        "cost": lambda each: each.cost_usd or 0.0,
        "waste": lambda each: each.wasted_usd or 0.0,
        "tokens": lambda each: each.tokens.total,
        "calls": lambda each: each.calls,
        "time": lambda each: each.duration_s,
    }
    rows, order = ordered(request, found.rows, orders, "name" if by == "day" else "cost")
    days = looks.costs_daily(held, within, project)
    weekly = len(days) > 1 and (date.fromisoformat(max(days)) - date.fromisoformat(min(days))).days > _MOST_DAYS
    models = _series(days)
    columns = list(_spent_over_time(days, models, weekly=weekly)) if days else []
    return drawn(
        request,
        "cost.html",
        remedy=remedy(),
        found=found,
        rows=(shown := rows[: asking.ROWS]),
        hidden=max(0, len(rows) - asking.ROWS),
        words=held.runtime.sessions.cost_words(replace(found, rows=tuple(shown))),
        nameless=NAMELESS[by],
        by=by,
        order=order,
        within=within,
        ranges=range_links(request),
        tabs=[(name, with_query(request, by=name)) for name in get_args(CostBy)],
        chart=stacked(columns, models, "USD", unit=100),
        models=list(models.items()),
        stretch="week" if weekly else "day",
        next_day={name: (date.fromisoformat(name) + timedelta(days=1)).isoformat() for name in days},
    )


def _series(days: Mapping[str, Mapping[str, float]]) -> dict[str, str]:
    """The parts of a chart of money -> the models that they stand for, the dearest first; what is left is one part."""
    spent: dict[str, float] = {}
    for models in days.values():
        for model, usd in models.items():
            spent[model] = spent.get(model, 0.0) + usd
    dearest = sorted((model for model in spent if spent[model]), key=lambda model: (-spent[model], model))
    named = {f"series-{n}": model or "no model named" for n, model in enumerate(dearest[:_SERIES], 1)}
    return named | ({_REST: "other models"} if dearest[_SERIES:] else {})


def _spent_over_time(
    days: Mapping[str, Mapping[str, float]], series: Mapping[str, str], *, weekly: bool
) -> Iterator[Drawn]:
    """Draw cents of all days from the first to the last, those too on which nothing was used, or of their weeks."""
    part_of = {model: part for part, model in series.items()}
    step = 7 if weekly else 1
    day, last = (date.fromisoformat(name) for name in (min(days), max(days)))
    if weekly:
        day -= timedelta(days=day.weekday())
    while day <= last:
        parts: dict[str, int] = {}
        for n in range(step):
            for model, usd in days.get((day + timedelta(days=n)).isoformat(), {}).items():
                part = part_of.get(model or "no model named", _REST)
                parts[part] = parts.get(part, 0) + round(100 * usd)
        label = f"{'week from ' if weekly else ''}{day.isoformat()}"
        yield Drawn(label=label, parts=parts, below=f"{day:%d %b}".lstrip("0"))
        day += timedelta(days=step)


@router.get("/ui/outcomes/{outcome_id}", dependencies=[READS])
def outcome(outcome_id: str, request: Request, runtime: Operations) -> Response:
    """One step whole, with those beside it."""
    found = runtime.sessions.step(outcome_id)
    return drawn(request, "outcome.html", found=found, each=found.step, held=found.step.outcome)


@router.get("/ui/sessions/{session_id:path}", dependencies=[READS])
def session(session_id: str, request: Request, runtime: Operations, at: str = "", after: Cursor = None) -> Response:
    """One session step by step; its subagents' steps stand apart, below the step that started them."""
    thread = request.query_params.get("thread")
    found = runtime.sessions.show(session_id, thread=thread, at=at, limit=_STEPS, cursor=after)
    began = {each.started_by: each for each in found.threads if each.started_by}
    return drawn(
        request,
        "session.html",
        held=found.summary,
        found=found,
        lines=list(_lines(found)),
        began=began,
        thread=thread,
        everything=with_query(request, thread="", at=""),
        own=with_query(request, thread="-")[: -len("-")],
        threads=[(each, with_query(request, thread=each.name)) for each in found.threads if each.name],
        next=following(request, "after", found.next) if found.next else "",
        failed=_failed(runtime, found.summary.id),
        spent=(spent := runtime.sessions.costs_in(found.summary.id)),
        tools=sorted(spent.rows, key=lambda each: (-each.duration_s, -each.calls, each.name))[:_TOOLS],
        nameless=NAMELESS["tool"],
        chart=_over_time(runtime.sessions.moments(found.summary), lambda step: with_query(request, thread="", at=step)),
    )


def _over_time(moments: Sequence[StepMoment], address_of: Callable[[str], str]) -> Plot | None:
    """Draw the steps of a session over its time, pauses cut short; a column leads to its first step, to a failed one
    where it has any. None where they are too few, or the time is too short to tell anything."""
    ordered_by_time = sorted(moments, key=lambda each: each.at)
    places = [0.0, *accumulate(min(b.at - a.at, PAUSE_S) for a, b in pairwise(ordered_by_time))]
    if sum(each.count for each in moments) < _LEAST_DRAWN or places[-1] < _LEAST_S:
        return None
    step_s = max(places[-1] / (_COLUMNS - 1), 1.0)
    held: list[list[StepMoment]] = [[] for _ in range(int(places[-1] / step_s) + 1)]
    for place, each in zip(places, ordered_by_time, strict=True):
        held[int(place / step_s)].append(each)
    begins: list[float] = []
    for column in held:
        begins.append(column[0].at if column else begins[-1] + step_s)
    days = begins[-1] - begins[0] > _DAY_S
    columns = []
    for column, at, tick in zip(held, begins, below(begins, step_s=_DAY_S if days else step_s), strict=True):
        parts = {ended: sum(each.count for each in column if each.ended == ended) for ended in ("bad", "warn", "ok")}
        first = next((each.step for each in sorted(column, key=lambda each: each.ended != "bad")), "")
        leads = address_of(first) if first else ""
        columns.append(Drawn(label=moment(at), parts=parts, below=tick, again=_hour(at) if days else "", address=leads))
    return stacked(columns, {"bad": "failed", "warn": "no fault of its own", "ok": "worked"}, "steps")


def _hour(at: float) -> str:
    return moment(at).partition(", ")[2]


def _lines(found: SessionDetail) -> Iterator[SessionLine]:
    """Steps and words by time; of what began together, the words first."""
    lines = [SessionLine(each.who, each.at, each.text) for each in found.said]
    lines += [SessionLine("step", each.outcome.started_at, step=each) for each in found.steps]
    yield from sorted(lines, key=lambda each: (each.at, each.what == "step"))


def _failed(runtime: Operations, session: str) -> list[Outcome]:
    """The agent's own failures in a session, oldest first."""
    found = runtime.sessions.outcomes(session=session, ok=False, limit=_FAILED).items
    return [each for each in reversed(found) if each.failure is not None and each.failure.kind not in EXCUSED]
