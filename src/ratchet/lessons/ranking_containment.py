"""Tells whether one text stands whole inside another, with nothing around it but a wrapper.

What a program says reaches an agent through others: a runner, a logger, an exception that quotes it, a test report, a
provider's JSON. Those put words in front and behind, at the seams of a sentence: behind a colon, in brackets, on a line
of their own. Words that go on with the sentence itself ("is not", "for reading") make it another one. So a line is
looked for word by word, and where it is found both of its ends must be seams. Lean: hook processes import this.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Word = tuple[str, float, int, int, int]  # lower case, weight, role, where it starts and ends in its line

WHOLE = 0.98  # a line found whole
CORE = 0.96  # found without what stood in front of it in its own text
WORD, LEVEL, CLASS, PARAMETER = range(4)  # roles of a word: LEVEL tells how bad it is, CLASS names an exception
_SPEAKER = 1.4  # weight of a clause that only says who speaks: a name, with a filler
LEAST_WHOLE = 2.0
_LEAST_CORE = 2.2
_LEAST_OF_ANY = 5.0  # the least that means the same as the words of another exception
_LEAST_AMONG_OTHERS = 2.5  # the least where the other line says something else besides
_CODE = 2.0  # weight of an errno, a status, the class of an exception
_SENTENCE = 5.0  # weight of a line that says enough for what follows these to be a detail
_MORE = frozenset(("at", "for", "in", "on", "from", "while", "during", "when", "because"))
_SPEAKERS = 3  # words in front of "error:" that name it
_MOST_SPEAKERS = 2.0  # weight of all clauses that may be left out
_SEAM_BEFORE = frozenset(":;!?.()[]{}<>|-\u2013\u2014\u2022\u203a\u2026$%*~\u2502\u2503\u25cf\u2716\u00d7\u276f\u2570")
_QUOTES = frozenset("\"'`")
_SEAM_BEHIND = frozenset(".,:;!?()[]{}<>|-\u2013\u2014\u2026#\"'`*~/\\")
_NEGATIONS = frozenset(("not", "no", "never", "without", "isn", "wasn", "doesn", "didn", "don", "nor"))
_MESSAGE = compiled(r"[\"']message[\"']:\s?([\"'])(.{8,800}?)\1\s?[,}]")


# What the operating system says of many things: which one it was said of is the cause.
_SAID_OF_ALL = frozenset(
    (
        "no such file or directory",
        "permission denied",
        "command not found",
        "not found",
        "file not found",
        "file exists",
        "file does not exist",
        "does not exist",
        "is a directory",
        "not a directory",
        "operation not permitted",
    )
)


class MessageLine:
    """The words of one line that are no parameters, and where its seams are. `says`: the weight of a word, 0 of one
    that names the class of an exception."""

    __slots__ = ("capital", "classes", "closes", "joined", "opens", "says", "weights", "words")

    def __init__(self, text: str, words: Iterable[Word]) -> None:
        self.words: list[str] = []
        self.weights: list[float] = []
        self.says: list[float] = []
        self.opens: list[bool] = []
        self.capital: list[bool] = []
        self.closes: list[bool] = []
        self.classes: set[str] = set()
        gap, end = "", 0
        for low, weight, role, start, stop in words:
            gap += text[end:start]
            end = stop
            if role in (PARAMETER, LEVEL):
                gap += "#" if role == PARAMETER else ":"
                if role == LEVEL and text[stop : stop + 1] == ":":
                    self._speaks()
                continue
            if self.words:
                self.closes.append(
                    (gap.strip() != "" and _closes(gap)) or _is_status(self.words[-1])
                )  # a reason phrase
            if role == CLASS:
                self.classes.add(low)
            self.words.append(low)
            self.weights.append(weight)
            self.says.append(weight if role == WORD else 0.0)
            self.opens.append(len(self.words) == 1 or _opens(gap))
            self.capital.append(text[start].isupper())
            gap = ""
        if self.words:
            self.closes.append(_closes(gap + text[end:]))
        self.joined = f" {' '.join(self.words)} "

    def _speaks(self) -> None:
        """Tell whether what ended in "error:" only told which one speaks ("Internal server error:")."""
        at = len(self.words) - 1
        while at >= 0 and len(self.words) - at <= _SPEAKERS:
            self.says[at] = 0.0
            if self.opens[at]:
                return
            at -= 1

    @property
    def weight(self) -> float:
        return sum(self.weights)

    def places(self, words: Sequence[str]) -> Iterator[int]:
        """Find where these words stand one after the other between two seams: positions of the first of them."""
        sought = f" {' '.join(words)} "
        if sought[1:-1] in _SAID_OF_ALL:
            return
        at = self.joined.find(sought)
        while at >= 0:
            first = self.joined.count(" ", 0, at)
            negated = first > 0 and self.words[first - 1] in _NEGATIONS
            last = first + len(words) - 1
            weights = self.weights[first : last + 1]
            # A log's columns need no punctuation, and a code ("spawn npx ENOENT") names the cause by itself.
            opens = self.opens[first] or self.capital[first] or max(weights) >= _CODE
            closes = self.closes[last] or (
                sum(weights) >= _SENTENCE and not _MORE.isdisjoint(self.words[last + 1 : last + 2])
            )
            if not negated and opens and closes:
                yield first
            at = self.joined.find(sought, at + 1)

    def wraps(self, first: int) -> bool:
        """Tell whether what stands in front of a position only says who speaks: no clause of it has more than one word
        of its own."""
        own = 0.0
        for at in range(first):
            own = self.says[at] + (0.0 if self.opens[at] else own)
            if own > _SPEAKER:
                return False
        return True

    def speakers(self, first: int) -> set[str]:
        return {word for word, own in zip(self.words[:first], self.says, strict=False) if own and "." not in word}


def _opens(gap: str) -> bool:
    if gap[-1:] in _QUOTES:
        return True
    before = gap.rstrip("# ")  # "API error: 429 Too many requests"
    return before != "" and before[-1] in _SEAM_BEFORE


def _closes(gap: str) -> bool:
    behind = gap.lstrip()
    return behind == "" or behind[0] in _SEAM_BEHIND


def found_in(small: MessageLine, large: MessageLine, least: float = LEAST_WHOLE) -> float:
    """Rate how surely the line `small` stands in the line `large`: 0, or `WHOLE`, or `CORE` where it does without its
    own wrapper. A line of less weight than `least` is too little to be looked for."""
    end = len(small.words)
    for place in large.places(small.words) if small.weight >= least else ():
        behind = large.words[place + end :]
        alone = large.wraps(place) and not any(large.says[place + end :])
        if alone or (small.weight >= _LEAST_AMONG_OTHERS and _NEGATIONS.isdisjoint(behind)):
            return WHOLE
    # The same words of another exception are another cause, unless they are many.
    least_core = _LEAST_OF_ANY if _differ(small.classes, large.classes) else _LEAST_CORE
    left = small.weight
    for at in range(1, len(small.words)):
        left -= small.weights[at - 1]
        if left < least_core:
            break
        if not small.opens[at]:
            continue
        if not small.wraps(at) or sum(small.says[:at]) > _MOST_SPEAKERS:
            break
        for place in large.places(small.words[at:]):
            if large.wraps(place) and _agree(small.speakers(at), large.speakers(place)):
                return CORE
    return 0.0


def _is_status(word: str) -> bool:
    return word[:4] == "http" and word[4:].isdigit()


def _differ(one: set[str], other: set[str]) -> bool:
    """Tell whether both name an exception, or both an HTTP status, and not the same."""
    for of_status in (True, False):
        mine = {name for name in one if _is_status(name) == of_status}
        theirs = {name for name in other if _is_status(name) == of_status}
        if mine and theirs and mine.isdisjoint(theirs):
            return True
    return False


def _agree(one: set[str], other: set[str]) -> bool:
    """Tell whether two texts may have been said by the same program about the same one: "bash: jq: command not found"
    is no news about another command."""
    return one <= other or other <= one


def message_in(text: str) -> str:
    """The message inside a provider's JSON or its Python spelling, "" where none is."""
    found = _MESSAGE.search(text) if "message" in text else None
    return found[2] if found else ""
