"""Proves a store against its sources: every history is read again, and what it says is compared with what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.errors import BackendError
from ratchet.recording.keeping import CLASSES
from ratchet.recording.rows import row_of
from ratchet.recording.sources.calls import UNRETURNED
from ratchet.records import Json, MessageTokens, Outcome, Row, text_in, whole_in
from ratchet.store.retention import RETENTION, forgotten, hash_of

if TYPE_CHECKING:
    from ratchet.ports import Progress, Source, Store

_BATCH = 500
_NAMED = 20  # missing steps that are named


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Comparison of the store with its histories. `files` were read again, `gone` are not there any more,
    `grown` have lines that are not read yet. `steps` and `answers` were compared; `missing` names steps of a history
    that the store lacks, `fewer` answers of which it has fewer tokens, `strange` sessions whose tokens are not the sum
    of their answers'."""

    files: int
    gone: tuple[str, ...]
    grown: tuple[str, ...]
    steps: int
    answers: int
    missing: tuple[str, ...]
    fewer: tuple[str, ...]
    strange: tuple[str, ...]

    @property
    def sound(self) -> bool:
        return not (self.missing or self.fewer or self.strange)


@dataclass(slots=True)
class _Found:
    files: int = 0
    steps: int = 0
    answers: int = 0


def checked(store: Store, source_of: Callable[[str], Source], progress: Progress) -> Checked:
    """Read every history again from its start to where it was read, and compare. Changes nothing. Takes as long as
    reading them did. Raises StoreError."""
    cursors = [row for row in store.find("cursors", order=("path",)).rows if row.get("file")]
    gone: list[str] = []
    grown: list[str] = []
    missing: list[str] = []
    fewer: list[str] = []
    counted = _Found()
    for number, row in enumerate(cursors):
        path = text_in(row, "file")
        progress(number, len(cursors), path)
        try:
            if Path(path).is_file() and Path(path).stat().st_size > whole_in(row, "offset"):
                grown.append(path)
            for some in _pieces(source_of(path), path, whole_in(row, "offset")):
                _compare(store, some, counted, missing, fewer)
        except (OSError, BackendError):
            gone.append(path)
            continue
        counted.files += 1
    progress(len(cursors), len(cursors), "")
    return Checked(
        files=counted.files,
        gone=tuple(gone),
        grown=tuple(grown),
        steps=counted.steps,
        answers=counted.answers,
        missing=tuple(missing[:_NAMED]),
        fewer=tuple(fewer[:_NAMED]),
        strange=tuple(_strange(store)),
    )


def _pieces(source: Source, path: str, until: int) -> Iterator[list[Outcome | MessageTokens]]:
    """Yield what a history holds up to where it was read, a batch at a time."""
    batch: list[Outcome | MessageTokens] = []
    for read in source.read(path, 0, {}):
        if read.offset > until:
            break
        batch += [
            item
            for item in read.items
            if isinstance(item, MessageTokens) or (isinstance(item, Outcome) and UNRETURNED not in item.context)
        ]
        if len(batch) >= _BATCH:
            yield batch
            batch = []
    yield batch


def _compare(
    store: Store, items: list[Outcome | MessageTokens], counted: _Found, missing: list[str], fewer: list[str]
) -> None:
    hidden = forgotten(store)
    before = (store.get("meta", RETENTION) or {}).get("before")
    oldest = float(before) if isinstance(before, int | float) else float("-inf")
    here = [item for item in items if hash_of(item.session) not in hidden]
    steps = {str(row_of(item)["id"]): item for item in here if isinstance(item, Outcome) and item.started_at >= oldest}
    answers = {item.id: item for item in here if isinstance(item, MessageTokens)}
    counted.steps += len(steps)
    counted.answers += len(answers)
    keys: list[Json] = [*steps]
    known = {text_in(row, "id") for row in store.sum_by("outcomes", ("id",), (), {"id": ("in", keys)})}
    missing += [f"{key} in session {item.session}" for key, item in steps.items() if key not in known]
    held = {text_in(row, "id"): row for row in store.find("message_tokens", {"id": ("in", [*answers])}).rows}
    for key, answer in answers.items():
        if sum(getattr(answer, name) for name in CLASSES) > sum(whole_in(held.get(key), name) for name in CLASSES):
            fewer.append(f"{key} in session {answer.session}")


def _strange(store: Store) -> Iterator[str]:
    """Sessions whose sums are not those of their answers."""
    by = ("session", "model")
    summed = {_named(row): row for row in store.sum_by("message_tokens", by, CLASSES)}
    for row in store.find("session_models", order=by).rows:
        answers = summed.get(_named(row), {})
        if any(whole_in(row, name) != whole_in(answers, name) for name in CLASSES):
            yield text_in(row, "session")


def _named(row: Row) -> tuple[str, str]:
    return text_in(row, "session"), text_in(row, "model")
