"""A solver for tests, which says what it is told to say."""

from __future__ import annotations

from collections.abc import Sequence

from ratchet.healing.job import Solved, SolveJob


class ReplacingSolver:
    """Port `Solver`: proposes one answer after the other, each as (path, old, new): the first `old` in the file becomes
    `new`, and all of the file does where `old` is empty. Then it gives up. `jobs` keeps what it was asked."""

    name = "scripted"

    def __init__(self, answers: Sequence[tuple[str, str, str]], *, cost_usd: float = 0.0) -> None:
        self._answers = [*answers]
        self._cost_usd = cost_usd
        self.jobs: list[SolveJob] = []

    def solve(self, job: SolveJob) -> Solved:
        self.jobs.append(job)
        if self._cost_usd:
            job.purse.settle(job.purse.reserve(self._cost_usd), self._cost_usd)
        if not self._answers:
            return Solved(status="gave_up", reason="the script is at its end")
        path, old, new = self._answers.pop(0)
        text = job.workspace.read(path).decode()
        assert old in text, f"{path} does not hold {old!r}"
        job.workspace.write(path, (text.replace(old, new, 1) if old else new).encode())
        return Solved(status="proposed", cause="scripted", fix=f"{old!r} becomes {new!r}", candidates=1)
