"""Finds what keeps failing, the rsi-loop way: by task and issue, and by signature."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from ratchet.compat.rsi_loop.observer import Observer, told_of
from ratchet.compat.rsi_loop.types import HIGH_SEVERITY_ISSUES, KIND_OF, Config, Issue, Outcome, Pattern
from ratchet.config import load
from ratchet.failures.health import health_of
from ratchet.failures.kinds.table import KINDS
from ratchet.failures.patterns.trend import Halves, trend
from ratchet.runtime import Runtime

MOST = 20

_CATEGORIES: dict[Issue, str] = {
    **dict.fromkeys(("skill_gap", "missing_tool", "wrong_output"), "skill_gap"),
    **dict.fromkeys(
        ("rate_limit", "model_fallback", "wrong_model_tier", "slow_response", "cost_overrun"), "model_routing"
    ),
    **dict.fromkeys(("context_loss", "session_reset", "memory_miss", "compaction_lost_context"), "memory_continuity"),
    **dict.fromkeys(("repeated_mistake", "over_confirmation", "bad_routing"), "behavior_pattern"),
    **dict.fromkeys(("tool_error", "timeout", "empty_response"), "tool_reliability"),
}
_TRENDS = {"new": "new", "rising": "increasing", "steady": "stable", "falling": "decreasing", "quiet": "decreasing"}


class Analyzer:
    """Detects patterns in what an observer recorded."""

    def __init__(self, config: Config | None = None, observer: Observer | None = None) -> None:
        self.config = config or Config()
        self.observer = observer or Observer(self.config)

    def analyze(self, days: int | None = None) -> list[Pattern]:
        """List what fails more than once (a severe issue: once) in the window; at most 20, greatest impact first."""
        kept = self.observer.kept(days)
        outcomes = [told_of(each) for each in kept]
        if not outcomes:
            return []
        tasks: dict[tuple[str, Issue], list[Outcome]] = defaultdict(list)
        clusters: dict[str, list[Outcome]] = defaultdict(list)
        for own, outcome in zip(kept, outcomes, strict=True):
            for issue in outcome.issues:
                tasks[outcome.task_type, issue].append(outcome)
            if own.failure is not None and own.failure.signature:
                clusters[own.failure.template].append(outcome)
        found = [*self._by_task(tasks, outcomes), *self._by_signature(clusters, outcomes)]
        return sorted(found, key=lambda each: -each.impact_score)[:MOST]

    def health_score(self, days: int | None = None) -> float:
        """Rate the agents' last runs, recent ones first: 0 (all fail) to 1; 1 before the first run."""
        ran: dict[str, list[bool]] = defaultdict(list)
        for each in self.observer.load_outcomes(days):
            ran[each.source].append(each.success)
        score = health_of(ran).score
        return 1.0 if score is None else round(score, 3)

    def cross_source_correlations(self, days: int | None = None) -> list[dict[str, str | list[str]]]:
        """Issues of different sources that come together more often than chance explains (Fisher's exact test)."""
        del days  # a cause that is shared shows over ninety days
        with Runtime(load(home=self.config.data_dir, foreign_home=True)) as runtime:
            kinds = {each.id: each.kind for each in runtime.patterns()}
            return [
                {
                    "issues": sorted(kinds.get(each, each) for each in found.patterns),
                    "correlation": f"same {found.unit}",
                    "sources": sorted(found.agents),
                }
                for found in runtime.correlations()
            ]

    def _by_task(self, groups: dict[tuple[str, Issue], list[Outcome]], among: Sequence[Outcome]) -> Iterator[Pattern]:
        for (task, issue), group in groups.items():
            if len(group) >= (1 if issue in HIGH_SEVERITY_ISSUES else 2):
                usual = KINDS[KIND_OF.get(issue, "other")][3][0]
                said = f"In '{task}' tasks, '{issue}' occurs {len(group)}x with {_failing(group):.0%} failure rate"
                yield self._pattern(group, among, f"{task}-{issue}", issue, said, usual, task)

    def _by_signature(self, clusters: dict[str, list[Outcome]], among: Sequence[Outcome]) -> Iterator[Pattern]:
        for template, group in clusters.items():
            if len(group) >= 2:
                said = f"Error cluster ({len(group)}x): {template[:60]}"
                usual = KINDS[KIND_OF.get(group[0].issues[0], "other")][3][0]
                yield self._pattern(group, among, f"err-{template[:40]}", "error_cluster", said, usual, "mixed")

    def _pattern(
        self,
        group: Sequence[Outcome],
        among: Sequence[Outcome],
        name: str,
        issue: Issue,
        said: str,
        action: str,
        task: str,
    ) -> Pattern:
        deficit = 5 - sum(each.quality for each in group) / len(group)
        return Pattern(
            id=name,
            category="error_cluster" if issue == "error_cluster" else _CATEGORIES.get(issue, "other"),
            task_type=task,
            issue=issue,
            frequency=len(group),
            impact_score=len(group) / len(among) * deficit,
            failure_rate=_failing(group),
            description=said,
            sample_errors=[each.error_message for each in group if each.error_message][:3],
            suggested_action=action,
            sources=sorted({each.source for each in group}),
            first_seen=min(each.timestamp for each in group),
            last_seen=max(each.timestamp for each in group),
            recurring=len(group) >= self.config.recurrence_threshold,
            trend=_trend(group, among),
        )


def _failing(group: Iterable[Outcome]) -> float:
    ran = [not each.success for each in group]
    return sum(ran) / len(ran)


def _trend(group: Sequence[Outcome], among: Sequence[Outcome]) -> str:
    """The later half of all that was recorded against the earlier."""
    middle = among[len(among) // 2].timestamp
    later = sum(each.timestamp >= middle for each in group)
    calls = sum(each.timestamp >= middle for each in among)
    halves = Halves(
        start=0.0,
        middle=0.0,
        earlier=len(group) - later,
        later=later,
        calls_earlier=len(among) - calls,
        calls_later=calls,
    )
    return _TRENDS["new" if later == len(group) else trend(halves, first_seen=-1.0, last_seen=1.0)]
