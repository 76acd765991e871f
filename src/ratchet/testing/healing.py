"""Small real stand-ins for authors of solvers and judges: a solver that plays a script, and a purse without limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ratchet.healing.job import Solved, SolveJob, SolverOptions

Play = Callable[[SolveJob], Solved]


@dataclass
class ScriptedSolver:
    """Port `Solver`: its first attempt of an episode plays the first entry, and so on; the last one for ever.

    An entry is a mapping of files to write, or a function of the job. What it was asked is kept
    in `jobs`.
    """

    script: Sequence[Mapping[str, str] | Play]
    name: str = "scripted"
    jobs: list[SolveJob] = field(default_factory=list)

    def solve(self, job: SolveJob) -> Solved:
        self.jobs.append(job)
        entry = self.script[min(len(job.tried), len(self.script) - 1)]
        if callable(entry):
            return entry(job)
        for path, text in entry.items():
            job.workspace.write(path, text.encode())
        names = ", ".join(entry)
        return Solved(
            status="proposed",
            cause=f"wrong content of {names}" if names else "",
            fix=f"new content of {names}" if names else "",
            candidates=1,
            memo={"files": [*entry]},
        )


def idle(options: SolverOptions) -> ScriptedSolver:
    """A solver that changes nothing (`--solver ratchet.testing.healing:idle`)."""
    del options
    return ScriptedSolver([{}], name="idle")
