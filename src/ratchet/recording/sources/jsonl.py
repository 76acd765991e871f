"""Generic JSON lines: one finished run an object, `{"task": ..., "success": false, "error": ...}`, in any usual
spelling. Also a JSON list of such objects, or an object that holds one. See `spellings` for what is understood.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

from ratchet import ids
from ratchet.failures import tool_call as toolcall
from ratchet.failures.unflagged import says_failure
from ratchet.ports import Read
from ratchet.recording.sources import calls, fields, spellings
from ratchet.recording.sources.document import is_document, read_document, whole_document
from ratchet.recording.sources.lines import objects_in, peek
from ratchet.recording.sources.reading import Item, count, moment, read_records, tally
from ratchet.records import Failure, Json, Outcome, Quarantined, Row, Step

NAME = "jsonl"
_OWN_ID = ("id", "outcome_id", "event_id", "uuid", "span_id", "call_id", "tool_use_id")
_OUTCOME_ID = re.compile(r"\Ao[0-9a-f]{24}\Z")
_UNIQUE = re.compile(r"\A[A-Za-z0-9_-]{16,100}\Z")
_LISTS = ("outcomes", "results", "records", "runs", "events", "rows", "items", "data", "logs", "tasks", "tests")
_TELLING = re.compile(rb'"(?:success|ok|passed|succeeded|status|outcome|error|failed|exit_code|is_error|quality)"\s*:')
_NAMED_ALIENS = 20  # lines that are no run are named up to here, then counted: a file of another kind has millions


class Jsonl:
    """The Source of generic JSON lines."""

    name = NAME

    def claims(self, head: bytes) -> bool:
        """Tell whether any of the first objects says how a run went."""
        if any(spellings.verdict(record) is not None and "messages_path" not in record for record in objects_in(head)):
            return True
        if not is_document(head) or _TELLING.search(head) is None:
            return False
        document = whole_document(head)
        if isinstance(document, dict) and "messages_path" in document:
            return False  # Cline's word about a session: what happened in it is in the file that is named
        return document is None or any(spellings.verdict(record) is not None for record in _runs_in(document) or ())

    def read(self, path: str, offset: int, carry: Row) -> Iterator[Read]:
        """See `ports.Source`. A line that is no run is named with what was looked for."""
        runs = Runs(path, carry)
        if is_document(peek(path)):
            yield from read_document(path, carry, runs.take_document, name=NAME)
            return
        for read in read_records(path, offset, carry, runs.take, name=NAME):
            yield read
        unnamed = tally(carry, "aliens") - _NAMED_ALIENS
        if unnamed > 0:
            reason = f"{unnamed} more lines say neither success nor failure"
            yield Read(items=(Quarantined(path=path, line=0, reason=reason),), offset=read.offset)


class Runs:
    """Reads the objects of one file. `salt` sets apart what bears neither id nor time but was handed in anew."""

    def __init__(self, path: str, carry: Row, salt: str = "") -> None:
        self._path = path
        self._carry = carry
        self._salt = salt

    def take_document(self, document: Json) -> list[Item] | None:
        """The runs of a document: a list of objects, an object that holds one, or a single run."""
        runs = _runs_in(document)
        if runs is None:
            return None
        return [item for number, record in enumerate(runs, 1) for item in self.take(record, number)]

    def take(self, record: Row, line: int) -> list[Item]:
        """The Outcome of one object; none while the run goes on; a Quarantined when it is no run."""
        found = spellings.verdict(record)
        if found is None:
            count(self._carry, "aliens")
            if tally(self._carry, "aliens") > _NAMED_ALIENS:
                return []
            looked = "no success, ok, passed, status, error, exit_code, status_code, score or quality"
            return [Quarantined(path=self._path, line=line, reason=f"says neither success nor failure: {looked}")]
        if found.ok is None:
            return []
        return [self._outcome(record, line, found)]

    def _outcome(self, record: Row, line: int, found: spellings.RecordVerdict) -> Outcome:
        started = fields.instant(fields.first(record, spellings.STARTED))
        step = _step(record)
        failure = _failure(record, found, step)
        agent = _name(record, spellings.AGENT) or fields.text(record.get("source"))
        return Outcome(
            id=self._id(record, line, timed=started is not None),
            agent=agent[:200] or Path(self._path).name.partition(".")[0] or NAME,
            task=toolcall.safe(_name(record, spellings.TASK) or _name(record, ("name", "event", "task_id")), 300),
            ok=failure is None,
            score=spellings.score(record),
            started_at=moment(started, self._path, self._carry),
            duration_s=spellings.duration_s(record),
            cost_usd=fields.number(fields.first(record, spellings.COST)),
            tokens=spellings.tokens(record),
            model=_name(record, spellings.MODEL),
            source=NAME,
            session=_name(record, spellings.SESSION),
            project=_name(record, spellings.PROJECT),
            failure=failure,
            step=step,
        )

    def _id(self, record: Row, line: int, *, timed: bool) -> str:
        """The record's own id when it is a unique one; else its content with its line, so that a copy counts once."""
        own = fields.text(fields.first(record, _OWN_ID))
        if _OUTCOME_ID.match(own):
            return own
        if _UNIQUE.match(own) and sum(letter.isdigit() for letter in own) >= 4:
            return ids.outcome_id(NAME, "", own)
        held = json.dumps(record, sort_keys=True).encode()
        salt = "" if timed else self._salt
        return ids.outcome_id(NAME, "", f"{hashlib.sha256(held).hexdigest()}:{line}{salt}")


def _runs_in(document: Json) -> list[Row] | None:
    """The objects of a document that may be runs; None when it is neither an object nor a list."""
    if isinstance(document, dict):
        named = [document[name] for name in _LISTS if isinstance(document.get(name), list)]
        document = named[0] if named else [document]
    return fields.rows(document) if isinstance(document, list) else None


def _name(record: Row, names: tuple[str, ...]) -> str:
    value = fields.first(record, names)
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _step(record: Row) -> Step | None:
    tool = _name(record, spellings.TOOL)
    if not tool:
        return None
    return calls.step_of(tool, fields.first(record, spellings.INPUT))


def _failure(record: Row, found: spellings.RecordVerdict, step: Step | None) -> Failure | None:
    if found.ok:
        said = spellings.said_text(record)
        tool, head, given = (step.tool, step.head, step.input) if step else ("", "", "")
        if not said or not says_failure(toolcall.ends(said, toolcall.JUDGED_CHARS), tool=tool, head=head, given=given):
            return None
    text = spellings.failure_text(record) or found.word or "failed without a word why"
    return Failure(
        message=toolcall.message_text(text),
        kind="cancelled" if found.word in ("cancelled", "canceled") else "",
        type=spellings.error_type(record)[:200],
        status=spellings.status_code(record),
        exit_code=fields.whole(fields.first(record, spellings.EXIT_CODE)) or None,
        flagged=not found.ok,
    )
