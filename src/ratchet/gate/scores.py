"""The gate for any loop that scores versions: keep, discard, run again. Long, since each run moves all of its state.

Pure; public in `ratchet.gate`. A loop proposes versions one after another, runs them, and gets a number for each run.
Keeping whatever scored higher keeps what noise gave. Here each version must be proven better than the one that stands,
and all decisions of a run share one error budget (e-LOND: Xu and Ramdas 2024): the expected share of false keeps is at
most `fdr`, at any time, however runs are shared between comparisons. The answers are a function of the runs in order.

Three kinds of evidence. `normal`: any number, its noise normal and alike for all, its size learnt from repeats
(`ratchet.gate.normal`); repeats that never differ tell none. `bounded`: scores in [0, 1], paired by task, nothing
assumed of their noise but that runs are independent (`PairedGate`). `none`: scores are exact; one run of each decides.

A run that brings no score counts against its version. Bounded scores have a worst one, and it is that. Other numbers
have none: a version whose runs fail more often than the incumbent's must prove as much more as that speaks against it,
and is discarded once it is proven (`ratchet.gate.failing`). Where it was kept before, what it replaced stands again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from math import log
from typing import Literal, get_args

from ratchet.errors import UsageError
from ratchet.gate.bets import inside, positive, real, wealth, whole
from ratchet.gate.failing import Attempts, log_doubt, log_harm
from ratchet.gate.guards import Guards
from ratchet.gate.normal import Contrast, Running, Spread, contrast, least_ratio, log_evidence, log_ratio, most_evidence
from ratchet.gate.paired import PairedGate

ScoreDecision = Literal["keep", "discard", "again"]
NoiseModel = Literal["normal", "bounded", "none"]

FIRST_EPOCH = 100
"""Proposals among which half of an open-ended budget is spread evenly; twice as many share half of the rest, and so
on. Against a budget planned for just 100 this asks for 9 % more evidence (log 4,000 / log 2,000)."""
MISSED = 0.15
"""Probability of discarding a version that gains `least`: its likelihood ratio against none stays above it (Ville)."""
MOST_RUNS = 100
"""Runs of one version after which it is given up."""
RECENT = 16
"""A run of the incumbent is looked at for so many open versions, those that ran last; an older one when it runs again.
More at once nobody races, and a file of thousands of versions that were left alone is read in a second."""
_NOTHING = f"{MOST_RUNS} runs proved nothing"
_LEAST_POINTS = 0.05  # of a bounded score, as `PairedGate` has it
MOST_SCORE = 1e100  # its square, summed, is still a float
_DOUBT = 1.28  # standard errors, beyond which a tenth of a normal lies; 1 finds 83 % of what an oracle finds, this 90 %
_HARM = 0.05  # level at which a share of failed runs counts as proven worse
_DOUBTED_RUNS = 8  # rounds of both after which a guard of unknown noise speaks against a version


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreAnswer:
    """The gate's answer about a version: `decision`, and the figures it rests on.

    `gain` is the difference of mean scores, above 0 where the version is better, None before both have run. `noise` is
    the estimated standard deviation of one run, None where it is not known yet or not used. The version is kept when
    `e_value` reaches 1/`level`. `next` is the version to run next where the decision is `again`, else "". `ignored`
    counts runs of the version that came after it was decided, and changed nothing, `failed` those that brought no
    score: they are no part of `runs` but where scores are bounded. Of several `tasks` a run is a round of all.
    """

    version: str
    incumbent: str
    decision: ScoreDecision
    reason: str
    runs: int
    incumbent_runs: int
    gain: float | None
    noise: float | None
    e_value: float
    level: float
    next: str
    ignored: int = 0
    failed: int = 0
    tasks: int = 1


@dataclass(slots=True)
class _Runs:
    """The runs of one version, by task in their order, and what was last made of them."""

    place: int = 0
    """Among the versions, as they came."""
    by_task: dict[str, list[float]] = field(default_factory=dict)
    guards: dict[str, Running] = field(default_factory=dict)
    scores: int = 0
    failed: int = 0
    lost: int = 0
    """Failed runs of all tasks, as each task that is seen later begins with."""
    level: float = 0.0
    decision: ScoreDecision = "again"
    answer: ScoreAnswer | None = None
    """Once it is decided."""
    was_judged: bool = False
    ignored: int = 0
    replaced: str = ""
    """What it was kept in place of."""
    found: Contrast | None = None
    doubt: str = ""
    """As of the last look: the comparison, and what is not known of a guard of a version that would be kept."""
    looked: tuple[str, int, int, int, int] = ("", 0, 0, 0, 0)
    whole: Running = field(default_factory=Running)
    whole_of: tuple[str, ...] = ()
    """The tasks of which `whole` has the mean of each round."""
    gate: PairedGate | None = None
    rival: tuple[str, int] = ("", 0)
    paired: int = 0
    """The rounds that `gate` has, of this version and `rival`: the incumbent, by the number of its tasks."""

    def rounds(self, tasks: Mapping[str, list[float]]) -> int:
        """Count how often each of these tasks was run."""
        return min((len(self.by_task.get(task, ())) for task in tasks), default=0)

    def attempts(self) -> Attempts:
        """Count the runs, with and without a score."""
        return Attempts(self.failed, self.failed + self.scores)

    def fail(self, task: str, tasks: Mapping[str, list[float]], worst: float) -> None:
        """Count a failed run as the worst score: of the task, or of each of these tasks where the run was of all."""
        self.failed += 1
        for each in [task] if task else list({**tasks, **self.by_task}):
            self.of_task(each, worst).append(worst)
        self.lost += not task

    def of_task(self, task: str, worst: float) -> list[float]:
        """The scores of a task, those of runs of all tasks that failed before among them."""
        return self.by_task.setdefault(task, [worst] * self.lost)

    def running(self, tasks: Mapping[str, list[float]]) -> Running:
        """The mean score of each whole round of these tasks."""
        of = tuple(tasks)
        if self.whole_of != of:
            self.whole, self.whole_of = Running(), of
        for n in range(self.whole.count, self.rounds(tasks)):
            self.whole.add(sum(self.by_task[task][n] for task in tasks) / len(tasks))
        return self.whole


class ScoreGate:
    """Is this version proven better than the one that stands? Fed with runs in the order in which they were made.

    The first version is the incumbent until another is kept. A task, where scores have one, is run by both; only whole
    rounds of the incumbent's tasks count. Versions that were not decided when another is kept are compared with the
    new incumbent, as new proposals.

    `fdr` bounds the expected share of false keeps. `planned`: how many proposals there will be, None for an open end.
    `least` is the smallest gain worth finding, in units of the score (default: the noise of one run; 0.05 where
    `bounded`): a version that gains as much is discarded by mistake in at most 3 of 20 cases, and one that gains
    nothing is discarded the sooner the more is asked. `lower`: lower scores are better. `guards` name further metrics
    of each run that must not get worse, each with whether lower is better: a version proven worse in one is discarded,
    and none is kept that stands worse in one of which no two repeats differ, or that has no value of one.
    Raises UsageError for anything else.
    """

    def __init__(
        self,
        *,
        fdr: float = 0.05,
        planned: int | None = None,
        least: float | None = None,
        lower: bool = False,
        noise: NoiseModel = "normal",
        incumbent: str | None = None,
        guards: Mapping[str, bool] | None = None,
    ) -> None:
        self._fdr = inside("fdr", fdr)
        self._planned = None if planned is None else whole("planned", planned, least=1)
        self._least = None if least is None else positive("least", least)
        self._sign = -1.0 if lower else 1.0
        if noise not in get_args(NoiseModel):
            raise UsageError(f"noise is {noise!r}: use one of {', '.join(get_args(NoiseModel))}")
        self._noise = noise
        self._worst = -1.0 if lower else 0.0  # of a bounded score, with its sign
        self._guards = Guards(guards or {})
        self._versions: dict[str, _Runs] = {}
        self._spread = Spread()  # of the versions that are decided and do not stand
        self._kept = 0
        self._proposed = 0
        self._recent: dict[str, None] = {}  # versions beside the incumbent, the one that ran last at the end
        self.incumbent = incumbent or ""

    @property
    def kept(self) -> int:
        """Number of versions kept so far."""
        return self._kept

    @property
    def proposed(self) -> int:
        """Number of proposals charged to the budget so far."""
        return self._proposed

    def add(
        self, version: str, score: float | None, *, task: str = "", guards: Mapping[str, float] | None = None
    ) -> None:
        """Count one run; None where it failed and brought no score. Runs of a version that is decided change nothing.
        Raises UsageError for a score that is not finite, not in [0, 1] where noise is bounded, not exact where none."""
        value = None if score is None else self._sign * self._measured(score)
        held = self._met(version)
        if held.decision != "again" and version != self.incumbent:
            held.ignored += 1
            return
        if value is not None:
            held.of_task(task, self._worst).append(value)
            held.scores += 1
        elif self._noise == "bounded":
            held.fail(task, self._versions.get(self.incumbent, held).by_task, self._worst)
        else:
            held.failed += 1
        self._guards.add(held.guards, guards)
        if version != self.incumbent:
            self._recent.pop(version, None)
            self._recent[version] = None
            self._look(version)
        else:
            self._reconsider()
            for each in self._followed():
                self._look(each)

    def _measured(self, score: float) -> float:
        value = real("score", score)
        if abs(value) > MOST_SCORE:
            raise UsageError(f"score is {score!r}: beyond {MOST_SCORE:g} no spread can be told; use another unit")
        if self._noise == "bounded" and not 0 <= value <= 1:
            raise UsageError(f"score is {score!r}: bounded scores lie in [0, 1]; use noise='normal' for others")
        return value

    def _met(self, version: str) -> _Runs:
        self.incumbent = self.incumbent or version
        held = self._versions.get(version)
        if held is None:
            held = self._versions[version] = _Runs(place=len(self._versions))
            if version != self.incumbent:
                self._charge(held)
        return held

    def _followed(self) -> list[str]:
        """The open versions that ran last, in the order in which they came."""
        found = [name for name in islice(reversed(self._recent), RECENT) if self._versions[name].decision == "again"]
        return sorted(found, key=lambda name: self._versions[name].place)

    @property
    def open(self) -> list[str]:
        """The versions that are not decided, in the order in which they came."""
        return [name for name, held in self._versions.items() if held.decision == "again" and name != self.incumbent]

    def answer(self, version: str | None = None) -> ScoreAnswer:
        """Decide about a version; the one that came last, unless named. Raises UsageError where it has no run, or no
        other version was compared with it yet."""
        last = next((name for name, held in reversed(self._versions.items()) if held.was_judged), "")
        name = last if version is None else version
        return self._answered(name, self._judged(name))

    def following(self, version: str) -> str:
        """The version to run next where this one is not decided, else "": as its answer says, without the cost of how
        much speaks for it. Raises UsageError as `answer` does."""
        held = self._judged(version)
        return "" if held.answer else self._due(version, held)

    def _judged(self, name: str) -> _Runs:
        held = self._versions.get(name)
        if held is None or not held.was_judged:
            beside = f"{f'of {name} ' if name else ''}beside the incumbent's ({self.incumbent or 'none yet'})"
            raise UsageError(f"there is no run {beside}: run the new version")
        return held

    def decide(self, version: str, run: Callable[[str], float | Mapping[str, float | None] | None]) -> ScoreAnswer:
        """Run a version, and the incumbent where it is asked for, until the version is kept or discarded.

        `run` makes one fresh run of the version that it is given the name of, and returns its score, or the score of
        each task by the task's name; None where it failed.
        """
        if not self.incumbent:
            raise UsageError("there is no incumbent: name it, or add a run of what stands")
        wanted = version
        while wanted:
            scored = run(wanted)
            for task, score in scored.items() if isinstance(scored, Mapping) else [("", scored)]:
                self.add(wanted, score, task=task)
            wanted = self.following(version)
        return self.answer(version)

    def answers(self) -> list[ScoreAnswer]:
        """The answer about every version but the first incumbent, in the order in which they came."""
        return [self._answered(name, held) for name, held in self._versions.items() if held.was_judged]

    @property
    def ignored(self) -> dict[str, int]:
        """Runs that came after their version was decided, by version: they changed nothing."""
        return {name: held.ignored for name, held in self._versions.items() if held.ignored}

    @property
    def attempts(self) -> dict[str, Attempts]:
        """The runs that count, by version, and how many of them brought no score."""
        return {name: held.attempts() for name, held in self._versions.items()}

    @property
    def worst(self) -> float | None:
        """The score that a run without one is counted as; None where there is no worst one."""
        return abs(self._worst) if self._noise == "bounded" else None

    # -- the budget --

    def _charge(self, held: _Runs) -> None:
        self._proposed += 1
        held.level = self._fdr * (self._kept + 1) * self._share(self._proposed)

    def _share(self, t: int) -> float:
        """The share of the budget that the t-th proposal gets; all of them add up to at most 1."""
        if self._planned is not None:
            return 1 / self._planned if t <= self._planned else 0.0
        epoch = ((t - 1) // FIRST_EPOCH + 1).bit_length() - 1
        return 0.5 / (FIRST_EPOCH << 2 * epoch)

    # -- decisions --

    def _look(self, name: str) -> None:
        held, standing = self._versions[name], self._versions.get(self.incumbent, _Runs())
        tasks = standing.by_task
        seen = (self.incumbent, held.rounds(tasks), standing.rounds(tasks), held.failed, standing.failed)
        if held.looked == seen and held.was_judged and len(tasks) > 1:
            return  # the round goes on
        held.looked, held.was_judged, held.found, held.doubt = seen, True, None, ""
        if worse := self._guards.worse(held.guards, standing.guards) or self._fails_more(held, standing):
            self._settle(name, "discard", self._said(name, held, 0.0, "discard", f"{worse} is proven worse"))
        elif held.level == 0:
            reason = f"the error budget was planned for {self._planned} proposals and is spent"
            self._settle(name, "discard", self._said(name, held, 0.0, "discard", reason))
        elif held.failed >= MOST_RUNS and not (held.rounds(tasks) and standing.rounds(tasks)):
            self._settle(name, "discard", self._said(name, held, 1.0, "discard", _NOTHING))
        elif self._noise == "bounded":
            self._look_at_pairs(name, held, standing)
        elif held.rounds(tasks) and standing.rounds(tasks):
            self._look_at_means(name, held, standing)

    def _look_at_means(self, name: str, held: _Runs, standing: _Runs) -> None:
        held.found = found = contrast(held.running(tasks := standing.by_task), standing.running(tasks), self._spread)
        asked = log_doubt(held.attempts(), standing.attempts()) - log(held.level)
        if self._noise == "none":
            self._look_at_exact(name, held, found)
        elif found.squares and most_evidence(found) >= asked and log_evidence(found) >= asked:
            self._keep(name, held, self._evidence(held, standing))
        elif (is_late := self._is_hopeless(found)) or held.rounds(tasks) + held.failed >= MOST_RUNS:
            reason = f"a gain of {self._least_said(found)} would show by now" if is_late else _NOTHING
            self._settle(name, "discard", self._said(name, held, self._evidence(held, standing), "discard", reason))

    def _look_at_exact(self, name: str, held: _Runs, found: Contrast) -> None:
        if found.squares:
            raise UsageError("noise is 'none', but runs of one version on the same differ: use normal")
        if found.gain > 0:
            self._keep(name, held, 1 / held.level)
        else:
            self._settle(name, "discard", self._said(name, held, 0.0, "discard", "its score is no better"))

    def _evidence(self, held: _Runs, standing: _Runs) -> float:
        """The e-value of a gain, less what the version's failed runs say against it."""
        if held.found is None or not held.found.squares:
            return 1.0
        return wealth(log_evidence(held.found) - log_doubt(held.attempts(), standing.attempts()))

    def _is_hopeless(self, found: Contrast) -> bool:
        if found.freedom == 0:
            return False
        if found.squares == 0:
            return found.gain <= 0 and found.runs >= 1  # runs that never differ: two of each tell
        effect = 1.0 if self._least is None else self._least / found.noise
        return least_ratio(found, effect) <= log(MISSED) and log_ratio(found, effect) <= log(MISSED)

    def _look_at_pairs(self, name: str, held: _Runs, standing: _Runs) -> None:
        tasks = standing.by_task
        rival = (self.incumbent, len(tasks))
        if held.gate is None or held.rival != rival:
            held.gate = PairedGate(held.level, self._least if self._least is not None else _LEAST_POINTS, doubt=_DOUBT)
            held.rival, held.paired = rival, 0
        gate = held.gate
        for n in range(held.paired, min(held.rounds(tasks), standing.rounds(tasks))):
            gate.update_round([held.by_task[task][n] - standing.by_task[task][n] for task in tasks])
            held.paired = n + 1
        held.found = Contrast(gain=gate.mean, runs=gate.pairs, squares=0.0, freedom=0) if gate.pairs else None
        if gate.decision == "keep":
            self._keep(name, held, gate.e_value)
        elif gate.decision == "revert":
            reason = f"{gate.pairs} pairs make a gain of {self._least_said(None)} unlikely"
            self._settle(name, "discard", self._said(name, held, gate.e_value, "discard", reason))

    def _fails_more(self, held: _Runs, standing: _Runs) -> str:
        """Name the share of failed runs where it is proven worse, with its figures; "" where it is not, or where a
        failed run has a score."""
        new, old = held.attempts(), standing.attempts()
        if self._noise == "bounded" or not new.failed or log_harm(new, old) < -log(_HARM):
            return ""
        return f"the share of runs without a score, {new.failed} of {new.total} beside {old.failed} of {old.total},"

    def _keep(self, name: str, held: _Runs, e_value: float) -> None:
        standing = self._versions[self.incumbent]
        held.doubt = self._guards.doubtful(held.guards, standing.guards)
        if held.doubt:  # more runs may tell, but not for ever
            if min(held.rounds(standing.by_task), standing.rounds(standing.by_task)) >= _DOUBTED_RUNS:
                self._settle(name, "discard", self._said(name, held, e_value, "discard", held.doubt))
            return
        self._settle(name, "keep", self._said(name, held, e_value, "keep", f"better than {self.incumbent}"))
        self._kept += 1
        replaced, held.replaced = self._versions[self.incumbent], self.incumbent
        self.incumbent = name
        replaced.decision = "discard"
        self._rest(replaced)
        self._compare_anew()

    def _reconsider(self) -> None:
        """Let what stands fall where its runs are proven to fail more often than those of what it replaced."""
        held = self._versions[self.incumbent]
        if held.replaced and (worse := self._fails_more(held, self._versions[held.replaced])):
            name, self.incumbent = self.incumbent, held.replaced
            former = self._versions[self.incumbent]
            self._rest(former, ends=False)
            former.decision = "keep" if former.replaced else "again"
            self._kept -= 1
            self._settle(name, "discard", self._said(name, held, 0.0, "discard", f"{worse} is proven worse"))
            self._compare_anew()

    def _compare_anew(self) -> None:
        for each in self.open:  # another comparison, so another proposal
            self._charge(self._versions[each])
            self._look(each)

    def _settle(self, name: str, decision: ScoreDecision, answer: ScoreAnswer) -> None:
        self._versions[name].decision = decision
        self._versions[name].answer = answer
        self._recent.pop(name, None)
        if decision == "discard":
            self._rest(self._versions[name])

    def _rest(self, done: _Runs, *, ends: bool = True) -> None:
        """Keep of a version that will run no more what it tells of the noise; no longer, where it runs again."""
        sign: Literal[1, -1] = 1 if ends else -1
        self._spread = self._spread.with_runs(done.running(done.by_task), sign)
        self._guards.rest(done.guards, sign)

    # -- words --

    def _answered(self, name: str, held: _Runs) -> ScoreAnswer:
        return replace(held.answer or self._again(name, held), ignored=held.ignored)

    def _again(self, name: str, held: _Runs) -> ScoreAnswer:
        """The answer about a version that is not decided."""
        found = held.found
        standing = self._versions.get(self.incumbent, _Runs())
        unscored = next(
            (who for who, of in ((name, held), (self.incumbent, standing)) if of.failed and not of.scores), ""
        )
        reason = f"no run of {unscored} has a score yet" if unscored else "not proven yet"
        if found is not None and self._noise == "normal" and found.freedom == 0:
            reason = "how much a score varies from run to run is not known: nothing was run twice"
        elif found is not None and self._noise == "normal" and not found.squares:
            reason = "no run differs from its repeat: vary what chance varies, or call scores exact (noise: none)"
        reason = held.doubt or reason
        e_value = held.gate.e_value if held.gate is not None and found is not None else 1.0
        if self._noise != "bounded":
            e_value = self._evidence(held, standing)
        return self._said(name, held, e_value, "again", reason, self._due(name, held))

    def _due(self, name: str, held: _Runs) -> str:
        """The version or the incumbent, whichever has fewer runs."""
        standing = self._versions.get(self.incumbent, _Runs())
        tasks = standing.by_task or held.by_task
        runs, others = self._turns(held, tasks), self._turns(standing, tasks)
        behind = others <= runs and (held.found is not None or runs > 0 or not standing.by_task)
        return self.incumbent if behind else name

    def _turns(self, of: _Runs, tasks: Mapping[str, list[float]]) -> int:
        """Count the runs, failed ones among them: where scores are bounded, these are rounds once tasks are known."""
        rounds = of.rounds(tasks)
        return rounds if rounds and self._noise == "bounded" else rounds + of.failed

    def _said(
        self, name: str, held: _Runs, e_value: float, decision: ScoreDecision, reason: str, next_run: str = ""
    ) -> ScoreAnswer:
        found = held.found
        standing = self._versions.get(self.incumbent, _Runs())
        tasks = standing.by_task or held.by_task
        return ScoreAnswer(
            version=name,
            incumbent=self.incumbent,
            decision=decision,
            reason=reason,
            runs=held.rounds(tasks),
            incumbent_runs=standing.rounds(tasks),
            gain=found.gain if found is not None else None,
            noise=found.noise if found is not None and found.freedom else None,
            e_value=e_value,
            level=held.level,
            next=next_run,
            failed=held.failed,
            tasks=max(1, len(tasks)),
        )

    def _least_said(self, found: Contrast | None) -> str:
        known = f"{found.noise:.3g}" if found is not None else f"{_LEAST_POINTS:g}"
        return known if self._least is None else f"{self._least:g}"
