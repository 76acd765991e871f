"""Reads the codes that a text quotes: HTTP statuses, exit codes, and the names that AWS, gRPC, Kubernetes and SQL give.

A number counts only where the text says what it is; "Order 14290" and "took 503 ms" quote no code. Lean: hook
processes import it.
"""

from __future__ import annotations

import errno
import os
import re

from ratchet.failures.expressions import compiled
from ratchet.failures.kinds.phrases import listed
from ratchet.failures.kinds.structure import REASONS, STATUSES

_EXIT = r" (?:exit|exited|exitcode|returned)(?: with| code| status| exit| non| zero){0,4} (\d{1,3}) "
_STATUS_WORDS = frozenset(map(str, STATUSES))
_FIELD = r"""["']?\b(?:code|status|status_?[cC]ode)["']?\s{0,3}[:=]\s{0,3}["']?([45]\d\d)\b"""
_LEADING = r"\s{0,8}([45]\d\d)(?:\s{0,3}$|:| {0,2}[\-\u2013{<])"  # "429", "503: ...", "400 {...", "521 <html>"
_BRACKETED = (
    r"(?i)(?:rejected|failed|failure|error|response|request|refused|answered|api|server|http|exception):? "
    r"\(([45]\d\d)\)"
)
_ANY_REASON = frozenset(("client error", "server error", "status code"))
_BEFORE = frozenset(("http", "https", "status", "statuscode", "httpstatus", "httpstatuscode"))
_BEFORE_TWO = frozenset(
    f"{first} {second}"
    for first, seconds in (
        ("status", ("code", "is", "of", "was", "error")),
        ("error", ("code", "status")),
        ("response", ("code", "error")),
        ("http", ("code", "error", "2", "response", "3")),
        ("api", ("error", "returned")),
        ("client", ("error",)),
        ("server", ("error", "returned")),
        ("returned", ("error", "http")),
        ("responded", ("with",)),
    )
    for second in seconds
)
# (what stands in every text that the pattern meets, the pattern with the name as its group)
_NAMED = (
    ("An error occurred (", r"An error occurred \((\w{2,80})\)"),  # botocore, the AWS command line
    ("api error ", r"\bapi error (\w{2,80}):"),  # AWS for Go
    ("Error from server (", r"Error from server \((\w{2,40})\)"),  # kubectl
    ("code = ", r"\bcode = (\w{2,30}) desc\b"),  # gRPC for Go
    ("StatusCode.", r"\bStatusCode\.(\w{2,30})"),  # gRPC for Python
    ("SQLSTATE", r"\bSQLSTATE[\[(:= ]{1,3}(\w\w)\w{3}\b"),  # the class of an SQL state
    ("ERROR ", r"\bERROR \d{4} \((\w\w)\w{3}\)"),  # the MySQL client
    ("curl: (", r"\b(curl): \((\d{1,2})\)"),
)
_BODY = 2_000  # characters of an error body that are read
_IN_BODY = r"""["'](?:type|code|status|error)\\?["']: {0,3}\\?["']([A-Za-z_]{3,60})\\?["']"""
_ERRNO = r"\bE[A-Z0-9]{2,15}\b"
# Where in a request the fault is: `messages.3.content.0: ...`, `tools[0].function: ...`
_IN_REQUEST = (
    r"(?:Invalid )?[`'\"]?(?:messages|tools|contents|input|system|functions|response_format|tool_choice)[.\[]\w"
)


def status_said(words: str, text: str) -> int:
    """The HTTP status that a text names as one (0: none): after "HTTP" or "status", before its reason, as a field."""
    if " 4" not in words and " 5" not in words:
        return 0
    said = listed(words)
    if _STATUS_WORDS.isdisjoint(said):
        return 0
    for i, word in enumerate(said):
        if word not in _STATUS_WORDS:
            continue
        after = " ".join(said[i + 1 : i + 3])
        named = after in _ANY_REASON or after.startswith(REASONS.get(word, "\n"))
        if named or _introduces_status(said[max(0, i - 3) : i]):
            return int(word)
    field = re.search(_FIELD, text) if "code" in text or "status" in text else None
    field = field or re.match(_LEADING, text) or (re.search(_BRACKETED, text) if "(" in text else None)
    return int(field[1]) if field else 0


def _introduces_status(before: list[str]) -> bool:
    if before == ["error"]:
        return True
    if not before or before[-1] in _BEFORE or " ".join(before[-2:]) in _BEFORE_TWO:
        return bool(before)
    return before[0] == "http" and before[1:] in (["1", "1"], ["1", "0"], ["2", "0"])


def exit_said(words: str) -> int:
    """The exit code that a text names as one, 0 without."""
    found = re.search(_EXIT, words) if " exit" in words or " returned non zero" in words else None
    return int(found[1]) if found else 0


def errnos_said(text: str) -> dict[str, str]:
    """The names of errno that a text quotes (`ENOSPC`), each with the words that the system has for it; in order."""
    if "E" not in text:
        return {}
    found = ((name, getattr(errno, name, None)) for name in re.findall(_ERRNO, text))
    return {name: os.strerror(number) for name, number in found if isinstance(number, int)}


def names_said(text: str) -> list[str]:
    """The names that an API, a cluster or a database gives its error, as `_plain` writes them; in order."""
    names = [found[0] for sign, form in _NAMED if sign in text and (found := re.findall(form, text))]
    if "error" in text and ('": ' in text or '":"' in text or "': " in text or '\\":' in text):
        names += re.findall(_IN_BODY, text[:_BODY])
    if compiled(_IN_REQUEST).match(text):
        names.append("invalid_request_error")
    return [_plain(name) for name in names]


def _plain(name: str | tuple[str, ...]) -> str:
    """Lower case, without underscores and blanks between groups."""
    return "".join(name).lower().replace("_", "")
