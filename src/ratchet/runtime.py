"""One method per operation, which every surface only translates; long, since each imports what it needs when called."""

from __future__ import annotations

import os
import time
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Unpack

from ratchet.errors import NotFound, StoreError
from ratchet.home import Foundation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from os import PathLike
    from pathlib import Path

    from ratchet.evolving.bench.book import BenchBook
    from ratchet.evolving.book import EvolveBook
    from ratchet.failures.patterns.correlation import Correlation
    from ratchet.failures.patterns.detail import PatternDetail
    from ratchet.failures.patterns.health import Health
    from ratchet.failures.patterns.patterns import PatternList
    from ratchet.healing.book import EpisodeBook
    from ratchet.healing.distilling.book import Distillery
    from ratchet.healing.models.book import ModelBook
    from ratchet.healing.queue.book import TaskQueue
    from ratchet.improving.book import ProposalBook, Pulses, TrialBook
    from ratchet.improving.cures.book import CureBook
    from ratchet.improving.loop.improve import Ticked
    from ratchet.improving.overview import Overview
    from ratchet.improving.report import Report
    from ratchet.improving.trials.guard import Guard
    from ratchet.lessons.book import LessonBook
    from ratchet.lessons.failing import FailingBook
    from ratchet.lessons.learning import Gained, Learned
    from ratchet.lessons.recall import Recalled
    from ratchet.ports import Progress, Proposer, Store
    from ratchet.recording.drain import Drained
    from ratchet.recording.sources.watch_dir import Polled
    from ratchet.records import Fields, Outcome, Pattern, Row
    from ratchet.sessions.book import SessionBook
    from ratchet.sessions.digest import Digest
    from ratchet.sessions.listing import Narrowing
    from ratchet.store.moving import Relocated

DAY_S = 86_400.0
MIRRORED_EVERY_S = 2.0
_GROWN = 0.1


def unwatched(done: int, total: int, what: str) -> None:
    """The Progress of work that nobody watches."""


class Runtime(Foundation):
    """All operations over one home."""

    @property
    def lessons(self) -> LessonBook:
        """Lessons, and what people decided about them."""
        from ratchet.lessons.book import LessonBook

        return LessonBook(home=self.home, reading=self._read, writing=lambda: self.store, changed=self._decided)

    @property
    def failing(self) -> FailingBook:
        """Failures over time and by command, and what people decided about them."""
        from ratchet.lessons.failing import FailingBook

        return FailingBook(reading=self._read)

    @property
    def guard(self) -> Guard:
        """Opens, moves and settles trials."""
        from ratchet.improving.trials.guard import Guard

        return Guard(self.store, str(self.home), self.targets, joins=self._joins)

    @property
    def trials(self) -> TrialBook:
        """Changes on trial."""
        from ratchet.improving.book import TrialBook

        return TrialBook(reading=self._read, guard=lambda: self.guard)

    @property
    def proposals(self) -> ProposalBook:
        """Fixes that were thought of."""
        from ratchet.improving.book import ProposalBook

        return ProposalBook(reading=self._read, guard=lambda: self.guard)

    @property
    def pulses(self) -> Pulses:
        """When each agent is looked at."""
        from ratchet.improving.book import Pulses

        return Pulses(reading=self._read)

    def tick(self, *, auto_fix: bool | None = None, proposers: Sequence[Proposer] = ()) -> Ticked:
        """Go round the improve loop once: look at open trials, find what keeps failing, propose or start fixes, retire
        lessons that do not help. Safe to repeat, to kill, to run in parallel. Raises UsageError, StoreError."""
        from ratchet import registry
        from ratchet.improving.loop.improve import Improve

        self.retention.when_due()
        return Improve(
            self.store,
            self.guard,
            observe=self.drain,
            proposers=(*proposers, *registry.proposers(self.config.proposers)),
            auto_fix=self.config.auto_fix if auto_fix is None else auto_fix,
            send=self.outbox.tell,
            published=self.publish,
        ).tick()

    def look(self) -> Ticked:
        """Let the gate look at the open trials, as `tick` does among other things. Raises StoreError."""
        from ratchet.improving.loop.improve import Improve

        return Improve(self.store, self.guard, observe=self.observe).look()

    def alert(self) -> int:
        """Tell the notifiers of patterns that people should hear of, each once; return how many. Raises StoreError."""
        from ratchet.improving.loop.alerts import alert

        return alert(self.store, self.patterns(drained=False), self.config.often, self.outbox.tell, now=time.time())

    @property
    def episodes(self) -> EpisodeBook:
        """Tasks healed in a sandbox."""
        from ratchet.healing.book import EpisodeBook
        from ratchet.healing.models.choice import ModelChoice

        models = ModelChoice(self.config, os.environ)
        return EpisodeBook(self.home, reading=self._read, sandboxes=self.sandboxes, changed=self.publish, models=models)

    @property
    def models(self) -> ModelBook:
        """Language models: which is asked when, and whether it answers."""
        from ratchet.healing.models.book import ModelBook
        from ratchet.healing.models.choice import ModelChoice

        return ModelBook(self.config, ModelChoice(self.config, os.environ))

    @property
    def cures(self) -> CureBook:
        """Permanent changes that lessons become, each on trial."""
        from ratchet.healing.skilled import draft_of_healed as healed
        from ratchet.improving.cures.book import CureBook

        return CureBook(self.home, reading=self._read, guard=lambda: self.guard, healed=healed, changed=self._decided)

    @property
    def distillery(self) -> Distillery:
        """Rules that a model makes of evidence, verified by replay."""
        from ratchet.healing.distilling.book import Distillery
        from ratchet.healing.models.choice import ModelChoice

        models = ModelChoice(self.config, os.environ)
        return Distillery(reading=self._read, models=models, consent=self.config.distill, told=self.publish)

    @property
    def benchmarks(self) -> BenchBook:
        """Agents measured on benchmarks."""
        from ratchet.evolving.bench.book import BenchBook

        return BenchBook(self.home, reading=self._read, sandboxes=self.sandboxes, cluster=self.config.cluster)

    @property
    def evolutions(self) -> EvolveBook:
        """Agents bettered on benchmarks."""
        from ratchet.evolving.book import EvolveBook
        from ratchet.healing.models.choice import ModelChoice

        return EvolveBook(
            self.home,
            reading=self._read,
            sandboxes=self.sandboxes,
            models=ModelChoice(self.config, os.environ),
            benchmarks=self.benchmarks,
            cluster=self.config.cluster,
        )

    @property
    def tasks(self) -> TaskQueue:
        """Tasks that servers run."""
        from ratchet.healing.queue.book import TaskQueue

        return TaskQueue(store=lambda: self.store, episodes=self.episodes, timeline=self.timeline, home=self.home)

    def drain(self, *, grown: float = 0.0) -> Drained:
        """Store what was journalled and mine the sessions that grew, by this share at least: all reading does so."""
        from ratchet.improving.trials.publishing import publish

        try:
            drained = self.observe(inf if self.patience_s is None else time.monotonic() + self.patience_s)
            if not self.frozen:
                self._mine(unwatched, grown=grown)
                publish(self.store, str(self.home), joins=self._joins)  # what another machine opened, or a lost file
                self.pass_on(every_s=MIRRORED_EVERY_S)  # what another machine learnt
            return drained
        except (StoreError, OSError) as error:
            return self._left_by(error)

    def move(self, place: str, *, progress: Progress = unwatched) -> Relocated:
        """Copy everything to a database or a file, and prove it (see `moving.relocate`)."""
        from ratchet.store.moving import relocate

        self.drain()
        return relocate(self.config, self.store, place, progress)

    def _mine(self, progress: Progress, *, grown: float = 0.0) -> Gained | None:
        """Mine the sessions that grew; None where none did."""
        if not self.store.find("sessions", {"pending": True}, limit=1).rows:
            return None
        from ratchet.lessons.calibration import calibrate
        from ratchet.lessons.delivery import publish_facts, publish_triggers
        from ratchet.lessons.learning import mine_pending

        gained = mine_pending(self.store, progress, grown=grown, keep_steps=self.config.keep_steps)
        publish_facts(self.store, self.home, gained.projects)
        publish_triggers(self.store, self.home, gained.projects)
        if gained.lessons:
            calibrate(self.store)
            self.publish()
        return gained

    def _decided(self) -> None:
        """Tell the hooks what became of lessons that a person decided about."""
        from ratchet.lessons.delivery import publish_triggers

        publish_triggers(self.store, self.home)
        self.publish()

    def _forgot(self) -> Sequence[str]:
        return self.cures.clear()

    def publish(self) -> float:
        """Tell the hooks about the lessons; return the share that new sessions withhold."""
        from ratchet.lessons import delivery as deliver

        self.pass_on()
        share, proven = self.config.withheld_share, self.config.proven_withheld_share
        return deliver.publish(self.store, self.home, withheld_share=share, proven_withheld_share=proven)

    def _read(self, *, drained: bool = True) -> Store:
        """The store, after what was recorded is in it."""
        if drained:
            self.drain()
        return self.store

    def record(self, agent: str, **given: Unpack[Fields]) -> str:
        """Record one outcome (see `Ratchet.record`); return its id. Never raises."""
        return self.recorder.record(agent, **given)

    def record_rows(self, rows: Sequence[Row]) -> list[str] | None:
        """Record many outcomes at once, as `batch` made their rows; their ids, or None when they could not all be
        written down: then record the same again, what was kept counts once."""
        from ratchet.recording import batch

        kept = self.recorder.extend(batch.lines_of(rows), len(rows)) if rows else True
        return [str(row["id"]) for row in rows] if kept else None

    def learn(self, paths: Iterable[str | PathLike[str]] = (), *, progress: Progress = unwatched) -> Learned:
        """Read histories: files and folders, or the homes of the clients that are known. Raises UsageError for a path
        that does not exist, NotFound when no history is anywhere."""
        from ratchet.recording.sources.homes import known_homes

        wanted = [os.fspath(path) for path in paths] or [home.path for home in known_homes(os.environ)]
        if not wanted:
            raise NotFound("no history of a known agent is on this machine; name one: ratchet learn PATH")
        return self._learn_files(wanted, progress, own=not paths)

    def _learn_files(self, paths: Sequence[str], progress: Progress, *, grown: float = 0, own: bool = False) -> Learned:
        from dataclasses import replace

        from ratchet import registry
        from ratchet.improving.trials.settle import settle_units
        from ratchet.lessons.learning import Gained, learn_files
        from ratchet.lessons.words.rules import waiting
        from ratchet.recording.sources import source_for
        from ratchet.recording.sources.find import find

        plugins = tuple(registry.plugin_sources())
        found = find(paths, plugins, own=own)
        self.drain(grown=grown)
        tally = learn_files(self.store, found.files, lambda path: source_for(path, plugins), settle_units, progress)
        gained = self._mine(progress, grown=grown) or Gained()
        if not gained.lessons:
            self.publish()  # of a shared store another home may have taught it all; hooks here need the share, too
        learned = tally.learned(files=len(found.files), lessons=gained.lessons, loops=gained.loops)
        return replace(
            learned,
            projects=tuple(sorted(gained.projects)),
            quarantined=(*learned.quarantined, *found.quarantined),
            corrections=waiting(self.store),
        )

    def poll_folder(self, folder: Path) -> Polled:
        """Take the JSON files dropped into a folder, once. Raises UsageError when there is no such folder."""
        from ratchet import registry
        from ratchet.improving.trials.settle import settle_units
        from ratchet.lessons.learning import take
        from ratchet.recording.rows import row_of
        from ratchet.recording.sources.watch_dir import poll

        def keep(outcomes: Sequence[Outcome]) -> None:
            take(self.store, [row_of(outcome) for outcome in outcomes], settle_units)

        polled = poll(str(folder), keep, plugins=tuple(registry.plugin_sources()))
        if polled.outcomes:
            self._mine(unwatched)
        return polled

    def read_on(self, histories: Sequence[Path]) -> None:
        """Read what a session that goes on has written since. It is mined once it grew by a tenth, so that a long one
        costs no more than its new lines."""
        self._learn_files([os.fspath(path) for path in histories], unwatched, grown=_GROWN)

    def sweep(self, folder: str) -> None:
        """Read the histories below a folder that grew since they were last read, and mine their sessions."""
        from ratchet.recording.sources.find import grown

        self._learn_files(grown(self.store, folder), unwatched)

    def settle(self, session: str, histories: Sequence[Path]) -> None:
        """Settle a session that has ended: read its transcript, mine it, settle its credit."""
        from ratchet.improving.loop import lessons as lesson_trials

        if histories:
            self.learn(histories)
        else:
            self.drain()
        lesson_trials.settle(self.store, now=time.time(), ended=(session,))
        self.publish()

    def outcomes(
        self, *, limit: int | None = None, drained: bool = True, **where: Unpack[Narrowing]
    ) -> Iterator[Outcome]:
        """Outcomes by time, newest first; every filter narrows. `since` is Unix seconds."""
        from ratchet.sessions.listing import outcomes

        return outcomes(self._read(drained=drained), where, limit=limit)

    def digest(self, *, since: float, until: float | None = None, often: int | None = None) -> Digest:
        """Digest the time from `since` (Unix seconds) on. `often` failures of one pattern are worth an alert."""
        patterns, settled = self.patterns(), self.report().changes
        return self.sessions.digest(patterns, settled, since=since, until=until, often=often)

    @property
    def sessions(self) -> SessionBook:
        """Sessions, their steps and outcomes."""
        from ratchet.healing.models.prices import own_prices
        from ratchet.sessions.book import SessionBook

        own = own_prices(self.config.model_prices)
        return SessionBook(home=self.home, reading=self._read, recalling=self.recall, changed=self._forgot, prices=own)

    def patterns(
        self,
        *,
        agent: str | None = None,
        kind: str | None = None,
        limit: int | None = None,
        include_excused: bool = False,
        drained: bool = True,
    ) -> list[Pattern]:
        """List what keeps failing, what something can be done about first, each with the lessons about it."""
        found = self.pattern_list(agent=agent, kind=kind, include_excused=include_excused, drained=drained)
        return found.built(found.rows[:limit])

    def pattern_list(
        self,
        *,
        agent: str | None = None,
        kind: str | None = None,
        include_excused: bool = False,
        drained: bool = True,
    ) -> PatternList:
        """List what keeps failing as rows to count, filter and sort, of which some are read whole."""
        from ratchet.failures.patterns.patterns import PatternList
        from ratchet.lessons import lessons

        store, window_s = self._read(drained=drained), self.config.window_days * DAY_S
        about, asked = partial(lessons.by_pattern, store), {"agent": agent, "kind": kind}
        return PatternList(
            store, now=time.time(), window_s=window_s, include_excused=include_excused, about=about, **asked
        )

    def pattern(self, pattern_id: str, *, known: Sequence[Correlation] | None = None) -> PatternDetail:
        """One pattern whole; `known` are all `correlations`, where somebody has them. Raises NotFound."""
        from dataclasses import replace

        from ratchet.failures.patterns.detail import detail
        from ratchet.lessons import lessons

        store = self._read()
        found = detail(store, pattern_id, now=time.time(), window_s=self.config.window_days * DAY_S, known=known)
        about = lessons.by_pattern(store, [found.pattern.id]).get(found.pattern.id, ())
        return replace(found, pattern=replace(found.pattern, lessons=about))

    def correlations(self) -> list[Correlation]:
        """Patterns of different agents that come together more often than chance, the surest first."""
        from ratchet.failures.patterns.correlation import correlations

        return correlations(self._read())

    def pattern_count(self) -> int:
        """Count the patterns that the agents' own failures form."""
        from ratchet.failures.patterns import patterns as patterned

        return patterned.pattern_count(self.store)

    def split(self, pattern_id: str, signature: str) -> str:
        """Undo a merge; return the id of the pattern that the signature has now. Raises NotFound, UsageError."""
        from ratchet.failures.patterns import patterns as patterned

        return patterned.split(self._read(), pattern_id, signature, now=time.time())

    def health(self, *, drained: bool = True) -> Health:
        """Rate each agent's recent runs."""
        from ratchet.failures.patterns.health import health

        return health(self._read(drained=drained))

    def overview(self, span: str = "") -> Overview:
        """Sum up how things stand in a range (`lessons.failing.RANGES`; "": where the data is). Raises UsageError."""
        from ratchet.improving.overview import look
        from ratchet.lessons.failing import window

        report = self.report()
        within, found = window(self.store, span, now=time.time()), self.pattern_list(drained=False)
        return look(
            self.store, within, patterns=found, effect=report.pooled, lines=report.lines, unmeasured=report.unmeasured
        )

    def report(self) -> Report:
        """Tell whether lessons help, against their withheld control."""
        from ratchet.improving.report import report
        from ratchet.lessons import credit

        store = self._read()
        credit.settle(store, now=time.time())
        return report(store, withheld_share=self.publish())

    def recall(
        self,
        text: str,
        *,
        limit: int = 5,
        project: str | None = None,
        session: str | None = None,
        drained: bool = True,
    ) -> Recalled:
        """Look up what is known to fix this error; of what others wrote, only its commands, flags and paths. With a
        session, that session's arm is obeyed and its Exposure recorded. Raises NotFound when nothing was ever recorded
        here: that is not the same as knowing nothing."""
        from dataclasses import replace
        from pathlib import Path

        from ratchet.lessons.recall import recall
        from ratchet.lessons.rows import for_agents

        if not self.exists:
            raise NotFound(f"there is no store in {self.home}: run `ratchet learn`, or name another --home")
        store = self._read(drained=drained)
        if project is not None:
            self.lessons.load_reviewed(Path(project))
        found = recall(store, text, limit=limit, project=project)
        seen, more = (
            tuple(replace(each, lesson=shown) for each in told if (shown := for_agents(each.lesson)).text)
            for told in (found.lessons, found.possibly)
        )
        silent = "others" if found.lessons and not seen else found.silent
        found = replace(found, lessons=seen, possibly=more, silent=silent)
        return found if session is None else self._obeying(found, session)

    def _obeying(self, found: Recalled, session: str) -> Recalled:
        """Choose what of it this session is shown. Agents are handed active lessons only."""
        from dataclasses import replace

        from ratchet.failures.redaction.text import label
        from ratchet.lessons import delivery as deliver

        session = label(session)  # as its outcomes name it
        active = [each for each in found.lessons if each.lesson.state == "active"]
        shown = deliver.obeyed(
            self.store,
            self.home,
            session,
            [each.lesson.id for each in active],
            channel="recall",
            now=time.time(),
            append=self.recorder.append,
        )
        return replace(found, lessons=tuple(each for each in active if each.lesson.id in shown), possibly=())
