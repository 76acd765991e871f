"""Cuts a text into the features by which memories are found: its telling words and its pairs of neighbouring tokens.

A feature is stored as eight hex digits (crc32): 50 to 150 a memory. Pairs keep what single words lose ("not found" and
"found", `foo()` and `foo`); with them the right memory of a traceback came first in .864 of cases, without in .626.
Lean: hook processes import this.
"""

from __future__ import annotations

from binascii import crc32

from ratchet.failures.excerpt import error_lines, marks_of, plain, without_header
from ratchet.failures.expressions import compiled
from ratchet.failures.signature import mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

KEPT = 6_000  # characters of a text that are kept with a memory
LONG = 2_400  # characters beyond which a text is known by its densest stretch
STRETCH = 2_000
LEAD = 12  # lines in front of the first error of a stretch: what was run, and where
KEYS = 12  # findings of an output by which it is known
MORE = 400  # characters of error lines from elsewhere

_FRAMES = ('File "', ".py:", "  at ", "\tat ")

MASKED = "masked"
"""Stands among the features of a memory of which only the masked text was kept: that is less than was said."""

_TOKEN = compiled(r"<[a-z]{2,5}>|\w+|[^\w\s]")
_WORD = compiled(r"[^\W\d_]{2}")
# Chinese, Japanese and Korean write no blanks: a run of their letters is cut into pairs, whose own pairs are trigrams.
_UNSPACED = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]"
_RUN = _UNSPACED + "{3,}"  # compiled when it is met: it takes a millisecond, which a hook has for few texts
STOP = frozenset(
    "an the of in on at to for from by with is are was were be been it its this that these those as and or has have "  # noqa: SIM905
    "had into your you please if when while then there here will would should may any some".split()
)


def features_of(text: str) -> list[str]:
    """The features of a text, masked, each once, sorted, those of a traceback's names among them; those of the findings
    that it shows (`k` and eight digits) are the last."""
    from ratchet.failures.diagnostics import keys_of

    said = telling_of(text)
    found = features_in(mask(said))
    if any(sign in said for sign in _FRAMES):
        from ratchet.failures.tracebacks import names_of

        found = sorted({*found, *map(_crc, names_of(said))})
    return [*found, *sorted({f"k{_crc(key)}" for key in keys_of(said)[:KEYS]})]


def features_in(masked: str) -> list[str]:
    """The features of a text that is masked already, each once, sorted."""
    tokens = _TOKEN.findall(spaced(masked.lower()))
    found = {token for token in tokens if token not in STOP and _WORD.search(token) and token[0] != "<"}
    found.update([f"{one} {other}" for one, other in zip(tokens, tokens[1:], strict=False)])
    return sorted(map(_crc, found))


def _crc(said: str) -> str:
    return f"{crc32(said.encode('utf-8', 'replace')):08x}"


def spaced(text: str) -> str:
    """The text with pairs of letters in the place of each run of letters that is written without blanks."""
    return compiled(_RUN).sub(_pairs, text) if not text.isascii() else text


def _pairs(match: re.Match[str]) -> str:
    run: str = match[0]
    return " " + " ".join([run[at : at + 2] for at in range(len(run) - 1)]) + " "


_BANNERS = ("====", "____")


def telling_of(text: str) -> str:
    """The text, or of one longer than `LONG` the stretch where errors stand densest, with error lines from elsewhere.

    A failure inside a paste is found by its own words then, whatever else was pasted, a traceback by its own frames:
    those of a test runner and of libraries are the same for every cause. Linear in the text.
    """
    text = "\n".join(without_header(plain(text).split("\n")))
    if "====" in text or "____" in text:  # banners of a runner: they stand over every cause
        text = "\n".join([line for line in text.split("\n") if not (line[:4] in _BANNERS and line[-4:] in _BANNERS)])
    if any(sign in text for sign in _FRAMES):
        from ratchet.failures.tracebacks import without_foreign

        text = without_foreign(text)
    if len(text) <= LONG:
        return text
    lines = text.split("\n")
    first, last = _densest(lines)
    stretch = "\n".join(lines[max(0, first - LEAD) : last])
    if len(stretch) > STRETCH:
        stretch = stretch[-STRETCH:]
    more = error_lines(text, MORE)
    return stretch if more in stretch else f"{stretch}\n{more}"


def _densest(lines: list[str]) -> tuple[int, int]:
    """The first marked line of the stretch with most marks of errors, and the line where it ends; of equals the
    last, since what a program says last is nearest to why it ended."""
    marks = marks_of(lines)
    best, chosen = 0, (max(0, len(lines) - LEAD), len(lines))
    start = held = size = 0
    for at, line in enumerate(lines):
        held += marks[at]
        size += len(line) + 1
        while start < at and (size > STRETCH or not marks[start]):
            held -= marks[start]
            size -= len(lines[start]) + 1
            start += 1
        if held >= best and held and marks[at]:
            best, chosen = held, (start, at + 1)
    return chosen
