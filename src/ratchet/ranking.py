"""Decides which remembered failures are the one at hand, how sure that is, and whose advice comes first.

Works on masked texts (`signature.template_of`): the caller fetches candidates by shared words and passes plain strings
and numbers, so a hook process pays only for this file. What it rests on (measured by `benchmarks/recall.py`):

- Two texts of one cause differ in parameters, two causes in words. So whatever holds a placeholder is one blank, every
  other word weighs by how likely it names the cause (`_weight`), and words that differ cost by their sum as well as by
  their share: one differing verb in a long line is another cause.
- A remembered line inside a long output, and one line out of a long memory, are the same cause: the smaller text is
  looked for in the larger, line by line.
- What a person types is words, not an error: those are looked for anywhere in the memory.
- Similarity decides which band a lesson is in, evidence the order inside the band, its age nothing.
"""

from __future__ import annotations

import re
from math import exp, sqrt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from re import Match

THRESHOLD = 0.8
"""Below it a text is not the remembered one. Calibrated by `benchmarks/recall.py`, leaving log sets out in turn."""

BAND = 0.05
"""Scores this near to the best of their band count as equal, so that evidence orders them."""

WORDS = 24  # words that a search for candidates is given
FULLY_COMPARED = 16  # candidates, out of those a search found, that are compared in full
LINES = 40  # lines of a text that are compared one by one
LENGTH = 2_000  # characters of a text that are compared

# Share of trigrams in the similarity of two texts, and what differing words cost: substituted ones (on both sides) are
# another cause more often than additional ones (on one side).
_TRIGRAM_SHARE = 0.3
_SUBSTITUTED_COST = 0.35
_ADDED_COST = 0.1
_CONTAINED = 0.98  # finding a text inside another is a little less than finding the text
_CONTAINED_WEIGHT = 2.0  # words a text must have to be looked for inside another
_PROSE_WORDS = 16

_ATOM = re.compile(r"[\w.$@/+\-]*<[a-z]+>(?:[\w.$@/+:\-]*<[a-z]+>)*[\w.$@/+\-]*")
_WORD = re.compile(r"[^\W\d_][\w$]*(?:[.$@/-]\w[\w$]*)*")
_MACHINE = re.compile(r"[#=(){}\[\]<>|\\]|\w[._/$]\w")
_CLASS_ENDS = ("Error", "Exception", "Warning")
_FILLER_WORDS = (
    "a an the of in on at to for from by with is are was were be been it its this that these those as and or has have "
    "had into your you please if when while then there here will would should may any some"
)
_ASKING_WORDS = (
    "how do does did i my me we why what which where can fix get getting got error errors fail fails failed failing "
    "failure issue problem help solve says said keep keeps after trying"
)
# After these a name follows, which differs from run to run.
_NAMING_WORDS = (
    "user branch module named host class table column key package file command image service container database schema "
    "directory remote"
)
_FILLERS = frozenset(_FILLER_WORDS.split())
_ASKING = frozenset(_ASKING_WORDS.split())
_NAMING = frozenset(_NAMING_WORDS.split())
_CONSTANTS = frozenset(("true", "false", "null", "none", "nil", "yes", "undefined", "nan"))


class Text:
    """A masked text made ready for comparison. Making one costs about 1 us a word, comparing two about as much."""

    __slots__ = ("bag", "grams", "lines", "prose", "weight")

    def __init__(self, masked: str) -> None:
        blanked = _ATOM.sub(_blank, masked[:LENGTH])
        self.lines = [bag for bag in map(_bag, blanked.split("\n", LINES)) if bag]
        self.bag = _merged(self.lines)
        self.weight = sum(self.bag.values())
        self.grams = trigrams(blanked)
        self.prose = len(self.lines) == 1 and len(self.bag) <= _PROSE_WORDS and not _MACHINE.search(blanked)


def trigrams(text: str) -> set[str]:
    """The trigrams of a text, case folded; of a shorter text, the text."""
    text = text.lower()
    return {text[i : i + 3] for i in range(len(text) - 2)} or {text}


def words(masked: str) -> list[str]:
    """The words by which to search for candidates, lower case, those that tell most first; at most `WORDS`."""
    bag = Text(masked).bag
    telling = sorted(bag, key=lambda word: (-min(bag[word], 1.0), -len(word), word))
    return list(dict.fromkeys(part for word in telling for part in re.split(r"[^\w]+", word) if len(part) > 1))[:WORDS]


def similarity(query: str, memory: str) -> float:
    """How surely two masked texts have one cause, in [0, 1]; equal texts are 1."""
    return 1.0 if query == memory else _compare(Text(query), Text(memory))


def rank(query: str, memories: Sequence[str], threshold: float = THRESHOLD) -> list[tuple[float, int]]:
    """(similarity, position) of the memories that are similar enough to the query, the most similar first."""
    asked = Text(query)
    found = []
    for position in _worth_comparing(query, memories):
        memory = memories[position]
        score = 1.0 if memory == query else _compare(asked, Text(memory))
        if score >= threshold:
            found.append((score, position))
    found.sort(key=lambda hit: (-hit[0], hit[1]))
    return found


def evidence(tried: int, worked: int) -> float:
    """How far `worked` of `tried` can be relied on, in [0, 1]: the mean of the Beta posterior less one deviation.

    Prior Beta(1, 1). Unlike Wilson's lower bound, which is 0 for both, it holds a lesson never tried (.21) to be better
    than one that was tried and never worked (0 of 5: .02), and like it 65 of 100 (.60) better than 1 of 1 (.43).
    """
    good = 1.0 + max(0, min(worked, tried))
    total = 2.0 + max(0, tried)
    mean = good / total
    return mean - sqrt(mean * (1.0 - mean) / (total + 1.0))


def order(hits: Iterable[tuple[float, bool, int, int, str]]) -> list[int]:
    """Positions of the hits (score, active, tried, worked, id), best first.

    Bands of similarity first; within a band the active (approved or proven) lessons first, then by evidence, then by
    score; the id breaks ties, so that the order is the same in every process.
    """
    listed = list(hits)
    ranked = sorted(range(len(listed)), key=lambda i: -listed[i][0])
    bands: dict[int, int] = {}
    band, top = 0, 2.0
    for position in ranked:
        if listed[position][0] < top - BAND:
            band, top = band + 1, listed[position][0]
        bands[position] = band

    def key(position: int) -> tuple[int, bool, float, float, str]:
        score, active, tried, worked, name = listed[position]
        return bands[position], not active, -evidence(tried, worked), -score, name

    return sorted(ranked, key=key)


def _worth_comparing(query: str, memories: Sequence[str]) -> Iterable[int]:
    """Positions of the memories that share most of the smaller text's words: a glance before the full comparison."""
    if len(memories) <= FULLY_COMPARED:
        return range(len(memories))
    asked = set(query.lower().split())

    def shared(position: int) -> float:
        known = set(memories[position].lower().split())
        return len(asked & known) / (min(len(asked), len(known)) + 1.0)

    return sorted(range(len(memories)), key=lambda i: (-shared(i), i))[:FULLY_COMPARED]


def _compare(query: Text, memory: Text) -> float:
    common = len(query.grams & memory.grams)
    grams = common / (len(query.grams) + len(memory.grams) - common)
    if not query.weight or not memory.weight:
        return grams
    score = _TRIGRAM_SHARE * grams + (1.0 - _TRIGRAM_SHARE) * _overlap(query.bag, memory.bag)
    score *= _discord(query.bag, memory.bag)
    small, large = (query, memory) if query.weight <= memory.weight else (memory, query)
    if len(large.lines) > 1 and small.weight >= _CONTAINED_WEIGHT:
        score = max(score, _CONTAINED * _contained(small, large))
    if query.prose:
        score = max(score, _CONTAINED * _covered(query, memory))
    return score


def _overlap(one: dict[str, float], other: dict[str, float]) -> float:
    """Weighted Jaccard of two bags of words."""
    common = sum([min(weight, other[word]) for word, weight in one.items() if word in other])
    return common / (sum(one.values()) + sum(other.values()) - common)


def _discord(one: dict[str, float], other: dict[str, float]) -> float:
    """What differing words leave of a similarity, by their sum: 1 where none differ."""
    common = sum([min(weight, other[word]) for word, weight in one.items() if word in other])
    left = sum(one.values()) - common
    right = sum(other.values()) - common
    substituted = min(left, right)
    return exp(-_SUBSTITUTED_COST * substituted - _ADDED_COST * (max(left, right) - substituted))


def _contained(small: Text, large: Text) -> float:
    """How surely each line of the smaller text stands somewhere in the larger one, by the weight of the lines."""
    total = 0.0
    for line in small.lines:
        weight = sum(line.values())
        total += weight * max([_overlap(line, other) * _discord(line, other) for other in large.lines])
    return total / small.weight


def _covered(query: Text, memory: Text) -> float:
    """How much of what a person asks with stands anywhere in the memory."""
    asked = {word: weight for word, weight in query.bag.items() if word not in _ASKING}
    total = sum(asked.values())
    if total < _CONTAINED_WEIGHT:
        return 0.0
    missing = sum([weight for word, weight in asked.items() if word not in memory.bag])
    return (total - missing) / total * exp(-_ADDED_COST * missing)


def _blank(match: Match[str]) -> str:
    """A word that holds a placeholder varies; only the class of an exception in it says what happened."""
    last = match[0].rpartition(".")[2]
    return f"# {last}" if last.endswith(_CLASS_ENDS) and "<" not in last else "#"


def _bag(line: str) -> dict[str, float]:
    """The words of one line with their weights."""
    bag: dict[str, float] = {}
    scale = 0.3 if line.startswith("in ") and line.endswith(")") else 1.0  # a frame: where, not what
    before = ""
    for found in _WORD.finditer(line):
        word = found[0]
        if word.endswith(_CLASS_ENDS):
            word = word.rpartition(".")[2]
        start = found.start()
        weight = _weight(word, before, line[start - 1] if start else " ")
        before = word.lower()
        bag[before] = bag.get(before, 0.0) + weight * scale
    return bag


def _weight(word: str, before: str, mark: str) -> float:
    """How likely a word names the cause, not a parameter. `before`: the word before it; `mark`: the character before."""
    low = word.lower()
    if low in _CONSTANTS:
        return 0.1
    if low in _FILLERS:
        return 0.3
    if word.endswith(_CLASS_ENDS):
        return 2.0
    weight = 1.0
    if "." in word or "/" in word or "@" in word:
        weight = 0.25 if word.count(".") + word.count("/") > 1 else 0.6
    elif "-" in word:
        weight = 0.7
    elif "_" in word and low == word:
        weight = 0.6
    if mark in "'\"`=" or before in _NAMING:
        weight *= 0.4
    return weight


def _merged(bags: Sequence[dict[str, float]]) -> dict[str, float]:
    if len(bags) == 1:
        return bags[0]
    merged: dict[str, float] = {}
    for bag in bags:
        for word, weight in bag.items():
            merged[word] = merged.get(word, 0.0) + weight
    return merged
