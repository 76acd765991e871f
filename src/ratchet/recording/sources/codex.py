"""Codex's histories: rollouts of every generation, and the stream of `codex exec --json`.

The old generation writes bare items (`record_type: state` between them) or one JSON document; the new one wraps each
in `{timestamp, type, payload}`; 0.147 moved turns to `item_completed` events with PascalCase types. One Outcome per
call, whichever of its records came: the response item, the event, the finished item. Shapes as in openai/codex
(`codex-rs/protocol`, `codex-rs/exec/src/exec_events.rs`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ratchet.ports import Read
from ratchet.recording.sources import calls, codex_output, fields
from ratchet.recording.sources.document import is_document, read_document
from ratchet.recording.sources.lines import objects_in, peek
from ratchet.recording.sources.reading import Item, count, moment, read_records, table, tally
from ratchet.recording.sources.tokens import answered
from ratchet.recording.sources.voices import Spot, Voices, typed
from ratchet.records import Json, Outcome, Row

NAME = "codex"
_ENVELOPES = frozenset(
    (
        "session_meta",
        "turn_context",
        "response_item",
        "event_msg",
        "compacted",
        "world_state",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
    )
)
_CALLS = frozenset(("function_call", "custom_tool_call", "local_shell_call"))
_OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output", "local_shell_call_output"))
_STREAM = re.compile(r"\A(?:thread\.started|turn\.(?:started|completed|failed)|item\.(?:started|updated|completed))\Z")
_ENDED = frozenset(("exec_command_end", "patch_apply_end", "mcp_tool_call_end"))
_THREAD_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_CWD = re.compile(r"<cwd>([^<\n]{1,1000})</cwd>|Current working directory: ([^\n]{1,1000})")


class Codex:
    """The Source of Codex's histories."""

    name = NAME

    def claims(self, head: bytes) -> bool:
        """Tell whether any of the first records is one that only Codex writes."""
        return any(_is_telling(record) for record in objects_in(head)) or _is_document(head)

    def read(self, path: str, offset: int, carry: Row) -> Iterator[Read]:
        """See `ports.Source`. Open calls and the tokens that no call has taken yet wait in the carry."""
        rollout = _Rollout(path, carry)
        if _is_document(peek(path)):
            return read_document(path, carry, rollout.take_document, name=NAME)
        return read_records(path, offset, carry, rollout.take, name=NAME)


def _is_document(head: bytes) -> bool:
    """The layout before mid-2025: `{"session": ..., "items": [...]}`."""
    return is_document(head) and all(key in head for key in (b'"session"', b'"items"', b'"type"'))


def _is_own(record: Row) -> bool:
    kind = record.get("type")
    if kind is None:
        header = isinstance(record.get("id"), str) and "timestamp" in record and "instructions" in record
        return header or record.get("record_type") == "state"
    if not isinstance(kind, str):
        return False
    if kind in _ENVELOPES:
        return isinstance(record.get("payload"), dict) or kind in ("session_meta", "turn_context")
    if kind in _CALLS or kind in _OUTPUTS:
        return "call_id" in record or "id" in record
    if kind in ("message", "reasoning"):
        return "message" not in record and ("role" in record or "summary" in record)
    return _STREAM.match(kind) is not None or kind in ("error", "ghost_snapshot")


def _is_telling(record: Row) -> bool:
    """Tell whether a record is one that others do not write too."""
    if record.get("type") == "message":
        blocks = fields.rows(record.get("content"))
        return _is_own(record) and any(block.get("type") in ("input_text", "output_text") for block in blocks)
    return _is_own(record) and record.get("type") not in ("reasoning", "error")


class _Rollout:
    """Sum of one file's records; its whole memory is the carry."""

    def __init__(self, path: str, carry: Row) -> None:
        self._path = path
        self._carry = carry
        self._voices = Voices(carry)

    def take_document(self, document: Json) -> list[Item] | None:
        """The old layout: one object with the session and its items."""
        held = fields.row(document)
        if not isinstance(held.get("items"), list):
            return None
        self._meet(fields.row(held.get("session")))
        return [found for item in fields.rows(held["items"]) for found in self.take(item, 0) or ()]

    def take(self, record: Row, line: int) -> list[Item] | None:
        """Take what a record teaches; None when Codex did not write it."""
        if not _is_own(record):
            return None
        kind = record.get("type")
        payload = fields.row(record.get("payload")) or record
        if kind is None or kind == "session_meta":
            self._meet(payload)
            return []
        at = moment(fields.instant(record.get("timestamp")), self._path, self._carry)
        if kind == "turn_context":
            self._turn(payload)
        elif kind == "event_msg":
            return self._event(payload, at, line)
        elif kind == "error" or _STREAM.match(fields.text(kind)):
            return self._streamed(record, at, line)
        else:
            return self._item(payload, at)
        return []

    def _meet(self, meta: Row) -> None:
        """Learn whose session this is. Later ones in a file are a parent's, replayed by a fork."""
        if "thread" in self._carry or not fields.text(meta.get("id")):
            return
        own = fields.text(meta.get("id"))
        subagent = fields.row(fields.row(meta.get("source")).get("subagent"))
        parent = fields.first(fields.row(subagent.get("thread_spawn")), ("parent_thread_id",))
        root = fields.text(meta.get("session_id"))
        if not root or root == own:
            root = fields.text(parent) or fields.text(meta.get("parent_thread_id")) or own
        self._carry["session"] = root
        table(self._carry, "sessions")[root] = True
        self._carry["thread"] = own if root != own else ""
        self._turn(meta)
        moment(fields.instant(meta.get("timestamp")), self._path, self._carry)

    def _turn(self, context: Row) -> None:
        for name, field in (("project", "cwd"), ("model", "model")):
            value = fields.text(context.get(field))
            if value:
                self._carry[name] = value.removeprefix("file://")

    def _session(self) -> str:
        """The session's id; of an export that lost its header the id in the file's name, or what its bytes hash to."""
        known = fields.text(self._carry.get("session"))
        if not known:
            named = _THREAD_ID.search(Path(self._path).name)
            known = named[0] if named else f"codex-{self._carry.get('first')}"
            self._carry["session"] = known
        table(self._carry, "sessions")[known] = True
        return known

    def _item(self, item: Row, at: float) -> list[Item]:
        kind = fields.text(item.get("type"))
        key = fields.text(fields.first(item, ("call_id", "id")))
        if kind in _CALLS and key:
            self._open(key, *_call_of(item), at)
        elif kind in _OUTPUTS and key and key not in table(self._carry, "aborted"):
            return [self._close(key, codex_output.result_of(item.get("output"), at=at))]
        elif kind == "message":
            return self._message(item, at)
        return []

    def _message(self, item: Row, at: float) -> list[Item]:
        text = fields.blocks_text(item.get("content"))
        if not self._carry.get("project"):
            found = _CWD.search(text[:20_000])
            if found:
                self._carry["project"] = (found[1] or found[2]).strip()
        place = self._spot(at)
        if item.get("role") != "user":
            return [*self._voices.agent(text, place)] if item.get("role") == "assistant" else []
        count(self._carry, "turn")
        if place.thread:
            return []
        left = self._never_returned(place) if typed(text) else []
        return [*left, *self._voices.person(text, place, key=fields.text(item.get("id")))]

    def _never_returned(self, place: Spot) -> list[Item]:
        """The calls that a person went on without. A result that comes after all takes the place of this."""
        left = [(key, call) for key, call in table(self._carry, "open").items() if isinstance(call, dict)]
        fresh = [(key, call) for key, call in left if not call.get("left") and not call.get("hint")]
        for _, call in fresh:
            call["left"] = True
        return [
            calls.never_returned(call, at=place.at, agent=NAME, session=place.session, key=key) for key, call in fresh
        ]

    def _spot(self, at: float) -> Spot:
        thread, project = (fields.text(self._carry.get(name)) for name in ("thread", "project"))
        return Spot(agent=NAME, session=self._session(), thread=thread, project=project, at=at)

    def _open(self, key: str, tool: str, tool_input: Json, at: float | None) -> Row:
        call = calls.opened(
            tool,
            tool_input,
            at=at,
            model=fields.text(self._carry.get("model")),
            project=fields.text(self._carry.get("project")),
            thread=fields.text(self._carry.get("thread")),
            turn=tally(self._carry, "turn"),
        )
        table(self._carry, "open")[key] = call
        return call

    def _close(self, key: str, result: calls.Result) -> Outcome:
        call = fields.row(table(self._carry, "open").pop(key, None))
        if not call:  # its call stood in a line that is lost
            call = self._open(key, "", None, None)
            del table(self._carry, "open")[key]
        hint = fields.row(call.get("hint"))
        result = replace(
            result,
            failed=True if hint.get("failed") is True else result.failed,
            exit_code=result.exit_code if result.exit_code is not None else fields.whole(hint.get("exit_code")),
            duration_s=result.duration_s if result.duration_s is not None else fields.number(hint.get("duration_s")),
            kind=result.kind or fields.text(hint.get("kind")),
            judged=call.get("nested") is not True,
        )
        waiting = tally(self._carry, "waiting")
        self._carry["waiting"] = 0
        return self._voices.ended(
            calls.closed(call, result, agent=NAME, session=self._session(), key=key, tokens=waiting)
        )

    def _event(self, event: Row, at: float, line: int) -> list[Item]:
        kind = fields.text(event.get("type"))
        if kind == "token_count":
            return self._spend(fields.row(event.get("info")), at)
        if kind == "item_completed":
            return self._finished(fields.row(event.get("item")), at)
        if kind in _ENDED:
            return self._ended(event, at)
        if kind in ("error", "stream_error"):
            return [self._model_failure(event, at, line)]
        if kind == "turn_aborted" and event.get("reason") == "interrupted":
            self._voices.interrupted()
            left = list(table(self._carry, "open"))
            table(self._carry, "aborted").update(dict.fromkeys(left, True))
            return [self._close(key, calls.Result(text="interrupted", at=at, kind="cancelled")) for key in left]
        return []

    def _spend(self, info: Row, at: float) -> list[Item]:
        """Count a model call's tokens once, though its event may come again with the same total."""
        total = fields.tokens(fields.row(info.get("total_token_usage")).get("total_tokens"))
        last = fields.tokens(fields.row(info.get("last_token_usage")).get("total_tokens"))
        before = fields.whole(self._carry.get("spent"))
        if total is None:
            return []
        # The first total of a fork or a resumed session holds its parent's; so does one after a reset.
        fresh = total - before if before is not None and total >= before else last if last is not None else total
        self._carry["spent"] = total
        self._carry["waiting"] = tally(self._carry, "waiting") + fresh
        if fresh <= 0:
            return []
        place = self._spot(at)
        key, call = f"{place.session}:{place.thread}:{total}", next(iter(table(self._carry, "open")), "")
        used = fields.row(info.get("last_token_usage"))
        return [*answered(used, place, key=key, model=fields.text(self._carry.get("model")), call=call)]

    def _ended(self, event: Row, at: float) -> list[Item]:
        """An event about a call's end: a hint where the call's own answer will come, else all there is."""
        held = fields.row(event.get("result"))
        inner = fields.row(held.get("Ok")) or held
        item: Row = {**event, "result": inner or None, "id": event.get("call_id")}
        if "Err" in held:
            item["error"] = held["Err"]
        if event.get("type") == "mcp_tool_call_end":
            item = {**fields.row(event.get("invocation")), **item, "type": "mcp_tool_call"}
        else:
            item["type"] = "command_execution" if event.get("type") == "exec_command_end" else "file_change"
        return self._finished(item, at)

    def _finished(self, item: Row, at: float) -> list[Item]:
        tool, tool_input = codex_output.item_call(item)
        key = fields.text(item.get("id"))
        if not tool or not key:
            return []
        result = codex_output.item_result(item, at=at)
        opened = table(self._carry, "open")
        call = opened.get(key)
        if isinstance(call, dict):
            call["hint"] = {
                "failed": result.failed,
                "exit_code": result.exit_code,
                "duration_s": result.duration_s,
                "kind": result.kind,
            }
            return []
        for waiting in opened.values():  # a script's own calls: what they said is theirs, not the script's
            if isinstance(waiting, dict) and waiting.get("tool") == "exec":
                waiting["nested"] = True
        began = at - result.duration_s if result.duration_s is not None else at
        self._open(key, tool, tool_input, began)
        cwd = fields.text(item.get("cwd")).removeprefix("file://")
        if cwd:
            fields.row(opened[key])["project"] = cwd
        return [self._close(key, result)]

    def _streamed(self, record: Row, at: float, line: int) -> list[Item]:
        """A line of `codex exec --json`: it bears no times, and its item ids begin anew in each run of a thread."""
        kind = record.get("type")
        if kind == "thread.started":
            self._carry["session"] = fields.text(record.get("thread_id"))
        elif kind == "item.completed":
            item = fields.row(record.get("item"))
            if fields.text(fields.first(item, ("type", "item_type"))) == "error":
                return [self._model_failure(item, at, line)]
            digest = hashlib.sha256(json.dumps(item, sort_keys=True).encode()).hexdigest()[:12]
            return self._finished({**item, "id": f"{item.get('id')}:{digest}"}, at)
        elif kind in ("turn.failed", "error"):
            return [self._model_failure(fields.row(record.get("error")) or record, at, line)]
        return []

    def _model_failure(self, error: Row, at: float, line: int) -> Outcome:
        error = fields.row(error.get("error")) or error
        said = fields.text(error.get("message")) or "the model's answer was an error without a text"
        return calls.model_failure(
            said,
            agent=NAME,
            session=self._session(),
            key=f"{line}:{hashlib.sha256(said.encode()).hexdigest()[:12]}",
            at=at,
            status=fields.whole(error.get("http_status_code")),
            thread=fields.text(self._carry.get("thread")),
            project=fields.text(self._carry.get("project")),
            model=fields.text(self._carry.get("model")),
        )


def _call_of(item: Row) -> tuple[str, Json]:
    """(tool, input) of a response item that calls a tool."""
    if item.get("type") == "local_shell_call":
        return "local_shell", {"command": fields.row(item.get("action")).get("command")}
    name = fields.text(item.get("name"))
    space = fields.text(item.get("namespace"))
    held = fields.first(item, ("arguments", "input"))
    if isinstance(held, str) and (item.get("type") == "function_call" or held.startswith("{")):
        try:
            held = json.loads(held)
        except (ValueError, RecursionError):
            return name, held
    return (f"{space}__{name}" if space else name), held
