"""Scores of answers: a value, and the few ways to make one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ratchet.evolving.bench.benchmark import BenchTask
from ratchet.failures.redaction.text import redact
from ratchet.failures.signature import sign, template_of
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Score of an answer. `score` is in [0, 1], 1 is right; it means nothing where `unmeasured`."""

    score: float
    reason: str = ""
    """Why it is not 1, in one line."""
    output: str = ""
    """What the graders printed, or the findings one a line; secrets taken out."""
    kind: str = ""
    signature: str = ""
    """Of the failure, as everywhere; "" where there is none."""
    unmeasured: bool = False
    """The machine was at fault, not the answer."""
    tampered: tuple[str, ...] = ()
    """What of the answer reaches for what it is judged by. Nothing of it was honoured."""

    @property
    def passed(self) -> bool:
        return self.score >= 1.0 and not self.unmeasured


class Scorer(Protocol):
    """Lays the graders down, now that the agent is gone, and says what its work is worth."""

    def __call__(
        self,
        task: BenchTask,
        workspace: Workspace,
        sandbox: Sandbox,
        *,
        limits: Limits,
        cancelled: Callable[[], bool],
    ) -> Scored: ...


def wrong(
    reason: str, *, score: float = 0.0, kind: str = "wrong_output", output: str = "", tampered: tuple[str, ...] = ()
) -> Scored:
    """An answer that is not, or not all, right: signed by its reason."""
    said = redact(reason)
    return Scored(
        score=score,
        reason=said,
        output=redact(output),
        kind=kind,
        signature=sign(kind, template_of(said)),
        tampered=tampered,
    )


def unmeasured(reason: str, *, kind: str = "") -> Scored:
    """Nothing can be said of the answer, since the machine failed."""
    return Scored(score=0.0, reason=redact(reason), kind=kind, unmeasured=True)
