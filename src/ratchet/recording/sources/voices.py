"""Hears what was said in a history: a person's words, and an agent's own sentences while a failure stands.

The same for every source; its whole memory is the carry. Words are redacted and capped here, before they wait anywhere.
"""

from __future__ import annotations

import json
import re
from typing import Literal, NamedTuple, cast

from ratchet import ids
from ratchet.failures.redaction.text import clean
from ratchet.recording.sources import fields
from ratchet.recording.sources.reading import table, tally
from ratchet.records import Json, Outcome, Row, Saying

WORD_CHARS = 600
"""Characters that are kept of what a person said; a correction is short, a pasted plan is none."""
SENTENCE_CHARS = 300  # of an agent's own
_REVIEWS, _REVIEW_CHARS = 50, 400_000  # comments of one answer, and how much of it is looked at
_OPEN_CALLS = 12  # after a failure in which the agent's sentences may be about it
# What a client puts around or before a person's words: a block in a tag of its own. Clients close what they open.
_BLOCK = re.compile(r"\s*<([a-z][\w-]{1,60})(?:\s[^>\n]{0,200})?>.*?</\1>\s*", re.DOTALL)
_INTERRUPTED = re.compile(r"\s*\[(?:Request interrupted by user|Operation Cancelled)[^\]\n]{0,60}\]\s*")
# Texts that a client sends in a person's name. Each is that client's own fixed wording.
_CLIENTS = ("This session is being continued from", "Operation stopped by hook", "# AGENTS.md instructions", "Caveat: ")
_ALL_CLIENTS = ("<task-notification", "<command-", "<local-command-", "<bash-")  # and what stands behind the block


class Spot(NamedTuple):
    """The agent, session and thread of what was said, and its time."""

    agent: str
    session: str
    at: float
    thread: str = ""
    project: str = ""


class Voices:
    """Hears what was said in one file."""

    def __init__(self, carry: Row) -> None:
        self._carry = carry

    def ended(self, outcome: Outcome) -> Outcome:
        """Take note of a call's end: what is said next follows it."""
        table(self._carry, "last")[outcome.thread] = outcome.id
        standing = table(self._carry, "standing")
        excused = outcome.failure is not None and outcome.failure.kind in ("user_denied", "cancelled", "cascade")
        left = _OPEN_CALLS if not outcome.ok and not excused else tally(standing, outcome.thread) - 1
        standing[outcome.thread] = max(left, 0)
        return outcome

    def interrupted(self) -> None:
        """Take note that the person stopped the agent: the next words say why."""
        self._carry["interrupted"] = True

    def person(self, text: str, place: Spot, *, key: str = "") -> list[Saying]:
        """A person's words, [] where the text is a client's own. `key` is the source's name of the message, where that
        is one in the world: a session that is copied says nothing twice."""
        words = typed(text)
        if _INTERRUPTED.match(text):
            self.interrupted()
        if not words:
            return []
        way: Literal["typed", "interrupted"] = "interrupted" if self._carry.pop("interrupted", None) else "typed"
        table(self._carry, "standing").pop(place.thread, None)
        return [self._said(words, place, "person", way, key or f"{place.session}\0{words}", WORD_CHARS)]

    def listens(self, thread: str) -> bool:
        """Tell whether a failure stands that an agent's sentence could be about."""
        return tally(table(self._carry, "standing"), thread) > 0

    def agent(self, text: str, place: Spot) -> list[Saying]:
        """An agent's sentence, [] where no failure stands that it could be about."""
        words = text.strip()
        if not words or not self.listens(place.thread):
            return []
        return [self._said(words, place, "agent", "typed", f"{place.session}\0{place.thread}\0{words}", SENTENCE_CHARS)]

    def reviews(self, outcome: Outcome, text: str, place: Spot) -> list[Saying]:
        """The comments of reviewers in a call's answer, [] where it holds none. They are known by their shape, whatever
        asked for them: objects with a body, at a path or with a verdict."""
        if not outcome.ok or '"body"' not in text or not ('"path"' in text or '"state"' in text):
            return []
        found = _comments(_document(text))
        return [self._said(body, place, "person", "review", f"review\0{key}", WORD_CHARS) for key, body in found]

    def _said(
        self,
        words: str,
        place: Spot,
        who: Literal["person", "agent"],
        way: Literal["typed", "interrupted", "review"],
        key: str,
        limit: int,
    ) -> Saying:
        return Saying(
            id="w" + ids.hex_of(f"{place.agent}\0{who}\0{key}")[:24],
            who=who,
            way=way,
            agent=place.agent,
            session=place.session,
            thread=place.thread,
            project=place.project,
            at=place.at,
            after=fields.text(table(self._carry, "last").get(place.thread)),
            text=clean(words, limit),
            chars=len(words),
        )


def _document(text: str) -> Json:
    try:
        return cast("Json", json.loads(text[:_REVIEW_CHARS]))
    except (ValueError, RecursionError):  # prose, or cut
        return None


def _comments(value: Json, depth: int = 6) -> list[tuple[str, str]]:
    """(a name of its own, body) of each comment, at most `_REVIEWS`."""
    if isinstance(value, list):
        return [each for item in value for each in _comments(item, depth - 1)][:_REVIEWS] if depth else []
    if not isinstance(value, dict) or not depth:
        return []
    body = fields.text(value.get("body")).strip()
    if body and (fields.text(value.get("path")) or ("state" in value and "submittedAt" in value)):
        return [(f"{value.get('id')}\0{value.get('path')}\0{body}", body)]
    return [each for item in value.values() for each in _comments(item, depth - 1)][:_REVIEWS]


def spoken(message: Row) -> str:
    """Read a message's own text, without its calls, results and pictures."""
    content = fields.first(message, ("content", "text", "parts"))
    if isinstance(content, str):
        return content
    return "\n".join(
        fields.text(block.get("text"))
        for block in fields.rows(content)
        if block.get("type", "text") in ("text", "input_text", "output_text")
    )


def typed(text: str) -> str:
    """The part of a message that a person typed, "" where all of it is the client's."""
    text = _INTERRUPTED.sub("", text)
    if text.lstrip().startswith(_ALL_CLIENTS):
        return ""
    while (found := _BLOCK.match(text)) is not None:
        text = text[found.end() :]
    text = text.strip()
    return "" if text.startswith(_CLIENTS) else text
