"""Sessions, their steps and outcomes as people ask for them: the operations behind `ratchet sessions`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.arguments import whole_id
from ratchet.errors import NotFound, UsageError
from ratchet.failures.kinds.known import need_known
from ratchet.lessons.repositories import folders_of, project_of
from ratchet.records import Json, Outcome, Pattern, Trial, outcome_of, text_in
from ratchet.sessions import cost, finding, handoff, listing, opening, ways
from ratchet.sessions.finding import Narrowed, SearchFound
from ratchet.sessions.moments import StepMoment, moments
from ratchet.sessions.prices import Prices
from ratchet.sessions.session import OutcomeDetail, OutcomePage, SessionDetail, SessionPage, SessionSummary

if TYPE_CHECKING:
    from ratchet.lessons.recall import Recalled
    from ratchet.ports import Progress, Store
    from ratchet.sessions.checking import Checked
    from ratchet.sessions.cost import CostBy, Costs
    from ratchet.sessions.digest import Digest
    from ratchet.sessions.forgetting import Forgotten
    from ratchet.sessions.handoff import Handoff, HandoffTo
    from ratchet.sessions.teams import RunDetail, RunPage
    from ratchet.sessions.ways import Replaced, ToolWay

_DAY_S = 86_400.0


class SessionBook:
    """The sessions of one store. `reading` gives the store after what was recorded is in it, `recalling` what is known
    to fix a text, `changed` is called once lessons went: it takes what became of them out of files, tells the hooks,
    and gives the folders that stay; `prices` are a person's own, by model, in USD for a million
    tokens sent and received."""

    def __init__(
        self,
        *,
        home: Path,
        reading: Callable[[], Store],
        recalling: Callable[[str], Recalled],
        changed: Callable[[], Sequence[str]],
        prices: Mapping[str, tuple[float, float]],
    ) -> None:
        self._home = home
        self._reading = reading
        self._recalling = recalling
        self._changed = changed
        self._prices = Prices(prices)

    def list(
        self,
        *,
        project: str | None = None,
        agent: str | None = None,
        since: float | None = None,
        until: float | None = None,
        order: listing.SessionOrder = "last",
        up: bool = False,
        limit: int = 50,
        cursor: str | None = None,
    ) -> SessionPage:
        """Sessions, those with the most of `order` first, or the least with `up`. `project` is a folder, of whose
        repository all folders count, or a project's name; `since` and `until` are Unix seconds of the last thing done.
        Raises UsageError for a cursor that is none, NotFound for a name that is none."""
        store = self._reading()
        where: dict[str, Json | tuple[str, Json]] = {}
        if project is not None:
            where["project"] = ("in", [*folders_of(store, project_of(store, project))])
        if agent is not None:
            where["agent"] = agent
        page = listing.listed(store, where, since=since, until=until, order=order, up=up, limit=limit, cursor=cursor)
        return SessionPage(
            items=tuple(listing.summaries(store, page.rows, self._prices, now=time.time())), next=page.cursor
        )

    def team_runs(self, *, team: str | None = None, limit: int = 50, cursor: str | None = None) -> RunPage:
        """Runs of teams, newest first, of one team where one is named. Raises UsageError for a cursor that is none."""
        from ratchet.sessions import teams

        return teams.page(self._reading(), team=team, limit=limit, cursor=cursor)

    def team_run(self, run_id: str) -> RunDetail:
        """One run of a team: its tasks with every attempt, its workers, its letters. Raises NotFound."""
        from ratchet.sessions import teams

        return teams.whole(self._reading(), run_id)

    def show(
        self,
        session: str,
        *,
        thread: str | None = None,
        at: str = "",
        failed: bool = False,
        limit: int = 100,
        cursor: str | None = None,
    ) -> SessionDetail:
        """One session with `limit` of its steps in the order in which they began, those of one thread where one is
        named ("": the agent's own). `at` is an outcome's id: its steps are given from there on. `failed` leaves out the
        steps that worked, and what was said. `session` may be the beginning of an id. Raises NotFound, UsageError where
        several begin so."""
        store = self._reading()
        row = listing.named(store, session)
        asked = opening.AskedSteps(thread=thread, at=at, failed=failed, limit=limit, cursor=cursor)
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

    def search(
        self,
        text: str,
        *,
        project: str | None = None,
        agent: str = "",
        tool: str = "",
        kind: str = "",
        model: str = "",
        command: str = "",
        file: str = "",
        failed: bool = False,
        since: float | None = None,
        until: float | None = None,
        limit: int = 20,
    ) -> SearchFound:
        """Find what has all words of a text: steps, edits, what people said, patterns and lessons, at most `limit` of
        each. Of a whole pasted output `recalled` says what is known to fix it. `project` is a folder or a project's
        name; `failed` leaves out refusals, `command` all but its failed runs, `file` all but its edits and failed runs
        that named it.
        Without words, the steps that the filters leave. Raises UsageError where there is neither and for a kind that is
        none, NotFound for a name that is none."""
        if kind:
            need_known(kind)
        store = self._reading()
        if finding.is_pasted(text):
            return SearchFound(words=(), hits=(), sessions=(), recalled=self._recalling(text))
        narrowed = Narrowed(
            agent=agent,
            project=project_of(store, project) if project else "",
            tool=tool,
            kind=kind,
            model=model,
            command=command,
            file=file,
            failed=failed,
            since=since,
            until=until if until is not None or since is None else time.time() + _DAY_S,
        )
        return finding.found_by(store, text, narrowed, limit=limit)

    def ways(self, tool: str, *, project: str | None = None, limit: int = 20) -> tuple[ToolWay, ...]:
        """The ways to call a tool, or a command, that were tried here: those that worked first. `project` is a folder
        or a project's name. Raises NotFound where it never ran, UsageError for no name."""
        if not tool.strip():
            raise UsageError("name a tool, or a command of a shell: git rebase")
        store = self._reading()
        return ways.ways(store, tool, project=project_of(store, project) if project else None, limit=limit)

    def replaced(self, path: str, *, step: str = "", place: str = "") -> Replaced:
        """Find what a file held before the last session that edited it, or before one step. Changes nothing. Of all
        files that end in `path`, `place` means one: its path without links. Raises NotFound."""
        return ways.replaced(self._reading(), path, step=step, place=place)

    def handoff(self, session: str, *, to: HandoffTo = "any") -> Handoff:
        """A digest of a session for another agent to go on with, any or the one named. Raises NotFound, UsageError."""
        store = self._reading()
        row = listing.named(store, session)
        return handoff.handoff(store, next(listing.summaries(store, [row], self._prices, now=time.time())), to)

    def costs(
        self,
        *,
        by: CostBy = "model",
        project: str | None = None,
        since: float | None = None,
        until: float | None = None,
    ) -> Costs:
        """Sum up tokens and money by one thing, and how much of both was waste. `project` is a folder or a project's
        name."""
        store = self._reading()
        named = project_of(store, project) if project else None
        return cost.costs(store, self._prices, by=by, project=named, since=since, until=until)

    def costs_in(self, session: str) -> Costs:
        """Sum up tokens, money and time of one session, by tool."""
        return cost.costs_in(self._reading(), self._prices, session)

    def costs_daily(
        self, *, project: str | None = None, since: float | None = None, until: float | None = None
    ) -> dict[str, dict[str, float]]:
        """Sum up USD by day and model. `project` is a folder or a project's name."""
        store = self._reading()
        named = project_of(store, project) if project else None
        return cost.costs_daily(store, self._prices, project=named, since=since, until=until)

    def moments(self, session: SessionSummary) -> Sequence[StepMoment]:
        """When the steps of a session ran, and how they ended, in no order; in hours where they are thousands."""
        return tuple(moments(self._reading(), session.id, session.calls))

    def cost_words(self, found: Costs, *, limit: int = 100) -> dict[str, str]:
        """Words for the first names of costs by pattern (its text) or session (what was asked first), which are ids."""
        return cost.words_of(self._reading(), found, limit)

    def forget(
        self, what: str = "", *, before: float | None = None, dry_run: bool = False, progress: Progress | None = None
    ) -> Forgotten:
        """Forget a session (by its id), all sessions of a project (by its folder), or all that ended before a moment,
        with all that rests on nothing else, and look for what is left. Raises NotFound, UsageError for neither."""
        from ratchet.sessions.forgetting import forget

        store = self._reading()
        wanted = _wanted(store, what, before)
        loose = None if what else before
        told = progress or (lambda _done, _total, _what: None)
        return forget(store, self._home, wanted, before=loose, dry_run=dry_run, changed=self._changed, progress=told)

    def check(self, progress: Progress) -> Checked:
        """Read every history again and compare it with what is kept of it. Changes nothing."""
        from ratchet import registry
        from ratchet.recording.sources import source_for
        from ratchet.sessions.checking import checked

        plugins = tuple(registry.plugin_sources())
        return checked(self._reading(), lambda path: source_for(path, plugins), progress)

    def digest(
        self,
        patterns: Sequence[Pattern],
        trials: Sequence[Trial],
        *,
        since: float,
        until: float | None = None,
        often: int | None = None,
    ) -> Digest:
        """Digest the time from `since` on: what ran, what it cost, what is new, rising, learnt, decided."""
        from ratchet.sessions.digest import digest

        end = time.time() if until is None else until
        return digest(self._reading(), self._prices, patterns, trials, since=since, until=end, often=often)


def _wanted(store: Store, what: str, before: float | None) -> list[str]:
    """The sessions that are to be forgotten, oldest first."""
    if not what and before is None:
        raise UsageError("name a session, a project, or --before DATE")
    where: dict[str, Json | tuple[str, Json]] = {}
    if before is not None:
        where["max_at"] = ("<", before)
    if what:
        folders = _folders_meant(store, what)
        if folders:
            where["project"] = ("in", [*folders])
        else:
            where["session"] = session = _session_meant(store, what)
            if before is None:
                return [session]
    return [str(row["session"]) for row in store.find("session_tallies", where, order=("max_at",)).rows]


def _session_meant(store: Store, what: str) -> str:
    """The session that is named so; of one that took no step a lesson that it was told is kept."""
    try:
        return text_in(listing.named(store, what), "session")
    except NotFound:
        if store.find("exposures", {"session": what}, limit=1).rows:
            return what
        raise NotFound(
            f"no session or project {what}; `ratchet sessions list` and `ratchet lessons facts` show them"
        ) from None


def _folders_meant(store: Store, what: str) -> list[str]:
    """The folders of the project that is named so; none where it names no project, so that it is a session."""
    try:
        return folders_of(store, project_of(store, what))
    except NotFound:
        return []
