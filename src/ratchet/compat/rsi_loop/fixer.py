"""Proposes fixes the rsi-loop way. "Applied" is said of what was tried and kept, never of a word in a file."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from ratchet.client import Ratchet
from ratchet.compat.rsi_loop.types import KIND_OF, Config, Fix, Pattern
from ratchet.errors import RatchetError
from ratchet.failures.kinds.table import KINDS
from ratchet.improving.loop.rules import RULES, SAFE
from ratchet.improving.settings.versions import target_of
from ratchet.ports import Fix as Suggested
from ratchet.ports import Problem
from ratchet.records import Proposal

log = logging.getLogger(__name__)

_ADVICE = "investigation"
_STATUS = {
    "trial": "trial",
    "kept": "applied",
    "reverted": "rejected",
    "undecided": "rejected",
    "rejected": "rejected",
    "closed": "closed",
}


class Fixer:
    """Proposes and starts fixes; proposals are kept in the store, and `ratchet proposals` shows them."""

    def __init__(self, config: Config | None = None, ratchet: Ratchet | None = None) -> None:
        self.config = config or Config()
        self._ratchet = ratchet or Ratchet(self.config.data_dir, foreign_home=True)

    def propose(self, pattern: Pattern) -> Fix:
        """The usual fix for a pattern's issue. Nothing is kept yet."""
        kind = KIND_OF.get(pattern.issue, "other")
        rule = next(iter(RULES.get(kind, ())), None)
        category = rule.fix if rule else _ADVICE
        usual = rule.title if rule else "; or ".join(KINDS[kind][3])
        safe = category in self.config.safe_categories
        seen = f"Detected {pattern.frequency}x, failure rate {pattern.failure_rate:.0%}"
        changes = [{"target": step.knob, "action": usual, "detail": seen} for step in rule.steps] if rule else []
        return Fix(
            pattern_id=pattern.id,
            type="auto" if safe else "manual",
            status="proposed" if safe else "draft",
            target=target_of(_agent(pattern)) if rule else "",
            changes=changes,
            safe_category=category if safe else "",
            description=f"{pattern.issue.replace('_', ' ')} in '{pattern.task_type}': {usual}",
        )

    def apply_if_safe(self, fix: Fix) -> bool:
        """Start a safe fix, and tell whether it was: it is tried on a share of the calls, kept where it is proven
        better, else undone. What changes no live setting waits for a person."""
        held = next((each for each in self._ratchet.proposals.list(state="open") if each.id == fix.id), None)
        if held is None or held.change is None or held.fix not in {*self.config.safe_categories} & SAFE:
            return False
        if held.change.target != target_of(held.agent):  # a file or a function has no bounds
            return False
        try:
            self._ratchet.proposals.approve(held.id)
        except RatchetError as refused:
            log.info("fix.waits", extra={"fix": fix.id, "why": str(refused)})
            return False
        fix.status = "trial"
        return True

    def propose_and_apply(self, pattern: Pattern) -> Fix:
        """Put a fix forward, and start it where it is safe."""
        fix = self.propose(pattern)
        held = self._put_forward(pattern, fix)
        if held is not None:
            fix.id = held.id
        self.apply_if_safe(fix)
        return fix

    def load_proposals(self) -> list[Fix]:
        """All fixes that were put forward, with what became of them, newest first."""
        return [self.told(each) for each in self._ratchet.proposals.list()]

    def told(self, held: Proposal) -> Fix:
        """rsi-loop's form of a proposal."""
        safe = held.change is not None and held.fix in self.config.safe_categories
        new = held.change.new.items() if held.change else ()
        return Fix(
            id=held.id,
            pattern_id=held.pattern,
            type="auto" if safe else "manual",
            status=_STATUS.get(held.state, "proposed" if safe else "draft"),
            target=held.change.target if held.change else "",
            changes=[{"target": name, "action": f"set to {value}", "detail": held.reason} for name, value in new],
            safe_category=held.fix if safe else "",
            description=held.title,
            created_at=datetime.fromtimestamp(held.created_at, UTC).isoformat(),
        )

    def _put_forward(self, pattern: Pattern, fix: Fix) -> Proposal | None:
        problem = Problem(
            agent=_agent(pattern),
            kind=KIND_OF.get(pattern.issue, "other"),
            pattern=pattern.id,
            template=pattern.description,
            count=pattern.frequency,
            calls=pattern.frequency,
            window_s=self.config.analysis_window_days * 86_400.0,
            values={},
            knobs={},
        )
        book = self._ratchet.proposals
        made = book.add(problem, Suggested(title=fix.description, fix="advice"))
        return made or next((each for each in book.list(agent=problem.agent) if each.pattern == pattern.id), None)


def _agent(pattern: Pattern) -> str:
    return pattern.sources[0] if pattern.sources else "generic"
