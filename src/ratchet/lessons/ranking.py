"""Compares masked texts: how surely two of them have one cause; and orders equally near ones by evidence.

Works on masked texts (`signature.template_of`) that `lessons.finding` chose, so that a hook process pays only for
this file. What it rests on (figures: `benchmarks/recall.py`):

- Two texts of one cause differ in parameters, two causes in words. So whatever holds a placeholder is one blank, every
  other word weighs by how likely it names the cause (`_weight`), and words that differ cost by their sum as well as by
  their share: one differing verb in a long line is another cause.
- A remembered line inside a long output, and one line out of a long memory, are the same cause: the smaller text is
  looked for in the larger, part by part.
- What a person types is words, not an error: those are looked for anywhere in the memory.
"""

from __future__ import annotations

from math import exp, sqrt

from ratchet.failures.expressions import compiled
from ratchet.lessons.ranking_containment import LEAST_WHOLE, found_in, message_in
from ratchet.lessons.ranking_words import ANNOUNCES, FILLERS, WORDS_OF, blanked, parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ratchet.lessons.ranking_words import Bag, Part

BAND = 0.05
"""Scores this near to the best of their band count as equal, so that evidence orders them."""

LENGTH = 2_000  # characters of a text that are compared
LINES = 40  # lines of it, and clauses: comparing them costs their product

# Chosen by hand with all log sets and messages of the benchmark in sight; not cross-validated, unlike the threshold.
_TRIGRAM_SHARE = 0.1  # of a similarity; the rest is that of weighted words
_SUBSTITUTED_COST = 0.35  # differing words on both sides are another cause more often ...
_ADDED_COST = 0.1  # ... than additional ones on one side
_REORDERED = 0.8  # the same words in another order: "expected str, got int"
_NOTHING = 1e-9  # sums of the same weights in another order differ by less
_UNEQUAL = 0.99  # the most that texts are alike which are not equal
_IN_LINES = 0.98  # a text found line by line in another is a little less than the text
_IN_CLAUSES = 0.9  # found in clauses of a line, less so: a cause often begins like another one
_WHOLE_SHARE = 0.01
_SAME_HEAD = 0.9  # an exception that says the same, above other details
_UNSUGGESTED = 0.85  # what is left where only the memory goes on with "Did you mean X?"
_STREWN = 0.6  # what is left of a question whose words stand in different lines
_LEAST_PART = 2.0  # weight of words below which a text is too little to be looked for inside another
_LEAST_CLAUSES = 2.5
_LEAST_HEAD = 3.0
_LEAST_SENTENCE = 4.0  # of a first sentence, behind which others only tell what to do
_QUESTION_WORDS = 24

_CLAUSE = compiled(r"[.:;][\"'`)\]}]*(?:\s+|$)")
_HEAD = compiled(r"[\w.$# ]*(?:Error|Exception|Warning)\b|# \w+: ")
_SENTENCE = compiled(r".{8,400}?[^.][.!?](?=\s+[A-Z])")
_MACHINE = compiled(r"[#=(){}\[\]<>|\\]|\w[._/$]\w")
_ASKING_WORDS = (
    "how do does did i my me we why what which where can fix get getting got error errors fail fails failed failing "
    "failure issue problem help solve says said keep keeps after trying so because but not"
)
_ENDINGS = ("ing", "ion", "ed", "es", "s", "e")
_UNASKED = FILLERS.union(_ASKING_WORDS.split())


class Text:
    """A masked text made ready for comparison."""

    __slots__ = ("bag", "clauses", "core", "first", "grams", "headed", "lines", "question", "suggests", "weight")

    def __init__(self, masked: str) -> None:
        text = blanked(masked[:LENGTH])
        lines = text.split("\n")[:LINES]
        self.lines: list[Part] = parts_of(lines)
        self.clauses: list[Part] = parts_of([clause for line in lines for clause in _CLAUSE.split(line)][:LINES])
        told = message_in(text)
        self.core: list[Part] = parts_of([told]) if told else self.lines
        sentence = _SENTENCE.match(lines[0])
        self.first: list[Part] = parts_of([sentence[0]]) if sentence else []
        self.bag: Bag = _merged([part[0] for part in self.lines])
        self.weight = sum(self.bag.values())
        self.grams = trigrams(text)
        self.suggests = "id you mean" in text
        headed = _HEAD.match(text) is not None
        tells = bool(self.lines) and self.lines[0][1] >= _LEAST_HEAD and not ANNOUNCES.search(lines[0])
        self.headed = headed and tells and "caus" not in text[len(lines[0]) :].lower()
        plain = len(self.lines) == 1 and len(self.bag) <= _QUESTION_WORDS and not _MACHINE.search(text)
        self.question = plain and not headed and text[-1:] != "."  # a program's whole sentence


def trigrams(text: str) -> set[str]:
    """The trigrams of a text, case folded; of a shorter text, the text."""
    text = text.lower()
    return {text[i : i + 3] for i in range(len(text) - 2)} or {text}


def similarity(query: str, memory: str) -> float:
    """Rate how surely two masked texts have one cause, in [0, 1]; 1 only for equal ones."""
    return 1.0 if query == memory else compare(Text(query), Text(memory))


def evidence(tried: int, worked: int) -> float:
    """Rate how far `worked` of `tried` can be relied on, in [0, 1]: the mean of the Beta posterior less one deviation.

    Prior Beta(1, 1). Wilson's lower bound is 0 for both a lesson never tried and one that never worked; this holds the
    first (.21) to be better than 0 of 5 (.02), and like Wilson's 65 of 100 (.60) to be better than 1 of 1 (.43).
    """
    good = 1.0 + max(0, min(worked, tried))
    total = 2.0 + max(0, tried)
    mean = good / total
    return mean - sqrt(mean * (1.0 - mean) / (total + 1.0))


def order(hits: Iterable[tuple[float, bool, int, int, str]]) -> list[int]:
    """Positions of the hits (score, active, tried, worked, id), best first.

    Equal texts first, then bands of similarity; within a band the active (approved or proven) lessons first, then by
    evidence, then by score. The id breaks ties, so that the order is the same in every process.
    """
    listed = list(hits)
    ranked = sorted(range(len(listed)), key=lambda i: -listed[i][0])
    bands: dict[int, int] = {}
    band, top = 0, 1.0
    for position in ranked:
        score = listed[position][0]
        if score < top - BAND or (top == 1.0 and score < 1.0):
            band, top = band + 1, score
        bands[position] = band

    def key(position: int) -> tuple[int, bool, float, float, str]:
        score, active, tried, worked, name = listed[position]
        return bands[position], not active, -evidence(tried, worked), -score, name

    return sorted(ranked, key=key)


def compare(query: Text, memory: Text, advice: str = "") -> float:
    """Similarity of two texts that are not equal: of the ways in which they may say the same, the best."""
    common = len(query.grams & memory.grams)
    grams = common / (len(query.grams) + len(memory.grams) - common)
    if not query.weight or not memory.weight:
        return min(grams, _UNEQUAL)
    overlap, discord = _shared(query.bag, query.weight, memory.bag, memory.weight)
    whole = (_TRIGRAM_SHARE * grams + (1.0 - _TRIGRAM_SHARE) * overlap) * discord
    scores = [whole]
    small, large = (query, memory) if query.weight <= memory.weight else (memory, query)
    if small.weight >= _LEAST_PART:
        scores.append(_IN_LINES * _contained(small.lines, large.lines, several=len(large.lines) > 1))
        if len(large.lines) == 1 == len(small.lines):
            scores.append(_IN_LINES * _contained(large.lines, small.lines, several=False))
        if small.core is not small.lines or large.core is not large.lines:
            scores.append(_IN_LINES * max(_contained(*pair, several=False) for pair in _cores(query, memory)))
        if len(large.clauses) > len(large.lines) and small.weight >= _LEAST_CLAUSES:
            scores.append(_IN_CLAUSES * _contained(small.clauses, large.clauses, several=True))
    if query.headed and memory.headed:
        scores.append(_SAME_HEAD * _contained(query.lines[:1], memory.lines[:1], several=True))
    scores += [_IN_CLAUSES * found for found in _begun(query, memory)]
    if query.question:
        scores.append(_IN_LINES * _answered(query, memory, advice))
    if memory.suggests and not query.suggests:
        return _UNSUGGESTED * max(scores)  # what helped there was the suggestion
    # Of two memories that hold the text, the one that holds less else is nearer.
    return min(_UNEQUAL, (1.0 - _WHOLE_SHARE) * max(scores) + _WHOLE_SHARE * whole)


def _begun(query: Text, memory: Text) -> list[float]:
    """Rate how surely the first sentence of either, behind which others only tell what to do, is what the other
    says."""
    found = []
    for one, other in ((query, memory), (memory, query)):
        if one.first and one.first[0][1] >= (_LEAST_SENTENCE if other.first else _LEAST_HEAD):
            found.append(_contained(one.first, other.first or other.lines, several=False))
    return found


def _cores(query: Text, memory: Text) -> list[tuple[list[Part], list[Part]]]:
    """Compare what a provider's JSON says in either text, to be found in the other."""
    one, other = query.core, memory.core
    return [(one, other), (other, one)]


def _shared(one: Bag, weight: float, other: Bag, other_weight: float) -> tuple[float, float]:
    """(weighted Jaccard of two bags of words, what the sum of their differing words leaves of it)."""
    common = sum([min(own, other[word]) for word, own in one.items() if word in other])
    left, right = weight - common, other_weight - common
    if left > right:
        left, right = right, left
    if right < _NOTHING and list(one) != list(other):
        return _REORDERED, 1.0
    return common / (common + left + right), exp(-_SUBSTITUTED_COST * left - _ADDED_COST * (right - left))


def _contained(small: Sequence[Part], large: Sequence[Part], *, several: bool) -> float:
    """Rate how surely each part of the smaller text stands somewhere in the larger one, by the weight of the parts:
    whole inside a part or, where there are `several`, much like one."""
    found = total = 0.0
    for bag, weight, line in small:
        best = 0.0
        for other, other_weight, other_line in large:
            if several:
                overlap, discord = _shared(bag, weight, other, other_weight)
                best = max(best, overlap * discord)
            if best < _IN_LINES:
                best = max(best, found_in(line, other_line, LEAST_WHOLE if len(small) == 1 else 1.0))
        found += weight * best
        total += weight
    return found / total if total else 0.0


def _answered(question: Text, memory: Text, advice: str) -> float:
    """Rate how much of what a person asks with stands in the memory or its advice; words of one line of it count
    more."""
    asked = {_stem(word): weight for word, weight in question.bag.items() if word not in _UNASKED and len(word) > 1}
    total = sum(asked.values())
    if total < _LEAST_PART:
        return 0.0
    advised = set(map(_stem, map(str.lower, WORDS_OF.findall(advice))))
    lines = [advised.union(map(_stem, part[0])) for part in memory.lines]
    told = lines[0].union(*lines)
    missing = sum([weight for word, weight in asked.items() if word not in told])
    together = max([sum([weight for word, weight in asked.items() if word in line]) for line in lines])
    found = (total - missing) / total * exp(-_ADDED_COST * missing)
    return found * (_STREWN + (1.0 - _STREWN) * together / total)


def _stem(word: str) -> str:
    """A word without its ending, since people ask about "pushing" where the tool says "pushed"."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _merged(bags: Sequence[Bag]) -> Bag:
    if len(bags) == 1:
        return bags[0]
    merged: Bag = {}
    for bag in bags:
        for word, weight in bag.items():
            merged[word] = merged.get(word, 0.0) + weight
    return merged
