"""Merges near-identical templates into groups, online: what varies in a slot is a parameter, the cause is what stays.

Two steps, both linear and without a model. First a template is brought to its key (`key_of`): placeholders of every
type, ids glued to words, the values of `name=value`, names after a noun that announces one, and lists become one
wildcard. Templates with the same key are one group. Second, evidence (`Grouper`): where keys differ in a single slot,
its words are parameters once enough different ones were seen there. The outcome hardly depends on the order of
arrival, since evidence only adds up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, TypeVar

from ratchet.records import Row
from ratchet.signature import template_of

_K = TypeVar("_K")
_V = TypeVar("_V")

Apart = Literal["", "key", "template"]
"""How a person's split binds a template: its key takes no part in merges by evidence ("key"), or it is grouped with
nothing but itself ("template")."""

_ANY = "\x00"  # the wildcard, one character so that the patterns below stay simple
_SOME = "\x01"  # stands for whatever fills a pair of brackets; it takes evidence, one parameter there is none
_FRAME = "\nin "  # starts the frames of a traceback: code is named there, and a name of code is never a parameter

# How many different words make a slot a parameter. On the eight public log sets of benchmarks/grouping.py anything from
# 5 (words) and 3 (names of code) up scores the same, less merges states: opened/closed and LEADING/FOLLOWING/LOOKING
# come in twos and threes, names of things do not.
_WORDS_TO_OPEN = 6
_NAMES_TO_OPEN = 4
_HEADS_TO_OPEN = 10  # the first word of a message says what it is about
_LEAST_CONSTANT = 2  # words that must stay the same around a slot; "started X" alone is no evidence of anything
_TOKENS = 120  # tokens of a key that are looked at for slots

_NOUNS = (
    "user|host|node|server|device|file|module|package|class|domain|interface|volume|project|branch|table|column|program|"
    "database|bucket|queue|topic|container|image|pod|namespace|instance|account|role|tool|model|deployment|region"
)
_FUNCTION_WORDS = (
    "the|a|an|of|to|is|are|was|were|be|been|not|no|never|in|on|at|by|for|from|with|without|and|or|as|if|it|its|this|that|"
    "these|those|can|could|cannot|will|would|should|must|may|might|do|does|did|has|have|had|than|then|when|while|but|so|"
    "such|only|all|any|some|there|here|into|onto|over|under|after|before|again|already|still|also"
)
_FUNCTION = frozenset(_FUNCTION_WORDS.split("|"))
# Values of these names say what happened, where other names' values say to whom.
_TELLING = (
    "error|err|errno|code|reason|cause|status|state|type|kind|message|msg|exception|result|event|action|op|operation|cmd|"
    "command|method|signal|level|severity"
)
_PLACEHOLDER = re.compile(r"<[a-z]{2,5}>")
_TRUTH = re.compile(
    r"\b(?:true|false|True|False|TRUE|FALSE)\b|(?<=[=:])\s?(?:null|None|nil|NULL|undefined|[nN]/[aA])\b"
)
_DOTS = re.compile(r"\.{2,}")
_GLUED = re.compile(r"(?<![\w.\-/#@$%+~&\\])[\w.\-/#@$%+~&\\]*\x00[\w.\-/#@$%+~&\\\x00]*")
_RANGE = re.compile(r"\b\w+-\w*\[\x00\]")
_DOTTED = re.compile(r"(?<=[\s:={(\[/|])[A-Za-z_][\w$]*(?:\.[A-Za-z_$][\w$]*){2,}(?:/[\w.$]+)?(?![\w(:])")
_HEAD_DOTTED = re.compile(r"\A[A-Za-z_][\w$]*(?:\.[A-Za-z_$][\w$]*){2,}(?=:? (?:\S+ ){3}\S)")
_NO_VALUE = re.compile(r"(?<=\w)=(?=[\s,;&)\]}]|$)")
_NOTHING = re.compile(r"(?<!\w)(?:\(\s?\)|\[\s?\]|\{\s?\})")
_VALUE = re.compile(
    rf"(?<![\w.\-])(?!(?:{_TELLING})\s?=)([A-Za-z_][\w.\-]*)\s?=\s?(?![\s=])"
    r"(?:\"[^\"]*\"|'[^']*'|[^\s,;(){}\[\]\"'=]*(?:\{[^{}]*\}|\([^()]*\)|\[[^\[\]]*\])?)[\"']?"
)
_NAMED = re.compile(
    rf"(?i)(?<=[a-z:] )({_NOUNS})(:? )"
    rf"(?!(?:{_FUNCTION_WORDS}|names?|id|unknown|exists?|found|missing|\w+(?:ed|ing|ly))\b)([\w.$\-/]+)(?![\w(:])"
)
_SUBJECT = re.compile(
    rf"(?i)\b({_NOUNS}) (?!(?:{_FUNCTION_WORDS}|names?|\w+(?:ed|ing|ly))\b)[\w.$\-/]+"
    r"(?= (?:not|is|was|does|doesn't|did|has|cannot|could|already)\b)"
)
_BETWEEN = re.compile(r"\b(for|by) [A-Za-z_][\w.\-]*(?= (?:from|by|via)\b| \[)")
_PLURAL = re.compile(r"(?<=\x00 )([a-z]{3,})s\b")
_QUOTED = re.compile(r"[\"'`]\x00[\"'`]")
_LIST = re.compile(r"\x00(?:[\s,;|:/#+&\-~*<>]*\x00)+")
_BRACKETS = re.compile(r"([(\[{])\x00([)\]}])(?:[\s,\-]*\1\x00\2)+")
_TOKEN = re.compile(r"\x00|[A-Za-z_][\w.$\-/]*[\w$]|[A-Za-z_]|[()\[\]{}]|[^\sA-Za-z_\x00()\[\]{}]+")
_WORD = re.compile(r"[A-Za-z]{2,}")
# What names a cause is no parameter, however many of them are seen in one place.
_CAUSE = re.compile(
    r"(?:(?i:error|exception|fault|failure|failed|warning|denied|invalid|refused|timeout|forbidden)|\bE[A-Z]{3,})$"
)
_NAME = re.compile(r".*(?:[a-z][A-Z]|[a-z][.$/][A-Za-z]|[A-Za-z]_[A-Za-z])")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Added:
    """Where a template belongs: its group, whether the group is new, and the groups this addition merged into it."""

    group: str
    is_new: bool
    merged: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[object]:
        return iter((self.group, self.is_new, self.merged))


@dataclass(slots=True)
class _Member:
    group: str
    key: int
    apart: Apart = ""


def key_of(template: str) -> tuple[str, ...]:
    """The template's tokens with every slot that is surely a parameter as one wildcard."""
    said, frame, frames = template.partition(_FRAME)
    text = _TRUTH.sub(_ANY, _PLACEHOLDER.sub(_ANY, _DOTS.sub(" .. ", said)))
    glued = _RANGE.sub(_ANY, _GLUED.sub(_ANY, text))
    # A message that is little more than an id with letters in it ("core.1") would lose all it says.
    if len(_WORD.findall(glued)) >= _LEAST_CONSTANT:
        text = glued
    if "." in text:
        text = _DOTTED.sub(_parameter, _HEAD_DOTTED.sub(_parameter, text, count=1))
    if "=" in text:
        text = _VALUE.sub(r"\1=" + _ANY, _NO_VALUE.sub("=" + _ANY, text))
    text = _NOTHING.sub(lambda found: f"{found[0][0]}{_ANY}{found[0][-1]}", text)
    text = _SUBJECT.sub(r"\1 " + _ANY, _NAMED.sub(r"\1\2" + _ANY, text))
    text = _BETWEEN.sub(r"\1 " + _ANY, text)
    text = _LIST.sub(_ANY, _QUOTED.sub(_ANY, text))
    text = _LIST.sub(_ANY, _BRACKETS.sub(r"\1" + _ANY + r"\2", text))
    tokens = tuple(_TOKEN.findall(_PLURAL.sub(r"\1", text)))
    return (*tokens, frame + frames) if frame else tokens


def _parameter(found: re.Match[str]) -> str:
    name: str = found[0]
    return name if _CAUSE.search(name) else _ANY


def _slots(key: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Each part of the key that may prove to be a parameter: (its start, its end, different values that prove it)."""
    if len(key) > _TOKENS:
        return
    words = [i for i, token in enumerate(key) if token[0].isalpha() or token[0] == "_"]
    telling = [i for i in words if len(key[i]) > 1]
    if len(telling) > _LEAST_CONSTANT:
        for i in words:
            word = key[i]
            if word.lower() in _FUNCTION or _CAUSE.search(word):
                continue
            yield i, i + 1, _HEADS_TO_OPEN if i == words[0] else _NAMES_TO_OPEN if _NAME.match(word) else _WORDS_TO_OPEN
    for start, end in _bracketed(key):
        if len(telling) - sum(start <= i < end for i in telling) >= _LEAST_CONSTANT:
            yield start, end, _WORDS_TO_OPEN


def _bracketed(key: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Start and end of what innermost brackets hold, where it is a parameter or more than one token."""
    opened = -1
    for i, token in enumerate(key):
        if token in _CLOSING:
            opened = i
        elif opened >= 0 and token == _CLOSING[key[opened]]:
            if i > opened + 2 or (i == opened + 2 and key[opened + 1] == _ANY):
                yield opened + 1, i
            opened = -1


class _Weights(dict[str, int]):
    """A fixed number below 2**61 per token, from its text alone. Bounded like every memo."""

    def __missing__(self, token: str) -> int:
        if len(self) >= 50_000:
            self.clear()
        digest = blake2b(token.encode("utf-8", "surrogatepass"), digest_size=7).digest()
        self[token] = weight = int.from_bytes(digest, "big")
        return weight


_WEIGHTS = _Weights()
_PRIME = (1 << 61) - 1
_BASE = 0x1F3D_5B79_0246_8ACE % _PRIME
_POWERS = [pow(_BASE, exponent, _PRIME) for exponent in range(_TOKENS + 1)]


def _code(scope: str, key: Sequence[str]) -> int:
    """The key in its scope as one number: a polynomial of its tokens, so that the code of the key with another token in
    one place costs one multiplication, not a walk over all (`_widened`)."""
    code = _WEIGHTS[scope]
    for token in key:
        code = (code * _BASE + _WEIGHTS[token]) % _PRIME
    return code


def _widened(scope: str, key: Sequence[str], code: int) -> Iterator[tuple[int, int, int, int]]:
    """The slots of a key (of that code), each with the code of the key that has a wildcard there in front."""
    for start, end, enough in _slots(key):
        if end == start + 1 and key[start] != _ANY:
            change = _WEIGHTS[_ANY] - _WEIGHTS[key[start]]
            yield (code + change * _POWERS[len(key) - end]) % _PRIME, start, end, enough
        else:
            yield _code(scope, _with_wildcard(key, start, end)), start, end, enough


def _with_wildcard(key: Sequence[str], start: int, end: int) -> tuple[str, ...]:
    is_word = end == start + 1 and key[start] != _ANY
    return (*key[:start], _ANY if is_word else _SOME, *key[end:])


class Grouper:
    """Assigns templates to groups as they come, and merges groups once evidence says that they are one.

    A group's id follows from the scope and the template that founded it; of two merged groups the older one's id stays.
    `scope` keeps apart what must never share a group (the kind of failure). `rows()` and `Grouper(rows)` carry the
    state through a store, merges and splits included; rows of the scopes and the times in question suffice. About
    `capacity` templates are remembered, the oldest are forgotten first, which can only cost a later merge.
    """

    def __init__(self, rows: Iterable[Row] = (), *, capacity: int = 50_000) -> None:
        self._capacity = capacity
        self._members: dict[tuple[str, str], _Member] = {}
        self._groups: dict[int, str] = {}  # code of a key -> its group
        self._fits: dict[int, list[int]] = {}  # code of a key with one more wildcard -> keys that fit it so far
        self._closed: set[int] = set()  # codes of keys that a split keeps from being widened to, or grouped by
        self._into: dict[str, str] = {}  # a merged group -> the group that took it in
        self._age: dict[str, int] = {}
        for row in rows:
            self._restore(row)

    def add(self, template: str, scope: str = "") -> Added:
        """The template's group; a template met before is answered from memory."""
        known = self._members.get((scope, template))
        if known:
            return Added(self.find(known.group), is_new=False)
        key = key_of(template)
        code = _code(scope, key)
        founded = _group_id(scope, template)
        before = len(self._into)
        if code in self._closed:
            self._founded(founded)
            self._remember((scope, template), _Member(founded, code, "template"))
            return Added(founded, is_new=True)
        if code not in self._groups:
            self._groups[code] = self._founded(founded)
            self._weigh(scope, key, code)
        group = self.find(self._groups[code])
        self._remember((scope, template), _Member(group, code))
        gone = tuple(old for old in list(self._into)[before:] if old != founded)
        return Added(group, is_new=group == founded, merged=gone)

    def find(self, group: str) -> str:
        """The group that `group` is part of by now (itself, unless it was merged into another)."""
        while group in self._into:
            group = self._into[group]
        return group

    def split(self, group: str) -> list[Row]:
        """Undo the merges of a group for good: one group per key, or per template where it has one key only.

        Returns the rows that changed (all of the group's), to be stored. Empty for a group nobody knows.
        """
        members = [(name, member) for name, member in self._members.items() if self.find(member.group) == group]
        keys = {member.key for _, member in members}
        apart: Apart = "key" if len(keys) > 1 else "template"
        founders: dict[int, str] = {}
        for old in [old for old in self._into if self.find(old) == group]:
            del self._into[old]
        for (scope, template), member in members:
            own = self._founded(_group_id(scope, template))
            member.group = founders.setdefault(member.key, own) if apart == "key" else own
            member.apart = apart
            self._close(scope, key_of(template), member.key, apart)
        self._groups = {key: held for key, held in self._groups.items() if key not in keys and self.find(held) != group}
        if apart == "key":
            self._groups.update(founders)
        return [self._row(name, member) for name, member in members]

    def rows(self) -> Iterator[Row]:
        """One row per remembered template, oldest first: `template`, `scope`, `group`, `apart`."""
        return (self._row(name, member) for name, member in self._members.items())

    def _row(self, name: tuple[str, str], member: _Member) -> Row:
        return {"template": name[1], "scope": name[0], "group": self.find(member.group), "apart": member.apart}

    def _restore(self, row: Row) -> None:
        """Take a stored decision as it stands: nothing is merged here, or a merge would go unrecorded."""
        scope, template, group = str(row.get("scope") or ""), str(row["template"]), str(row["group"])
        key = key_of(template)
        code = _code(scope, key)
        apart: Apart = "template" if row.get("apart") == "template" else "key" if row.get("apart") == "key" else ""
        self._founded(group)
        self._remember((scope, template), _Member(group, code, apart))
        if apart:
            self._close(scope, key, code, apart)
        if apart == "template" or code in self._groups:
            return
        self._groups[code] = group
        waiting = [] if apart else [(key, code)]
        while waiting:
            narrow, code = waiting.pop()
            for wide, start, end, _ in _widened(scope, narrow, code):
                if wide in self._groups or wide in self._closed:
                    continue
                fits = self._fits.setdefault(wide, [])
                together = any(self._groups.get(fit) == group for fit in fits)
                fits.append(code)
                if together:
                    self._groups[wide] = group
                    waiting.append((_with_wildcard(narrow, start, end), wide))

    def _close(self, scope: str, key: Sequence[str], code: int, apart: Apart) -> None:
        """See that what was split finds no way back: no slot of its key opens, and a dissolved key groups nothing."""
        self._closed.update(wide for wide, *_ in _widened(scope, key, code))
        if apart == "template":
            self._closed.add(code)

    def _founded(self, group: str) -> str:
        self._age.setdefault(group, len(self._age))
        return group

    def _remember(self, name: tuple[str, str], member: _Member) -> None:
        self._members[name] = member
        _forget(self._members, self._capacity)
        _forget(self._groups, 2 * self._capacity)
        _forget(self._fits, 16 * self._capacity)

    def _weigh(self, scope: str, key: Sequence[str], code: int) -> None:
        """Join the new key with what it fits and with what fits it; open a slot once it has shown enough words."""
        waiting = [(key, code)]
        while waiting:
            narrow, code = waiting.pop()
            for fitting in self._fits.pop(code, ()):
                self._join(code, fitting)
            for wide, start, end, enough in _widened(scope, narrow, code):
                if wide in self._closed:
                    continue
                if wide not in self._groups:
                    fits = self._fits.setdefault(wide, [])
                    fits.append(code)
                    if len(fits) < enough:
                        continue
                    self._groups[wide] = self._groups[code]
                    waiting.append((_with_wildcard(narrow, start, end), wide))
                self._join(code, wide)

    def _join(self, one: int, other: int) -> None:
        if one not in self._groups or other not in self._groups:
            return  # forgotten in the meantime
        first, second = self.find(self._groups[one]), self.find(self._groups[other])
        if first != second:
            older, newer = sorted((first, second), key=self._age.__getitem__)
            self._into[newer] = older


def group(texts: Iterable[str]) -> list[str]:
    """One pattern id per text, in order: texts with the same id say the same thing with other parameters.

    In memory, nothing is stored. The ids follow from the texts alone: not from machine, process or (but for rare ties)
    their order.
    """
    texts = list(texts)
    grouper = Grouper(capacity=len(texts) + 1)
    templates = {text: template_of(text) for text in dict.fromkeys(texts)}
    groups = {template: grouper.add(template).group for template in dict.fromkeys(templates.values())}
    least: dict[str, str] = {}
    for template, first in groups.items():
        found = grouper.find(first)
        least[found] = min(template, least.get(found, template))
    ids = {template: _group_id("", least[grouper.find(first)]) for template, first in groups.items()}
    return [ids[templates[text]] for text in texts]


def _group_id(scope: str, template: str) -> str:
    founded = blake2b(f"{scope}\n{template}".encode("utf-8", "surrogatepass"), digest_size=8)
    return "p" + founded.hexdigest()


def _forget(remembered: dict[_K, _V], capacity: int) -> None:
    while len(remembered) > capacity:
        del remembered[next(iter(remembered))]
