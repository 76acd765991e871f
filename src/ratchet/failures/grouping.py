"""Merges near-identical templates into groups, online: what varies in a slot is a parameter, the cause is what stays.

Two steps, both linear and without a model. First each template is brought to its key (`grouping_keys`); templates with
the same key are one group. Second, evidence (`Grouper`): where keys differ in a single slot, its words are parameters
once enough different ones were seen there. The outcome hardly depends on the order of arrival, since evidence only
adds up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, NamedTuple, TypeVar

from ratchet.errors import UsageError
from ratchet.failures.grouping_keys import ANY, TOKENS, key_of, slots_of, widened
from ratchet.failures.signature import template_of
from ratchet.records import Row

_K = TypeVar("_K")
_V = TypeVar("_V")

Apart = Literal["", "key", "template"]
"""How a person's split binds a template: its key takes no part in merges by evidence ("key"), or it is grouped with
nothing but itself ("template")."""


class Added(NamedTuple):
    """Place of a template: its group, whether the group is new, and the groups this addition merged into it."""

    group: str
    is_new: bool
    merged: tuple[str, ...] = ()


@dataclass(slots=True)
class _Member:
    group: str
    key: int
    apart: Apart = ""


class Grouper:
    """Assigns templates to groups as they come, and merges groups once evidence says that they are one.

    A group's id follows from the scope and the template that founded it; of two merged groups the older one's id stays.
    `scope` keeps apart what must never share a group (the kind of failure). `rows()` and `Grouper(rows)` carry the
    state through a store, merges and splits included; rows of the scopes and the times in question suffice. About
    `capacity` templates are remembered, the oldest are forgotten first, which can only cost a later merge.
    """

    def __init__(self, rows: Iterable[Row] = (), *, capacity: int = 20_000) -> None:
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
        if code in self._closed:
            self._founded(founded)
            self._remember((scope, template), _Member(founded, code, "template"))
            return Added(founded, is_new=True)
        gone: list[str] = []
        is_first = code not in self._groups
        if is_first:
            self._groups[code] = self._founded(founded)
            self._weigh(scope, key, code, gone)
        group = self.find(self._groups[code])
        self._remember((scope, template), _Member(group, code))
        merged = tuple(old for old in gone if old != founded)
        return Added(group, is_new=is_first and group == founded, merged=merged)

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
        former = {old for old in self._into if self.find(old) == group} | {group}
        self._into = {old: into for old, into in self._into.items() if old not in former}
        for (scope, template), member in members:
            own = self._founded(_group_id(scope, template))
            member.group = founders.setdefault(member.key, own) if apart == "key" else own
            member.apart = apart
            self._close(scope, key_of(template), member.key, apart)
        self._groups = {key: held for key, held in self._groups.items() if key not in keys and held not in former}
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
                    waiting.append((widened(narrow, start, end), wide))

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
        _forget(self._fits, 40 * self._capacity)

    def _weigh(self, scope: str, key: Sequence[str], code: int, gone: list[str]) -> None:
        """Join the new key with what it fits and with what fits it; open a slot once it has shown enough words. Groups
        that were merged into another are added to `gone`."""
        waiting = [(key, code)]
        while waiting:
            narrow, code = waiting.pop()
            for fitting in self._fits.pop(code, ()):
                self._join(code, fitting, gone)
            for wide, start, end, enough in _widened(scope, narrow, code):
                if wide in self._closed:
                    continue
                if wide not in self._groups:
                    fits = self._fits.setdefault(wide, [])
                    fits.append(code)
                    if len(fits) < enough:
                        continue
                    self._groups[wide] = self._groups[code]
                    waiting.append((widened(narrow, start, end), wide))
                self._join(code, wide, gone)

    def _join(self, one: int, other: int, gone: list[str]) -> None:
        if one not in self._groups or other not in self._groups:
            return  # forgotten in the meantime
        first, second = self.find(self._groups[one]), self.find(self._groups[other])
        if first != second:
            older, newer = sorted((first, second), key=self._age.__getitem__)
            self._into[newer] = older
            gone.append(newer)


def group(texts: Iterable[str]) -> list[str]:
    """One pattern id per text, in order: texts with the same id say the same thing with other parameters.

    In memory, nothing is stored. The ids follow from the texts alone: not from machine, process or (but for rare ties)
    their order. Raises UsageError for anything but texts, one text alone included.
    """
    texts = _texts(texts)
    grouper = Grouper()
    templates = {text: template_of(text) for text in dict.fromkeys(texts)}
    groups = {template: grouper.add(template).group for template in dict.fromkeys(templates.values())}
    least: dict[str, str] = {}
    for template, first in groups.items():
        found = grouper.find(first)
        least[found] = min(template, least.get(found, template))
    ids = {template: _group_id("", least[grouper.find(first)]) for template, first in groups.items()}
    return [ids[templates[text]] for text in texts]


def _texts(given: object) -> list[str]:
    texts = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else None
    if texts is None:
        raise UsageError(f"group takes texts in a list or another iterable, not {type(given).__name__}")
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise UsageError(f"group takes texts (str); number {position} is {type(text).__name__}")
    return texts


def _group_id(scope: str, template: str) -> str:
    founded = blake2b(f"{scope}\n{template}".encode("utf-8", "surrogatepass"), digest_size=8)
    return "p" + founded.hexdigest()


def _forget(remembered: dict[_K, _V], capacity: int) -> None:
    while len(remembered) > capacity:
        del remembered[next(iter(remembered))]


class _Weights(dict[str, int]):
    """A fixed number below 2**61 per token, from its text alone. Bounded as every memo is."""

    def __missing__(self, token: str) -> int:
        if len(self) >= 50_000:
            self.clear()
        digest = blake2b(token.encode("utf-8", "surrogatepass"), digest_size=7).digest()
        self[token] = weight = int.from_bytes(digest, "big")
        return weight


_WEIGHTS = _Weights()
_PRIME = (1 << 61) - 1
_BASE = 0x1F3D_5B79_0246_8ACE % _PRIME
_POWERS = [pow(_BASE, exponent, _PRIME) for exponent in range(TOKENS + 1)]


def _code(scope: str, key: Sequence[str]) -> int:
    """The key in its scope as one number: a polynomial of its tokens, so that the code of the key with another token in
    one place costs one multiplication, not a walk over all (`_widened`)."""
    code = _WEIGHTS[scope]
    for token in key:
        code = (code * _BASE + _WEIGHTS[token]) % _PRIME
    return code


def _widened(scope: str, key: Sequence[str], code: int) -> Iterator[tuple[int, int, int, int]]:
    """The slots of a key (of that code), each with the code of the key that has a wildcard there in front."""
    for start, end, enough in slots_of(key):
        if end == start + 1 and key[start] != ANY:  # a word
            change = _WEIGHTS[ANY] - _WEIGHTS[key[start]]
            yield (code + change * _POWERS[len(key) - end]) % _PRIME, start, end, enough
        else:
            yield _code(scope, widened(key, start, end)), start, end, enough
