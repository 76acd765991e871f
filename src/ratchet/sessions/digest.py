"""A digest of a stretch of time: what ran, what it cost, what is new or rising, and what waits for a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ratchet.lessons.failing import FailsBy, fails_by
from ratchet.lessons.lessons import by_merit
from ratchet.lessons.rows import lesson_of
from ratchet.records import Json, Pattern, Trial, number_in, text_in, whole_in
from ratchet.sessions.cost import Cost, costs
from ratchet.sessions.prices import Prices

if TYPE_CHECKING:
    from ratchet.ports import Store

_HOUR_S = 3_600
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestLesson:
    """A lesson as a digest names it."""

    id: str
    text: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A stretch of time. Patterns that people put aside are left out: `new` ones began in it and came again,
    `regressed` ones had been resolved, `rising` ones became more frequent, `frequent` ones came as often as an alert
    asks; `learnt` lessons were made in it, in the order of their list, `waiting` counts those that wait for a person,
    `decided` trials ended in it, `shown` counts lessons handed over. `before` is the failure rate of the stretch
    before, None where nothing ran."""

    since: float
    until: float
    sessions: int
    calls: int
    failures: int
    before: float | None
    cost: Cost
    fails: tuple[FailsBy, ...]
    new: tuple[Pattern, ...]
    regressed: tuple[Pattern, ...]
    rising: tuple[Pattern, ...]
    frequent: tuple[Pattern, ...]
    learnt: tuple[DigestLesson, ...]
    waiting: int
    decided: tuple[Trial, ...]
    shown: int

    @property
    def rate(self) -> float | None:
        """The share of calls that failed; None where none ran."""
        return self.failures / self.calls if self.calls else None

    @property
    def alerts(self) -> tuple[str, ...]:
        """Name what somebody should hear of, a sentence each."""
        told = [("back after it was resolved", each) for each in self.regressed]
        told += [("new", each) for each in self.new] + [("rising", each) for each in self.rising]
        known = {each.id for _, each in told}
        told += [("frequent", each) for each in self.frequent if each.id not in known]
        return tuple(
            f"{what}: {code(each.template)} ({each.kind}, {each.count:,} times, {each.id})" for what, each in told
        )


def digest(
    store: Store,
    prices: Prices,
    patterns: Sequence[Pattern],
    trials: Sequence[Trial],
    *,
    since: float,
    until: float,
    often: int | None = None,
) -> Digest:
    """Digest the time from `since` to `until` (Unix seconds). `patterns` are those of the store with what is counted of
    them, `trials` the settled ones; `often` is how many failures of a pattern within it are worth an alert."""
    ran, before = _ran(store, since, until), _ran(store, since - (until - since), since)
    within = [each for each in patterns if each.last_seen >= since and each.triage.state in ("open", "regressed")]
    learnt = store.find("lessons", {"state": ("in", ["active", "candidate"])}).rows
    made = sorted((lesson_of(row) for row in learnt if since <= number_in(row, "created_at") < until), key=by_merit)
    counted = _counts(store, within, since, until) if often else {}
    return Digest(
        since=since,
        until=until,
        sessions=_sessions(store, since, until),
        calls=ran[0],
        failures=ran[1],
        before=before[1] / before[0] if before[0] else None,
        cost=costs(store, prices, by="model", since=since, until=until).total,
        fails=tuple(each for each in fails_by(store, "command", since=since) if each.failures)[:_SHOWN],
        new=tuple(each for each in within if each.first_seen >= since and each.count > 1)[:_SHOWN],
        regressed=tuple(each for each in within if each.triage.state == "regressed")[:_SHOWN],
        rising=tuple(each for each in within if each.trend == "rising" and each.first_seen < since)[:_SHOWN],
        frequent=tuple(each for each in within if often and counted.get(each.id, 0) >= often)[:_SHOWN],
        learnt=tuple(DigestLesson(id=each.id, text=_line(each.text), state=each.state) for each in made[:_SHOWN]),
        waiting=sum(row["state"] == "candidate" for row in learnt),
        decided=tuple(each for each in trials if since <= each.closed_at < until),
        shown=_shown(store, since, until),
    )


def _ran(store: Store, since: float, until: float) -> tuple[int, int]:
    """(calls, failures) of whole hours."""
    rows = store.sum_by("activity", ("hour",), ("calls", "failures"), {"hour": (">=", int(since // _HOUR_S))})
    held = [row for row in rows if whole_in(row, "hour") * _HOUR_S < until]
    return sum(whole_in(row, "calls") for row in held), sum(whole_in(row, "failures") for row in held)


def _sessions(store: Store, since: float, until: float) -> int:
    rows = store.sum_by("session_tallies", (), ("count:*",), {"max_at": (">=", since), "min_at": ("<", until)})
    return whole_in(rows[0], "count:*")


def _shown(store: Store, since: float, until: float) -> int:
    rows = store.sum_by("exposures", ("arm",), ("count:*",), {"at": (">=", since), "arm": "new"})
    later = store.sum_by("exposures", ("arm",), ("count:*",), {"at": (">=", until), "arm": "new"})
    return sum(whole_in(row, "count:*") for row in rows) - sum(whole_in(row, "count:*") for row in later)


def _counts(store: Store, patterns: Sequence[Pattern], since: float, until: float) -> dict[str, int]:
    """Failures of each pattern within the time."""
    wanted: list[Json] = [each.id for each in patterns]
    of = {
        text_in(row, "signature"): text_in(row, "pattern")
        for row in store.find("signatures", {"pattern": ("in", wanted)}).rows
    }
    found: dict[str, int] = {}
    hours = {"signature": ("in", [*of]), "hour": (">=", int(since // _HOUR_S))}
    for row in store.sum_by("tallies", ("signature", "hour"), ("n",), hours):  # type: ignore[arg-type]
        if whole_in(row, "hour") * _HOUR_S < until:
            pattern = of[text_in(row, "signature")]
            found[pattern] = found.get(pattern, 0) + whole_in(row, "n")
    return found


def _line(text: str) -> str:
    said = " ".join(text.split())
    return said if len(said) <= 140 else said[:139] + "…"


# -- in words -------------------------------------------------------------------------------------------------------


def markdown(found: Digest) -> str:
    """The digest as Markdown."""
    blocks = [f"# Ratchet, {_date(found.since)} to {_date(found.until)}", " ".join(summary(found))]
    blocks += _block("Alerts", found.alerts)
    blocks += _block("What fails most", [fail_line(each) for each in found.fails])
    blocks += _block("Learnt", [f"{code(each.text)} ({each.state}, {each.id})" for each in found.learnt])
    decided = [f"{each.state}: {code(each.change.target)}: {_line(each.reason)} ({each.id})" for each in found.decided]
    blocks += _block("What became of changes", decided)
    return "\n\n".join(blocks) + "\n"


def html(found: Digest) -> str:
    """The digest as a page of its own, for mail: no script, nothing loaded."""
    from html import escape

    parts: list[str] = []
    for line in markdown(found).split("\n"):
        said = escape(line)
        if line.startswith("# "):
            parts.append(f"<h1>{said[2:]}</h1>")
        elif line.startswith("## "):
            parts.append(f"<h2>{said[3:]}</h2>")
        elif line.startswith("- "):
            parts.append(f"<p>&bull; {said[2:]}</p>")
        elif line:
            parts.append(f"<p>{said}</p>")
    body = "\n".join(parts)
    head = '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Ratchet</title>'
    return f"{head}\n<body>\n{body}\n</body></html>\n"


def summary(found: Digest) -> list[str]:
    """The digest in a few sentences."""
    if not found.calls:
        return ["Nothing ran."]
    rate = f"{found.failures:,} of {found.calls:,} steps failed ({100 * (found.rate or 0):.1f} %)"
    if found.before is not None:
        rate += f", {100 * found.before:.1f} % in the time before"
    said = [f"{found.sessions:,} sessions. {rate}."]
    if found.cost.cost_usd is not None:
        waste = f", {found.cost.wasted_usd:,.2f} USD of it waste" if found.cost.wasted_usd else ""
        caveat = f" ({found.cost.tokens.caveat})" if found.cost.tokens.begun else ""
        said.append(f"{found.cost.tokens.total:,} tokens, {found.cost.cost_usd:,.2f} USD{waste}{caveat}.")
    elif found.cost.tokens.total:
        said.append(f"{found.cost.tokens.total:,} tokens, at prices that nobody knows here.")
    if found.shown:
        said.append(f"Lessons were handed over {found.shown:,} times.")
    if found.waiting:
        said.append(f"{found.waiting:,} lessons wait for you: ratchet lessons list --state candidate")
    return said


def fail_line(each: FailsBy) -> str:
    """A row of what fails, in words."""
    counted = f"{each.failures:,} failed, {each.sessions:,} sessions"
    return f"{code(each.name)} {100 * (each.share or 0):.0f} % of {each.runs:,} runs ({counted})"


def code(text: str) -> str:
    """Foreign text in a code span, cut to a line; what would end the span is another sign."""
    return "`" + _line(text).replace("`", "'") + "`"


def _block(title: str, lines: Sequence[str]) -> list[str]:
    return [f"## {title}", "\n".join(f"- {line}" for line in lines)] if lines else []


def _date(at: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at, UTC).date().isoformat()
