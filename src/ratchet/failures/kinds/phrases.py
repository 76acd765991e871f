"""Finds which phrases of `phrases.toml` a text meets; the file is read when the first text is asked about."""

from __future__ import annotations

import re
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Rule = tuple[int, str, str, tuple[str, ...], tuple[str, ...]]  # rank, kind, a part, the others, those barred
    Tier = tuple[tuple[str, tuple[str, ...]], ...]  # kind, its phrases

MEMO = 2_048
"""Texts, without the words that do not matter, of which it is remembered what they say: at most 4 MB."""
# Letters lower, digits kept, all else a blank: one C loop over the text.
_FOLD = bytes(c if 48 <= c <= 57 or 97 <= c <= 122 else c + 32 if 65 <= c <= 90 else 32 for c in range(256))


def words_of(text: str) -> str:
    """The text as the phrases are written: lower-case words and numbers, a blank around each."""
    global _listed
    if not text.isascii():
        text = text.replace("\u2019", "'").encode("ascii", "replace").decode()
    said = text.encode().translate(_FOLD).decode().split()
    words = f" {' '.join(said)} "
    _listed = words, said
    return words


def listed(words: str) -> list[str]:
    """Return what `words_of` gave, word by word: split once for all rules that ask in a row. Not to be changed."""
    global _listed
    known, said = _listed
    if known != words:
        said = words.split()
        _listed = words, said
    return said


_listed: tuple[str, list[str]] = ("", [])
_by_word: dict[str, list[Rule]] = {}
_by_pair: dict[tuple[str, str], list[Rule]] = {}


_GROUP = r'\[\[(\w+)\]\]\nkind = "(\w+)"\nphrases = \[\n((?:    "[^"\\\n]+",\n)*)\]\n'


@lru_cache(maxsize=1)
def tiers() -> tuple[Tier, Tier, Tier]:
    """The groups of phrases in their order: the specific ones, the general ones, and the last resort.

    Reads the one layout that the file has (a phrase a line): `tomllib` takes seven times as long, which every command
    that asks for a kind would pay. A test holds both readings equal. Raises ValueError for a line that is written in
    another way: it would be left out.
    """
    from pathlib import Path  # here, since a hook imports this module and asks about no text

    text = Path(__file__).with_name("phrases.toml").read_text(encoding="utf-8")
    unread = [line for line in re.sub(_GROUP, "", text).split("\n") if line and line[0] != "#"]
    if unread:
        raise ValueError(f"phrases.toml: {unread[0]!r} is not read: a phrase stands on a line of its own, as others do")
    held: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for name, kind, phrases in re.findall(_GROUP, text):
        held.setdefault(name, []).append((kind, tuple(phrases.split('"')[1::2])))
    return tuple(held["specific"]), tuple(held["general"]), tuple(held["last"])


def vocabulary() -> tuple[set[str], list[str]]:
    """All that matters of a text to `met_by`: the words that stand in any phrase, but for numbers beside others, and
    the parts of phrases with such numbers, a blank around each."""
    phrases = (phrase for tier in tiers() for _, held in tier for phrase in held)
    parts = {part.lstrip("!") for phrase in phrases for part in phrase.split(" & ")}
    numbered = [part for part in parts if " " in part and any(map(str.isdigit, part.split()))]
    words = {word for part in parts for word in part.split() if part == word or not word.isdigit()}
    return words, [f" {part} " for part in numbered]


@lru_cache(maxsize=MEMO)
def met_by(words: str) -> tuple[str, str, str]:
    """The first group that the text meets among the specific phrases, the general ones, and the last resort.

    Compares the phrases that share two neighbouring words (or their only word) with the text: some 10 us where the
    answer is not remembered, once the phrases are read and an index of them is built.
    """
    if not _by_pair:
        _build()
    specific, general, last = tiers()
    first_general = len(specific)
    first_last = first_general + len(general)
    best, met = [first_general, first_last, first_last + len(last)], ["", "", ""]
    said = listed(words)
    shared = [_by_pair[pair] for pair in _by_pair.keys() & zip(said, said[1:], strict=False)]
    shared += [_by_word[word] for word in _by_word.keys() & said]
    for rules in shared:
        for rank, kind, first, others, barred in rules:
            tier = (rank >= first_general) + (rank >= first_last)
            if rank >= best[tier] or first not in words:
                continue
            if others and not all(part in words for part in others):
                continue
            if not (barred and any(part in words for part in barred)):
                best[tier], met[tier] = rank, kind
    return met[0], met[1], met[2]


def _build() -> None:
    """Each phrase under its rarest pair of words, or under its word: a text meets few of those."""
    rules: list[tuple[Sequence[str | tuple[str, str]], Rule]] = []
    common: dict[str | tuple[str, str], int] = {}
    for rank, (kind, phrases) in enumerate(group for tier in tiers() for group in tier):
        for phrase in phrases:
            keys, rule = _split(rank, kind, phrase) if "&" in phrase else _whole(rank, kind, phrase)
            for key in keys:
                common[key] = common.get(key, 0) + 1
            rules.append((keys, rule))
    by_word: dict[str, list[Rule]] = {}
    by_pair: dict[tuple[str, str], list[Rule]] = {}
    for keys, rule in rules:
        rarest = keys[0] if len(keys) == 1 else min(keys, key=common.__getitem__)
        if isinstance(rarest, tuple):
            by_pair.setdefault(rarest, []).append(rule)
        else:
            by_word.setdefault(rarest, []).append(rule)
    _by_word.update(by_word)
    _by_pair.update(by_pair)  # last, and at once: another thread that finds it finds both whole


def _whole(rank: int, kind: str, phrase: str) -> tuple[Sequence[str | tuple[str, str]], Rule]:
    words = phrase.split()
    return [*zip(words, words[1:], strict=False)] or words, (rank, kind, f" {phrase} ", (), ())


def _split(rank: int, kind: str, phrase: str) -> tuple[Sequence[str | tuple[str, str]], Rule]:
    """A phrase whose parts may stand anywhere, and the parts that must not."""
    parts = phrase.split(" & ")
    needed = [part.split() for part in parts if part[0] != "!"]
    first, *others = (f" {' '.join(held)} " for held in needed)
    barred = tuple(f" {part[1:]} " for part in parts if part[0] == "!")
    pairs = [pair for held in needed for pair in zip(held, held[1:], strict=False)]
    return pairs or [word for held in needed for word in held], (rank, kind, first, tuple(others), barred)
