"""The cheap first: repair without a model, then a model where one is configured; and says which it was.

A search does not read what a person wrote: where there are words, its guess waits until the model has had its say.
"""

from __future__ import annotations

from dataclasses import replace

from ratchet.errors import ModelError, Refused
from ratchet.healing.job import Solved, SolveJob, Solver, SolverOptions
from ratchet.healing.purse import ShorterPurse
from ratchet.healing.solvers import survey
from ratchet.sandbox.command import FileChange
from ratchet.sandbox.workspace import START

CHEAP, DEAR = "repair", "model"
_SHARE = 1 / 3
"""Of the time left, which the cheap one may take while a dear one waits, and the dear one leaves while a guess does."""
_SAYS = 2
"""Answers of the dear one while a guess waits: one, and one that knows what became of it."""


class AutoSolver:
    """Port `Solver` over two others. `missing` says why there is no dear one."""

    name = "auto"

    def __init__(self, cheap: Solver, dear: Solver | None, missing: str = "") -> None:
        self._cheap = cheap
        self._dear = dear
        self._missing = missing
        self._exhausted = False
        self._hints: tuple[str, ...] = ()
        self._guess: tuple[Solved, tuple[FileChange, ...]] | None = None
        self._said = 0

    def solve(self, job: SolveJob) -> Solved:
        """The cheap one's proposal; once it has nothing more to try, the dear one's."""
        first = None if self._exhausted else self._cheaply(job)
        if first is not None:
            if first.status == "proposed" or job.cancelled():
                return replace(first, by=self._cheap.name)
            self._exhausted = True
            self._hints = first.hints
        spent = first.candidates if first else 0
        if self._dear is None:
            tried = f"{self._cheap.name} found nothing: {first.reason if first else 'no change passes'}"
            return Solved(status="gave_up", candidates=spent, reason=f"{tried}; {self._missing}", hints=self._hints)
        job.note(f"{self._cheap.name} found {'a guess' if self._guess else 'nothing'}: asking {self._dear.name}")
        asked = replace(job, hints=self._hints)
        second = self._beside(asked, self._dear, *self._guess) if self._guess else self._dear.solve(asked)
        note = "; ".join(filter(None, (f"after {spent} candidates of {self._cheap.name}", second.note)))
        return replace(second, candidates=spent + second.candidates, note=note, by=second.by or self._dear.name)

    def _beside(self, job: SolveJob, dear: Solver, guess: Solved, changes: tuple[FileChange, ...]) -> Solved:
        """The dear one's answer where it passes, or may still be corrected; else the guess of the cheap one."""
        shorter = ShorterPurse(job.purse, job.purse.seconds_left() * (1 - _SHARE))
        try:
            solved = dear.solve(replace(job, purse=shorter))
        except (ModelError, Refused) as error:
            solved = Solved(status="gave_up", reason=str(error))
        self._said += 1
        may_correct = job.more and self._said < _SAYS and not shorter.cancelled()
        if solved.status == "proposed" and (may_correct or job.judge(job.workspace).passed):
            return solved
        job.workspace.restore(START)
        survey.change(job.workspace, job.sandbox, changes)
        self._guess = None
        note = f"{dear.name}'s answer does not pass{': ' + solved.reason if solved.reason else ''}"
        return replace(guess, by=self._cheap.name, note="; ".join(filter(None, (guess.note, note))))

    def _cheaply(self, job: SolveJob) -> Solved:
        """Ask the cheap one first; the files as they were where it has no proposal."""
        if self._dear is None:
            return self._cheap.solve(job)
        shorter = ShorterPurse(job.purse, job.purse.seconds_left() * _SHARE)
        start = job.workspace.checkpoint()
        solved = self._cheap.solve(replace(job, purse=shorter))
        if solved.status == "proposed" and not job.workspace.diff(start):
            solved = replace(solved, status="gave_up")
        if solved.status == "proposed" and solved.standing == "doubtful" and job.task.instruction:
            self._guess = solved, tuple(job.workspace.diff())
            solved = replace(solved, status="gave_up")
        if solved.status != "proposed":
            job.workspace.restore(start)
        return solved


def create(options: SolverOptions) -> AutoSolver:
    """The solver `auto`. A model counts as configured when the settings name one that can be asked."""
    cheap = options.named(CHEAP)
    try:
        return AutoSolver(cheap, options.named(DEAR))
    except Refused as error:
        return AutoSolver(cheap, None, f"no model to ask then: {error}")
