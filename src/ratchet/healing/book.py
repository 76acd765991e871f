"""Heal tasks, as people ask for it; in one file since `ratchet run` and `ratchet episodes` share every step."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from ratchet import ids, registry
from ratchet.errors import Conflict, NotFound, Refused, UsageError
from ratchet.files import Locked, claimed
from ratchet.healing import rows as episodes
from ratchet.healing.attempt import Checks, lay
from ratchet.healing.episode import Attempt, Budget, Episode, Task
from ratchet.healing.experience import Experience
from ratchet.healing.job import Judge, Solver, SolverOptions
from ratchet.healing.judges.model import SecondOpinion
from ratchet.healing.landing import beforehand
from ratchet.healing.landing.destination import Landing, land
from ratchet.healing.loop import HealGround, HealLoop, HealMoment, Memory
from ratchet.healing.models.choice import ModelChoice
from ratchet.healing.models.prompts import Prompts
from ratchet.healing.models.question import Mode, Model
from ratchet.healing.planning import following
from ratchet.healing.planning.plan import TaskPlan
from ratchet.healing.planning.planner import planner_of
from ratchet.healing.planning.planning import PlanGround, Planning
from ratchet.healing.planning.steps import StepsJudge
from ratchet.healing.project_check import OwnCheck, own_check
from ratchet.healing.purse import EpisodePurse
from ratchet.healing.shown import shown_text
from ratchet.healing.sibling_checks import SiblingPatch, SiblingSearch, healed_copy
from ratchet.healing.solvers.weighing import Weighing
from ratchet.healing.testruns import reading, suite_run
from ratchet.ports import Sandbox, Store, Workspace
from ratchet.sandbox import opening as workspaces
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.choice import Sandboxes
from ratchet.sandbox.command import Limits
from ratchet.store.sqlite import SqliteStore

KEPT_S = 14 * 86_400.0
"""How long the files of an episode that did not pass are kept."""
CHECK_S = 120.0
"""How long one run of a check may take, unless said otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealRequest:
    """A task as it is asked for. `check` is a command (() makes a plan of the instruction); `folder` the project."""

    check: tuple[str, ...]
    folder: Path
    instruction: str = ""
    solver: str = "auto"
    budget: Budget = field(default_factory=Budget)
    protected: tuple[str, ...] = ()
    held_check: tuple[str, ...] = ()
    judge: str = ""
    strict: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HealMeans:
    """Means of an episode, given anew by whoever runs or resumes it; none of it is written down.

    `net`, `environ` and `readable` are for solvers that run programs. `unsafe` runs everything as plain processes.
    `solver` and `memory` stand in for those by name and of the store.
    """

    unsafe: bool = False
    net: str = "none"
    environ: Mapping[str, str] = field(default_factory=dict)
    readable: tuple[Path, ...] = ()
    donors: Mapping[str, str] = field(default_factory=dict)
    """Texts of other implementations that are right (`donors_at`), for solvers that take parts of them."""
    allow_unknown_price: bool = False
    model: str = ""
    """Who plans, and `fast_model` who summarises, in place of the settings."""
    fast_model: str = ""
    mode: Mode = "session"
    """Whose models are asked where none is named: those for a waiting person, or those for unattended work."""
    second_opinion: bool = False
    """Whether a model looks at a change that passes, and may doubt it."""
    check_s: float = CHECK_S
    repeats: int = 0
    """Runs in a row that tell of no other flaky test, after which anything is edited; 0: a few."""
    told: Callable[[HealMoment], None] = lambda _moment: None
    cancelled: Callable[[], bool] = lambda: False
    plan: TaskPlan | None = None
    """A person's plan for a task in words, in place of one that is made; `shown` gets to see the plan before anything
    is done, and returns it, another one, or None to leave it at that."""
    shown: Callable[[TaskPlan], TaskPlan | None] = lambda plan: plan
    solver: Solver | None = None
    memory: Memory | None = None
    judge: Judge | None = None
    """Who judges, in place of the one that the check asks for."""
    source: Path | None = None
    """The folder that is copied, in place of the project's own."""
    beside: tuple[tuple[str, ...], Judge] | None = None
    """A check with its judge, whose tests must be run: what passed before a change passes with it."""


class EpisodeBook:
    """The episodes of one store. `reading` gives the store after what was recorded is in it, `changed` is called when
    lessons may have changed."""

    def __init__(
        self,
        home: Path,
        *,
        reading: Callable[[], Store],
        sandboxes: Sandboxes,
        changed: Callable[[], object],
        models: ModelChoice,
    ) -> None:
        self._models = models
        self._home = home
        self._reading = reading
        self._sandboxes = sandboxes
        self._changed = changed

    # -- run -----------------------------------------------------------------------------------------------------------

    def own_check(self, folder: Path) -> OwnCheck | None:
        """The check that a project's own files tell of; None where they tell of none."""
        return own_check(folder)

    def run(
        self,
        asked: HealRequest,
        means: HealMeans | None = None,
        *,
        landing: Landing | None = None,
        episode_id: str = "",
    ) -> Episode:
        """Heal: reproduce the failure, then attempt after attempt until the check passes or there is a reason to stop.

        What ends an episode is its `status`, never an exception. Raises UsageError for a call that makes no sense,
        Refused where no sandbox holds; SandboxError, StoreError, Conflict where the machine fails it: `resume` goes on.
        """
        means = means or HealMeans()
        folder = _folder(asked.folder)
        landing = landing or Landing()
        beforehand.check(folder, landing.to, landing.name)
        sandbox = self._sandboxes.chosen(unsafe=means.unsafe)
        solver = means.solver or registry.solver(asked.solver, self._options(asked.solver, means))
        task = Task(
            id=episodes.task_id_of(str(folder), asked.check, asked.instruction),
            check=asked.check,
            instruction=asked.instruction,
            folder=str(folder),
            protected=asked.protected,
            held_check=asked.held_check,
            judge=asked.judge,
            strict=asked.strict,
        )
        if task.check:
            registry.judge(judge_name(task))
        self._clear_away()
        store = self._reading()
        wish = "" if task.check else asked.instruction or "Make the project's own check pass."
        of = {"solver": solver.name, "asked": asked.solver, "episode_id": episode_id, "wish": wish}
        begun = episodes.begin(store, task, asked.budget, seed=asked.seed, **of)
        return self._go_on(store, begun, solver, sandbox, means, landing)

    def resume(self, episode_id: str, means: HealMeans | None = None, *, landing: Landing | None = None) -> Episode:
        """Go on with an episode that was killed, cancelled or taken back: attempts that ended are not made again. One
        that has passed already is only brought to `landing`.

        Raises NotFound, Refused for one that ended otherwise, Conflict while another process runs it.
        """
        means = means or HealMeans()
        store = self._reading()
        held = episodes.episode(store, episode_id)
        episode_id = held.id  # its beginning will do
        landing = landing or Landing()
        if held.status == "passed":  # a person has seen it, and asks for it
            return self._landed(store, held, replace(landing, doubtful=True))
        if held.status not in ("running", "cancelled", "planned"):
            raise Refused(
                f"episode {episode_id} has ended ({held.status}); take it back with "
                f"`ratchet episodes rewind {episode_id} --to N`, or run the task anew"
            )
        beforehand.check(Path(held.task.folder), landing.to, landing.name)
        sandbox = self._sandboxes.chosen(unsafe=means.unsafe)
        name = held.asked or held.solver
        solver = means.solver or registry.solver(name, self._options(name, means))
        return self._go_on(store, held, solver, sandbox, means, landing)

    def follow(
        self, episode_id: str, words: str, means: HealMeans | None = None, *, solver: str = "",
        budget: Budget | None = None, landing: Landing | None = None, new_id: str = "",
    ) -> Episode:  # fmt: skip
        """Go on with an episode from where it ended, with what a person says is still wrong: it becomes steps whose
        checks fail on the files as they are now. `budget` is for this alone, `solver` another one than before.

        An episode that was applied goes on as a new one, `new_id`, from the project as it is. Raises NotFound,
        Conflict, and Refused, with nothing changed, where the words come to no check that fails.
        """
        means = means or HealMeans()
        store = self._reading()
        held = episodes.episode(store, episode_id)
        landing = landing or Landing()
        beforehand.check(Path(held.task.folder), landing.to, landing.name)
        sandbox = self._sandboxes.chosen(unsafe=means.unsafe)
        name = solver or held.asked or held.solver
        used = means.solver or registry.solver(name, self._options(name, means))
        with self._claimed(held.id):
            now = replace(episodes.episode(store, held.id), solver=used.name, asked=name)
            begun = following.begin(store, now, words, budget or Budget(), episode_id=new_id)
        try:
            return self._go_on(store, begun, used, sandbox, means, landing)
        except Refused:
            following.undo(store, held, begun)
            raise

    def _go_on(
        self, store: Store, held: Episode, solver: Solver, sandbox: Sandbox, means: HealMeans, landing: Landing
    ) -> Episode:
        with self._claimed(held.id):
            held = episodes.episode(store, held.id)  # another process may have ended it before the claim
            if held.status in ("cancelled", "planned"):
                held = episodes.write(store, held, "resumed", status="running", reason="", ended_at=0.0)
            workspace, held = self._workspace(store, held, sandbox, means.source or Path(held.task.folder))
            beginning = episodes.checkpoint(store, held.id, 0).token
            limits = _limits(means)
            purse = EpisodePurse(store, held.id, held.budget, used_s=held.duration_s, cancelled=means.cancelled)
            if held.wish or means.plan is not None:
                held = self._planned(store, held, workspace, sandbox, means, purse, limits)
                if held.status != "running":
                    return held
            checks = Checks(
                held.task,
                judge=self._judge(held.task, means),
                held=registry.judge(judge_name(replace(held.task, check=held.task.held_check, judge=""))),
                sandbox=sandbox,
                base=workspace,
                beginning=beginning,
                limits=limits,
                purse=purse,
                beside=means.beside,
            )
            ground = HealGround(
                store=store,
                memory=means.memory or Experience(store),
                solver=solver,
                sandbox=sandbox,
                workspace=workspace,
                beginning=beginning,
                checks=checks,
                purse=purse,
                limits=limits,
                donors=means.donors,
                repeats=means.repeats,
                weigh=None if means.judge else Weighing(workspace, beginning, sandbox, limits, purse),
                told=means.told,
            )
            ended = HealLoop(ground, held).run()
            if ended.status in ("passed", "already_passing", "flaky", "refused"):
                workspace.close()
                remove_tree(self._place(held.id))
        if ended.learnt:
            self._changed()
        return self._landed(store, ended, landing) if ended.status == "passed" else ended

    def _planned(
        self,
        store: Store,
        held: Episode,
        workspace: Workspace,
        sandbox: Sandbox,
        means: HealMeans,
        purse: EpisodePurse,
        limits: Limits,
    ) -> Episode:
        """The episode with a plan for what was said, or ended where a person leaves it at that. Raises Refused."""
        asked = held.asked or held.solver
        planner, lacking = planner_of(asked, lambda name: self._asked(name, means), self._options(asked, means))
        kept = episodes.checkpoint(store, held.id, held.start)
        workspace.restore(episodes.checkpoint(store, held.id, 0).token)
        lay(workspace, sandbox, kept.changes)
        ground = PlanGround(
            workspace=workspace,
            sandbox=sandbox,
            limits=limits,
            purse=purse,
            judge_of=lambda task: registry.judge(judge_name(task)),
            planner=planner,
            lacking=lacking,
            prompts=Prompts(self._models.prompts),
            note=lambda text: means.told(HealMoment(what="note", episode=held, text=text)),
        )
        planning = Planning(ground, held, shown=shown_text(kept.changes))
        return following.planned(store, held, planning, given=means.plan, shown=means.shown)

    def _judge(self, task: Task, means: HealMeans) -> Judge:
        if task.steps:
            judge: Judge = StepsJudge(lambda step: means.judge or registry.judge(judge_name(step)))
        else:
            judge = means.judge or registry.judge(judge_name(task))
        return SecondOpinion(judge, self._asked("", means)) if means.second_opinion else judge

    def _asked(self, name: str, means: HealMeans) -> Model:
        """The language models of a name, of these means, or of the settings. Raises Refused, UsageError."""
        unpriced = means.allow_unknown_price
        return self._models.chain(name or means.model, fast=means.fast_model, mode=means.mode, unpriced=unpriced)

    def _options(self, name: str, means: HealMeans) -> SolverOptions:
        def other(asked: str) -> Solver:
            if asked == name:
                raise UsageError(f"solver {name!r} asks for itself")
            return registry.solver(asked, self._options(asked, means))

        return SolverOptions(
            named=other,
            net=means.net,
            environ=means.environ,
            readable=means.readable,
            allow_unknown_price=means.allow_unknown_price,
            prompts=self._models.prompts,
            models=lambda named: self._asked(named, means),
        )

    @contextmanager
    def beside(self, at: Path | None = None) -> Iterator[tuple[EpisodeBook, Store]]:
        """The episodes of a home `at` a place, else of one that is gone afterwards: trials leave this one be."""
        home = at or self._home / "beside" / ids.uuid7()
        store = SqliteStore(home / "ratchet.db")
        try:
            yield (
                EpisodeBook(
                    home,
                    reading=lambda: store,
                    sandboxes=self._sandboxes,
                    changed=lambda: None,
                    models=self._models,
                ),
                store,
            )
        finally:
            store.close()
            if at is None:
                remove_tree(home)

    # -- its place -----------------------------------------------------------------------------------------------------

    def _place(self, episode_id: str) -> Path:
        return self._home / "workspaces" / episode_id

    def _workspace(self, store: Store, held: Episode, sandbox: Sandbox, source: Path) -> tuple[Workspace, Episode]:
        """The episode's workspace: the one that it had, else a new copy of the project as it is now."""
        place = self._place(held.id)
        if held.workspace:
            try:
                return workspaces.opened(place, held.workspace), held
            except NotFound:
                pass  # cleared away since: copied anew below
        remove_tree(place)  # a copy that was cut short
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            workspace = workspaces.copied(sandbox, source, place)
        except Refused as error:  # for what the folder is, which no later try changes
            episodes.write(store, held, "ended", status="refused", reason=str(error), ended_at=time.time())
            raise
        with store.transaction():
            held = episodes.write(store, held, "copied", workspace=workspace.id)
            start = episodes.Checkpoint(n=0, token=workspace.checkpoint(), changes=())
            episodes.keep_checkpoint(store, held.id, start, state=episodes.state_of(()))
        for each in held.attempts:
            if each.checkpoint:
                workspaces.check_fits(workspace, episodes.checkpoint(store, held.id, each.n).changes, held.id)
        return workspace, held

    def _clear_away(self) -> None:
        """Remove workspaces that nobody came back to for long; an episode that is resumed later copies anew."""
        places = self._home / "workspaces"
        for place in places.iterdir() if places.is_dir() else ():
            if time.time() - place.stat().st_mtime > KEPT_S:
                with suppress(Conflict), self._claimed(place.name):
                    remove_tree(place)

    def _claimed(self, episode_id: str) -> Locked:
        """Only one process runs an episode; the claim ends with the process, however it ends. Raises Conflict."""
        return claimed(self._home / "episodes" / f"{episode_id}.lock", f"episode {episode_id}")

    # -- see it --------------------------------------------------------------------------------------------------------

    def list(self, *, folder: Path | None = None, limit: int | None = None) -> list[Episode]:
        """Episodes, newest first; of one project."""
        place = None if folder is None else os.path.realpath(folder)
        return episodes.listed(self._reading(), folder=place, limit=limit)

    def page(self, *, limit: int, cursor: str | None = None) -> tuple[Sequence[Episode], str | None, int]:
        """Some episodes, newest first; the cursor of what follows; how many there are."""
        return episodes.page(self._reading(), limit=limit, cursor=cursor)

    def show(self, episode_id: str) -> Episode:
        """One episode with its attempts. Raises NotFound."""
        return episodes.episode(self._reading(), episode_id)

    def diff(self, episode_id: str, *, attempt: int | None = None) -> str:
        """The patch of an episode's result, or of one attempt, for `git apply -p1` in the project's folder. Raises
        NotFound."""
        held = self.show(episode_id)
        if attempt is None:
            if not held.diff:
                raise NotFound(f"episode {episode_id} has no result ({held.status}); name an attempt: --attempt N")
            return held.diff
        return _attempt(held, attempt).diff

    def siblings(self, episode_id: str, means: HealMeans | None = None) -> tuple[SiblingPatch, ...]:
        """Places of the project with the mistake that an episode healed, each with its remedy and what all tests say of
        that, within the time that the episode left. Nothing is written.

        Raises NotFound, Refused for one that healed nothing or whose files were edited since.
        """
        means, store = means or HealMeans(), self._reading()
        held = self.show(episode_id)
        if held.status != "passed":
            raise Refused(f"episode {held.id} healed nothing ({held.status}): there is nothing to look for elsewhere")
        changes = episodes.checkpoint(store, held.id, held.attempts[-1].n).changes
        sandbox = self._sandboxes.chosen(unsafe=means.unsafe)
        place = self._home / "beside" / ids.uuid7()
        with healed_copy(sandbox, Path(held.task.folder), place, changes) as workspace:
            purse = EpisodePurse(store, held.id, held.budget, used_s=held.duration_s, cancelled=means.cancelled)
            judge = self._judge(held.task, means)
            return SiblingSearch(held.task, workspace, sandbox, judge, _limits(means), purse).found(changes)

    def rewind(self, episode_id: str, *, to: int) -> Episode:
        """Take an episode back to the files after attempt `to` (0: as they were copied): later attempts are dropped,
        and `resume` goes on from there with the attempts that are left. Money and time that were spent stay spent.

        Raises NotFound, Conflict while another process runs it.
        """
        store = self._reading()
        held = episodes.episode(store, episode_id)
        episode_id = held.id  # its beginning will do
        if to:
            _attempt(held, to)
        episodes.checkpoint(store, episode_id, to)
        with self._claimed(episode_id), store.transaction():
            for each in held.attempts:
                if each.n > to:
                    episodes.keep(store, replace(each, status="dropped"), "dropped")
            back = {"status": "running", "reason": "", "diff": "", "start": to, "ended_at": 0.0, "applied": ""}
            held = episodes.write(store, held, "rewound", **back)
        return episodes.episode(store, episode_id)

    # -- take it -------------------------------------------------------------------------------------------------------

    def _landed(self, store: Store, held: Episode, landing: Landing) -> Episode:
        """Bring the result of an episode that passed to where it is wanted, and write that down. What is doubtful is
        not written into a project that nobody has looked at, and teaches something only from here on."""
        if not landing.to:
            return held
        if landing.to == "apply" and held.is_doubtful and not landing.doubtful:
            held_back = episodes.write(store, held, "held back", reason="doubtful, so it was not applied")
            return replace(held_back, attempts=held.attempts)
        changes = episodes.checkpoint(store, held.id, held.attempts[-1].n).changes
        land(landing, Path(held.task.folder), changes, home=self._home, message=_message(held))
        learnt = Experience(store).distill(replace(held, applied=landing.text)) if held.is_guess else held.learnt
        landed = episodes.write(store, held, "landed", applied=landing.text, reason="", learnt=learnt)
        return replace(landed, attempts=held.attempts)


def _limits(means: HealMeans) -> Limits:
    """The limits of one run of a check."""
    return Limits(wall_s=means.check_s, cpu_s=2 * means.check_s, memory_mb=2048, pids=256, disk_mb=1024)


def _folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder: name the project with --in")
    return folder.resolve()


def judge_name(task: Task) -> str:
    """The name of who judges a task: the one that it names, else by what its check runs."""
    run = suite_run(task.check, reading(Path(task.folder)))
    return task.judge or ("pytest" if run.runner == "pytest" and run.exact else "command")


def _attempt(held: Episode, n: int) -> Attempt:
    for each in held.attempts:
        if each.n == n:
            return each
    raise NotFound(f"episode {held.id} has no attempt {n}; `ratchet episodes show {held.id}` lists them")


def _message(held: Episode) -> str:
    """The message of a commit: what was wrong and what was changed."""
    last = held.attempts[-1]
    subject = held.task.instruction.strip().split("\n")[0] or last.fix or "Make the check pass"
    body = [each for each in (last.cause, last.fix if last.fix != subject else "") if each]
    return "\n".join([subject[:72], "", *body, "", f"Healed by Ratchet, episode {held.id}.", ""])
