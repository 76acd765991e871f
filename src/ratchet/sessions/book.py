"""Sessions, their steps and outcomes as people ask for them: the operations behind `ratchet sessions`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ratchet.arguments import whole_id
from ratchet.errors import NotFound
from ratchet.lessons.exposure import project_name
from ratchet.records import Json, outcome_of
from ratchet.sessions import listing, opening
from ratchet.sessions.prices import Prices
from ratchet.sessions.session import OutcomeDetail, OutcomePage, SessionDetail, SessionPage

if TYPE_CHECKING:
    from ratchet.ports import Store
    from ratchet.records import Outcome


class SessionBook:
    """The sessions of one store. `reading` gives the store after what was recorded is in it; `prices` are a person's
    own, by model, in USD for a million tokens sent and received."""

    def __init__(self, *, reading: Callable[[], Store], prices: Mapping[str, tuple[float, float]]) -> None:
        self._reading = reading
        self._prices = Prices(prices)

    def list(
        self,
        *,
        project: str | None = None,
        agent: str | None = None,
        since: float | None = None,
        until: float | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> SessionPage:
        """Sessions, those that did something last first. `project` is a folder: all folders of its repository count;
        `since` and `until` are Unix seconds of the last thing done. Raises UsageError for a cursor that is none."""
        store = self._reading()
        where: dict[str, Json | tuple[str, Json]] = {}
        if project is not None:
            where["project"] = ("in", [*listing.folders_of(store, project_name(project))])
        if agent is not None:
            where["agent"] = agent
        page = listing.listed(store, where, since=since, until=until, limit=limit, cursor=cursor)
        return SessionPage(
            items=tuple(listing.summaries(store, page.rows, self._prices, now=time.time())), next=page.cursor
        )

    def show(
        self, session: str, *, thread: str | None = None, at: str = "", limit: int = 100, cursor: str | None = None
    ) -> SessionDetail:
        """One session with `limit` of its steps in the order in which they began, those of one thread where one is
        named ("": the agent's own). `at` is an outcome's id: its steps are given from there on. `session` may be the
        beginning of an id. Raises NotFound, UsageError where several begin so."""
        store = self._reading()
        row = listing.named(store, session)
        asked = opening.AskedSteps(thread=thread, at=at, limit=limit, cursor=cursor)
        return opening.opened(store, row, asked, self._prices, now=time.time())

    def outcomes(
        self,
        *,
        agent: str | None = None,
        ok: bool | None = None,
        session: str | None = None,
        kind: str | None = None,
        signature: str | None = None,
        since: float | None = None,
        until: float | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> OutcomePage:
        """Outcomes, newest first; every filter narrows. Raises UsageError for a cursor that is none."""
        wanted = {"agent": agent, "ok": ok, "session": session, "kind": kind, "signature": signature}
        where: dict[str, Json | tuple[str, Json]] = {name: value for name, value in wanted.items() if value is not None}
        if since is not None:
            where["started_at"] = (">=", since)
        page = self._reading().find("outcomes", where, order=("-started_at",), limit=limit, cursor=cursor)
        found = page.rows if until is None else [row for row in page.rows if float(str(row["started_at"])) < until]
        return OutcomePage(items=tuple(map(outcome_of, found)), next=page.cursor)

    def outcome(self, outcome_id: str) -> Outcome:
        """One outcome. Raises NotFound."""
        store = self._reading()
        row = store.get("outcomes", whole_id(store, "outcomes", outcome_id))
        if row is None:
            raise NotFound(f"no outcome {outcome_id}")
        return outcome_of(row)

    def step(self, outcome_id: str) -> OutcomeDetail:
        """One outcome whole: its result's text from its history, and the steps beside it. Raises NotFound."""
        return opening.step(self._reading(), self.outcome(outcome_id), self._prices)
