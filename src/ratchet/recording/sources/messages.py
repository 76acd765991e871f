"""Conversations with tool calls, as JSON lines or as one document, in any of the common shapes (see
`message_shapes`): Gemini CLI, Qwen Code, Copilot CLI, pi, opencode, OpenHands, SWE-agent, tau-bench, and every agent
that keeps its messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ratchet import ids
from ratchet.ports import Read
from ratchet.recording import live
from ratchet.recording.sources import calls, fields, whose
from ratchet.recording.sources.document import decode_document, is_document, read_document, whole_document
from ratchet.recording.sources.lines import objects_in, peek
from ratchet.recording.sources.message_shapes import Closes, Opens, events_of
from ratchet.recording.sources.reading import Item, count, moment, read_records, table, tally
from ratchet.recording.sources.tokens import answered
from ratchet.recording.sources.voices import Spot, Voices, spoken
from ratchet.records import Json, Outcome, Row

NAME = whose.NAME
_SESSION = ("sessionId", "session_id", "conversation_id", "thread_id", "id")
# A task is tried many times, by many models: its name and how a try began name the try.
_TASK = ("instance_id", "task_id")
_BEGINNING = 6  # messages or events; the first ones are the same in every try
_WORKSPACE = re.compile(r"Workspace Directories:\*\*\n {1,8}- (/[^\n]{1,1000}|[A-Za-z]:[^\n]{1,1000})")
_IN_DOCUMENT = re.compile(
    rb'"(?:role|toolCalls|tool_calls|trajectory|traj|observation|projectHash)"\s*:|"kind"\s*:\s*"\w+Event"|"type"\s*:\s*"gemini"'
)


class Messages:
    """The Source of conversations."""

    name = NAME

    def claims(self, head: bytes) -> bool:
        """Tell whether the first records are messages, or a document holds some."""
        if is_document(head):
            if _IN_DOCUMENT.search(head) is None:
                return False
            document = whole_document(head)
            if isinstance(document, dict) and whose.is_described(document):
                return False
            records = document if isinstance(document, list) else [document]
            return document is None or any(
                whose.speaks(item) or (isinstance(item, dict) and whose.is_own(item)) for item in records
            )
        return any(whose.is_own(record) for record in objects_in(head))

    def read(self, path: str, offset: int, carry: Row) -> Iterator[Read]:
        """See `ports.Source`. A document, or a line that holds a whole conversation, is a session of its own."""
        conversations = Conversations(path, carry)
        if is_document(peek(path)):
            return read_document(path, carry, conversations.take_document, name=NAME)
        return read_records(path, offset, carry, conversations.take, name=NAME)


class Conversations:
    """Reads the conversations of one file; its whole memory is the carry."""

    def __init__(self, path: str, carry: Row) -> None:
        self._path = path
        self._carry = carry
        self._voices = Voices(carry)

    def take_document(self, document: Json) -> list[Item] | None:
        """The steps of all conversations in a document."""
        if isinstance(document, dict):
            return self._whole(document) if whose.holder(document) else self.take(document, 0)
        records = document if isinstance(document, list) else []
        if any(isinstance(item, dict) and whose.holder(item) and "role" not in item for item in records):
            return [step for item in fields.rows(records) for step in self._whole(item) or ()]
        return self._steps(records, {})

    def take_events(self, events: list[Json], name: str) -> list[Item] | None:
        """The steps of a conversation of which each event has a file; `name` is where they lie."""
        return self._steps(events, {"session": f"{name}-{whose.digest(events[:1])}"})

    def take_session(self, records: list[Json], about: Row) -> list[Item]:
        """The steps of a conversation of which agent, session and project are known."""
        return self._steps(records, about) or []

    def take(self, record: Row, _line: int) -> list[Item] | None:
        """Take what one line teaches: a message, a session's header, or a whole conversation."""
        if whose.holder(record) and "role" not in record and not isinstance(record.get("message"), dict):
            return self._whole(record, whose.digest(record))
        if record.get("type") == "session" or ("sessionId" in record and "projectHash" in record):
            self._carry["session"] = fields.text(fields.first(record, ("sessionId", "id")))
            self._carry["project"] = fields.text(record.get("cwd"))
            self._carry["agent"] = "pi" if record.get("type") == "session" else "gemini-cli"
            self._carry["told"] = {} if "kind" in record else None  # Gemini CLI with hooks
            return []
        if record.get("type") == "system" and "apiKeySource" in record:  # Cursor's stream begins with it
            self._carry.update({"agent": "cursor", "project": fields.text(record.get("cwd"))})
            self._carry["session"] = fields.text(whose.session_of(record))
            return []
        if record.get("customType") == "model-snapshot":  # OpenClaw, which writes pi's sessions, begins with it
            self._carry["agent"] = "openclaw"
            return []
        held = record.get("$set")
        if isinstance(held, dict):  # Gemini CLI tells the model of the folder first
            place = _WORKSPACE.search(" ".join(spoken(message) for message in fields.rows(held.get("messages"))))
            if place and not self._carry.get("project"):
                self._carry["project"] = place[1].strip()
            return []
        return self._step(record)

    def _whole(self, document: Row, unnamed: str = "") -> list[Item] | None:
        """A conversation that is whole: its calls end with it. `unnamed` is its session when it names none."""
        holder = whose.holder(document)
        if not holder:
            return None
        info = fields.row(document.get("info"))  # in which an export of opencode's describes its session
        named = fields.first(document, _SESSION) or info.get("id")
        held = document[holder]
        listed: list[Json] = held if isinstance(held, list) else []
        task = None if named else fields.first(document, _TASK)
        if isinstance(task, str | int):
            named = f"{task}-{whose.digest(listed[:_BEGINNING])}"
        trial = document.get("trial")
        about: Row = {
            "agent": whose.agent_of(document, holder),
            "session": str(named) if isinstance(named, str | int) else unnamed,
            "model": fields.text(fields.first(document, ("model", "model_name"))),
            "fenced": holder in ("history", "messages") and whose.acts_in_fences(document, holder),
        }
        folder = self._cline_folder() if about["agent"] == "cline" else fields.text(info.get("directory"))
        if folder:
            about["project"] = folder
        if trial is not None and about["session"]:
            about["session"] = f"{about['session']}-{trial}"
        if holder == "simulations":
            return [step for each in fields.rows(held) for step in self._whole(each) or ()]
        return self._steps(listed, about)

    def _cline_folder(self) -> str:
        """The folder of a session of Cline's, which stands in the file beside its messages."""
        try:
            beside = Path(self._path.replace(".messages.json", ".json")).read_bytes()
        except OSError:
            return ""
        return fields.text(fields.row(decode_document(beside)[0]).get("cwd"))

    def _steps(self, records: list[Json], about: Row) -> list[Item] | None:
        """The steps of one conversation, of messages or of pairs of them (OpenHands' oldest way)."""
        for name in ("open", "agent", "session", "model", "fenced", "used", "calls", "turn"):
            self._carry.pop(name, None)
        self._carry.update(about)
        flat = [part for item in records for part in (item if isinstance(item, list) else [item])]
        if not self._carry.get("session"):
            self._carry["session"] = f"{Path(self._path).stem}-{whose.digest(flat[:3])}"
        found: list[Item] = []
        known = False
        for record in fields.rows(flat):
            steps = self._step(record)
            known = known or steps is not None
            found += steps or ()
        return found if known else None

    def _step(self, record: Row) -> list[Item] | None:
        if whose.is_aside(record):
            return []
        events = events_of(record, fenced=self._carry.get("fenced") is True)
        if events is None:
            return None
        if not self._carry.get("agent"):
            self._carry["agent"] = whose.agent_of(record, "")
            if self._carry["agent"] == "copilot-cli":
                self._carry["told"] = {}
        for name, value in (("session", whose.session_of(record)), ("project", whose.folder_of(record))):
            if value and isinstance(value, str) and not self._carry.get(name):
                self._carry[name] = value
        inner = fields.row(record.get("message")) or record
        model = fields.text(fields.first(inner, ("model", "modelId")))
        if model:
            self._carry["model"] = model
        usage, named = fields.row(fields.first(inner, ("usage", "tokens"))), fields.text(record.get("id"))
        self._spend(usage, named)
        at = moment(fields.instant(fields.first(record, ("timestamp", "created_at"))), self._path, self._carry)
        items: list[Item] = [*self._model_failure(record, inner, at), *self._told(usage, named, at)]
        items += self._heard(record, inner, at, acts=bool(events))
        for event in events:
            if isinstance(event, Opens):
                self._open(event, at)
            else:
                items += self._close(event, at)
        return items

    def _heard(self, record: Row, inner: Row, at: float, *, acts: bool) -> list[Item]:
        """The words of a message, and the calls that a person's word or the last line of a stream left behind."""
        who = (inner.get("role"), record.get("type"), record.get("source"))
        if not acts and "user" in who:
            count(self._carry, "turn")  # a person's word
            return [*self._never_returned(at), *self._voices.person(spoken(inner), self._place(at))]
        if not {"assistant", "model", "gemini", "agent"}.isdisjoint(map(str, who)):
            return [*self._voices.agent(spoken(inner), self._place(at))]
        return self._never_returned(at) if "result" in who and not acts else []

    def _spend(self, usage: Row, message: str) -> None:
        """Count a message's tokens once: some agents write it down again when its calls have ended."""
        total = fields.tokens(fields.first(usage, ("totalTokens", "total_tokens", "total")))
        if total is None:
            total = sum(fields.tokens(usage.get(of)) or 0 for of in ("input_tokens", "output_tokens"))
        spent = table(self._carry, "spent")
        before = tally(spent, message) if message else 0
        if total and message:
            spent[message] = total
        self._carry["waiting"] = tally(self._carry, "waiting") + max(0, total - before)

    def _told(self, usage: Row, message: str, at: float) -> list[Item]:
        """The tokens of an answer, by its id or its place."""
        self._carry["answers"] = tally(self._carry, "answers") + 1
        place = self._place(at)
        key = f"{place.session}:{message or tally(self._carry, 'answers')}"
        return [*answered(usage, place, key=key, model=fields.text(self._carry.get("model")))]

    def _model_failure(self, record: Row, inner: Row, at: float) -> list[Item]:
        """A call of the model that failed: Gemini CLI writes an error among the messages, pi a reason to stop."""
        said = fields.text(inner.get("errorMessage")) if inner.get("stopReason") == "error" else ""
        if record.get("type") == "error":
            said = fields.blocks_text(record.get("content"))
        if not said:
            return []
        key = fields.text(record.get("id")) or whose.digest([said, at])
        agent, session = self._whose()
        return [calls.model_failure(said, agent=agent, session=session, key=key, at=at)]

    def _place(self, at: float) -> Spot:
        agent, session = self._whose()
        return Spot(agent=agent, session=session, project=fields.text(self._carry.get("project")), at=at)

    def _whose(self) -> tuple[str, str]:
        """(agent, session) of the conversation at hand."""
        session = fields.text(self._carry.get("session")) or self._own_session()
        table(self._carry, "sessions")[session] = True
        return fields.text(self._carry.get("agent")) or NAME, session

    def _open(self, event: Opens, at: float) -> Row:
        self._carry["calls"] = tally(self._carry, "calls") + 1
        key = event.key or f"#{self._carry['calls']}"
        call = calls.opened(
            event.tool,
            event.input,
            at=event.at if event.at is not None else at,
            model=fields.text(self._carry.get("model")),
            project=fields.text(self._carry.get("project")),
            turn=tally(self._carry, "turn"),
        )
        call["key"] = f"{key}:{self._carry['calls']}" if len(key) < 12 else key  # short keys begin anew in each turn
        if isinstance(self._carry.get("told"), dict):
            call["asked"] = live.unnamed(event.tool, event.input, 0)[:-1]
        table(self._carry, "open")[key] = call
        return call

    def _close(self, event: Closes, at: float) -> list[Outcome]:
        if event.call is not None:
            self._open(event.call, at)
        opened = table(self._carry, "open")
        key = event.key or next(iter(opened), "")
        call = fields.row(opened.pop(key, None))
        if not call and not event.key:
            return []  # a word of the user's, which answers no call
        result = event.result
        if not call:
            call = self._open(Opens(event.key, "", None), at)
            opened.pop(event.key, None)
        if result.at is None and event.call is None:
            result = replace(result, at=at)
        waiting = tally(self._carry, "waiting")
        self._carry["waiting"] = 0
        agent, session = self._whose()
        name = self._name(fields.text(call.get("key")) or key, call, result)
        if agent == "tau-bench":
            name += ":"  # its runs share a cache of answers, ids included: only the session tells them apart
        outcome = calls.closed(call, result, agent=agent, session=session, key=name, tokens=waiting)
        if not outcome.ok and "asked" in call:
            outcome = replace(outcome, id=ids.outcome_id(agent, session, self._as_hooks_name(call, name)))
        return [self._voices.ended(outcome)]

    def _as_hooks_name(self, call: Row, name: str) -> str:
        """The key of a failed call that hooks met, too, without knowing its name. It may stand here more than once."""
        asked = fields.text(call.get("asked"))
        numbers = table(table(self._carry, "told"), asked)
        return f"{asked}{numbers.setdefault(name, len(numbers))}"

    def _never_returned(self, at: float) -> list[Item]:
        """The calls that a person went on without."""
        agent, session = self._whose()
        left, self._carry["open"] = table(self._carry, "open"), {}
        return [
            calls.never_returned(call, at=at, agent=agent, session=session, key=fields.text(call.get("key")) or key)
            for key, call in left.items()
            if isinstance(call, dict)
        ]

    def _name(self, key: str, call: Row, result: calls.Result) -> str:
        """The call's key; with a number when another call had it before (some models answer with the same id twice)."""
        held = whose.digest([call.get("tool"), call.get("input"), result.text])
        used = table(self._carry, "used")
        name, number = key, 1
        while used.setdefault(name, held) != held:
            number += 1
            name = f"{key}:{number}"
        return name

    def _own_session(self) -> str:
        """A session for lines that name none. The file's name is part of it: many conversations begin with the same
        words. (Calls with a provider's unique id are known again under any name.)"""
        session = f"{Path(self._path).stem}-{self._carry.get('first')}"
        self._carry["session"] = session
        return session
