"""Operations of `AsyncRatchet` by noun, for asyncio, in one file since it is generated.

Written by scripts/generate_aio.py; change what they stand for, then run `python scripts/generate_aio.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from ratchet.healing.distilling.book import Distillery
    from ratchet.healing.distilling.distill import Distilled, DistillPlan
    from ratchet.healing.distilling.items import Place
    from ratchet.improving.book import ProposalBook, Pulses, TrialBook, TrialDetail, Watched
    from ratchet.improving.cures.book import CureBook
    from ratchet.improving.cures.cure import Cure, CureKind
    from ratchet.improving.cures.helped import Helped
    from ratchet.improving.cures.skills import SkillStanding
    from ratchet.improving.loop.pulse import Pulse
    from ratchet.improving.trials.met import TrialRun
    from ratchet.lessons.backtest.backtest import Backtest
    from ratchet.lessons.book import LessonBook, MemoryStats, Trusted
    from ratchet.lessons.effect import LessonEffect
    from ratchet.lessons.facts import ProjectFacts
    from ratchet.lessons.lessons import WrittenBy
    from ratchet.lessons.portable import Imported, Synced
    from ratchet.lessons.prediction import Prediction
    from ratchet.lessons.sharing import Shared
    from ratchet.lessons.skills.places import Taker
    from ratchet.lessons.skills.reading import FoundSkill, ReadSkills
    from ratchet.lessons.skills.skill import Skill
    from ratchet.lessons.words.rules import Correction
    from ratchet.ports import Fix, Problem, Progress
    from ratchet.records import (
        Json,
        Lesson,
        LessonState,
        Metric,
        Proposal,
        ProposalState,
        Scope,
        Trial,
        TrialMode,
        TrialState,
    )


class AsyncDistillery:
    """Rules made of evidence by a model. `consent` says whether the person's own configuration allows it to a"""

    def __init__(self, held: Callable[[], Distillery]) -> None:
        self._held = held

    async def plan(
        self, model: str = "", *, places: Sequence[Place] = (), project: str | None = None, unpriced: bool = False
    ) -> DistillPlan:
        """Count what would be sent, to whom, and what it may cost. Sends nothing. Raises Refused where no model is
        named, UsageError for a name that is none.
        """
        return await asyncio.to_thread(
            lambda: self._held().plan(model, places=places, project=project, unpriced=unpriced)
        )

    async def run(
        self,
        planned: DistillPlan,
        model: str = "",
        *,
        places: Sequence[Place] = (),
        project: str | None = None,
        budget_usd: float = 0.5,
        unpriced: bool = False,
        agreed: bool = False,
    ) -> Distilled:
        """Send what was planned, and keep what replay bears out. A model that is only configured is no consent: name
        it, or say so by `agreed` or in the person's own configuration. Raises Refused without that.
        """
        return await asyncio.to_thread(
            lambda: self._held().run(
                planned, model, places=places, project=project, budget_usd=budget_usd, unpriced=unpriced, agreed=agreed
            )
        )


class AsyncCureBook:
    """The cures of one store, skills among them."""

    def __init__(self, held: Callable[[], CureBook]) -> None:
        self._held = held

    async def list(self, folder: Path) -> tuple[Cure, ...]:
        """List what active lessons of a folder's project could become, those first that would have prevented most."""
        return await asyncio.to_thread(lambda: self._held().list(folder))

    async def show(self, lesson_id: str, folder: Path) -> tuple[Cure, ...]:
        """List what one lesson could become, those included that replay speaks against. Raises NotFound."""
        return await asyncio.to_thread(lambda: self._held().show(lesson_id, folder))

    async def apply(self, lesson_id: str, kind: CureKind, folder: Path, *, taker: Taker = "claude-code") -> Trial:
        """Make the change, on trial: `look` takes it back where it does not help. A skill goes into the folder where
        `taker` looks for skills. Raises NotFound, Refused where the lesson makes no such change, replay speaks against
        it, or it is there already; Conflict, BackendError.
        """
        return await asyncio.to_thread(lambda: self._held().apply(lesson_id, kind, folder, taker=taker))

    async def undo(self, lesson_id: str) -> tuple[Trial, ...]:
        """Take out all that a lesson became, byte for byte where nobody changed the file since. Raises NotFound where
        there is nothing of it.
        """
        return await asyncio.to_thread(lambda: self._held().undo(lesson_id))

    async def going(self) -> tuple[tuple[Trial, Helped], ...]:
        """Cures on trial, each with the sessions in which its failure came before and since."""
        return await asyncio.to_thread(lambda: self._held().going())

    async def look(self) -> tuple[Trial, ...]:
        """Look at every cure on trial: keep what helps, take out what does not. Those that were settled."""
        return await asyncio.to_thread(lambda: self._held().look())

    async def clear(self) -> tuple[str, ...]:
        """Take out of files what became of lessons and skills that are gone, and blank their trials; return the folders
        of skills that stay, since a person changed them.
        """
        return await asyncio.to_thread(lambda: self._held().clear())

    async def skills(self) -> tuple[SkillStanding, ...]:
        """List skills by name, each with its lesson, the folders that it was exported to and how it does there."""
        return await asyncio.to_thread(lambda: self._held().skills())

    async def show_skill(self, name: str, project: Path | None = None) -> SkillStanding:
        """Show a skill by its name, or its lesson's id: this home's own, else the one that others wrote in the project,
        of all where none is named. Raises NotFound, Refused for a name of several.
        """
        return await asyncio.to_thread(lambda: self._held().show_skill(name, project))

    async def make_skill(self, asked: str, *, name: str = "") -> Skill:
        """Make a skill of a lesson (its id), or of a healed task (its id, or its episode's). Made again it is a new
        version, where it says something new. Raises NotFound, Refused where nothing of it was seen to work, UsageError
        for a name that is none or another's.
        """
        return await asyncio.to_thread(lambda: self._held().make_skill(asked, name=name))

    async def preview_skill(self, name: str, folder: Path, *, taker: Taker = "claude-code") -> Cure:
        """Tell what `export_skill` would write. Raises NotFound, Refused."""
        return await asyncio.to_thread(lambda: self._held().preview_skill(name, folder, taker=taker))

    async def export_skill(self, name: str, folder: Path, *, taker: Taker = "claude-code") -> Trial:
        """Write a skill below a project's folder, or a person's home, where `taker` looks for skills: on trial, `look`
        takes it out where it does not help. An older version of ours there is replaced. Raises NotFound, Refused for
        one that is not active, Conflict, BackendError.
        """
        return await asyncio.to_thread(lambda: self._held().export_skill(name, folder, taker=taker))

    async def read_skills(self, place: Path, *, scope: Scope = "project") -> ReadSkills:
        """Read the skills that lie below a project's folder, or (`scope` global) a person's home, in the folders of
        agents. Those that others wrote are candidates of which agents are told nothing until `trust_skill`; what a
        changed file holds is asked about anew. Raises UsageError where PyYAML lacks, BackendError.
        """
        return await asyncio.to_thread(lambda: self._held().read_skills(place, scope=scope))

    async def trust_skill(self, name: str, project: Path | None = None) -> FoundSkill:
        """Trust a skill that others wrote in a project (of all where none is named), as it was read and shown. Raises
        NotFound, Refused for one of this home's own, a name of several, or one that changed since it was read, is gone
        or is quarantined, BackendError.
        """
        return await asyncio.to_thread(lambda: self._held().trust_skill(name, project))

    async def approve_skill(self, name: str, project: Path | None = None) -> Lesson:
        """Let agents be told of a skill that was made here: its lesson is active from then on. Raises NotFound, Refused
        for one that others wrote (see `trust_skill`), Conflict.
        """
        return await asyncio.to_thread(lambda: self._held().approve_skill(name, project))

    async def retire_skill(self, name: str, project: Path | None = None, *, reason: str = "") -> Lesson:
        """Offer a skill (as `show_skill` finds it) to nobody any more: its lesson is retired, and its folders are taken
        out, but for one that a person changed. Raises NotFound, Refused for a name of several, Conflict.
        """
        return await asyncio.to_thread(lambda: self._held().retire_skill(name, project, reason=reason))


class AsyncPulses:
    """When each agent is looked at: by its measured calls, unless a person said otherwise."""

    def __init__(self, held: Callable[[], Pulses]) -> None:
        self._held = held

    async def list(self) -> list[Watched]:
        """Every agent that ever ran, with the thresholds that hold for it."""
        return await asyncio.to_thread(lambda: self._held().list())

    async def show(self, agent: str) -> Pulse:
        """The thresholds that hold for an agent, whether it ever ran or not."""
        return await asyncio.to_thread(lambda: self._held().show(agent))

    async def set(
        self,
        agent: str,
        *,
        critical: bool | None = None,
        failures: int | None = None,
        window_s: float | None = None,
        cooldown_s: float | None = None,
    ) -> Pulse:
        """Set an agent's own thresholds, or mark it as critical; what is None stays. Raises UsageError, Conflict."""
        return await asyncio.to_thread(
            lambda: self._held().set(
                agent, critical=critical, failures=failures, window_s=window_s, cooldown_s=cooldown_s
            )
        )

    async def clear(self, agent: str) -> Pulse:
        """Go back to the thresholds by measured calls. Raises NotFound for an agent that never ran, Conflict."""
        return await asyncio.to_thread(lambda: self._held().clear(agent))


class AsyncProposalBook:
    """The fixes proposed in one store."""

    def __init__(self, held: Callable[[], ProposalBook]) -> None:
        self._held = held

    async def list(self, *, state: ProposalState | None = None, agent: str | None = None) -> list[Proposal]:
        """Proposals, newest first; of one state, or of one agent."""
        return await asyncio.to_thread(lambda: self._held().list(state=state, agent=agent))

    async def show(self, proposal_id: str) -> Proposal:
        """One proposal. Raises NotFound."""
        return await asyncio.to_thread(lambda: self._held().show(proposal_id))

    async def old(self, held: Proposal) -> Mapping[str, Json]:
        """The values that a proposal would change, by name: of settings as they are in force, or, once it was tried,
        as they were before.
        """
        return await asyncio.to_thread(lambda: self._held().old(held))

    async def add(self, problem: Problem, fix: Fix) -> Proposal | None:
        """Put a fix forward; None where its pattern has a proposal under way, or this one was tried or turned down
        before. Raises UsageError for a fix that cannot be tried or shown, Conflict.
        """
        return await asyncio.to_thread(lambda: self._held().add(problem, fix))

    async def approve(self, proposal_id: str, *, deadline_s: float | None = None) -> Proposal:
        """Start its trial; advice without a change is closed as taken. `deadline_s` is the age at which a run without
        an outcome counts as failed, derived unless given. Raises NotFound, Refused, Conflict, UsageError.
        """
        return await asyncio.to_thread(lambda: self._held().approve(proposal_id, deadline_s=deadline_s))

    async def reject(self, proposal_id: str, *, reason: str = "") -> Proposal:
        """Do not do it, and do not propose it for this pattern again. Raises NotFound, Refused, Conflict."""
        return await asyncio.to_thread(lambda: self._held().reject(proposal_id, reason=reason))


class AsyncTrialBook:
    """The trials of one store."""

    def __init__(self, held: Callable[[], TrialBook]) -> None:
        self._held = held

    async def list(
        self, *, state: TrialState | None = None, agent: str | None = None, limit: int | None = None
    ) -> list[Trial]:
        """Trials, newest first; of one state, or of one agent."""
        return await asyncio.to_thread(lambda: self._held().list(state=state, agent=agent, limit=limit))

    async def show(self, trial_id: str) -> TrialDetail:
        """One trial with both arms and the evidence as of now. Raises NotFound."""
        return await asyncio.to_thread(lambda: self._held().show(trial_id))

    async def runs(self, trial_id: str) -> tuple[TrialRun, ...]:
        """The newest runs that met a trial, each with its outcome. Raises NotFound."""
        return await asyncio.to_thread(lambda: self._held().runs(trial_id))

    async def open(
        self,
        target: str,
        new: Mapping[str, Json],
        *,
        agent: str = "",
        reason: str = "",
        metric: Metric = "success",
        trade: Mapping[str, float] | None = None,
        mode: TrialMode | None = None,
        deadline_s: float | None = None,
    ) -> Trial:
        """Try new values of a target (`settings:AGENT`, or one that this process registered) beside the old ones.

        `agent` is whose outcomes tell (that of the settings unless given), `metric` what is to become better;
        `trade` names what may become worse, by which factor at most: {"latency": 3.0}. `mode` and `deadline_s` are
        derived unless given. Raises Refused while another trial holds the target, UsageError for a value that it does
        not take, NotFound for an unknown target.
        """
        return await asyncio.to_thread(
            lambda: self._held().open(
                target, new, agent=agent, reason=reason, metric=metric, trade=trade, mode=mode, deadline_s=deadline_s
            )
        )

    async def stop(self, trial_id: str, *, keep: bool = False, reason: str = "") -> Trial:
        """End a trial at once: the old values stay, or with `keep` the new ones, which nothing has proven then. Raises
        NotFound, Refused for one that is settled.
        """
        return await asyncio.to_thread(lambda: self._held().stop(trial_id, keep=keep, reason=reason))


class AsyncLessonBook:
    """The lessons of one store. Every change is an event and tells the hooks."""

    def __init__(self, held: Callable[[], LessonBook]) -> None:
        self._held = held

    async def backtest(self, *, since: float = 0.0, progress: Progress | None = None) -> Backtest:
        """Replay the sessions of this home in time order: at each failure, what was known before that session, and
        whether it would have helped. `since` (Unix seconds) counts later sessions alone; a replay of all is kept for
        `replayed` and the lessons. Raises StoreError.
        """
        return await asyncio.to_thread(lambda: self._held().backtest(since=since, progress=progress))

    async def replayed(self) -> Backtest | None:
        """The newest replay of all sessions, None where there was none."""
        return await asyncio.to_thread(lambda: self._held().replayed())

    async def list(self, *, state: LessonState | None = None, project: str | None = None) -> list[Lesson]:
        """Lessons, active ones first, then by what they save; of one state, or of one project: its folder, its name or
        the end of one. Raises UsageError, NotFound for a name that is none.
        """
        return await asyncio.to_thread(lambda: self._held().list(state=state, project=project))

    async def show(self, lesson_id: str) -> Lesson:
        """One lesson, with the edits that it was learnt from. Raises NotFound."""
        return await asyncio.to_thread(lambda: self._held().show(lesson_id))

    async def words(self, *, project: str | None = None, every: bool = False) -> tuple[Correction, ...]:
        """Quotes of what people said to agents, those first for which most speaks; `every` gives also what makes no
        candidate. `project` keeps those of a project: its folder, its name or the end of one. Raises as `list`.
        """
        return await asyncio.to_thread(lambda: self._held().words(project=project, every=every))

    async def effect(self, lesson_id: str) -> LessonEffect | None:
        """Tell whether a lesson helps, against its withheld control; None while nothing of it is settled."""
        return await asyncio.to_thread(lambda: self._held().effect(lesson_id))

    async def told(self, lesson_id: str) -> tuple[int, int]:
        """Count the cases in which an agent was told a lesson, and those in which it was withheld: of all sessions,
        also those that still run.
        """
        return await asyncio.to_thread(lambda: self._held().told(lesson_id))

    async def add(
        self,
        *,
        when: str,
        do: str,
        scope: Scope = "project",
        state: LessonState = "candidate",
        project: str | None = None,
        source: WrittenBy = "person",
    ) -> Lesson:
        """Write a lesson: when an error like `when` occurs, do `do`, word for word. `project` is the working directory
        unless given. Where `when` is no error but a "report" or a "conversation", `source` says so: it is found by its
        words then, for who asks.

        Advice that must not be given (it switches a check off, hides a failure, forces, or destroys work) is kept as
        quarantined, whatever `state` says: that is logged, and the lesson's `reason` says why. Raises UsageError for an
        empty text, or what is no text.
        """
        return await asyncio.to_thread(
            lambda: self._held().add(when=when, do=do, scope=scope, state=state, project=project, source=source)
        )

    async def approve(self, lesson_id: str, *, do: str = "", globally: bool = False) -> Lesson:
        """Make a lesson active: from now on agents are handed it, in the words `do` where they are given. Raises
        NotFound, Refused, Conflict.
        """
        return await asyncio.to_thread(lambda: self._held().approve(lesson_id, do=do, globally=globally))

    async def retire(self, lesson_id: str, *, reason: str = "") -> Lesson:
        """Hand a lesson to nobody any more; it is kept, but mining does not revive it. Raises NotFound, Conflict."""
        return await asyncio.to_thread(lambda: self._held().retire(lesson_id, reason=reason))

    async def quarantine(self, lesson_id: str, *, reason: str) -> Lesson:
        """Mark a lesson as harmful: never advice. Raises NotFound, Conflict, UsageError without a reason."""
        return await asyncio.to_thread(lambda: self._held().quarantine(lesson_id, reason=reason))

    async def undo(self, lesson_id: str = "") -> Lesson:
        """Take the last decision about a lesson back, of the one decided about last unless one is named. Raises
        NotFound, UsageError where there is none, Conflict.
        """
        return await asyncio.to_thread(lambda: self._held().undo(lesson_id))

    async def sync(
        self, file: Path, *, project: str | None = None, with_evidence: bool = False, dry_run: bool = False
    ) -> Synced:
        """Keep a marked block of the project's active lessons in `file`; every byte outside the block stays. A person's
        words as they were said go in `with_evidence` only; a `dry_run` writes nothing. `project` as for `list`.
        """
        return await asyncio.to_thread(
            lambda: self._held().sync(file, project=project, with_evidence=with_evidence, dry_run=dry_run)
        )

    async def export(self, file: Path | None = None, *, with_evidence: bool = False) -> str:
        """Active and candidate lessons as JSON lines, with their provenance; written to `file`, whole or not at all,
        where one is given. A person's words stay here unless `with_evidence`. Raises BackendError when it cannot be.
        """
        return await asyncio.to_thread(lambda: self._held().export(file, with_evidence=with_evidence))

    async def load(self, file: Path) -> Imported:
        """Take lessons of an export as candidates, their provenance kept. Raises NotFound, UsageError, BackendError."""
        return await asyncio.to_thread(lambda: self._held().load(file))

    async def take(self, content: bytes, *, name: str, project: str = "") -> Imported:
        """`load` for the lines of an export that are at hand; `name` says where they came from. Raises UsageError."""
        return await asyncio.to_thread(lambda: self._held().take(content, name=name, project=project))

    async def stats(self) -> MemoryStats:
        """Count what is remembered, and how well it did."""
        return await asyncio.to_thread(lambda: self._held().stats())

    async def facts(
        self, *, project: str | None = None, among: Sequence[str] | None = None, limit: int = 20
    ) -> tuple[ProjectFacts, ...]:
        """Facts of a project (its folder, its name, the end of one), or of the `limit` busiest projects (`among` those
        of these names), the busiest first: what its commands end in, what people refuse, what never works, findings
        that nobody edits. Empty where nothing ran in it. Raises NotFound for a name that is none.
        """
        return await asyncio.to_thread(lambda: self._held().facts(project=project, among=among, limit=limit))

    async def predict(
        self,
        text: str = "",
        *,
        command: str = "",
        file: str = "",
        diff: str = "",
        plan: str = "",
        project: str | None = None,
        session: str | None = None,
        here: bool = True,
    ) -> Prediction:
        """Tell how likely a step fails in a project (a folder or a name; the working directory unless given), why, and
        what to do, from what ran there. The step is a command, an edit of a file, the checks after a diff, or those
        that a plan names; of a `text` it is worked out which. `session` names the one that is about to take it
        (otherwise the one that ran there in the last hour): what it did so far counts. The folder is looked at only
        where it is `here`, on this machine. Raises UsageError, NotFound for a name that is none, StoreError.
        """
        return await asyncio.to_thread(
            lambda: self._held().predict(
                text, command=command, file=file, diff=diff, plan=plan, project=project, session=session, here=here
            )
        )

    async def load_reviewed(self, project: Path) -> Imported:
        """Read a repository's own `.ratchet/lessons/`: candidates until `trust`, then active in it. Raises UsageError,
        BackendError.
        """
        return await asyncio.to_thread(lambda: self._held().load_reviewed(project))

    async def share(self, project: Path, *, with_evidence: bool = False) -> Shared:
        """Write the project's active lessons into its `.ratchet/lessons/`, a file each, for git to carry; mark there
        what was put aside here. Trusted here, by everybody else only after `trust`. A person's words go in
        `with_evidence` only. Raises UsageError, Refused, Conflict, BackendError.
        """
        return await asyncio.to_thread(lambda: self._held().share(project, with_evidence=with_evidence))

    async def trust(self, project: Path, *, show: bool = False) -> Trusted:
        """Trust every file below the project's `.ratchet/` as it is now, until it changes; its lessons become active
        there. `show` only tells what would. Raises NotFound where there is nothing, UsageError, BackendError.
        """
        return await asyncio.to_thread(lambda: self._held().trust(project, show=show))

    async def withdraw_trust(self, project: Path) -> int:
        """Trust nothing any more of what this repository's `.ratchet/` ever held; return how many lessons are
        candidates again. Raises NotFound where nothing is trusted, UsageError, BackendError.
        """
        return await asyncio.to_thread(lambda: self._held().withdraw_trust(project))
