"""Write down an edit of a target's keys, and undo it beside a person's later edits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ratchet.errors import UsageError
from ratchet.ports import Edit
from ratchet.records import Json, Row, record_of


@dataclass(frozen=True, slots=True)
class WayBack:
    """Way to undo an edit: values to `put`, keys to take `out`, and those `kept` since somebody else set them."""

    put: dict[str, Json]
    out: tuple[str, ...]
    kept: dict[str, Json]

    @property
    def restored(self) -> tuple[str, ...]:
        return (*self.put, *self.out)


def way_back(edit: Edit, now: Mapping[str, Json]) -> WayBack:
    """Work out what undoing `edit` has to do to a target that holds `now`. A key that is as it was before needs
    nothing."""
    put: dict[str, Json] = {}
    out: list[str] = []
    kept: dict[str, Json] = {}
    for key in keys_of(edit):
        if _alike(key, now, edit.before):
            continue
        if not _alike(key, now, edit.after):
            kept[key] = now.get(key)
        elif key in edit.before:
            put[key] = edit.before[key]
        else:
            out.append(key)
    return WayBack(put, tuple(out), kept)


def keys_of(edit: Edit) -> tuple[str, ...]:
    """The keys that an edit touches, in order."""
    return tuple(dict.fromkeys((*edit.before, *edit.after)))


def own(edit: Edit, values: Mapping[str, Json]) -> dict[str, Json]:
    """Those of a target's values that the edit is about."""
    return {key: values[key] for key in keys_of(edit) if key in values}


def same(one: Json, other: Json) -> bool:
    """Tell whether two values mean the same: 1 is 1.0, but neither is true; the order of an object's keys does not
    count."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return one == other or (one != one and other != other)  # NaN, of which some notations have one


def plain_values(values: Mapping[str, object], what: str) -> dict[str, Json]:
    """The values as JSON (tuples become lists). Raises UsageError naming `what` and the key that is none."""
    plain: dict[str, Json] = {}
    for key, value in values.items():
        if not isinstance(key, str):
            raise UsageError(f"{what}: the key {key!r} is not text; name keys by strings")
        try:
            plain[key] = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"{what}: {key} is {type(value).__name__}, which JSON cannot hold ({error})") from error
    return plain


def edit_of(row: Row) -> Edit:
    """The edit that a row holds. Raises UsageError when it holds none."""
    if not isinstance(row.get("before"), dict) or not isinstance(row.get("after"), dict):
        raise UsageError(f"not an edit: it lacks before or after; its fields are {', '.join(sorted(row)) or 'none'}")
    return record_of(Edit, {"target": "", "version": "", "result": "", **row})


def splice(now: str, before: str) -> Json:
    """[where, how many characters, what stood there]: turns `now` into `before`, holding no more of it than differs."""
    start, shorter = 0, min(len(now), len(before))
    while start < shorter and now[start] == before[start]:
        start += 1
    end = 0
    while end < shorter - start and now[-1 - end] == before[-1 - end]:
        end += 1
    return [start, len(now) - end - start, before[start : len(before) - end]]


def undone(text: str, undo: Json) -> str:
    """The text before the edit that left `undo`."""
    for splice in undo if isinstance(undo, list) else ():
        match splice:
            case [int(start), int(length), str(stood)]:
                text = text[:start] + stood + text[start + length :]
    return text


def _alike(key: str, one: Mapping[str, Json], other: Mapping[str, Json]) -> bool:
    """Tell whether both hold the same at `key`, or both nothing."""
    return (key in one) == (key in other) and same(one.get(key), other.get(key))
