"""Evolving as people ask for it: the operations behind `ratchet evolve`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

from ratchet import registry
from ratchet.errors import Conflict, NotFound, Refused, UsageError
from ratchet.evolving import rows as evolutions
from ratchet.evolving.archive import Archive
from ratchet.evolving.bench.benchmark import Agent, Benchmark, Evaluation
from ratchet.evolving.bench.book import BenchBook
from ratchet.evolving.bench.granting import need_granted
from ratchet.evolving.bench.ground import check_shown, executing, files_of, measuring
from ratchet.evolving.bench.shelf import BenchShelf
from ratchet.evolving.candidate import KILLED, ArchiveTally, Candidate, Evolution
from ratchet.evolving.competitors.book import compare_projects
from ratchet.evolving.competitors.comparing import ComparedFeature
from ratchet.evolving.declaration import declared
from ratchet.evolving.job import AgentProposer, ProposerOptions
from ratchet.evolving.loop.budgeting import for_search
from ratchet.evolving.loop.evolve import Evolve, EvolveGround
from ratchet.evolving.race.evaluator import EvaluatorMeans as Measuring
from ratchet.evolving.request import EvolveAsked, EvolveMeans, check
from ratchet.files import Locked, claimed, is_free
from ratchet.healing.landing import files
from ratchet.healing.landing.destination import Landing, land, lock_of
from ratchet.healing.models.choice import ModelChoice
from ratchet.healing.patches import diff_text
from ratchet.healing.purse import EpisodePurse
from ratchet.ports import Sandbox, Store, Workspace
from ratchet.sandbox import opening as workspaces
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.choice import Sandboxes
from ratchet.sandbox.command import FileChange, Limits


class EvolveBook:
    """The evolve runs of one store. `reading` gives the store after what was recorded is in it."""

    def __init__(
        self,
        home: Path,
        *,
        reading: Callable[[], Store],
        sandboxes: Sandboxes,
        models: ModelChoice,
        benchmarks: BenchBook,
        cluster: str = "",
    ) -> None:
        self._home = home
        self._reading = reading
        self._sandboxes = sandboxes
        self._models = models
        self._benchmarks = benchmarks
        self._cluster = cluster

    # -- run -----------------------------------------------------------------------------------------------------------

    def run(self, asked: EvolveAsked, means: EvolveMeans | None = None) -> Evolution:
        """Evolve an agent: propose, race, keep what is proven, until there is a reason to stop.

        What ends a run is its `state`, never an exception, and nothing of the agent's own folder changes. Raises
        UsageError for a call that makes no sense, Refused where no sandbox holds; BackendError, Conflict where the
        machine fails it: `resume` goes on.
        """
        means = means or EvolveMeans()
        check(asked, means)
        check_shown(self._home, (*asked.agent.readable, *means.readable))
        need_granted(self._home, asked.agent)
        gaps = _gaps(asked.agent, means)
        sandbox = self._sandboxes.chosen(unsafe=means.unsafe)
        proposer = self._proposer(asked.proposer, means)
        store = self._reading()
        run = evolutions.new_id()
        archive = self._archive(run)
        tree = archive.add(files_of(Path(asked.agent.folder)) if asked.agent.folder else {})
        settings = dict(asked.agent.settings)
        baseline = Candidate(
            id=evolutions.version_id(tree, settings), run=run, n=0, state="baseline", tree=tree, settings=settings
        )
        made = Evolution(
            id=run,
            state="running",
            agent=asked.agent,
            benchmark=asked.benchmark.name,
            benchmark_hash=asked.benchmark.hash,
            proposer=asked.proposer,
            proposals=asked.proposals,
            usd=asked.usd,
            seconds=asked.seconds,
            parallel=asked.parallel,
            batch=asked.batch,
            explore=asked.explore,
            fdr=asked.fdr,
            mde=asked.mde,
            cap=asked.cap,
            repeats=asked.repeats,
            seed=asked.seed,
            unsafe=means.unsafe,
        )
        held = evolutions.begin(store, made, baseline)
        with self._claimed(held.id):
            return self._held(store, held, asked.benchmark, archive, sandbox, proposer, means, gaps)

    def resume(
        self, run: str, means: EvolveMeans | None = None, *, usd: float | None = None, seconds: float | None = None
    ) -> Evolution:
        """Go on with a run that was killed, stopped, or whose budget ended: evaluations that ended are not made again.
        `usd` and `seconds` are new limits of the whole run, what was spent included.

        Raises NotFound, Refused for one that has ended, Conflict while another process runs it, or where the benchmark
        is no longer what it was.
        """
        means = means or EvolveMeans()
        store = self._reading()
        held = evolutions.evolution(store, run)
        if held.report is not None or held.state == "ended":
            raise Refused(
                f"run {run} has ended ({held.reason}): sealed tasks are used once. Take what it kept with"
                f" `ratchet evolve apply {run}`, and start a new run from there"
            )
        gaps = _gaps(held.agent, means)
        sandbox = self._sandboxes.chosen(unsafe=means.unsafe)
        proposer = self._proposer(held.proposer, means)
        benchmark = means.benchmark or self._benchmarks.benchmark(held.benchmark)
        if benchmark.hash != held.benchmark_hash:
            raise Conflict(f"benchmark {held.benchmark} is no longer what run {run} began with; start a new run")
        with self._claimed(run):
            held = evolutions.evolution(store, run)  # another process may have ended it before the claim
            if held.state != "running" or usd is not None or seconds is not None or means.unsafe > held.unsafe:
                usd, seconds = held.usd if usd is None else usd, held.seconds if seconds is None else seconds
                again = {
                    "unsafe": held.unsafe or means.unsafe,
                    "state": "running",
                    "reason": "",
                    "ended_at": 0.0,
                    "usd": usd,
                    "seconds": seconds,
                }
                held = evolutions.write(store, held, "resumed", **again)
                self._take_up(store, run)
            return self._held(store, held, benchmark, self._archive(run), sandbox, proposer, means, gaps)

    def _take_up(self, store: Store, run: str) -> None:
        """Put back what a spent budget left undecided."""
        for each in evolutions.candidates(store, run):
            if each.state == "undecided" and not each.decided_at:
                evolutions.move(store, each, state="racing" if each.batch else "proposed", reason="")

    def _held(
        self,
        store: Store,
        held: Evolution,
        benchmark: Benchmark,
        archive: Archive,
        sandbox: Sandbox,
        proposer: AgentProposer,
        means: EvolveMeans,
        gaps: tuple[ComparedFeature, ...],
    ) -> Evolution:
        place = self._place(held.id)
        for name in ("work", "scratch", "cancel", "workers"):
            remove_tree(place / name)  # of a process that was killed
            (place / name).mkdir(parents=True, mode=0o711)
        numbers = count()

        def workspace(tree: str) -> Workspace:
            return workspaces.copied(sandbox, archive.folder(tree), place / "work" / str(next(numbers)))

        purse = EpisodePurse(store, held.id, for_search(held, (), 0), used_s=held.duration_s, cancelled=means.stopping)
        chosen = means.executor
        guarded = [BenchShelf(self._home).place(held.benchmark), self._home / "salt"]
        workers = place / "workers"
        with (
            executing(chosen, held.parallel, cluster=self._cluster, place=workers)
            if isinstance(chosen, str)
            else nullcontext(chosen)
        ) as executor:
            ground = EvolveGround(
                store=store,
                archive=archive,
                proposer=proposer,
                sandbox=sandbox,
                workspace=workspace,
                benchmark=benchmark,
                purse=purse,
                means=Measuring(
                    measure=means.measure or measuring(self._home, guarded=guarded),
                    executor=executor,
                    parallel=held.parallel,
                    versions=archive.folder,
                    scratch=place / "scratch",
                    cancel=place / "cancel",
                    unsafe=means.unsafe,
                    seconds=means.evaluation_s,
                    stopping=means.stopping,
                ),
                limits=Limits(wall_s=600.0, cpu_s=1_200.0, memory_mb=2048, pids=256, disk_mb=1024),
                gaps=gaps,
                told=means.told,
            )
            ended = Evolve(ground, held).run()
        for name in ("work", "scratch", "cancel", "workers"):
            remove_tree(place / name)
        return ended

    def _proposer(self, name: str, means: EvolveMeans) -> AgentProposer:
        if means.proposer is not None:
            return means.proposer
        options = ProposerOptions(
            net=means.net,
            environ=means.environ or {},
            readable=means.readable,
            allow_unknown_price=means.allow_unknown_price,
            prompts=self._models.prompts,
            models=lambda asked: self._models.chain(
                asked or means.model, fast=means.fast_model, mode="loop", unpriced=means.allow_unknown_price
            ),
        )
        return registry.agent_proposer(name, options)

    # -- its place -----------------------------------------------------------------------------------------------------

    def _place(self, run: str) -> Path:
        return self._home / "evolve" / run

    def _archive(self, run: str) -> Archive:
        return Archive(self._place(run))

    def _claimed(self, run: str) -> Locked:
        """Only one process moves a run; the claim ends with the process, however it ends. Raises Conflict."""
        place = self._place(run)
        place.mkdir(parents=True, exist_ok=True, mode=0o711)
        return claimed(place / "lock", f"run {run}")

    def _seen(self, held: Evolution) -> Evolution:
        """The run, as killed where it was running and nobody holds it any more."""
        gone = held.state == "running" and is_free(self._place(held.id) / "lock")
        return replace(held, state="killed", reason=KILLED) if gone else held

    # -- see it --------------------------------------------------------------------------------------------------------

    def list(self, *, limit: int | None = None) -> list[Evolution]:
        """Runs, newest first."""
        return [self._seen(each) for each in evolutions.listed(self._reading(), limit=limit)]

    def show(self, run: str) -> Evolution:
        """One run. Raises NotFound."""
        return self._seen(evolutions.evolution(self._reading(), run))

    def tallies(self, runs: Sequence[str]) -> dict[str, ArchiveTally]:
        """Count what each of these runs tried, by its id."""
        return evolutions.tallied(self._reading(), runs)

    def candidates(self, run: str) -> Sequence[Candidate]:
        """The archive of a run, in the order in which they were proposed. Raises NotFound."""
        store = self._reading()
        evolutions.evolution(store, run)
        return evolutions.candidates(store, run)

    def evaluations(self, run: str, *, limit: int | None = None) -> Sequence[Evaluation]:
        """Every evaluation of a run, in the order in which they ended. Raises NotFound."""
        store = self._reading()
        evolutions.evolution(store, run)
        return [*evolutions.evaluations(store, run, limit=limit)]

    def texts(self, run: str, n: int) -> dict[str, str]:
        """The text files of a candidate, by path. Raises NotFound."""
        held = _numbered(run, self.candidates(run), n)
        found = {}
        for path, (_, content) in self._archive(run).files(held.tree).items():
            with suppress(UnicodeDecodeError):  # no text
                found[path] = content.decode()
        return found

    # -- take it -------------------------------------------------------------------------------------------------------

    def changes(self, run: str, n: int | None = None) -> tuple[FileChange, ...]:
        """List what a candidate (the winner, unless given) changes of the agent as it was, its settings in the agent's
        declaration included. Raises NotFound; Refused where the declaration cannot be edited."""
        candidates, held = self.candidates(run), self.show(run)
        chosen = _winner(held, candidates) if n is None else _numbered(run, candidates, n)
        archive, first = self._archive(run), candidates[0]
        edited = declared(archive.files(first.tree), first.settings, chosen.settings)
        return (*archive.changes(first.tree, chosen.tree), *edited)

    def apply(self, run: str, landing: Landing | None = None) -> tuple[Evolution, str]:
        """Bring the result of a run to where it is wanted; return it with its patch. Only `apply` writes into the
        agent's folder: by compare-and-swap on each file, edits made meanwhile kept.

        Raises NotFound where nothing was kept, Conflict where somebody changed the same lines.
        """
        landing = landing or Landing()
        store = self._reading()
        with self._claimed(run):
            held = evolutions.evolution(store, run)
            changes = self.changes(run)
            if landing.to:
                land(landing, Path(held.agent.folder), changes, home=self._home, message=self._message(run))
                held = evolutions.write(store, held, "landed", applied=landing.text)
        return held, diff_text(changes)

    def revert(self, run: str) -> Evolution:
        """Take an applied result out of the agent's folder again, and nothing else.

        Raises Refused where it was not applied, Conflict where somebody changed the same lines since.
        """
        store = self._reading()
        with self._claimed(run):
            held = evolutions.evolution(store, run)
            folder = Path(held.agent.folder)
            if held.applied != "apply":
                where = f"it went to {held.applied}" if held.applied else "it was not applied"
                raise Refused(f"run {run} changed nothing in {folder}: {where}")
            files.apply(folder, [_undone(each) for each in self.changes(run)], lock=lock_of(self._home, folder))
            return evolutions.write(store, held, "taken_back", applied="")

    def _message(self, run: str) -> str:
        kept = [each for each in self.candidates(run) if each.state == "kept"]
        subject = kept[-1].hypothesis.strip().split("\n")[0] or "Better on the benchmark"
        body = [f"{each.n}: {each.hypothesis} ({each.reason})" for each in kept]
        return "\n".join([subject[:72], "", *body, "", f"Evolved by Ratchet, run {run}.", ""])


def _gaps(agent: Agent, means: EvolveMeans) -> tuple[ComparedFeature, ...]:
    """Gaps beside other projects: they offer it, the agent does not. Raises NotFound, UsageError, BackendError."""
    if not means.beside:
        return ()
    if not agent.folder:
        raise UsageError("the agent has no folder to compare with others; name one with --agent DIR")
    return compare_projects(Path(agent.folder), means.beside).gaps


def _undone(change: FileChange) -> FileChange:
    return FileChange(
        path=change.path,
        before=change.after,
        after=change.before,
        before_mode=change.after_mode,
        after_mode=change.before_mode,
    )


def _winner(held: Evolution, candidates: Sequence[Candidate]) -> Candidate:
    kept = [each for each in candidates if each.state == "kept"]
    if not kept:
        raise NotFound(f"run {held.id} kept nothing ({held.reason or held.state}); `ratchet evolve show {held.id}`")
    return max(kept, key=lambda each: each.batch)


def _numbered(run: str, candidates: Sequence[Candidate], n: int) -> Candidate:
    for each in candidates:
        if each.n == n:
            return each
    raise NotFound(f"run {run} has no candidate {n}; `ratchet evolve show {run}` lists them")
