"""Tells what a session's tokens were used for, and which of it was waste. Pure.

An answer's tokens go to the first call that it made; those of one that made none to the next call of its thread, which
they led to; those behind the last call to no tool at all. So the sum is that of all answers, each once.

Waste are calls that failed by the agent's own fault, the same call failing again (`retry`), and calls of a loop but for
its first. Time counts where a call took it itself, not a person who was asked; of calls at the same time each second
counts once (`failures.waiting`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ratchet.failures.health import EXCUSED
from ratchet.failures.waiting import CallSpan, own_s, own_times
from ratchet.records import Row, number_in, text_in, whole_in

HOUR_S = 3600
CLASSES = ("given", "stored", "stored_hour", "cached", "made", "begun")
_Key = tuple[str, str, str, str, str, int]


@dataclass(slots=True)
class _Spent:
    """Sums of one key."""

    calls: int = 0
    tokens: dict[str, int] = field(default_factory=dict)
    cost_usd: float = 0.0
    duration_s: float = 0.0
    wasted_s: float = 0.0


def is_mined(row: Row) -> bool:
    """Tell whether an outcome is counted with its session when that is mined; any other is as it comes."""
    return bool(row.get("session")) and (bool(row.get("step")) or row.get("task") == "model")


def spending(rows: Sequence[Row], answers: Sequence[Row]) -> list[Row]:
    """The rows of a session's spending, without session and project. `rows` are its outcomes and `answers` what is
    kept of its models' answers, both in the order of time."""
    rows = [row for row in rows if is_loop(row) or is_mined(row)]
    waste = _wasted(rows)
    took = own_times(_span(row) for row in rows if not is_loop(row))
    held = _called(rows, waste, took, split=bool(answers))
    for answer, called in _paired(rows, answers):
        key = _key(called or answer, text_in(answer, "model"), waste)
        _add(held.setdefault(key, _Spent()), {name: whole_in(answer, name) for name in CLASSES})
    return [_row_of(key, spent) for key, spent in sorted(held.items())]


def spent_by(rows: Sequence[Row]) -> list[Row]:
    """The rows of spending of outcomes that stand for themselves: their failures are waste."""
    failed = {text_in(row, "id"): "failure" for row in rows if _failed(row)}
    took = {span.id: own_s(span.tool, span.head, span.duration_s) for span in map(_span, rows)}
    return [_row_of(key, spent) for key, spent in sorted(_called(rows, failed, took, split=False).items())]


def _called(
    rows: Sequence[Row], waste: Mapping[str, str], took: Mapping[str, float], *, split: bool
) -> dict[_Key, _Spent]:
    """Count calls and the seconds that each took; their tokens and cost where no answers tell of those."""
    held: dict[_Key, _Spent] = {}
    for row in rows:
        if is_loop(row):
            continue
        spent = held.setdefault(_key(row, text_in(row, "model"), waste), _Spent())
        spent.calls += 1
        own = took[text_in(row, "id")]
        spent.duration_s += own
        spent.wasted_s += own if text_in(row, "id") in waste else 0.0
        if not split:
            spent.cost_usd += number_in(row, "cost_usd")
            _add(spent, {"unsplit": whole_in(row, "tokens")})
    return held


def _failed(row: Row) -> bool:
    return not row.get("ok") and text_in(row.get("failure"), "kind") not in EXCUSED


def _key(row: Row, model: str, waste: Mapping[str, str]) -> _Key:
    signature = text_in(row.get("failure"), "signature")
    return (
        text_in(row, "agent"),
        model or text_in(row, "model"),
        text_in(row.get("step"), "tool") or ("model" if row.get("task") == "model" else ""),  # a task may be any text
        signature,
        waste.get(text_in(row, "id"), ""),
        int(number_in(row, "started_at", number_in(row, "at")) // HOUR_S),
    )


def _add(spent: _Spent, more: Mapping[str, int]) -> None:
    for name, count in more.items():
        spent.tokens[name] = spent.tokens.get(name, 0) + count


def _row_of(key: _Key, spent: _Spent) -> Row:
    agent, model, tool, signature, waste, hour = key
    row: Row = {
        "agent": agent,
        "model": model,
        "tool": tool,
        "signature": signature,
        "waste": waste,
        "hour": hour,
        "calls": spent.calls,
        "cost_usd": spent.cost_usd,
        "duration_s": spent.duration_s,
        "wasted_s": spent.wasted_s,
    }
    return {**row, **spent.tokens}


def is_loop(row: Row) -> bool:
    """Tell whether analysis added an outcome that stands for a loop."""
    return text_in(row.get("failure"), "kind") == "loop_detected" and "calls" in (row.get("context") or ())  # type: ignore[operator]


def _wasted(rows: Iterable[Row]) -> dict[str, str]:
    """Outcome id -> why it was waste."""
    found: dict[str, str] = {}
    failed: set[tuple[str, str, str, str]] = set()
    for row in rows:
        if is_loop(row):
            context = row["context"]
            again = context["calls"][1:] if isinstance(context, dict) and isinstance(context["calls"], list) else ()
            found.update((str(each), "loop") for each in again)
            continue
        step = row.get("step")
        intent = (text_in(row, "thread"), text_in(step, "tool"), text_in(step, "head"), text_in(step, "target"))
        if row.get("ok"):
            failed.discard(intent)
        elif _failed(row):
            found.setdefault(text_in(row, "id"), "retry" if step and intent in failed else "failure")
            failed.add(intent)
    return found


def _span(row: Row) -> CallSpan:
    step = row.get("step")
    began, took = number_in(row, "started_at"), number_in(row, "duration_s")
    return CallSpan(text_in(row, "id"), text_in(step, "tool"), text_in(step, "head"), began, took)


def _paired(rows: Sequence[Row], answers: Iterable[Row]) -> list[tuple[Row, Row | None]]:
    """Each answer with the call that it made or led to."""
    known = {text_in(row, "id"): row for row in rows}
    after: dict[str, list[Row]] = {}
    for row in rows:
        if not is_loop(row):
            after.setdefault(text_in(row, "thread"), []).append(row)
    places = dict.fromkeys(after, 0)
    found: list[tuple[Row, Row | None]] = []
    for answer in answers:
        made = known.get(text_in(answer, "step"))
        thread = text_in(answer, "thread")
        following = after.get(thread, [])
        place = places.get(thread, 0)
        while place < len(following) and number_in(following[place], "started_at") < number_in(answer, "at"):
            place += 1
        places[thread] = place
        found.append((answer, made or (following[place] if place < len(following) else None)))
    return found
