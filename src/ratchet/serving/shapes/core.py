"""The JSON shapes of every reading operation: documented, stable, the same on each surface. More fields may come."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from ratchet.records import Json, Lesson, Pattern, Proposal, Quarantined, Trial, Version

if TYPE_CHECKING:
    from ratchet.failures.classification import Classification
    from ratchet.failures.patterns.correlation import Correlation
    from ratchet.failures.patterns.detail import PatternDetail
    from ratchet.failures.patterns.health import Health
    from ratchet.gate.effects import Effect
    from ratchet.improving.book import TrialDetail, Watched
    from ratchet.improving.loop.improve import Ticked
    from ratchet.improving.report import Report
    from ratchet.improving.settings.book import SettingsView
    from ratchet.improving.trials.evidence import Arm
    from ratchet.lessons.book import MemoryStats
    from ratchet.lessons.effect import LessonEffect
    from ratchet.lessons.learning import Learned
    from ratchet.lessons.portable import Imported
    from ratchet.lessons.recall import Found, Recalled
    from ratchet.recording.sources.watch_dir import Polled

Shape = dict[str, Json]


def learned(found: Learned) -> Shape:
    return {
        "files": found.files,
        "sessions": found.sessions,
        "outcomes": found.outcomes,
        "failures": found.failures,
        "unflagged": found.unflagged,
        "cascades": found.cascades,
        "user_denied": found.user_denied,
        "quarantined": [quarantined(each) for each in found.quarantined],
        "notes": [quarantined(each) for each in found.notes],
        "patterns": found.patterns,
        "lessons": {str(state): n for state, n in found.lessons.items()},
    }


def quarantined(bad: Quarantined) -> Shape:
    return {"path": bad.path, "line": bad.line, "reason": bad.reason}


def polled(found: Polled) -> Shape:
    return {
        "processed": found.processed,
        "outcomes": found.outcomes,
        "rejected": [quarantined(each) for each in found.rejected],
    }


def lesson(each: Lesson) -> Shape:
    return {
        "id": each.id,
        "text": each.text,
        "state": each.state,
        "scope": each.scope,
        "signature": each.signature,
        "kind": each.kind,
        "tried": each.tried,
        "worked": each.worked,
        "reason": each.reason,
        "when": each.when,
        "example": each.example,
        "projects": list(each.projects),
        "provenance": each.provenance,
        "evidence": list(each.evidence),
    }


def pattern(each: Pattern) -> Shape:
    return {
        "id": each.id,
        "signature": each.signature,
        "kind": each.kind,
        "template": each.template,
        "count": each.count,
        "sessions": each.sessions,
        "agents": list(each.agents),
        "first_seen": each.first_seen,
        "last_seen": each.last_seen,
        "trend": each.trend,
        "recurring": each.recurring,
        "wasted_s": each.wasted_s,
        "wasted_tokens": each.wasted_tokens,
        "impact": each.impact,
        "lessons": [
            {"id": known.id, "text": known.text, "state": known.state, "tried": known.tried, "worked": known.worked}
            for known in each.lessons
        ],
    }


def pattern_detail(detail: PatternDetail) -> Shape:
    return {
        **pattern(detail.pattern),
        "signatures": list(detail.signatures),
        "examples": list(detail.examples),
        "correlated": [correlation(each) for each in detail.correlated],
    }


def recalled(found: Recalled) -> Shape:
    return {
        "lessons": [_found(each) for each in found.lessons],
        "abstained": found.abstained,
        "searched": found.searched,
        "elapsed_ms": round(found.elapsed_ms, 2),
    }


def _found(each: Found) -> Shape:
    known = each.lesson
    return {
        "id": known.id,
        "text": known.text,
        "state": known.state,
        "match": each.match,
        "score": round(each.score, 4),
        "tried": known.tried,
        "worked": known.worked,
        "evidence": list(known.evidence),
    }


def health(found: Health) -> Shape:
    return {
        "score": found.score,
        "agents": dict(found.agents),
        "half_life_calls": found.half_life_calls,
    }


def classification(found: Classification) -> Shape:
    return {
        "kind": found.kind,
        "transient": found.transient,
        "retry_safe": found.retry_safe,
        "signature": found.signature,
        "template": found.template,
    }


def imported(found: Imported) -> Shape:
    return {
        "imported": found.imported,
        "known": found.known,
        "rejected": [quarantined(each) for each in found.rejected],
    }


def memory(found: MemoryStats) -> Shape:
    return {
        "lessons": found.lessons,
        "by_state": dict(found.by_state),
        "by_kind": dict(found.by_kind),
        "by_scope": dict(found.by_scope),
        "resolutions": found.resolutions,
        "tried": found.tried,
        "worked": found.worked,
        "uses": found.uses,
        "wins": found.wins,
    }


def correlation(each: Correlation) -> Shape:
    return {
        "patterns": [*each.patterns],
        "agents": [*each.agents],
        "unit": each.unit,
        "together": each.together,
        "expected": each.expected,
        "units": each.units,
        "p": each.p,
        "q": each.q,
        "statistic": each.statistic,
    }


def report(found: Report) -> Shape:
    return {
        "effect": _effect(found.pooled),
        "lessons": [_lesson_effect(each) for each in found.lessons],
        "withheld_share": found.withheld_share,
        "waiting": found.waiting,
        "not_attempted": found.not_attempted,
        "changes": [_settled(each) for each in found.changes],
    }


def _effect(each: Effect) -> Shape:
    return {
        "verdict": each.verdict,
        "estimate": each.estimate,
        "low": each.low,
        "high": each.high,
        "evidence": each.evidence if isfinite(each.evidence) else None,
        "shown": each.shown,
        "shown_ok": each.shown_ok,
        "withheld": each.withheld,
        "withheld_ok": each.withheld_ok,
    }


def _lesson_effect(each: LessonEffect) -> Shape:
    return {
        "id": each.id,
        "text": each.text,
        "state": each.state,
        "enough": each.enough,
        "estimate": each.effect.estimate,
        "spread": each.effect.spread,
        "shown": each.counts.shown,
        "shown_ok": each.counts.shown_ok,
        "withheld": each.counts.withheld,
        "withheld_ok": each.counts.withheld_ok,
    }


def settings(found: SettingsView) -> Shape:
    return {
        "agent": found.agent,
        "version": found.version.number,
        "knobs": [
            {"name": knob.name, "value": knob.value, "set": knob.is_set, "bounds": knob.bounds} for knob in found.knobs
        ],
    }


def version(found: Version) -> Shape:
    return {
        "target": found.target,
        "number": found.number,
        "values": dict(found.values),
        "parent": found.parent,
        "who": found.who,
        "why": found.why,
        "at": found.at,
        "applied_at": found.applied_at,
    }


def trial(each: Trial) -> Shape:
    return {
        "id": each.id,
        "target": each.change.target,
        "agent": each.change.agent,
        "state": each.state,
        "mode": each.mode,
        "unit": each.unit,
        "new": dict(each.change.new),
        "old": each.edit.get("before") or {},
        "metric": each.change.metric,
        "fix": each.change.fix,
        "reason": each.reason,
        "why": each.change.reason,
        "share": each.share,
        "alpha": each.alpha,
        "deadline_s": each.deadline_s,
        "attempt": each.attempt,
        "created_at": each.created_at,
        "opened_at": each.opened_at,
        "closed_at": each.closed_at or None,
    }


def trial_detail(found: TrialDetail) -> Shape:
    said = found.evidence
    return {
        **trial(found.trial),
        "arms": {"new": _arm(said.new), "old": _arm(said.old)},
        "exposures": said.exposures,
        "waiting": said.waiting,
        "evidence": {
            "keep": _finite(said.toward),
            "revert": _finite(said.against),
            "threshold": said.threshold,
            "against_by_metric": {name: _finite(value) for name, value in said.metrics.items()},
        },
        "counts": [
            {"share": share, "fail_new": c[0], "fail_old": c[1], "ok_new": c[2], "ok_old": c[3]}
            for share, c in sorted(said.counts.items())
        ],
        "effect": {"estimate": said.effect.estimate, "low": said.effect.low, "high": said.effect.high},
        "events": [{"at": event.get("at"), "verb": event.get("verb")} for event in found.events],
    }


def _settled(each: Trial) -> Shape:
    figures = each.figures
    return {
        "id": each.id,
        "target": each.change.target,
        "state": each.state,
        "mode": each.mode,
        "new": dict(each.change.new),
        "reason": each.reason,
        "closed_at": each.closed_at,
        "estimate": figures.get("estimate"),
        "low": figures.get("low"),
        "high": figures.get("high"),
    }


def _arm(each: Arm) -> Shape:
    return {
        "units": each.units,
        "ok": each.ok,
        "latency_s": each.latency_s,
        "cost_usd": each.cost_usd,
        "score": each.score,
    }


def _finite(value: float) -> Json:
    return value if isfinite(value) else None


def proposal(each: Proposal) -> Shape:
    return {
        "id": each.id,
        "agent": each.agent,
        "pattern": each.pattern,
        "kind": each.kind,
        "title": each.title,
        "fix": each.fix,
        "state": each.state,
        "target": each.change.target if each.change else "",
        "new": dict(each.change.new) if each.change else {},
        "trial": each.trial,
        "reason": each.reason,
        "evidence": dict(each.evidence),
        "created_at": each.created_at,
        "updated_at": each.updated_at,
    }


def watched(each: Watched) -> Shape:
    return {
        "agent": each.agent,
        "failures": each.pulse.failures,
        "window_s": each.pulse.window_s,
        "cooldown_s": each.pulse.cooldown_s,
        "why": each.pulse.why,
    }


def ticked(done: Ticked) -> Shape:
    return {
        "proposed": [*done.proposed],
        "opened": [*done.opened],
        "settled": [*done.settled],
        "closed": [*done.closed],
        "retired": [*done.retired],
        "faults": [*done.faults],
    }
