"""Pages, drawn on the server: templates, how values read, and the headers that keep foreign text from acting."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast
from urllib.parse import quote

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from ratchet import __version__
from ratchet.failures.health import EXCUSED
from ratchet.failures.kinds.groups import group_of
from ratchet.failures.redaction.text import redact, redact_json
from ratchet.failures.spans import IMPACT, LOST, span
from ratchet.improving.trials.words import change
from ratchet.lessons.fence import without_hunks
from ratchet.records import Json, Row
from ratchet.serving.api.access import COOKIE
from ratchet.serving.api.ui.asking import here
from ratchet.serving.api.ui.drawing import shares, spark
from ratchet.serving.api.ui.icons import icon, mark

FOLDER = Path(__file__).parent
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "private, no-cache",
    "Vary": "HX-Request, Authorization, Cookie",
}
MENU = (
    ("", (("/", "Overview", "overview", "o"), ("/ui/sessions", "Sessions", "sessions", "s"))),
    (
        "Failures",
        (
            ("/ui/patterns", "Patterns", "patterns", "p"),
            ("/ui/fails", "What fails here", "fails", "f"),
            ("/ui/cost", "Cost and waste", "cost", "c"),
        ),
    ),
    (
        "The fix",
        (
            ("/ui/lessons", "Lessons", "lessons", "l"),
            ("/ui/skills", "Skills", "skills", "k"),
            ("/ui/recall", "Recall", "recall", "r"),
            ("/ui/backtest", "Backtest", "back", "h"),
            ("/ui/report", "Report", "report", "d"),
        ),
    ),
    (
        "Change an agent",
        (
            ("/ui/proposals", "Proposals", "proposals", "n"),
            ("/ui/trials", "Trials", "trials", "t"),
            ("/ui/settings", "Settings", "settings", "v"),
        ),
    ),
    (
        "Heal and better",
        (
            ("/ui/episodes", "Episodes", "episodes", "e"),
            ("/ui/teams", "Teams", "teams", "m"),
            ("/ui/evolve", "Evolve", "evolve", "x"),
            ("/ui/bench", "Benchmarks", "bench", "b"),
        ),
    ),
    ("Now", (("/ui/live", "Live", "live", "w"),)),
)
"""Sections of the menu; of each page its address, name, icon, and the key that opens it after `g`."""
_SHAPES = {  # what says without colour how something stands
    state: shape
    for shape, states in (
        ("good", "passed already_passing kept active baseline helps resolved quiet falling done"),
        (
            "bad",
            "failed reverted refused quarantined harms breaker no_progress gave_up screened_out rising regressed",
        ),
        ("warn", "muted doubtful ignored budget cancelled killed planned over_budget stopped skipped paused"),
        ("warn", "unmeasured racing partly new"),
        ("live", "live"),
    )
    for state in states.split()
}


def drawn(request: Request, template: str, status: int = 200, **given: object) -> HTMLResponse:
    """A page, or the part of it that htmx asked for: the same template, without its frame."""
    part = request.headers.get("hx-request") == "true" and request.headers.get("hx-boosted") != "true"
    text = (
        environment()
        .get_template(template)
        .render(
            **given,
            path=request.url.path,
            here=here(request),
            menu=MENU,
            frame="part.html" if part else "frame.html",
            version=__version__,
            logged_in=COOKIE in request.cookies,
        )
    )
    return HTMLResponse(text, status, headers=HEADERS)


@cache
def environment() -> Environment:
    """The templates. Everything that is put into a page is without secrets, and escaped: a task is kept as it was
    asked for, since its check has to run, and its files are those of the project."""
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"), autoescape=True, undefined=StrictUndefined, finalize=_shown
    )
    made.filters |= _FILTERS
    made.tests["excused"] = EXCUSED.__contains__
    made.globals |= {"icon": icon, "mark": mark, "spark": spark, "shares": shares}
    made.globals |= {"time_lost": LOST, "pattern_impact": IMPACT}
    return made


_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff"
    "\U000e0000-\U000e007f]"
)
"""What nobody sees: controls, and what turns the direction of writing, so that a line reads as another one than runs
("Trojan Source", Boucher and Anderson 2021)."""


def _shown(value: object) -> object:
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", redact(value))


_HOLE = re.compile("&lt;([a-z]{2,5})&gt;")
_QUOTED = re.compile("`([^`]+)`")


def with_holes(text: str) -> Markup:
    """A template as people read it: a soft ellipsis where its failures differ, which names what stands there."""
    return Markup(_HOLE.sub(r'<i class="hole" title="\1">…</i>', str(escape(_shown(text)))))  # noqa: S704  (escaped)


def with_code(text: str) -> Markup:
    """Advice as people read it: what stands in backticks is code."""
    return Markup(_QUOTED.sub(r"<code>\1</code>", str(escape(_shown(text)))))  # noqa: S704  (escaped)


def marked(text: str, words: Sequence[str]) -> Markup:
    """A text with the words that were searched for marked in it, and what stands in backticks as code."""
    if not words:
        return with_code(text)
    wanted = re.compile("|".join(re.escape(each) for each in sorted(words, key=len, reverse=True)), re.IGNORECASE)
    found = Markup()
    for n, part in enumerate(_QUOTED.split(str(_shown(text)))):
        inner, last = Markup(), 0
        for hit in wanted.finditer(part):
            inner += Markup("{}<mark>{}</mark>").format(part[last : hit.start()], hit[0])
            last = hit.end()
        inner += part[last:]
        found += Markup("<code>{}</code>").format(inner) if n % 2 else inner
    return found


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a diff, and what kind it is: the name of a file, a place in it, added, taken, or kept."""

    text: str
    kind: str


_PLACE = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def diff_lines(diff: str) -> Iterator[DiffLine]:
    """The lines of a patch, a file's name once, without its bookkeeping, and without secrets: some are longer than a
    line. A patch of one edit (`- old`, `+ new`) needs no places."""
    old = new = 0  # lines that the present place still has
    former = ""
    for text in redact(diff).split("\n"):
        text = text.rstrip("\r")
        place = _PLACE.match(text)
        if place is not None:
            old, new = (1 if count is None else int(count) for count in place.groups())
            yield DiffLine(text, "place")
        elif not (old > 0 or new > 0) and text.startswith("--- "):
            former = _file_name(text)
        elif not (old > 0 or new > 0) and text.startswith("+++ "):
            yield DiffLine(_file_name(text) or f"{former} (removed)", "file")
        elif text and not text.startswith(("diff --git", "index ")):
            old, new = old - (text[0] in "- "), new - (text[0] in "+ ")
            yield DiffLine(text, {"+": "added", "-": "taken"}.get(text[0], "kept"))


def _file_name(header: str) -> str:
    """The file that a header of a patch names; "" for none."""
    name = header[4:].partition("\t")[0]
    return "" if name == "/dev/null" else name[2:] if name[:2] in ("a/", "b/") else name


_DATED_S = 60 * 86_400  # from then on the date says more


def dated(then: float) -> bool:
    """Tell whether a moment is so long past that its day is named, not how long ago it was."""
    return time.time() - then >= _DATED_S


def ago(then: float | None) -> str:
    """Say how long ago, in the largest fitting unit; of what is long past, the day."""
    if not then:
        return "never"
    if dated(then):
        return day(then)
    seconds = max(0.0, time.time() - then)
    return "just now" if seconds < 10 else f"{span(seconds)} ago"


def at(then: float | None) -> str:
    """The moment, in UTC, as a `datetime` attribute takes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(then or 0))


def moment(then: float) -> str:
    """The moment, in UTC, as people write it."""
    return time.strftime("%d %b %Y, %H:%M", time.gmtime(then)).lstrip("0")


def day(then: float) -> str:
    """The day, in UTC, as people write it."""
    return moment(then).partition(",")[0]


def asked(text: str) -> str:
    """The input of a tool as people read it: of named values a line each, of anything else what stands there."""
    if not text.startswith("{"):
        return text
    try:
        named = json.loads(text)
    except (ValueError, RecursionError):  # it was cut
        return text
    return "\n".join(f"{name}: {plain_value(value)}" for name, value in named.items()) or text


def brief(text: str) -> str:
    """The input of a tool where it takes one line, a single value without its name; else ""."""
    said = asked(text)
    if text.startswith("{"):
        first, *more = said.split("\n")
        said = ", ".join((first, *more)) if more else first.partition(": ")[2] or first
    return said if len(said) <= _BRIEF_CHARS and "\n" not in said else ""


_BRIEF_CHARS = 150


def number(n: int, what: str) -> str:
    """So many of something; one of it in the singular."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def points(difference: float | None) -> str:
    """A difference of shares, in points."""
    return "-" if difference is None else f"{100 * difference:+.1f}"


def _in_short(text: str, most: int = 160, is_edit: bool = True) -> str:
    """Advice in a line; how many lines of a hunk that edits were mined from are left out is said. What a person or
    another program wrote is no hunk, whatever it looks like."""
    said = without_hunks(text) if is_edit else text
    less = sum(line[:2] in ("- ", "+ ") for line in text.split("\n")) if said != text else 0
    more = f" (+{less} line{'s' if less != 1 else ''})" if less else ""
    return _cut(" ".join(said.split()), most) + more


_MOST_OF_IT = 0.8


def _cut(text: str, most: int) -> str:
    text = redact(text)  # before it is cut: half a key is not known for one
    if len(text) <= most:
        return text
    whole = text[:most].rpartition(" ")[0]  # at a word's end, where that costs little of it
    return (whole if len(whole) > most * _MOST_OF_IT else text[: most - 1]) + "…"


def _head(text: str, most: int) -> str:
    """The beginning of a text, its lines as they are."""
    return text if len(text) <= most else redact(text)[:most] + "…"


def usd(value: float | None) -> str:
    """An amount of money; small ones to a hundredth of a cent."""
    if value is None:
        return "-"
    return f"{value:.4f} USD" if 0 < value < 0.01 else f"{value:,.2f} USD"


def tokens(value: float) -> str:
    """A number of tokens in three digits."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f}"


def as_json(value: object) -> str:
    """A value of a knob, as people write it."""
    return json.dumps(redact_json(cast("Json", value)), ensure_ascii=False)


def plain_value(value: object) -> str:
    """A knob's value as a form takes it: texts as they are, all else as JSON."""
    return value if isinstance(value, str) else as_json(value)


def bounds(of: Row) -> str:
    """The values that a knob may have, in words."""
    options, ends = of.get("options"), [of.get("low"), of.get("high")]
    if isinstance(options, list):
        return ", ".join(map(plain_value, options))
    low, high = (plain_value(each).removesuffix(".0") for each in ends)
    return f"{low} to {high}" if ends != [None, None] else "anything"


def quoted(text: str) -> str:
    """A name as part of an address."""
    return quote(text, safe="")


_FILTERS: dict[str, Callable[..., object]] = {
    "ago": ago,
    "asked": asked,
    "at": at,
    "moment": moment,
    "day": day,
    "hour": lambda then: moment(then).partition(", ")[2] + " UTC" if dated(then) else moment(then) + " UTC",
    "tokens": tokens,
    "count": lambda value: f"{value:,}",
    "number": number,
    "percent": percent,
    "points": points,
    "usd": usd,
    "money": lambda value: usd(value).removesuffix(" USD"),
    "span": span,
    "cost": lambda seconds: span(seconds) if seconds else "-",
    "group": lambda kind: group_of(str(kind)),
    "shape": lambda state: _SHAPES.get(str(state), "plain"),
    "json": as_json,
    "named": lambda values: ", ".join(f"{name} = {plain_value(value)}" for name, value in values.items()),
    "words": lambda text: str(text).replace("_", " "),
    "clock": lambda then: time.strftime("%H:%M:%S", time.gmtime(then)),
    "head": _head,
    "lines": diff_lines,
    "address": lambda text: quoted(str(text)),
    "plain_value": plain_value,
    "bounds": bounds,
    "brief": brief,
    "change": change,
    "in_short": _in_short,
    "with_holes": with_holes,
    "with_code": with_code,
    "marked": marked,
    "one_line": lambda text, most=160: _cut(" ".join(str(text).split()), most),
}
