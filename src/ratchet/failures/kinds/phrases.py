"""Finds which phrases of `kind_words` and `kind_hints` a text meets. Lean: hook processes import it."""

from __future__ import annotations

from ratchet.failures.kinds.phrases_general import GENERAL, LAST
from ratchet.failures.kinds.phrases_specific import SPECIFIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    Rule = tuple[int, str, str, tuple[str, ...], tuple[str, ...]]  # rank, kind, a part, the others, those barred

# Letters lower, digits kept, all else a blank: one C loop over the text.
_FOLD = bytes(c if 48 <= c <= 57 or 97 <= c <= 122 else c + 32 if 65 <= c <= 90 else 32 for c in range(256))


def words_of(text: str) -> str:
    """The text as the phrases of `kind_words` are written: lower-case words and numbers, a blank around each."""
    if not text.isascii():
        text = text.replace("\u2019", "'").encode("ascii", "replace").decode()
    return f" {' '.join(text.encode().translate(_FOLD).decode().split())} "


def listed(words: str) -> list[str]:
    """Return what `words_of` gave, word by word: split once for all rules that ask in a row. Not to be changed."""
    global _listed
    known, said = _listed
    if known != words:
        said = words.split()
        _listed = words, said
    return said


_listed: tuple[str, list[str]] = ("", [])
_TIERS = (SPECIFIC, GENERAL, LAST)
_SCANS = 24  # texts after which an index of the phrases pays: building it costs about as much as reading these without
_by_word: dict[str, list[Rule]] = {}
_by_pair: dict[tuple[str, str], list[Rule]] = {}
_texts = 0


def met_by(words: str) -> tuple[str, str, str]:
    """The first group that the text meets among the specific phrases, the general ones, and the last resort.

    A hook meets one text and must start quickly, a drain meets thousands: the first texts are compared with every
    phrase, later ones only with those that hold one of their words. Both find the same.
    """
    global _texts  # how often, not what: no answer depends on it
    if _texts < _SCANS:
        _texts += 1
        return scanned(words)
    return indexed(words)


def scanned(words: str) -> tuple[str, str, str]:
    """`met_by`, comparing every phrase: about 0.3 ms, without preparation."""
    specific, general, last = (_scan(tier, words) for tier in _TIERS)
    return specific, general, last


def _parts(phrases: str) -> list[str]:
    return phrases.replace("\n        ", "|").split("|")


def _scan(tier: tuple[tuple[str, str], ...], words: str) -> str:
    for kind, phrases in tier:
        for phrase in _parts(phrases):
            if " & " not in phrase:
                if f" {phrase} " in words:
                    return kind
            elif all(
                (f" {part} " in words) if part[0] != "!" else (f" {part[1:]} " not in words)
                for part in phrase.split(" & ")
            ):
                return kind
    return ""


def indexed(words: str) -> tuple[str, str, str]:
    """`met_by`, comparing the phrases that share two neighbouring words (or their only word) with the text: some 10 us,
    once an index is built (5 ms)."""
    if not _by_pair:
        _build()
    first_general = len(SPECIFIC)
    first_last = first_general + len(GENERAL)
    best, met = [first_general, first_last, first_last + len(LAST)], ["", "", ""]
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
    rules: list[tuple[list[str | tuple[str, str]], Rule]] = []
    common: dict[str | tuple[str, str], int] = {}
    for rank, (kind, phrases) in enumerate(SPECIFIC + GENERAL + LAST):
        for phrase in _parts(phrases):
            parts = phrase.split(" & ")
            needed = [part.split() for part in parts if part[0] != "!"]
            barred = tuple(f" {part[1:]} " for part in parts if part[0] == "!")
            keys: list[str | tuple[str, str]] = [pair for held in needed for pair in zip(held, held[1:], strict=False)]
            keys = keys or [word for held in needed for word in held]
            for key in keys:
                common[key] = common.get(key, 0) + 1
            first, *others = (f" {' '.join(held)} " for held in needed)
            rules.append((keys, (rank, kind, first, tuple(others), barred)))
    for keys, rule in rules:
        rarest = min(keys, key=lambda key: (common[key], str(key)))
        if isinstance(rarest, tuple):
            _by_pair.setdefault(rarest, []).append(rule)
        else:
            _by_word.setdefault(rarest, []).append(rule)
