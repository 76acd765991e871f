"""Lets DSPy's optimizers return a program only when it is proven better than the one that they were given.

    from ratchet.integrations.dspy import ProvenOptimizer, fresh_runs

    optimizer = ProvenOptimizer(dspy.COPRO(metric=metric), fresh_runs(metric, valset))
    better = optimizer.compile(student, trainset=trainset, eval_kwargs={})

An optimizer scores many programs once each on the same examples and returns the one that scored most: the luckiest of
many. Here its first few are run anew, beside the student, until one is proven. DSPy remembers what a model answered, so
that a second run is the first over again; `fresh_runs` asks for new answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from ratchet.evolving.shared_scores import Scored
from ratchet.gate import ScoreAnswer, ScoreGate

_STUDENT = "student"

_Program = TypeVar("_Program")


class _Optimizer(Protocol):
    def compile(self, student: object, **given: object) -> object: ...


class ProvenOptimizer(Generic[_Program]):
    """An optimizer of DSPy around another: `compile` returns what is proven better than the student, else the student.

    `run(program)` makes one fresh run and returns the score in [0, 1] of each example by its name. Up to `most` of the
    optimizer's candidates are tried, what it returned first, then the others by the score that it gave them; each is
    compared with the best that is proven so far. `answers` are the decisions of the last `compile`.
    """

    def __init__(
        self,
        optimizer: _Optimizer,
        run: Callable[[_Program], Scored],
        *,
        most: int = 3,
        gate: Callable[[int], ScoreGate] = lambda planned: ScoreGate(noise="bounded", planned=planned),
    ) -> None:
        self._optimizer = optimizer
        self._run = run
        self._most = most
        self._gate = gate
        self.answers: list[ScoreAnswer] = []

    def compile(self, student: _Program, **given: object) -> _Program:
        """Optimize, then decide. Takes what the optimizer's own `compile` takes."""
        candidates = _candidates(self._optimizer.compile(student, **given))[: self._most]
        gate = self._gate(len(candidates))
        gate.incumbent = _STUDENT
        programs: dict[str, _Program] = {_STUDENT: student}
        self.answers = []
        for n, each in enumerate(candidates, 1):
            programs[f"candidate {n}"] = each  # type: ignore[assignment]  # an optimizer returns what it was given
            self.answers.append(gate.decide(f"candidate {n}", lambda version: self._run(programs[version])))
        return programs[gate.incumbent]


def _candidates(compiled: object) -> list[object]:
    """The program that an optimizer returned, then the others that it scored, the best first."""
    found = [compiled]
    scored = [each for each in getattr(compiled, "candidate_programs", None) or () if isinstance(each, Mapping)]
    for each in sorted(scored, key=lambda row: -float(row.get("score", 0.0))):
        program = each.get("program")
        if program is not None and all(_state(program) != _state(other) for other in found):
            found.append(program)
    return found


def _state(program: object) -> object:
    """All that distinguishes two programs: instructions, examples, fields."""
    dump = getattr(program, "dump_state", None)
    return dump() if callable(dump) else id(program)


def fresh_runs(
    metric: Callable[..., object], examples: Sequence[object], *, num_threads: int | None = None
) -> Callable[[object], dict[str, float]]:
    """Make `run` of a metric and examples: DSPy's own evaluation, each time with answers that no cache has.

    A model at temperature 0 is asked once and answers from DSPy's cache then: its runs do not differ. An example that
    raises scores 0, as in DSPy.
    """
    made = 0

    def run(program: object) -> dict[str, float]:
        import dspy

        nonlocal made
        made += 1
        own = program.deepcopy()  # type: ignore[attr-defined]  # every module of DSPy has it
        for each in own.predictors():
            if each.lm is not None:
                each.lm = each.lm.copy(rollout_id=made)
        evaluate = dspy.Evaluate(
            devset=list(examples), metric=metric, num_threads=num_threads, display_progress=False, failure_score=0.0
        )
        with dspy.context(lm=dspy.settings.lm and dspy.settings.lm.copy(rollout_id=made)):
            ended = evaluate(own)
        return {str(n): float(score) for n, (_, _, score) in enumerate(ended.results)}

    return run
