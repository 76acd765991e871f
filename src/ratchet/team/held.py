"""A task while its run is under way: the row as it stands, and what only this process knows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ratchet.records import Json
from ratchet.team.values import ENDED, TaskStanding, TeamAttempt, TeamRecord, TeamTask


@dataclass(slots=True, eq=False)
class HeldTask:
    """One task of a run. `value` is its exact result, of which the row holds what may be written."""

    task: TeamTask
    record: TeamRecord
    missing: set[str] = field(default_factory=set)
    """Needs that have not ended yet."""
    failed_at: set[str] = field(default_factory=set)
    """Workers that failed it: they get it again only where nobody else can."""
    broke: bool = False
    """Whether it met a worker's own fault: a crash, a hang, a flood."""
    not_before: float = 0.0
    last: str = ""
    known: str = ""
    value: Json = None

    @property
    def skill(self) -> str:
        return self.task.skill

    @property
    def ended(self) -> bool:
        return self.record.state in ENDED

    def begin(self, attempt: TeamAttempt) -> None:
        """Note an attempt that starts now."""
        self.record = replace(
            self.record,
            state="running",
            worker=attempt.worker,
            attempts=(*self.record.attempts, attempt),
            started_at=self.record.started_at or attempt.began_at,
        )

    def settle(self, attempt: TeamAttempt, state: TaskStanding, *, reason: str = "", **result: object) -> None:
        """Note how its last attempt ended, and where that leaves the task."""
        kept = replace(self.record, attempts=(*self.record.attempts[:-1], attempt))
        self.end(state, attempt.ended_at if state in ENDED else 0.0, reason, kept, **result)

    def end(
        self, state: TaskStanding, at: float, reason: str = "", record: TeamRecord | None = None, **result: object
    ) -> None:
        """Note where it stands now."""
        self.record = replace(record or self.record, state=state, reason=reason, ended_at=at, **result)  # type: ignore[arg-type]

    def written(self) -> None:
        """Count the revision that the store has by now."""
        self.record = replace(self.record, revision=self.record.revision + 1)
