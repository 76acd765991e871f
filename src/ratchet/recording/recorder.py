"""Turns what a caller says about one run into a row of the journal, and never lets that hurt the caller.

What is valid is kept; what is not is left out, named in `context["invalid"]` and logged once. Standard library only
and quick to import: a host pays for this before its first call.
"""

from __future__ import annotations

import os
import time

from ratchet.failures.redaction.text import clean, redact_json, text_of
from ratchet.ids import CALL, outcome_id, uuid7
from ratchet.recording.journal import Journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Unpack

    from ratchet.records import Fields, Json, Row

_ID = 40  # characters of an id of ours
_CALL_UNIT = len(CALL) + 36
_LABEL = 200  # characters of a name (agent, model, session, ...)
_REMEMBERED = 1024  # labels known to hold no secret: the same few names come with every call
_MOST_MARKS = 100  # kinds of wrong calls that are logged
LATEST = 1e11  # Unix seconds; a greater number is milliseconds or nonsense
MOST_WHOLE = 10**12  # beyond it tokens or a status are no measurement; sums of millions of them fit every database
MOST_AMOUNT = 2.0**53  # beyond it a number is no measurement, and what is derived from it would not be stored
_PASSING = 0.5  # score from which on a run counts as a success when nothing else says


class Recorder:
    """Records outcomes into the journal of `home`. Safe under threads, signals and fork; nothing it does raises."""

    def __init__(self, home: str) -> None:
        self._journal = Journal(home, report=_report)

    @property
    def lost(self) -> int:
        """Count of records that could not be written (disk full, home unwritable) since this recorder was made."""
        return self._journal.lost

    def record(self, agent: str, **given: Unpack[Fields]) -> str:
        """Record one finished run and return its outcome's id.

        `ok` is taken as given; else a run with an error, an error status or a failing exit code is a failure, and one
        with a score is judged by it (0.5 and more is a success). A judgement that cannot be used (`ok=None`, a score of
        NaN) is no success. Costs microseconds, at any size of the history.
        """
        try:
            row = row_of(agent, given)
        except Exception:  # noqa: BLE001  (the edge to the host: its values may do anything)
            _tell("a call of record() could not be understood; only that it happened is kept", exc_info=True)
            row = least_row(agent, ok=_seems_ok(given))
        self._journal.append(row)
        return str(row["id"])

    def append(self, row: Row) -> bool:
        """Write a row that is redacted already (an exposure); True once it will survive this process."""
        return self._journal.append(row)

    def extend(self, lines: bytes, records: int) -> bool:
        """Write the lines of many rows that are redacted already (`batch`); True once all of them will survive this
        process."""
        return self._journal.extend(lines, records)

    def close(self) -> None:
        """Let go of the journal's segment. A later record begins another."""
        self._journal.close()


def least_row(agent: str, *, ok: bool) -> Row:
    """The row of an outcome that could not be understood: that it happened, whose it was, and how it went."""
    row: Row = {"r": "outcome", "id": uuid7(), "agent": _plainly_named(agent), "ok": ok, "started_at": time.time()}
    return {**row, "source": "python", "context": {"invalid": ["record"]}}


def row_of(agent: str, given: Mapping[str, object], faults: Sequence[str] = ()) -> Row:
    """The row of one outcome, redacted and capped, from the arguments of `record`. `faults` name what else is missing
    or not usable of what the caller said."""
    invalid = list(faults)
    row: Row = {"r": "outcome", "id": "", "agent": _named(agent), "ok": True, "started_at": 0.0, "source": "python"}
    if row["agent"] == _NAMELESS:
        invalid.append("agent")
    for name, value in given.items():
        if value is None:
            continue
        keep = _KEEP.get(name)
        kept = keep(value) if keep is not None else None
        if kept is None:
            if name not in _APART:
                invalid.append(clean(name, _LABEL))
        elif kept != "":
            row[name] = kept
    _judge(row, given, invalid)
    _describe(row, given, invalid)
    _date(row, given, invalid)
    if invalid:
        _blame(row, invalid)
    key = given.get("id")
    row["id"] = uuid7() if key is None else outcome_id(str(row["source"]), str(row.get("session", "")), text_of(key))
    return row


# --- single values -------------------------------------------------------------------------------------------------
_NAMELESS = "unknown"
_harmless: dict[str, None] = {}


def _named(agent: object) -> str:
    return _label(agent) or _NAMELESS


def _plainly_named(agent: object) -> str:
    """The name of an agent whose call could not be understood: it asks the value nothing."""
    return _named(agent) if type(agent) is str else _NAMELESS


def _label(value: object) -> str | None:
    """A name, redacted and at most 200 characters; None for what is none."""
    if type(value) is str and value in _harmless:
        return value
    if not isinstance(value, str | os.PathLike):
        return None
    text = text_of(value)
    kept = clean(text, _LABEL)
    if kept == text:  # only what holds no secret is remembered
        if len(_harmless) >= _REMEMBERED:
            _harmless.clear()
        _harmless[kept] = None
    return kept


def _text(value: object) -> str | None:
    return clean(text_of(value)) if isinstance(value, str) else None


def _number(value: object) -> float | None:
    """A number that is not negative, and no greater than a measurement can be."""
    if type(value) is not float:
        if isinstance(value, bool | str) or not hasattr(value, "__float__"):
            return None
        try:
            value = float(value)
        except Exception:  # noqa: BLE001  (a host's own __float__)
            return None
    return value if 0 <= value < MOST_AMOUNT else None


def _whole(value: object) -> int | None:
    if type(value) is not int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            return None
        value = int(value)
    return value if abs(value) <= MOST_WHOLE else None


def _count(value: object) -> int | None:
    whole = _whole(value)
    return whole if whole is not None and whole >= 0 else None


def _met(value: object) -> Json:
    """Trial -> unit. A call's own unit is our own making; any other is a name that a caller gave."""
    if not isinstance(value, dict) or not all(isinstance(trial, str) and len(trial) <= _ID for trial in value):
        return None
    units = {trial: unit if _is_call(unit) else _label(unit) for trial, unit in value.items()}
    return units if None not in units.values() else None


def _is_call(unit: object) -> bool:
    return isinstance(unit, str) and len(unit) == _CALL_UNIT and unit.startswith(CALL)


_KEEP: dict[str, Callable[[object], Json]] = {
    "task": _text,
    "duration_s": _number,
    "first_item_s": _number,
    "cost_usd": _number,
    "tokens": _count,
    "model": _label,
    "session": _label,
    "thread": _label,
    "unit": _label,
    "project": _label,
    "source": _label,
    "trials": _met,
}
# Understood together with others, below.
_APART = frozenset(
    ("ok", "score", "quality", "error", "status", "exit_code", "kind", "started_at", "step", "context", "id")
)


# --- what follows from several -------------------------------------------------------------------------------------
def _judge(row: Row, given: Mapping[str, object], invalid: list[str]) -> None:
    """Set `ok`, `score` and `failure`. A run of which nothing is said stays a success."""
    if _JUDGED.isdisjoint(given):
        return
    score = _score(given, invalid)
    if score is not None:
        row["score"] = score
    failure = _failure(given, invalid) if not _SPEAKS.isdisjoint(given) else {}
    ok = _truth(given.get("ok"))
    if ok is not None:
        row["ok"] = ok
    else:
        judged = "ok" in given or "score" in invalid or "quality" in invalid  # but there is no telling how
        if given.get("ok") is not None:
            invalid.append("ok")
        row["ok"] = not _says_failure(failure) and (not judged if score is None else score >= _PASSING)
    if failure:
        if row["ok"]:
            row["context"] = {"noted": failure}  # a success may still have had an error to tell
        else:
            row["failure"] = failure


_SPEAKS = frozenset(("error", "status", "exit_code", "kind"))
_JUDGED = _SPEAKS.union(("ok", "score", "quality"))


def _truth(value: object) -> bool | None:
    """True or False, as Python, a database (1, 0) or numpy has it; None for anything else."""
    if value is True or value is False:
        return value
    if type(value).__name__ in ("bool_", "bool") and type(value).__module__ == "numpy":
        return bool(value)
    return bool(value) if isinstance(value, bool | int) and value in (0, 1) else None


def _seems_ok(given: Mapping[str, object]) -> bool:
    """Decide how a run went that could not be understood: what told of a failure still does, unless the caller says."""
    ok = given.get("ok")
    if isinstance(ok, bool):
        return ok
    return "ok" not in given and all(given.get(name) is None for name in (*_SPEAKS, "score", "quality"))


def _score(given: Mapping[str, object], invalid: list[str]) -> float | None:
    """`score` in [0, 1]; a `quality` of 1 to 5 maps onto it."""
    for name, low, high in (("score", 0, 1), ("quality", 1, 5)):
        value = given.get(name)
        if value is None:
            continue
        number = _number(value)
        if number is not None and low <= number <= high:
            return (number - low) / (high - low)
        invalid.append(name)
    return None


def _failure(given: Mapping[str, object], invalid: list[str]) -> dict[str, Json]:
    failure: dict[str, Json] = {}
    error = given.get("error")
    if isinstance(error, BaseException):
        failure["message"] = clean(text_of(error))
        failure["type"] = type_name(type(error))
        bases = [type_name(base) for base in type(error).__mro__[1:] if base not in (BaseException, object)]
        if len(bases) > 1:
            failure["bases"] = list(bases)
        failure.update(_said_by(error))
    elif isinstance(error, str):
        failure["message"] = clean(text_of(error))
    elif error is not None and error is not False:
        failure["message"] = clean(text_of(error))
        invalid.append("error")
    for name, keep in (("kind", _label), ("status", _whole), ("exit_code", _whole)):
        value = given.get(name)
        if value is None:
            continue
        kept = keep(value)
        if kept is None:
            invalid.append(name)
        else:
            failure[name] = kept
    return failure


def _said_by(error: BaseException) -> dict[str, Json]:
    """The status, exit code and provider's code that an exception carries, and the kind of what it merely wraps."""
    from ratchet.failures.classification import VAGUE, kind_raised, raised

    facts = raised(error)
    said: dict[str, Json] = {"status": facts.status, "exit_code": facts.exit_code, "code": clean(facts.code, _LABEL)}
    if error.__cause__ is not None or isinstance(error, BaseExceptionGroup) or "last_attempt" in vars(error):
        kind = kind_raised(error)
        said["kind"] = kind if kind not in VAGUE else None
    return {name: value for name, value in said.items() if value}


def _says_failure(failure: dict[str, Json]) -> bool:
    status, exit_code = failure.get("status"), failure.get("exit_code")
    return (
        "message" in failure
        or "kind" in failure
        or (isinstance(status, int) and status >= 400)
        or (isinstance(exit_code, int) and exit_code != 0)
    )


def type_name(kind: type) -> str:
    """A class's name with its module, as `kinds.kind_of` reads it; builtins without."""
    module = kind.__module__
    return clean(kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}", _LABEL)


def _describe(row: Row, given: Mapping[str, object], invalid: list[str]) -> None:
    """Set `step` and `context`."""
    step = given.get("step")
    if step is not None:
        row["step"] = _step(step, invalid)
    context = given.get("context")
    if context is None:
        return
    if not isinstance(context, dict):
        invalid.append("context")
        return
    kept = redact_json(context, invalid, "context")
    if isinstance(kept, dict) and kept:
        held = row.get("context")
        row["context"] = {**kept, **held} if isinstance(held, dict) else kept


_STEP = ("tool", "head", "target", "input", "change")


def _step(step: object, invalid: list[str]) -> dict[str, Json]:
    kept: dict[str, Json] = {}
    for name in _STEP:
        value = step.get(name) if isinstance(step, dict) else getattr(step, name, None)
        if isinstance(value, dict | list):
            import json

            value = json.dumps(redact_json(value, invalid, f"step.{name}"), ensure_ascii=False)
        text = _text(value)
        if text:
            kept[name] = text
        elif value is not None and text is None:
            invalid.append(f"step.{name}")
    if "tool" not in kept:
        invalid.append("step.tool")
    return kept


def _date(row: Row, given: Mapping[str, object], invalid: list[str]) -> None:
    """Set `started_at`: as given, else as long ago as the run took."""
    value = given.get("started_at")
    if value is not None:
        stamp = getattr(value, "timestamp", None)  # a datetime
        moment = _number(stamp() if callable(stamp) else value)
        if moment is not None and moment < LATEST:
            row["started_at"] = moment
            return
        invalid.append("started_at")
    duration = row.get("duration_s")
    row["started_at"] = max(0.0, time.time() - (duration if isinstance(duration, float) else 0.0))


# --- telling -------------------------------------------------------------------------------------------------------
_logged: set[str] = set()


def _blame(row: Row, invalid: list[str]) -> None:
    names = sorted(set(invalid))[:20]
    held = row.get("context")
    row["context"] = {**(held if isinstance(held, dict) else {}), "invalid": list(names)}
    mark = ", ".join(names)
    if mark not in _logged and len(_logged) < _MOST_MARKS:
        _logged.add(mark)
        _tell("a run of %r is recorded without what is missing or not usable: %s", row["agent"], mark)


def _report(why: str) -> None:
    _tell("outcomes are being lost, the host is not affected: %s", why)


def _tell(message: str, *values: object, exc_info: bool = False) -> None:
    import logging  # costs a process a millisecond, and only faults are logged

    try:
        logging.getLogger(__name__).warning(message, *values, exc_info=exc_info)
    except Exception:  # noqa: BLE001  (a host's own handler or filter; there is nobody left to tell)
        return
