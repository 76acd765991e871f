"""Reads the lines of a journal segment: outcomes, exposures and events of the right shape, all else with its reason."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import NoReturn, cast

from ratchet.recording.decoding import quick_decoder
from ratchet.records import Json, Quarantined, Row


@dataclass(slots=True)
class Parsed:
    """Content of some lines, in their order."""

    outcomes: list[Row] = field(default_factory=list)
    exposures: list[Row] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    quarantined: list[Quarantined] = field(default_factory=list)
    lost: int = 0


def parsed(chunk: bytes, path: str, first_line: int) -> Parsed:
    """Read whole lines. `first_line` is the number of the first one, counted from 1; empty lines are allowed."""
    found = Parsed()
    rows = _all_at_once(chunk)
    if rows is not None:
        for number, row in enumerate(rows, first_line):
            _sort(row, found, path, number)
        return found
    for number, line in enumerate(chunk.split(b"\n"), first_line):
        if line:
            try:
                row = _decode(_scrubbed(line))
            except (ValueError, RecursionError) as error:
                found.quarantined.append(Quarantined(path=path, line=number, reason=_reason(line, error)))
            else:
                _sort(row, found, path, number)
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


_decode = json.JSONDecoder(parse_constant=_no_constant).decode


def _all_at_once(chunk: bytes) -> list[Json] | None:
    """A value for each line, read as one JSON array, which halves the cost; None when a line needs a look of its own
    (one that is broken, or empty, or holds an escape that no database takes).

    Two pieces of a line do not pass as one value, since there must be as many values as lines.
    """
    if b"\\u" in chunk and (b"\\u0000" in chunk or b"\\ud" in chunk or b"\\uD" in chunk):
        return None
    try:
        rows = _array(b"[" + chunk[:-1].replace(b"\n", b",") + b"]")
    except (ValueError, RecursionError):
        return None
    return rows if isinstance(rows, list) and len(rows) == chunk.count(b"\n") else None


def _array(text: bytes) -> Json:
    quick = quick_decoder(len(text))
    return cast(Json, _decode(text.decode())) if quick is None else quick(text)


def _scrubbed(line: bytes) -> str:
    """The text of a line without escapes that no database takes: NUL and lone surrogates."""
    text = line.decode()
    if "\\u0000" not in text and "\\ud" not in text.lower():
        return text
    value = json.loads(text)
    clean = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
    return clean.replace("\\u0000", "\\ufffd")


def _reason(line: bytes, error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"invalid UTF-8 at byte {error.start}"
    if b"\0" in line:
        return "holds NUL bytes"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg.removesuffix(' at')} at character {error.pos}"
    return f"not JSON: {error}"


def _sort(row: Json, found: Parsed, path: str, number: int) -> None:
    """Put a value where it belongs, or into quarantine with what is wrong about it."""
    wrong = "not an object"
    if isinstance(row, dict):
        kind = row.pop("r", None)
        if kind == "outcome":
            wrong = _wrong(row, _OUTCOME, _NEEDED["outcome"])
            if not wrong:
                found.outcomes.append(row)
        elif kind == "exposure":
            wrong = _wrong(row, _EXPOSURE, _NEEDED["exposure"])
            if not wrong:
                found.exposures.append(row)
        elif kind == "event":
            wrong = _wrong(row, _EVENT, _NEEDED["event"])
            if not wrong:
                found.events.append(row)
        elif kind == "lost":
            count, reason = row.get("count"), row.get("reason")
            found.lost += count if isinstance(count, int) else 0
            wrong = f"{count} records were never written before this line: {reason}"
        else:
            wrong = f"of unknown kind {str(kind)[:40]!r}"
    if wrong:
        found.quarantined.append(Quarantined(path=path, line=number, reason=wrong))


_Shape = dict[str, type]
_OUTCOME: _Shape = {
    **dict.fromkeys(("id", "agent", "task", "model", "source", "session", "thread", "unit", "project"), str),
    **dict.fromkeys(("started_at", "score", "duration_s", "first_item_s", "cost_usd"), float),
    "tokens": int,
    "ok": bool,
    **dict.fromkeys(("failure", "step", "context"), dict),
}
_EXPOSURE: _Shape = {
    **dict.fromkeys(("trial", "unit", "arm", "session", "pattern", "channel"), str),
    **dict.fromkeys(("share", "at", "settled_at", "due_at"), float),
    **dict.fromkeys(("settled", "ok"), bool),
    "revision": int,
}
_EVENT: _Shape = {**dict.fromkeys(("id", "noun", "record", "verb"), str), "at": float}
_NESTED: dict[str, _Shape] = {
    "failure": {
        **dict.fromkeys(("message", "kind", "type", "signature", "template"), str),
        **dict.fromkeys(("status", "exit_code"), int),
        "flagged": bool,
    },
    "step": dict.fromkeys(("tool", "head", "target", "input", "change"), str),
}
_NEEDED = {
    "outcome": ("id", "agent", "ok", "started_at"),
    "exposure": ("trial", "unit", "arm", "share", "at"),
    "event": ("id", "noun", "verb", "at"),
}
_WIDEST = 2**63  # what every database holds
_GREATEST = 1e300  # beyond, sums become infinite


def _wrong(row: Row, shape: _Shape, needs: tuple[str, ...] = ()) -> str:
    """Say what is wrong with a row's shape; empty when nothing is. Unknown fields pass: a newer version's."""
    for name in needs:
        if row.get(name) in (None, ""):
            return f"without {name}"
    for name, value in row.items():
        kind = shape.get(name)
        if kind is str or kind is bool or kind is None:  # most of them, so the test is spelled out
            if kind is None or type(value) is kind:
                continue
        elif kind is float and type(value) is float and -_GREATEST < value < _GREATEST:
            continue
        elif kind is dict:
            if isinstance(value, dict):
                wrong = _wrong(value, _NESTED[name]) if name in _NESTED else ""
                if not wrong:
                    continue
                return f"{name}.{wrong}"
        elif _is_whole(value):
            continue
        return f"{name} is {type(value).__name__} {str(value)[:40]!r}"
    return ""


def _is_whole(value: Json) -> bool:
    """A float's column takes it, too."""
    return type(value) is int and -_WIDEST <= value < _WIDEST
