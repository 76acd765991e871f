"""Sessions, what agents did step by step, and what all of it took."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
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
from ratchet.serving.api.ui.asking import following
from ratchet.serving.api.ui.drawing import Drawn, stacked
from ratchet.serving.api.ui.ranges import Order, ordered, range_links, with_query
from ratchet.serving.api.ui.rendering import drawn
from ratchet.sessions.cost import NAMELESS, Cost, CostBy
from ratchet.sessions.listing import SessionOrder
from ratchet.sessions.session import SessionDetail, SessionStep

router = asking.router()
_STEPS = 60
_FAILED = 200


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One line of a session's page: a step of it, or words that were said then."""

    what: Literal["step", "person", "agent"]
    at: float
    text: str = ""
    step: SessionStep | None = None


@router.get("/ui/sessions", dependencies=[READS])
def sessions(
    request: Request, runtime: Operations, project: str = "", agent: str = "", sort: str = "", after: Cursor = None
) -> Response:
    """All sessions that fit a filter, the one that did something last first unless another order is asked for."""
    by: SessionOrder = next((each for each in get_args(SessionOrder) if each == sort.lstrip("-")), "last")
    order = Order(request, by, up=bool(sort) and not sort.startswith("-"))
    found = runtime.sessions.list(
        project=project or None, agent=agent or None, order=by, up=order.up, limit=asking.ROWS, cursor=after
    )
    return drawn(
        request,
        "sessions.html",
        rows=found.items,
        next=following(request, "after", found.next) if found.next else "",
        order=order,
        asked={"project": project, "agent": agent},
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
    days = found.rows if by == "day" else looks.costs(held, "day", within, project).rows
    return drawn(
        request,
        "cost.html",
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
        chart=stacked(list(_every_day(days)), ["good", "bad"], "US cents", unit=100),
    )


def _every_day(days: Sequence[Cost]) -> Iterator[Drawn]:
    """Draw all days from the first to the last, those too on which nothing was used."""
    by_name = {each.name: each for each in days}
    if not days:
        return
    day, last = (date.fromisoformat(each.name) for each in (days[0], days[-1]))
    while day <= last:
        held = by_name.get(day.isoformat())
        parts = cents(held) if held is not None else {}
        yield Drawn(label=day.isoformat(), parts=parts, below=f"{day:%d %b}".lstrip("0"))
        day += timedelta(days=1)


def cents(of: Cost) -> dict[str, int]:
    """Whole cents that were useful, and those that were waste."""
    wasted = round(100 * (of.wasted_usd or 0.0))
    return {"good": round(100 * (of.cost_usd or 0.0)) - wasted, "bad": wasted}


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
        whole=with_query(request, thread="", at=""),
        own=with_query(request, thread="-")[: -len("-")],
        threads=[(each, with_query(request, thread=each.name)) for each in found.threads if each.name],
        next=following(request, "after", found.next) if found.next else "",
        failed=_failed(runtime, found.summary.id),
    )


def _lines(found: SessionDetail) -> Iterator[SessionLine]:
    """Steps and words by time; of what began together, the words first."""
    lines = [SessionLine(each.who, each.at, each.text) for each in found.said]
    lines += [SessionLine("step", each.outcome.started_at, step=each) for each in found.steps]
    yield from sorted(lines, key=lambda each: (each.at, each.what == "step"))


def _failed(runtime: Operations, session: str) -> list[Outcome]:
    """The agent's own failures in a session, oldest first."""
    found = runtime.sessions.outcomes(session=session, ok=False, limit=_FAILED).items
    return [each for each in reversed(found) if each.failure is not None and each.failure.kind not in EXCUSED]
