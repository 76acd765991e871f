"""Brings a template to its key: what is surely a parameter becomes one wildcard, what may be one is a slot.

Nothing here knows a program or a log: a rule is about how people write messages in general (`name=value`, "for user X
from", lists, ranges, names of code), never about what one of them says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

ANY = "\x00"  # the wildcard, one character so that the patterns below stay simple
SOME = "\x01"  # stands for whatever fills a pair of brackets; it takes evidence, one parameter there is none
_FRAME = "\nin "  # starts the frames of a traceback: code is named there, and a name of code is never a parameter

# A heading between two rules, below an error: what the next command of a line printed over its own output.
_HEADING = re.compile(r"\n(?P<rule>[=\-#*~])(?P=rule)+ [^\n]{1,200} (?P=rule){2,}(?=\n|$)")

# How many different words make a slot a parameter. On the eight public log sets of benchmarks/grouping.py anything from
# 5 (words) and 3 (names of code) up scores the same, less merges states: opened/closed and LEADING/FOLLOWING/LOOKING
# come in twos and threes, names of things do not.
_WORDS_TO_OPEN = 6
_NAMES_TO_OPEN = 4
_HEADS_TO_OPEN = 10  # the first word of a message says what it is about
_LEAST_CONSTANT = 2  # words that must stay the same around a slot; "started X" alone is no evidence of anything
TOKENS = 120  # tokens of a key that are looked at for slots

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
_OF_TELLING = re.compile(rf"\b(?:{_TELLING})\s?[:=]\s?\Z")
_DOTS = re.compile(r"\.{2,}")  # leaders ("depth......4") glue nothing
# blk_*, core.*, eth*:, attempt_*_m_*; hosts listed as node-[*], a pin or unit of a numbered thing as *[B]
_GLUED = re.compile(r"(?<![\w.\-/#@$%+~&\\])[\w.\-/#@$%+~&\\]*\x00[\w.\-/#@$%+~&\\\x00]*")
_RANGE = re.compile(r"\b\w+-\w*\[\x00\]|\x00\[[A-Z]\]")
# Names of code with three parts or more: as a value anywhere, as the speaker at the head of a sentence.
_DOTTED = re.compile(r"(?<=[\s:={(\[/|])[A-Za-z_][\w$]*(?:\.[A-Za-z_$][\w$]*){2,}(?:/[\w.$]+)?(?![\w(:])")
_HEAD_DOTTED = re.compile(r"\A[A-Za-z_][\w$]*(?:\.[A-Za-z_$][\w$]*){2,}(?=:? (?:\S+ ){3}\S)")
# name=value, also where the value is empty, quoted or a bracketed whole
_NO_VALUE = re.compile(r"(?<=\w)=(?=[\s,;&)\]}]|$)")
_VALUE = re.compile(
    rf"(?<![\w.\-])(?!(?:{_TELLING})\s?=)([A-Za-z_][\w.\-]*)\s?=\s?(?![\s=])"
    r"(?:\"[^\"]*\"|'[^']*'|[^\s,;(){}\[\]\"'=]*(?:\{[^{}]*\}|\([^()]*\)|\[[^\[\]]*\])?)[\"']?"
)
_NOTHING = re.compile(r"(?<!\w)(?:\(\s?\)|\[\s?\]|\{\s?\})")  # an empty list is a list; "call()" is not one
# "for user bob", "on host web:"; "user bob is not allowed"; "for bob from", "by bob ["
_NAMED = re.compile(
    rf"(?i)(?<=[a-z:] )({_NOUNS})(:? )"
    rf"(?!(?:{_FUNCTION_WORDS}|names?|id|unknown|exists?|found|missing|\w+(?:ed|ing|ly))\b)([\w.$\-/]+)(?![\w(:])"
)
_SUBJECT = re.compile(
    rf"(?i)\b({_NOUNS}) (?!(?:{_FUNCTION_WORDS}|names?|\w+(?:ed|ing|ly))\b)[\w.$\-/]+"
    r"(?= (?:not|is|was|does|doesn't|did|has|cannot|could|already)\b)"
)
_BETWEEN = re.compile(r"\b(for|by) [A-Za-z_][\w.\-]*(?= (?:from|by|via)\b| \[)")
_PLURAL = re.compile(r"(?<=\x00 )([a-z]{3,})s\b")  # 1 file, 2 files
_QUOTED = re.compile(r"[\"'`]\x00[\"'`]")
_LIST = re.compile(r"\x00(?:[\s,;|:/#+&\-~*<>]*\x00)+")  # of any length
_BRACKETS = re.compile(r"([(\[{])\x00([)\]}])(?:[\s,\-]*\1\x00\2)+")
_TOKEN = re.compile(r"\x00|[A-Za-z_][\w.$\-/]*[\w$]|[A-Za-z_]|[()\[\]{}]|[^\sA-Za-z_\x00()\[\]{}]+")
_WORD = re.compile(r"[A-Za-z]{2,}")
# What names a cause is no parameter, however many of them are seen in one place.
_CAUSE = re.compile(
    r"(?:(?i:error|exception|fault|failure|failed|warning|denied|invalid|refused|timeout|forbidden)|\bE[A-Z]{3,})$"
)
_NAME = re.compile(r".*(?:[a-z][A-Z]|[a-z][.$/][A-Za-z]|[A-Za-z]_[A-Za-z])")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def key_of(template: str) -> tuple[str, ...]:
    """The template's tokens with every slot that is surely a parameter as one wildcard."""
    said, frame, frames = template.partition(_FRAME)
    if "\n" in said:
        said = _HEADING.sub("", said)
    text = _TRUTH.sub(ANY, _PLACEHOLDER.sub(ANY, _DOTS.sub(" .. ", said)))
    glued = _RANGE.sub(ANY, _GLUED.sub(ANY, text))
    # A message that is little more than an id with letters in it ("core.1") would lose all it says.
    if len(_WORD.findall(glued)) >= _LEAST_CONSTANT:
        text = glued
    if "." in text:
        text = _DOTTED.sub(_parameter, _HEAD_DOTTED.sub(_parameter, text, count=1))
    if "=" in text:
        text = _VALUE.sub(r"\1=" + ANY, _NO_VALUE.sub("=" + ANY, text))
    text = _NOTHING.sub(lambda found: f"{found[0][0]}{ANY}{found[0][-1]}", text)
    text = _SUBJECT.sub(r"\1 " + ANY, _NAMED.sub(r"\1\2" + ANY, text))
    text = _BETWEEN.sub(r"\1 " + ANY, text)
    text = _LIST.sub(ANY, _QUOTED.sub(ANY, text))
    text = _LIST.sub(ANY, _BRACKETS.sub(r"\1" + ANY + r"\2", text))
    tokens = tuple(_TOKEN.findall(_PLURAL.sub(r"\1", text)))
    return (*tokens, frame + frames) if frame else tokens


def _parameter(found: re.Match[str]) -> str:
    name: str = found[0]
    before = found.string[max(0, found.start() - 20) : found.start()]
    return name if _CAUSE.search(name) or _OF_TELLING.search(before) else ANY


def slots_of(key: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Each part of the key that may prove to be a parameter: (its start, its end, different values that prove it)."""
    if len(key) > TOKENS:
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
            if i > opened + 2 or (i == opened + 2 and key[opened + 1] == ANY):
                yield opened + 1, i
            opened = -1


def widened(key: Sequence[str], start: int, end: int) -> tuple[str, ...]:
    is_word = end == start + 1 and key[start] != ANY
    return (*key[:start], ANY if is_word else SOME, *key[end:])
