"""Reads a step's result from its history, where it stands: the store holds the place, not the text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from ratchet import ids
from ratchet.errors import BackendError
from ratchet.failures import tool_call
from ratchet.recording.sources import fields
from ratchet.recording.sources.lines import decode, digest_of
from ratchet.recording.sources.unpacked import open_plain
from ratchet.records import Json, Outcome, Row, text_in, whole_in

if TYPE_CHECKING:
    from ratchet.ports import Store

RESULT_CHARS = 20_000
"""Characters of a result that are shown whole; head and tail of a longer one."""
EXCERPT_CHARS = 400
_SEEN = 4  # times as much of a text is redacted as is shown
_LINE_BYTES = 32 << 20  # real lines reach 20 MB
_TEXTS = ("content", "output", "result", "aggregated_output", "text")
_DEPTH = 6

Found = Literal["read", "none", "gone", "changed"]


class ResultText(NamedTuple):
    """Text of a result, and whether it could be read: `none` where no place is known, `gone` where its file is not
    there any more, `changed` where something else stands in its place."""

    text: str
    found: Found
    path: str = ""


def results_of(store: Store, outcomes: Iterable[Outcome], *, limit: int = EXCERPT_CHARS) -> dict[str, ResultText]:
    """The results of steps by id, redacted and capped, each read from its own line."""
    wanted = {each.id: each for each in outcomes if each.step is not None}
    places = store.find("step_places", {"id": ("in", [*wanted]), "start": (">=", 0)}).rows
    files: list[Json] = [*{text_in(row, "file") for row in places}]
    paths = {
        text_in(row, "identity"): text_in(row, "file")
        for row in store.find("cursors", {"identity": ("in", files)}).rows
    }
    found = {key: ResultText("", "none") for key in wanted}
    by_file: dict[str, list[Row]] = {}
    for row in places:
        by_file.setdefault(text_in(row, "file"), []).append(row)
    for file, rows in by_file.items():
        path = paths.get(file, "")
        rows.sort(key=lambda row: whole_in(row, "start"))
        found.update(_read(path, rows, wanted, limit))
    return found


def _read(path: str, rows: list[Row], wanted: Mapping[str, Outcome], limit: int) -> Iterator[tuple[str, ResultText]]:
    try:
        file = open_plain(path)
    except (OSError, BackendError):
        yield from ((text_in(row, "id"), ResultText("", "gone", path)) for row in rows)
        return
    with file:
        for row in rows:
            key = text_in(row, "id")
            line = _line_at(file, whole_in(row, "start"))
            if digest_of(line) != text_in(row, "digest"):
                yield key, ResultText("", "changed", path)
                continue
            said = result_in(line, wanted[key])
            yield key, ResultText(_shown(said, limit), "read", path)


def _shown(said: str, limit: int) -> str:
    """A text redacted and cut; of a short one the head, so that no secret is cut in half before it is seen."""
    if limit >= RESULT_CHARS:
        return tool_call.safe(said, limit)
    return tool_call.safe(said[: limit * _SEEN], limit * _SEEN)[:limit]


def _line_at(file: object, start: int) -> bytes:
    try:
        file.seek(start)  # type: ignore[attr-defined]
        return bytes(file.readline(_LINE_BYTES))  # type: ignore[attr-defined]
    except OSError:
        return b""


def line_of(store: Store, step: str) -> bytes:
    """The line of a history in which a step's result stands; b"" where it is not there any more."""
    place = store.get("step_places", step)
    cursors = store.find("cursors", {"identity": text_in(place, "file")}).rows if place else []
    if place is None or not cursors:
        return b""
    try:
        with open_plain(text_in(cursors[0], "file")) as file:
            line = _line_at(file, whole_in(place, "start"))
    except (OSError, BackendError):
        return b""
    return line if digest_of(line) == text_in(place, "digest") else b""


def result_in(line: bytes, outcome: Outcome) -> str:
    """The text of a step's result in its line: what stands beside the key that the step's id is made of."""
    for record in decode(line)[0]:
        block = _block_of(record, outcome, _DEPTH)
        if block is not None:
            return next((said for name in _TEXTS if (said := fields.blocks_text(block.get(name)))), "")
    return ""


def _block_of(value: Json, outcome: Outcome, depth: int) -> Row | None:
    """The innermost object with a text from which the outcome's id follows."""
    if isinstance(value, list):
        return next((found for each in value if (found := _block_of(each, outcome, depth))), None)
    if not isinstance(value, dict) or depth < 0:
        return None
    within = next((found for each in value.values() if (found := _block_of(each, outcome, depth - 1))), None)
    if within is not None:
        return within
    named = (each for each in value.values() if isinstance(each, str) and 0 < len(each) <= 200)
    return value if any(ids.outcome_id(outcome.agent, outcome.session, each) == outcome.id for each in named) else None
