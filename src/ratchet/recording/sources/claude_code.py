"""Claude Code's histories (JSON lines, CLI 1.0 to 2.1) and `stream-json`; one file, since one line has many forms.

One Outcome per tool result, wherever it stands: in the session, in a subagent's own file, in a sidechain, or inside an
`agent_progress` line. All bear the root session; a subagent's name is the thread. The id comes from the tool_use_id,
so a result that stands in several places, files or checkpoints counts once. Failed calls of the model (`api_error`,
`isApiErrorMessage`) are Outcomes of the task "model". No schema is published: all this was seen in some 700 files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from ratchet.failures import tool_call
from ratchet.failures.kinds.kind import kind_of
from ratchet.ports import Read
from ratchet.recording import notices
from ratchet.recording.sources import calls, fields
from ratchet.recording.sources.lines import objects_in
from ratchet.recording.sources.reading import Item, count, moment, read_records, table, tally
from ratchet.recording.sources.subagents import limits_beside
from ratchet.recording.sources.tokens import Answers
from ratchet.recording.sources.voices import Spot, Voices, spoken
from ratchet.records import Json, Outcome, Quarantined, Row

NAME = "claude-code"
_EXIT_CODE = re.compile(r"\A\s*(?:Error: )?Exit code (\d{1,3})\b")
_API_STATUS = re.compile(r"\AAPI Error: (\d{3})\b")
_LEFT_OFF = re.compile(r"(?:Error: )*(?:sub)?agent \w{1,20} without\b", re.IGNORECASE)  # a subagent that was stopped
_LIMIT_CHARS = 500
_CLOCK_S = 5.0  # how far a subagent's last line may be dated outside its call
_OWN_FILES = frozenset(("read", "edit", "write", "grep", "glob"))  # what they answer is no word of anybody's
_SUBAGENTS = ("Task", "Agent")
_USAGE = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_WITH_SESSION = frozenset(("user", "assistant", "system", "progress", "attachment", "result", "queue-operation"))
_SESSIONLESS = {
    "summary": "leafUuid",
    "file-history-snapshot": "snapshot",
    "queue-operation": "operation",
    "pr-link": "prUrl",
    "custom-title": "customTitle",
}


class _Place(NamedTuple):
    """Place of a message."""

    session: str
    thread: str
    project: str
    at: float
    in_progress: bool  # inside a progress line: a part of what the subagent's own file holds whole


class ClaudeCode:
    """The Source of Claude Code's histories."""

    name = NAME

    def claims(self, head: bytes) -> bool:
        """Tell whether a record is one that only Claude Code writes, and none another client's in the same frame."""
        kinds = [record.get("type") if _is_own(record) else None for record in objects_in(head)]
        telling = set(kinds) - {None}  # a word about a session may stand in a file of others
        own = bool(telling - _SESSIONLESS.keys()) or (bool(telling) and None not in kinds)
        return own and not any(_is_foreign(record) and _is_framed(record) for record in objects_in(head))

    def read(self, path: str, offset: int, carry: Row) -> Iterator[Read]:
        """See `ports.Source`. Open calls, and the tokens that no call has taken yet, wait in the carry."""
        history = _History(path, carry)
        for read in read_records(path, offset, carry, history.take, name=NAME):
            history.rest()
            yield history.answers.borne_by(read)


def _is_own(record: Row) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str):
        return False
    if kind in _SESSIONLESS and _SESSIONLESS[kind] in record:
        return True
    if _is_foreign(record) or not isinstance(record.get("sessionId", record.get("session_id")), str):
        return False
    if kind in ("user", "assistant"):  # anybody's own lines may have these two fields
        return "message" in record or "uuid" in record
    if "sessionId" not in record:  # stream-json
        return kind in ("system", "result") and "subtype" in record
    return kind in _WITH_SESSION or "-" in kind  # newer kinds: ai-title, last-prompt, agent-name


def _is_foreign(record: Row) -> bool:
    """Tell whether another client wrote a record in Claude Code's frame: Qwen Code around Gemini's parts and its own
    telemetry, Cursor around its calls; or somebody's own line that says how a run went."""
    if "parts" in fields.row(record.get("message")) or "systemPayload" in record:
        return True
    if record.get("type") == "tool_call" and "call_id" in record:
        return True
    return "message" not in record and "subtype" not in record and ("success" in record or "ok" in record)


def _is_framed(record: Row) -> bool:
    """Tell whether a record has Claude Code's frame: a generic one, beside Claude Code's, says nothing of those."""
    return not {"sessionId", "session_id", "message", "systemPayload", "call_id"}.isdisjoint(record)


class _History:
    """Sum of one file's records. Its memory is the carry, but for calls that were opened since the last Read: most have
    their result in the very next record, which tells better what an edit changed."""

    def __init__(self, path: str, carry: Row) -> None:
        self._path = path
        self._carry = carry
        self._voices = Voices(carry)
        self._beside: list[tuple[float, str]] | None = None  # limits in subagents' files, once they are asked for
        self._fresh: dict[str, Callable[[str], Row]] = {}  # a call's key -> its call, once what it changed is known
        self.answers = Answers()

    def rest(self) -> None:
        """Put into the carry what waits: it may be stored now."""
        for key, call in self._fresh.items():
            table(self._carry, "open")[key] = call("")
        self._fresh.clear()

    def _open_call(self, key: str, changed: str) -> Row:
        """The call of that key, no longer open; {} for none. `changed` is what an edit did."""
        fresh = self._fresh.pop(key, None)
        if fresh is not None:
            return fresh(changed)
        call = fields.row(table(self._carry, "open").pop(key, None))
        return {**call, "change": tool_call.safe(changed, tool_call.CHANGE_CHARS)} if call and changed else call

    def take(self, record: Row, line: int) -> list[Item] | None:
        """Take what a record teaches; None when Claude Code did not write it."""
        if not _is_own(record):
            return None
        kind = record["type"]
        if kind == "attachment":
            return self._ended(fields.text(fields.row(record.get("attachment")).get("prompt")), self._place(record))
        if kind == "progress":
            return self._progress(record, line)
        if kind in ("user", "assistant"):
            return self._message(record, self._place(record), line)
        if kind == "system" and record.get("subtype") == "api_error":
            return [self._api_error(record)]
        if kind == "system" and record.get("subtype") == "init":
            self._carry["project"] = fields.text(record.get("cwd"))
        if kind == "result" and record.get("is_error") is True:
            return [self._ended_badly(record)]
        return []

    def _place(self, record: Row) -> _Place:
        session = fields.text(fields.first(record, ("sessionId", "session_id")))
        table(self._carry, "sessions")[session] = True
        return _Place(
            session=session,
            thread=fields.text(record.get("agentId")) or self._sidechain(record),
            project=fields.text(fields.first(record, ("cwd",))) or fields.text(self._carry.get("project")),
            at=moment(fields.instant(record.get("timestamp")), self._path, self._carry),
            in_progress=False,
        )

    def _sidechain(self, record: Row) -> str:
        """The thread of a subagent's record in an old file, named by the record its chain begins with."""
        parent_call = fields.text(record.get("parent_tool_use_id"))  # stream-json's own way to say it
        if record.get("isSidechain") is not True:
            return parent_call
        threads = table(self._carry, "sidechains")
        own = fields.text(record.get("uuid"))
        thread = fields.text(threads.get(fields.text(record.get("parentUuid")))) or f"sidechain-{own[:8]}"
        threads[own] = thread
        return thread

    def _progress(self, record: Row, line: int) -> list[Item]:
        data = fields.row(record.get("data"))
        inner = fields.row(data.get("message"))
        if data.get("type") != "agent_progress" or not inner:
            return []
        at = fields.instant(fields.first(inner, ("timestamp",))) or fields.instant(record.get("timestamp"))
        outer = self._place(record)
        thread = fields.text(fields.first(data, ("agentId",))) or fields.text(record.get("parentToolUseID"))
        return self._message(inner, outer._replace(thread=thread, at=at or outer.at, in_progress=True), line)

    def _message(self, record: Row, place: _Place, line: int) -> list[Item]:
        message = record.get("message")
        if not isinstance(message, dict):
            reason = f"a {record.get('type')} record without a message (found {type(message).__name__})"
            return [Quarantined(path=self._path, line=line, reason=reason)]
        if record.get("type") == "assistant":
            return self._assistant(record, message, place)
        results = [block for block in fields.rows(message.get("content")) if block.get("type") == "tool_result"]
        if not results and not place.thread and record.get("isMeta") is not True:
            if (told := fields.blocks_text(message.get("content"))).startswith(notices.TOLD):
                return [*self._ended(told, place)]
            count(self._carry, "turn")  # a person's word
            return [*self._never_returned(place), *self._person(record, message, place)]
        found: list[Item] = []
        for block in results:
            outcome = self._voices.ended(self._result(block, record, place))
            found.append(outcome)
            if outcome.step is not None and outcome.step.head.partition(" ")[0] not in _OWN_FILES:
                found += self._voices.reviews(outcome, fields.blocks_text(block.get("content")), _where(place))
        return found

    def _person(self, record: Row, message: Row, place: _Place) -> list[Item]:
        if record.get("isCompactSummary") is True:
            return []
        said = self._voices.person(spoken(message), _where(place), key=fields.text(record.get("uuid")))
        return [*said]

    def _ended(self, said: str, place: _Place) -> list[Item]:
        """The commands that failed in the background, as the client tells the model; it tells them in several records,
        which are one outcome."""
        if notices.TOLD not in said:
            return []
        left = table(self._carry, "background")
        return [
            calls.closed(
                fields.row(left[notice.key]),
                calls.Result(text=notice.summary, failed=True, at=place.at, exit_code=notice.exit_code),
                agent=NAME,
                session=place.session,
                key=notice.key + notices.ENDED,
            )
            for notice in notices.failed(said)
            if notice.key in left
        ]

    def _never_returned(self, place: _Place) -> list[Item]:
        """The calls of the main thread that a person went on without."""
        self.rest()
        held = table(self._carry, "open")
        left = [key for key, call in held.items() if isinstance(call, dict) and not call.get("thread")]
        return [
            calls.never_returned(fields.row(held.pop(key)), at=place.at, agent=NAME, session=place.session, key=key)
            for key in left
        ]

    def _assistant(self, record: Row, message: Row, place: _Place) -> list[Item]:
        if record.get("isApiErrorMessage") is True:
            return [self._api_message(record, message, place)]
        model = fields.text(message.get("model"))
        self._spend(record, message, place, model)
        said: list[Item] = []
        if not place.in_progress and self._voices.listens(place.thread):
            said += self._voices.agent(spoken(message), _where(place))
        for block in fields.rows(message.get("content")):
            key = fields.text(block.get("id")) or fields.text(record.get("uuid"))
            if block.get("type") == "tool_use" and key:
                self._fresh[key] = partial(
                    _opened,
                    fields.text(block.get("name")),
                    block.get("input"),
                    place=place,
                    model=model,
                    turn=tally(self._carry, "turn"),
                )
        return said

    def _spend(self, record: Row, message: Row, place: _Place, model: str) -> None:
        """Count a message's tokens once (the last of its lines wins); the next finished call of the thread takes them.

        A message without a call is the thinking that led to the next one. Inside progress lines messages are missing,
        so there only a message's own tokens may go to its call: the others come from the subagent's own file.
        """
        usage = fields.row(message.get("usage"))
        key = fields.text(message.get("id")) or fields.text(record.get("uuid"))
        if not self.answers.goes_on(usage, key):
            total = sum([fields.tokens(usage.get(name)) or 0 for name in _USAGE])
            if not total or not key:
                return
            spent, waiting = table(self._carry, "spent"), table(self._carry, "waiting")
            if place.in_progress and key not in spent:
                waiting[place.thread] = 0
            waiting[place.thread] = tally(waiting, place.thread) + total - tally(spent, key)
            spent[key] = total
        begun = _is_begun(message, usage)
        self.answers.count(usage, _where(place), key=key, model=model, content=message.get("content"), begun=begun)

    def _result(self, block: Row, record: Row, place: _Place) -> Outcome:
        named = fields.first(record, ("sourceToolAssistantUUID", "parentUuid", "uuid"))
        key = fields.text(block.get("tool_use_id")) or fields.text(named)
        detail = fields.row(record.get("toolUseResult"))
        changed = tool_call.patch_text(detail.get("structuredPatch"))
        call = self._open_call(key, changed)
        if not call:  # its call stood in a line that is lost
            call = calls.opened(
                _tool_of(detail), None, at=None, project=place.project, thread=place.thread, changed=changed
            )
        if detail.get("backgroundTaskId"):
            table(self._carry, "background")[key] = call
        said = fields.blocks_text(block.get("content"))
        failed = block.get("is_error")
        found = _EXIT_CODE.match(said) if failed is True else None
        result = calls.Result(
            text=said,
            failed=failed if failed is True else None,
            at=place.at,
            exit_code=int(found[1]) if found else None,
            kind="cancelled" if detail.get("interrupted") is True else "",
        )
        if call.get("tool") in _SUBAGENTS:
            result = self._limited(result, place, fields.number(call.get("at")) or place.at)
        waiting = table(self._carry, "waiting")
        tokens = tally(waiting, place.thread)
        if tokens > 0:
            waiting[place.thread] = 0
        ended = calls.closed(call, result, agent=NAME, session=place.session, key=key, tokens=max(tokens, 0))
        began = fields.text(detail.get("agentId")) if call.get("tool") in _SUBAGENTS else ""
        return replace(ended, context={**ended.context, "began": began}) if began else ended

    def _limited(self, result: calls.Result, place: _Place, began: float) -> calls.Result:
        """A subagent's end, with the limit that stopped it where the account had run into one: the limit is the cause,
        until a subagent ends well again. It may stand in the subagent's own file alone."""
        if result.failed is not True:
            self._carry.pop("limit", None)
            return result
        if not _LEFT_OFF.match(result.text) and result.text.strip():
            return result
        limit = fields.text(self._carry.get("limit")) or self._limit_beside(place, began)
        return replace(result, text=f"{limit}\n{result.text}", kind="quota_exhausted") if limit else result

    def _limit_beside(self, place: _Place, began: float) -> str:
        """Find what the file of a subagent that ran between these times says of a limit."""
        if self._beside is None:
            self._beside = limits_beside(self._path, place.session)
        said = [text for at, text in self._beside if began - _CLOCK_S <= at <= place.at + _CLOCK_S]
        return tool_call.safe(said[-1], _LIMIT_CHARS) if said else ""

    def _api_error(self, record: Row) -> Outcome:
        error = fields.row(record.get("error"))
        return self._model_failure(record, _api_text(record, error), _status_of(error), self._place(record))

    def _api_message(self, record: Row, message: Row, place: _Place) -> Outcome:
        said = fields.blocks_text(message.get("content"))
        status = _API_STATUS.match(said)
        return self._model_failure(record, said, int(status[1]) if status else None, place)

    def _ended_badly(self, record: Row) -> Outcome:
        said = fields.text(record.get("result")) or f"the run ended with {record.get('subtype')}"
        return self._model_failure(record, said, fields.whole(record.get("api_error_status")), self._place(record))

    def _model_failure(self, record: Row, said: str, status: int | None, place: _Place) -> Outcome:
        key = fields.text(record.get("uuid")) or f"{place.at:.3f}"
        kind = fields.text(record.get("error"))  # newer versions name the class of the failure here
        if kind_of(said, status=status) == "quota_exhausted":
            self._carry["limit"] = tool_call.safe(said, _LIMIT_CHARS)
        return calls.model_failure(
            said or "the model's answer was an error without a text",
            agent=NAME,
            session=place.session,
            key=key,
            at=place.at,
            status=status,
            thread=place.thread,
            project=place.project,
            type=kind,
        )


def _is_begun(message: Row, usage: Row) -> bool:
    """Tell whether a line of an answer was written before the answer ended: it bears the usage with which the answer
    began, and no reason to stop, which comes with the end as `iterations` do."""
    return "stop_reason" in message and message["stop_reason"] is None and "iterations" not in usage


def _opened(tool: str, given: Json, changed: str, *, place: _Place, model: str, turn: int) -> Row:
    return calls.opened(
        tool,
        given,
        at=place.at,
        model=model,
        project=place.project,
        thread=place.thread,
        turn=turn,
        changed=changed,
    )


def _where(place: _Place) -> Spot:
    return Spot(agent=NAME, session=place.session, thread=place.thread, project=place.project, at=place.at)


def _tool_of(detail: Row) -> str:
    """The tool whose result has this shape."""
    for field, tool in (("stdout", "Bash"), ("structuredPatch", "Edit"), ("file", "Read"), ("newTodos", "TodoWrite")):
        if field in detail:
            return tool
    return ""


def _api_text(record: Row, error: Row) -> str:
    """Read what an `api_error` record says, down to its retry fields when its error is `{}`."""
    inner = fields.row(error.get("error"))
    inner = fields.row(inner.get("error")) or inner
    cause = fields.row(record.get("cause")) or fields.row(error.get("cause"))
    parts: list[Json] = [
        inner.get("type"),
        inner.get("message") or error.get("message"),
        cause.get("code"),
        cause.get("message"),
    ]
    status = _status_of(error)
    said = ": ".join(dict.fromkeys(part for part in parts if isinstance(part, str) and part))
    said = f"API error{f' {status}' if status else ''}{f': {said}' if said else ''}"
    attempt, most = fields.whole(record.get("retryAttempt")), fields.whole(record.get("maxRetries"))
    return f"{said} (retry {attempt} of {most})" if attempt is not None and most is not None else said


def _status_of(error: Row) -> int | None:
    return fields.whole(fields.first(error, ("status", "statusCode", "status_code")))
