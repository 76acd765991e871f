"""Pages, drawn on the server: templates, how values read, and the headers that keep foreign text from acting."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast
from urllib.parse import quote

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from ratchet import __version__
from ratchet.failures.redaction.text import redact, redact_json
from ratchet.records import Json
from ratchet.serving.api.access import COOKIE

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
    ("/", "Overview"),
    ("/ui/patterns", "Patterns"),
    ("/ui/lessons", "Lessons"),
    ("/ui/trials", "Trials"),
    ("/ui/proposals", "Proposals"),
    ("/ui/episodes", "Episodes"),
    ("/ui/evolve", "Evolve"),
    ("/ui/bench", "Benchmarks"),
    ("/ui/live", "Live"),
)
_SHAPES = {  # what says without colour how something stands
    "passed": "good",
    "already_passing": "good",
    "kept": "good",
    "active": "good",
    "baseline": "good",
    "helps": "good",
    "failed": "bad",
    "reverted": "bad",
    "refused": "bad",
    "quarantined": "bad",
    "harms": "bad",
    "breaker": "bad",
    "no_progress": "bad",
    "gave_up": "bad",
    "screened_out": "bad",
    "rising": "bad",
    "budget": "warn",
    "cancelled": "warn",
    "paused": "warn",
    "unmeasured": "warn",
    "partly": "warn",
    "new": "warn",
}


def drawn(request: Request, template: str, status: int = 200, **given: object) -> HTMLResponse:
    """A page, or the part of it that htmx asked for: the same template, without its frame."""
    part = request.headers.get("hx-request") == "true" and request.headers.get("hx-boosted") != "true"
    path = request.url.path
    text = (
        environment()
        .get_template(template)
        .render(
            **given,
            path=path,
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


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a diff, and what kind it is: added, taken, place, or kept."""

    text: str
    kind: str


def diff_lines(diff: str) -> Iterator[DiffLine]:
    """The lines of a patch, without its bookkeeping, and without secrets: some are longer than a line."""
    diff = redact(diff)
    kinds = {"+": "added", "-": "taken", "@": "place"}
    for text in diff.split("\n"):
        if text and not text.startswith(("diff --git", "index ")):
            yield DiffLine(text.rstrip("\r"), kinds.get(text[0], "kept"))


def ago(then: float | None) -> str:
    """Say how long ago, in the largest fitting unit."""
    if not then:
        return "never"
    seconds = max(0.0, time.time() - then)
    return "just now" if seconds < 10 else f"{span(seconds)} ago"


def at(then: float | None) -> str:
    """The moment, in UTC, as a `datetime` attribute takes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(then or 0))


def span(seconds: float | None) -> str:
    """A length of time in words."""
    if seconds is None:
        return "-"
    for size, unit in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}" if seconds >= 10 * size else f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def number(n: int, what: str) -> str:
    """So many of something; one of it in the singular."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def points(difference: float | None) -> str:
    """A difference of shares, in points."""
    return "-" if difference is None else f"{100 * difference:+.1f}"


def _cut(text: str, most: int) -> str:
    text = redact(text)  # before it is cut: half a key is not known for one
    return text if len(text) <= most else text[: most - 1] + "…"


def usd(value: float | None) -> str:
    """An amount of money; small ones to a hundredth of a cent."""
    if value is None:
        return "-"
    return f"{value:.4f} USD" if 0 < value < 0.01 else f"{value:,.2f} USD"


def as_json(value: object) -> str:
    """A value of a knob, as people write it."""
    return json.dumps(redact_json(cast("Json", value)), ensure_ascii=False)


_FILTERS: dict[str, Callable[..., object]] = {
    "ago": ago,
    "at": at,
    "count": lambda value: f"{value:,}",
    "number": number,
    "percent": percent,
    "points": points,
    "usd": usd,
    "span": span,
    "shape": lambda state: _SHAPES.get(str(state), "plain"),
    "json": as_json,
    "words": lambda text: str(text).replace("_", " "),
    "lines": diff_lines,
    "address": lambda text: quote(str(text), safe=""),
    "one_line": lambda text, most=160: _cut(" ".join(str(text).split()), most),
}
