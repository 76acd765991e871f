"""Reads what histories say of an answer's tokens, in each provider's spelling."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ratchet import ids
from ratchet.ports import Read
from ratchet.recording.sources import fields
from ratchet.recording.sources.voices import Spot
from ratchet.records import Json, MessageTokens, Row


class TokenSplit(NamedTuple):
    """Tokens of one answer: `cached` ones were read from a cache, `stored` ones written to it, `stored_hour` among them
    for an hour."""

    given: int = 0
    stored: int = 0
    stored_hour: int = 0
    cached: int = 0
    made: int = 0


def split_of(usage: Row) -> TokenSplit:
    """Split what was used. Anthropic and pi count cached tokens beside those given, OpenAI and Google among them;
    Google counts thoughts beside what was made."""
    given = _whole(usage, "input_tokens", "input", "prompt_tokens", "promptTokenCount")
    within = _whole(usage, "cached_input_tokens", "cached", "cachedContentTokenCount")
    cache = fields.row(usage.get("cache"))  # opencode's
    if not within and (details := fields.row(fields.first(usage, ("input_tokens_details", "prompt_tokens_details")))):
        within = _whole(details, "cached_tokens")
    stored = _whole(usage, "cache_creation_input_tokens", "cacheWrite") or _whole(cache, "write")
    return TokenSplit(
        given=max(given - within, 0),
        stored=stored,
        stored_hour=min(stored, _whole(fields.row(usage.get("cache_creation")), "ephemeral_1h_input_tokens")),
        cached=within or _whole(usage, "cache_read_input_tokens", "cacheRead") or _whole(cache, "read"),
        made=_whole(usage, "output_tokens", "output", "completion_tokens", "candidatesTokenCount")
        + _whole(usage, "thoughts", "thoughtsTokenCount"),
    )


def answered(
    usage: Row, place: Spot, *, key: str, model: str, call: str = "", begun: bool = False
) -> list[MessageTokens]:
    """The tokens of an answer, [] where nothing is said of them. `key` names the answer wherever it stands, `call` is
    the key of the first call that it made; `begun` says that its output is counted as it began."""
    split = split_of(usage)
    if not any(split):
        return []
    return [
        MessageTokens(
            id=ids.outcome_id(place.agent, "", f"tokens:{key}"),
            agent=place.agent,
            session=place.session,
            thread=place.thread,
            project=place.project,
            at=place.at,
            model=model,
            step=_step(place, call),
            begun=int(begun),
            **split._asdict(),
        )
    ]


def _step(place: Spot, call: str) -> str:
    return ids.outcome_id(place.agent, place.session, call) if call else ""


class Answers:
    """The tokens of answers that no Read bears yet: each stands in several lines, which make no Read of their own."""

    def __init__(self) -> None:
        self._held: dict[str, MessageTokens] = {}
        self._last: tuple[str, Row, MessageTokens] | None = None  # key and usage: the lines of one answer follow it

    def goes_on(self, usage: Row, key: str) -> bool:
        """Tell whether this is one more line of the answer that was counted last."""
        return self._last is not None and self._last[0] == key and self._last[1] == usage

    def count(self, usage: Row, place: Spot, *, key: str, model: str, content: Json, begun: bool = False) -> None:
        """Count an answer that `content` is a part of (`answered`); its calls are blocks of type `tool_use`. Its output
        is known whole once a line of it is not `begun`, or counts more than another one."""
        call = _first_call(content)
        if self._last is not None and self.goes_on(usage, key):
            held = self._last[2]
            step = held.step or _step(place, call)
            whole = held.begun and not begun
            if place.at < held.at or step != held.step or whole:
                still = 0 if whole else held.begun
                held = self._held[held.id] = replace(held, step=step, at=min(held.at, place.at), begun=still)
                self._last = key, usage, held
            return
        for each in answered(usage, place, key=key, model=model, call=call, begun=begun):
            held_before = self._held.get(each.id)
            counted = self._held[each.id] = each if held_before is None else _larger(held_before, each)
            self._last = key, usage, counted

    def borne_by(self, read: Read) -> Read:
        """The Read with the tokens of the answers since the last one."""
        if not self._held:
            return read
        found = tuple(self._held.values())
        self._held.clear()
        self._last = None
        return replace(read, items=(*found, *read.items))


def _first_call(content: Json) -> str:
    """The key of the first call among an answer's blocks; "" for none."""
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_use" and (key := fields.text(block.get("id"))):
            return key
    return ""


def _larger(one: MessageTokens, other: MessageTokens) -> MessageTokens:
    """The larger of two counts of one answer, with the first call and the first time that either names."""
    more = one if _size(one) >= _size(other) else other
    step, at = one.step or other.step, min(one.at, other.at)
    begun = int(one.begun and other.begun and one.made == other.made)
    same = (more.step, more.at, more.begun) == (step, at, begun)
    return more if same else replace(more, step=step, at=at, begun=begun)


def _size(each: MessageTokens) -> int:
    return each.given + each.stored + each.cached + each.made


def _whole(usage: Row, *names: str) -> int:
    for name in names:
        value = usage.get(name)
        if value is not None and value != "":
            return fields.tokens(value) or 0
    return 0
