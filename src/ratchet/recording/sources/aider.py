"""aider's chat histories (`.aider.chat.history.md`, 0.86 seen): a file that is appended to in its project's folder.

What it tells of are edits that were applied, answers whose edits could not be, findings of the linter, and calls of the
model that failed. Of a command that ran it keeps neither output nor exit code: that is no step. Its times are those at
which chats began, by the clock of the machine, so the steps of a chat follow each other by a tick.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from ratchet import ids
from ratchet.failures.tool_call import CHANGE_CHARS, safe
from ratchet.ports import Read
from ratchet.recording.sources import calls, fields
from ratchet.recording.sources.lines import Raw, raw_lines
from ratchet.recording.sources.reading import Item, count, last_read, moment, table, tally
from ratchet.recording.sources.tokens import answered
from ratchet.recording.sources.voices import Spot, Voices
from ratchet.records import Json, Outcome, Quarantined, Row

NAME = "aider"
_BEGINS = "# aider chat started at "
_HEAD = re.compile(rb"\A\s*# aider chat started at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d[ \t]*\r?\n")
_MODEL = re.compile(r"(?:Main m|M)odel: (\S{1,200}) with ")
_SPENT = re.compile(r"Tokens: ([\d.,]{1,20}[kM]?) sent,.{0,80}? ([\d.,]{1,20}[kM]?) received\b")
_SCALES = {"k": 1_000, "M": 1_000_000}
_UNMET = "The LLM did not conform to the edit format."
_LAST_OF_UNMET = "The SEARCH section must exactly match"
_FINDINGS = "# Fix any errors below, if possible."
_NAMED_IN = re.compile(r"(?:lines in|to apply to|match in) (\S{1,300})")
_SHOWN = "\n## See relevant line"
_COMMAND = re.compile(r"## Running: (.{1,1000})")
_MODEL_FAILED = re.compile(r"litellm\.\w{1,60}(?:Error|Exception|Timeout)?: ")
_ASKS = "? (Y)es/(N)o"
_BLOCK_LINES = 80  # of a failure: its cause stands above what was to be edited
_EDIT_LINES = 400  # of one edit's block
_MOST_BLOCKS = 50  # that wait to be applied
_ASKED_CHARS = 4_000

Kind = Literal["unmet", "findings"]


class Aider:
    """The Source of aider's histories."""

    name = NAME

    def claims(self, head: bytes) -> bool:
        """Tell whether the first line that is not blank begins a chat of aider's."""
        return _HEAD.match(head) is not None

    def read(self, path: str, offset: int, carry: Row) -> Iterator[Read]:
        """See `ports.Source`. A failure that the file ends with is read again when it grows: more of it may come."""
        chat = _Chat(path, carry)
        end = offset
        for raw in raw_lines(path, offset, carry):
            if raw.damage:
                yield Read(items=(Quarantined(path=path, line=raw.number, reason=raw.damage),), offset=raw.end)
                break
            if not raw.data.endswith(b"\n"):  # a line that is being written
                carry["lines"] = raw.number - 1
                break
            end = raw.end
            items = chat.take(raw)
            if items:
                yield from chat.told(items, end)
        items = chat.rest()
        if items:
            yield Read(items=tuple(items), offset=chat.resume(end))
        yield last_read(path, chat.resume(end), carry, name=NAME)


class _Chat:
    """Sum of one file's lines. Its memory is the carry, but for a failure whose end has not been seen."""

    def __init__(self, path: str, carry: Row) -> None:
        self._path = path
        self._carry = carry
        self._voices = Voices(carry)
        self._open: tuple[Kind, int, int, list[str]] | None = None  # kind, lines before it, byte where it starts, text
        self._asked: list[str] = []
        self._above = ""  # the last line that may name the file of an edit's block
        self._block: tuple[str, str, dict[str, list[str]]] | None = None  # file, side, lines of each side

    def take(self, raw: Raw) -> list[Item]:
        """Take one more line; give what it ends or says."""
        line = raw.data.decode("utf-8", "replace").rstrip("\r\n")
        if line.startswith("#### ") and line.endswith("  "):  # an answer's own headings end at their last word
            items = self._close()
            if len(self._asked) < _EDIT_LINES:
                self._asked.append(line[5:].rstrip())
            return items
        items = self._heard()
        if line.startswith(_BEGINS):
            return [*self._close(), *items, *self._begin(line)]
        if line == ">" or line.startswith("> "):
            return [*items, *self._printed(line[2:].rstrip(), raw)]
        return [*items, *self._answered(line)]

    def told(self, items: list[Item], end: int) -> Iterator[Read]:
        """A Read of what a line ended. While it is out, the carry stands for the file up to its offset."""
        count(self._carry, "steps", sum(isinstance(item, Outcome) for item in items))
        lines = self._carry.get("lines")
        offset = self.resume(end)
        yield Read(items=tuple(items), offset=offset)
        self._carry["lines"] = lines

    def rest(self) -> list[Item]:
        """Give the steps and words that the end of the file ends."""
        held, before = self._open, {name: self._carry.get(name) for name in ("n", "at")}
        items = [*self._heard(), *self._close()]
        count(self._carry, "steps", sum(isinstance(item, Outcome) for item in items))
        if held is not None:  # it is met again
            self._open = held
            self._carry |= {name: value for name, value in before.items() if value is not None}
        return items

    def resume(self, end: int) -> int:
        """Find where the next read begins: where a failure began that may go on."""
        if self._open is None:
            return end
        self._carry["lines"] = self._open[1]
        return self._open[2]

    def _begin(self, line: str) -> list[Item]:
        count(self._carry, "known")
        began = line.removeprefix(_BEGINS).strip()
        for name in _OF_CHAT:
            self._carry.pop(name, None)
        self._block = None
        session = ids.hex_of(f"{NAME}\0{began}")[:16]
        table(self._carry, "sessions")[session] = True
        self._carry |= {"session": session, "n": 0}
        moment(fields.instant(began), self._path, self._carry)
        return []

    def _printed(self, said: str, raw: Raw) -> list[Item]:
        """Take a line of aider's own."""
        if said.startswith(_FINDINGS):
            items = self._close()
            self._open = ("findings", raw.number - 1, raw.end - len(raw.data), [said])
            return items
        if (
            self._open is not None
            and self._open[0] == "findings"
            and not said.startswith("Attempt to fix lint errors?")
        ):
            self._more(said)
            return []
        if (
            self._open is not None
            and self._open[0] == "unmet"
            and (said.startswith("#") or "://" in said[:12] or not said)
        ):
            self._more(said)
            return []
        items = self._close()
        if said == _UNMET:
            self._open = ("unmet", raw.number - 1, raw.end - len(raw.data), [said])
        elif said.startswith("Applied edit to "):
            items.append(self._applied(said.removeprefix("Applied edit to ")))
        elif found := _MODEL.match(said):
            self._carry["model"] = found[1]
        elif found := _SPENT.match(said):
            self._carry["answered"] = True
            items += self._spent(_tokens(found[1]), _tokens(found[2]))
        elif _MODEL_FAILED.match(said):
            items.append(self._model_failed(said))
        return items

    def _answered(self, line: str) -> list[Item]:
        """Take a line of an answer, maybe of an edit's block. What could not be applied is printed in the same way."""
        if self._open is not None and self._open[0] == "unmet":
            self._more(line)
            return self._close() if line.startswith(_LAST_OF_UNMET) else []
        items = self._close()
        if self._block is None:
            if line.startswith("<<<<<<< SEARCH"):
                self._block = self._above, "old", {"old": [], "new": []}
            elif line.strip() and not line.startswith("```"):
                self._above = line.strip().strip("*`#:").strip()
            return items
        path, side, lines = self._block
        if line.startswith("=======") and side == "old":
            self._block = path, "new", lines
        elif line.startswith(">>>>>>> REPLACE"):
            self._waits(path, lines)
            self._block = None
        elif len(lines[side]) < _EDIT_LINES:
            lines[side].append(line)
        return items

    def _waits(self, path: str, lines: dict[str, list[str]]) -> None:
        """Keep an edit until it is applied, redacted, since what waits is stored."""
        waiting = table(self._carry, "blocks")
        if self._carry.pop("answered", None):  # what was left of an earlier answer was not applied
            waiting.clear()
        if len(waiting) < _MOST_BLOCKS:
            edit: Json = {name: safe("\n".join(lines[side]), CHANGE_CHARS) for name, side in _SIDES}
            held = waiting.get(path)
            waiting[path] = [*(held if isinstance(held, list) else ()), edit][:_MOST_BLOCKS]

    def _applied(self, path: str) -> Outcome:
        edits = table(self._carry, "blocks").pop(path, None)
        return self._step("edit", {"path": path, **({"edits": edits} if edits else {})}, "", failed=False)

    def _close(self) -> list[Item]:
        """The step that failed, whose end is here."""
        if self._open is None:
            return []
        kind, _, _, lines = self._open
        self._open = None
        said = "\n".join(lines).strip()
        if kind == "findings":
            named = _COMMAND.search(said)
            given: Json = {"command": named[1].strip()} if named else {}
            printed = said[named.end() :].partition(_SHOWN)[0].strip() if named else ""
            return [self._step("bash" if named else "lint", given, printed or said, failed=True)]
        self._carry.pop("blocks", None)
        about = _NAMED_IN.search(said)
        return [self._step("edit", {"path": about[1]} if about else {}, said, failed=True)]

    def _more(self, line: str) -> None:
        if self._open is not None and len(self._open[3]) < _BLOCK_LINES:
            self._open[3].append(line)

    def _step(self, tool: str, given: Json, said: str, *, failed: bool) -> Outcome:
        place = self._place()
        call = calls.opened(
            tool,
            given,
            at=None,
            model=fields.text(self._carry.get("model")),
            project=place.project,
            turn=tally(self._carry, "turn"),
        )
        result = calls.Result(text=said, failed=failed, at=place.at)
        ended = calls.closed(call, result, agent=NAME, session=place.session, key=self._key(tool))
        return self._voices.ended(ended)

    def _model_failed(self, said: str) -> Outcome:
        place = self._place()
        return calls.model_failure(
            said,
            agent=NAME,
            session=place.session,
            key=self._key("model"),
            at=place.at,
            project=place.project,
            model=fields.text(self._carry.get("model")),
        )

    def _spent(self, sent: int, received: int) -> list[Item]:
        usage: Row = {"input_tokens": sent, "output_tokens": received}
        place = self._place()
        key = f"{place.session}:{self._key('answer')}"
        return [*answered(usage, place, key=key, model=fields.text(self._carry.get("model")))]

    def _heard(self) -> list[Item]:
        """Hear a person's words, which end here; commands to aider and answers to its questions are none."""
        said, self._asked = "\n".join(self._asked).strip()[:_ASKED_CHARS], []
        if not said or said.startswith(("/", "!")) or said == "<blank>" or _ASKS in said:
            return []
        count(self._carry, "turn")
        return [*self._voices.person(said, self._place())]

    def _place(self) -> Spot:
        """The place of what comes now, a tick after what came before."""
        at = moment(None, self._path, self._carry)
        session = fields.text(self._carry.get("session"))
        return Spot(agent=NAME, session=session, project=str(Path(self._path).absolute().parent), at=at)

    def _key(self, what: str) -> str:
        """The name of a step: its number in its chat."""
        count(self._carry, "n")
        return f"{what}:{tally(self._carry, 'n')}"


_SIDES = (("old_string", "old"), ("new_string", "new"))
_OF_CHAT = ("n", "turn", "model", "blocks", "answered", "standing", "last", "interrupted")


def _tokens(said: str) -> int:
    """`2.4k` as a number."""
    scale = _SCALES.get(said[-1:], 1)
    return int((fields.number(said.rstrip("kM").replace(",", "")) or 0) * scale)
