"""Lists sessions by what is counted of each, so that no list reads an outcome."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypedDict

from ratchet.errors import NotFound, UsageError
from ratchet.lessons.fence import is_plain_name
from ratchet.records import Json, Outcome, Page, Row, number_in, outcome_of, text_in, whole_in
from ratchet.sessions.prices import Prices, Tokens
from ratchet.sessions.session import LIVE_S, ModelCost, SessionSummary
from ratchet.sessions.teams import titled
from ratchet.store.paging import rows_of

if TYPE_CHECKING:
    from ratchet.ports import Store

_TITLE_CHARS = 120
_NEAR = 5  # sessions that are named where a beginning fits several


SessionOrder = Literal["last", "calls", "failures"]
"""What sessions are put in order by: when they did something last, steps, or failed ones."""
_TOKENS = ("given", "stored", "stored_hour", "cached", "made", "begun")


class Narrowing(TypedDict, total=False):
    """Filters of outcomes; None is none. `since` is Unix seconds."""

    agent: str | None
    ok: bool | None
    session: str | None
    kind: str | None
    since: float | None


def outcomes(store: Store, narrowing: Narrowing, *, limit: int | None) -> Iterator[Outcome]:
    """Outcomes by time, newest first, read as they are iterated."""
    where: dict[str, Json | tuple[str, Json]] = {}
    for name in ("agent", "ok", "session", "kind"):
        value = narrowing.get(name)
        if isinstance(value, str | bool):
            where[name] = value
    if (since := narrowing.get("since")) is not None:
        where["started_at"] = (">=", since)
    return map(outcome_of, rows_of(store, "outcomes", where, order=("-started_at",), limit=limit))


def listed(
    store: Store,
    where: dict[str, Json | tuple[str, Json]],
    *,
    since: float | None = None,
    until: float | None = None,
    order: SessionOrder = "last",
    up: bool = False,
    limit: int,
    cursor: str | None = None,
) -> Page:
    """A page of what is counted of sessions, those with the most of `order` first; the least with `up`. The newest
    before a moment are read from there on, however many came since."""
    if until is not None and order == "last" and not up:
        page = store.find(
            "session_tallies", {**where, "max_at": ("<", until)}, order=("-max_at",), limit=limit, cursor=cursor
        )
        kept = [row for row in page.rows if number_in(row, "max_at") >= (since or float("-inf"))]
        return Page(kept, page.cursor if len(kept) == len(page.rows) else None)
    if since is not None:
        where["max_at"] = (">=", since)
    column = "max_at" if order == "last" else order
    page = store.find("session_tallies", where, order=(column if up else f"-{column}",), limit=limit, cursor=cursor)
    if until is None:
        return page
    return Page([row for row in page.rows if number_in(row, "max_at") < until], page.cursor)


def named(store: Store, session: str) -> Row:
    """Find what is counted of a session, by its id or the beginning of one. Raises NotFound, UsageError for several."""
    found = store.get("session_tallies", session)
    if found is not None:
        return found
    rows = store.find("session_tallies", {"session": (">=", session)}, order=("session",), limit=_NEAR).rows
    near = [row for row in rows if session and text_in(row, "session").startswith(session)]
    if not near:
        raise NotFound(f"no session {session}; `ratchet sessions list` shows them")
    if len(near) > 1:
        ids = [text_in(row, "session") for row in near]
        told = ", ".join(each if is_plain_name(each) else "(one whose name is no word)" for each in ids)
        raise UsageError(f"several sessions begin with {session}: {told}; `ratchet sessions list` shows them")
    return near[0]


def summaries(store: Store, rows: Sequence[Row], prices: Prices, *, now: float) -> Iterator[SessionSummary]:
    """The sessions that these rows count, in their order."""
    ids: Json = [text_in(row, "session") for row in rows]
    used: dict[str, list[Row]] = {}
    for each in store.find("session_models", {"session": ("in", ids)}).rows:
        used.setdefault(text_in(each, "session"), []).append(each)
    for row in rows:
        session = text_in(row, "session")
        found = summary(row, used.get(session, ()), _title(store, session), prices, now=now)
        yield found if found.title else of_team(store, found)


def of_team(store: Store, found: SessionSummary) -> SessionSummary:
    """The session with a title and the state of the team's run that it is; another one as it is."""
    named = titled(store, found.id)
    return found if named is None else replace(found, title=named[0], live=found.live and named[1])


def summary(row: Row, used: Iterable[Row], title: str, prices: Prices, *, now: float) -> SessionSummary:
    """One session, of its counts and those of its models."""
    models = tuple(sorted((_model(each, prices) for each in used), key=lambda each: (-each.tokens.total, each.model)))
    tokens = sum((each.tokens for each in models), Tokens())
    cost = sum(each.cost_usd or 0.0 for each in models)
    known = any(each.cost_usd is not None for each in models)
    if not models:  # its outcomes alone say what was used
        tokens = Tokens(unsplit=whole_in(row, "tokens"))
        cost = number_in(row, "cost_usd")
        known = cost > 0 or not tokens.total
    return SessionSummary(
        id=text_in(row, "session"),
        title=title,
        agent=text_in(row, "agent"),
        project=text_in(row, "project"),
        models=models,
        started_at=number_in(row, "min_at"),
        ended_at=number_in(row, "max_at"),
        calls=whole_in(row, "calls"),
        failures=whole_in(row, "failures"),
        excused=whole_in(row, "excused"),
        tokens=tokens,
        cost_usd=cost if known else None,
        unpriced=sum(each.tokens.total for each in models if each.cost_usd is None) if models else 0,
        live=now - number_in(row, "max_at") < LIVE_S,
    )


def _model(row: Row, prices: Prices) -> ModelCost:
    tokens = tokens_of(row)
    model = text_in(row, "model")
    return ModelCost(model=model, messages=whole_in(row, "messages"), tokens=tokens, cost_usd=prices.of(model, tokens))


def tokens_of(row: Row) -> Tokens:
    """The tokens that a row counts."""
    given, stored, hour, cached, made, begun = (whole_in(row, name) for name in _TOKENS)
    return Tokens(given=given, stored=stored, stored_hour=hour, cached=cached, made=made, begun=begun)


def title_of(store: Store, session: str) -> str:
    """The first thing that a person said in a session, on one line, or whose run it is; "" where nobody said
    anything."""
    return _title(store, session) or (titled(store, session) or ("", False))[0]


def _title(store: Store, session: str) -> str:
    rows = store.find("sayings", {"session": session, "who": "person"}, order=("at",), limit=1).rows
    said = " ".join(text_in(rows[0], "text").split()) if rows else ""
    return said if len(said) <= _TITLE_CHARS else said[: _TITLE_CHARS - 1] + "…"
