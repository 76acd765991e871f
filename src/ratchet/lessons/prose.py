"""Ranks what people wrote (reports, notes, conversations) for who asks. It is never pushed by a hook: no score that was
tried tells a right first hit from a wrong one.

z = BM25 / the best BM25 + half of how much of each title stands in the other; of a conversation, whose turns speak of
many things, half of its best window by the best of all. Words are compared by their stems, and count for more when they
are asked more than once; where `meaning` is loaded, twice the cosine of the texts and that of their titles are added
for the best reports and notes. A later text about the same goes first, and the older one is
shown as superseded: decided when asked, since a link by similarity at writing joins what is unrelated (64 of 140
pairs).
"""

from __future__ import annotations

import re
from binascii import crc32
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heappop, heappush
from math import inf, log
from typing import TYPE_CHECKING

from ratchet.failures.features import spaced
from ratchet.lessons import meaning
from ratchet.lessons.finding import rarity
from ratchet.records import Row, number_in, text_in
from ratchet.store.derived import PROSE

if TYPE_CHECKING:
    from ratchet.ports import Store, Where

WRITTEN = ("person", *PROSE)
"""Sources whose lessons hold words of people."""
SOUGHT = 400  # forms of words by which prose is searched: a long text has dozens of words that hardly any other has
STEPS = 20_000
FOUND = 512  # rows of a search, of which the shortest for what they share are compared
CANDIDATES = 128
WINDOW = 3  # turns of a conversation that are looked at together, beginning with each of them
MEANT = 48  # of the best, that are compared by what they mean
AMONG = 5  # a newer text supersedes an older one among the best
_WINDOW_SHARE, _MEANING_SHARE, _TITLE_SHARE = 0.5, 2.0, 1.0
_SAME = 0.25  # words in common, by rarity, of two texts about the same
_NEARLY = 0.3  # of the older one's z that the newer one must reach
_COMMON = 0.25  # of the rarity of either text: less is `error`, `cannot`, `module`
# BM25 with a question of many words (Robertson and Zaragoza, The Probabilistic Relevance Framework, 3.4-3.5). FTS5 has
# 1.2, .75 and no third; these were chosen on the older half of OpenOffice's duplicates.
_K1, _B, _K3 = 2.0, 1.0, 3.0
_FLAT = 0.5  # of the mean length: what a text says counts less the longer it is, but for this
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Writing:
    """A text by a person that was found: its z among the others, the `share` of rarity in [0, 1] that it has in common
    with what is asked, and the id of a newer one that supersedes it."""

    row: Row
    z: float
    share: float
    superseded_by: str = ""


def ranked(store: Store, asked: str, where: Where, *, limit: int) -> list[Writing]:
    """Texts of people that share words with what is asked, best first."""
    words = words_of(asked)
    if not words:
        return []
    said = Counter(map(stem_of, words))
    terms = {stem: [term_of(form) for form in forms_of(stem)] for stem in said}
    for word in dict.fromkeys(words):
        terms[stem_of(word)].append(term_of(word))
    counts = store.spread("lessons", [*{term for forms in terms.values() for term in forms}, ""])
    found = {stem: {term: counts[term] for term in forms if term in counts} for stem, forms in terms.items()}
    known = {
        stem: rarity({"": counts.get("", 0), stem: max(forms.values())}, stem) for stem, forms in found.items() if forms
    }
    telling = {stem: weight * _stressed(said[stem]) for stem, weight in known.items()}
    chosen: dict[str, float] = {}
    left = STEPS
    for stem in sorted(telling, key=lambda each: -telling[each]):
        left -= sum(found[stem].values())
        if chosen and (left < 0 or len(chosen) + len(found[stem]) > SOUGHT):
            break
        chosen |= dict.fromkeys(found[stem], telling[stem])
    rows = store.match("lessons", chosen, {**where, "source": ("in", list(WRITTEN))}, limit=max(FOUND, limit))
    rows = _densest(rows, chosen, max(CANDIDATES, limit))
    whole = dict.fromkeys(terms, rarity({"": counts.get("", 0)}, "unmet")) | known
    titles = _rarities(store, [word for row in rows for word in words_of(_title(text_of(row)))])
    scored = _scored(asked, known, rows, whole, titles, counts.get("", 0))
    about = [each for each in scored if _is_about(each)]
    return _superseding(_meant(asked, about))[:limit]


def _rarities(store: Store, words: Iterable[str]) -> dict[str, float]:
    """The rarity of these words in the form that they have here, by their stems; of those that no index holds none."""
    terms = {term_of(word): stem_of(word) for word in dict.fromkeys(words)}
    counts = store.spread("lessons", [*terms, ""])
    return {stem: rarity(counts, term) for term, stem in terms.items() if term in counts}


def _densest(rows: Sequence[Row], weights: Mapping[str, float], limit: int) -> list[Row]:
    """Choose the rows that share most weight of terms with a question for their length, of those that share most: a
    search without lengths finds the longest. Not looked at are those too long for what the one before them shares."""
    terms = [text_in(row, "terms") for row in rows]
    sizes = [each.count(" ") + 1 for each in terms]
    mean = sum(sizes) / len(sizes) if sizes else 1.0
    shared, best = inf, list[tuple[float, int]]()
    for at, (each, size) in enumerate(zip(terms, sizes, strict=True)):
        length = _FLAT + size / mean
        if len(best) < limit or shared / length > best[0][0]:
            shared = sum([weights.get(term, 0.0) for term in each.split()])
            heappush(best, (shared / length, -at))
            if len(best) > limit:
                heappop(best)
    return [rows[-at] for _, at in sorted(best, reverse=True)]


def _meant(asked: str, found: list[Writing]) -> list[Writing]:
    """Put the best reports and notes in the order of what they mean, too, where this process has the model.
    Conversations stay where they are: what tells those apart, a year or a name, it does not see."""
    model = meaning.loaded()
    places = [at for at, each in enumerate(found[:MEANT]) if text_in(each.row, "source") != "conversation"]
    if model is None or len(places) < 2:
        return found
    texts = [text_of(found[at].row) for at in places]
    titles = model.near(_title(asked), list(map(_title, texts)))
    near = {
        at: found[at].z + _MEANING_SHARE * text + _TITLE_SHARE * title
        for at, text, title in zip(places, model.near(asked, texts), titles, strict=True)
    }
    ordered = [*found]
    for place, at in zip(places, sorted(near, key=lambda at: -near[at]), strict=True):
        ordered[place] = found[at]
    return ordered


def _is_about(each: Writing) -> bool:
    """Tell whether a lesson that somebody wrote for one error has more in common with the text than what every error
    says."""
    return text_in(each.row, "source") in PROSE or each.share >= _COMMON


def words_of(text: str) -> list[str]:
    return _WORD.findall(spaced(text.lower()))


def stems_of(text: str) -> list[str]:
    return list(map(stem_of, words_of(text)))


@lru_cache(maxsize=20_000)
def stem_of(word: str) -> str:
    """A word without the ending that number, tense or manner give it in English, so that "paints", "painted" and
    "painting" are one. Words of other languages lose a few letters at most, in a question and in a text alike."""
    stem = word
    if stem.endswith("ies"):
        stem = stem[:-3] + "y"
    elif stem.endswith("s") and stem[-2:] not in ("ss", "us"):
        stem = stem[:-1]
    for ending in ("ing", "ed"):
        if stem.endswith(ending) and len(stem) >= len(ending) + _STEM:
            stem = stem[: -len(ending)]
            break
    if len(stem) > _STEM and stem[-1] == stem[-2] and stem[-1] not in "lsz":
        stem = stem[:-1]
    if len(stem) > _STEM and stem[-1] == "e":
        stem = stem[:-1]
    if len(stem) > _STEM and stem[-1] == "y":
        stem = stem[:-1] + "i"
    return stem if len(stem) >= _STEM else word


def forms_of(stem: str) -> list[str]:
    """The words that a stem may stand for; those that are none are in no text."""
    last, bare = stem[-1:], stem[:-1] + "y" if stem[-1:] == "i" else stem
    more = [f"{stem}{ending}" for ending in ("e", "s", "es", "ed", "ing")]
    return [bare, *more, f"{bare}ing", f"{stem}{last}ed", f"{stem}{last}ing"]


_STEM = 3  # letters that a stem has at least


def term_of(word: str) -> str:
    """The feature of a single word (`failures.features`)."""
    return f"{crc32(word.encode('utf-8', 'replace')):08x}"


def text_of(row: Row) -> str:
    return text_in(row, "said") or text_in(row, "when_text")


def _scored(
    asked: str,
    weights: Mapping[str, float],
    rows: Sequence[Row],
    whole: Mapping[str, float],
    titles: Mapping[str, float],
    of: int,
) -> list[Writing]:
    """Score the rows that were found among `of` texts, best first; `titles` weighs the words of their titles."""
    said, texts = Counter(stems_of(asked)), [Counter(stems_of(text_of(row))) for row in rows]
    weights = dict(weights) | _unindexed(said.keys() - weights.keys(), texts, of)
    mean = sum(map(Counter.total, texts)) / len(texts) if texts else 1.0
    stressed = {stem: weight * _stressed(said[stem]) for stem, weight in weights.items()}
    plain = [bm25(stressed, words, mean) for words in texts]
    best = max(plain, default=0.0) or 1.0
    windows = [_best_window(row, weights) for row in rows]
    widest = max(windows, default=0.0) or 1.0
    title, told = set(stems_of(_title(asked))), {**titles, **weights}
    found = []
    for row, words, score, window in zip(rows, texts, plain, windows, strict=True):
        z = score / best
        if text_in(row, "source") == "conversation":
            z += _WINDOW_SHARE * window / widest
        else:
            z += _covered(title, set(stems_of(_title(text_of(row)))), told)
        found.append(Writing(row, z, _shared(whole, words)))
    return sorted(found, key=lambda each: (-each.z, str(each.row["id"])))


def _unindexed(stems: set[str], texts: Sequence[Counter[str]], of: int) -> dict[str, float]:
    """Weigh what a masked index does not hold (numbers, years, what somebody quoted) by the texts that were found, on
    the scale of all: what one of the found says is as rare as what one of all says."""
    counts = Counter(stem for text in texts for stem in stems & text.keys())
    scale = log(max(of, len(texts)) + 1) / log(len(texts) + 1) if texts else 1.0
    return {stem: scale * rarity({"": len(texts), stem: count}, stem) for stem, count in counts.items()}


def _stressed(times: int) -> float:
    """Weigh a word that a question says so many times: what it is about, it says more than once."""
    return times * (_K3 + 1.0) / (times + _K3)


def bm25(weights: Mapping[str, float], said: Counter[str], mean: float) -> float:
    flat = _K1 * (1.0 - _B + _B * said.total() / mean) if mean else _K1
    return sum([weights[word] * said[word] * (_K1 + 1.0) / (said[word] + flat) for word in weights if word in said])


def _best_window(row: Row, weights: Mapping[str, float]) -> float:
    if text_in(row, "source") != "conversation":
        return 0.0
    said = [{word for word in stems_of(turn) if word in weights} for turn in text_of(row).split("\n") if turn.strip()]
    best = 0.0
    for start in range(len(said)):
        window = said[start].union(*said[start + 1 : start + WINDOW])
        best = max(best, sum([weights[word] for word in window]))
    return best


def _title(text: str) -> str:
    return next((line for line in text.split("\n") if line.strip()), "")


def _covered(one: Collection[str], other: Collection[str], weights: Mapping[str, float]) -> float:
    """Rate how much of each title stands in the other, by rarity: their mean."""
    common = sum(weights.get(word, 0.0) for word in one if word in other)
    whole = [sum(weights.get(word, 1.0) for word in title) for title in (one, other)]
    return sum(common / each for each in whole if each) / 2.0


def _shared(asked: Mapping[str, float], words: Mapping[str, int]) -> float:
    """The rarity that a question (its stems with theirs) and a text have in common, of that of whichever says less.
    What the question does not say is as rare as what no text says."""
    rarest = max(asked.values(), default=0.0)
    both = [asked[word] for word in asked if word in words]
    common = sum(both)
    least = min(sum(asked.values()), common + rarest * (len(words) - len(both)))
    return common / least if least else 0.0


def _superseding(found: list[Writing]) -> list[Writing]:
    """Put newer texts about the same in front of the older ones, among the best."""
    best, rest = found[:AMONG], found[AMONG:]
    ordered: list[Writing] = []
    terms = [set(text_in(each.row, "terms").split()) for each in best]
    newer: dict[int, int] = {}
    for old, one in enumerate(best):
        for new, other in enumerate(best):
            later = number_in(other.row, "created_at") > number_in(one.row, "created_at")
            alike = len(terms[old] & terms[new]) / (len(terms[old] | terms[new]) or 1)
            if later and alike >= _SAME and other.z >= _NEARLY * one.z:
                held = newer.get(old)
                if held is None or number_in(best[held].row, "created_at") < number_in(other.row, "created_at"):
                    newer[old] = new
    for at, each in enumerate(best):
        by = newer.get(at)
        if by is not None and best[by] not in ordered:
            ordered.append(best[by])
        shown = each if by is None else replace(each, superseded_by=str(best[by].row["id"]))
        if each not in ordered:
            ordered.append(shown)
    return [*ordered, *rest]
