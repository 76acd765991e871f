"""Read how long a failed call asks its caller to wait: in headers, in attributes, in words."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from ratchet.failures.classification import attribute, chain, text_of

_NEAR_S = 7 * 86_400.0  # a number that is as near to now as this is a moment, and no duration
_SCANNED = 4_000  # characters of a message that are read
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}

_PART = r"(\d{1,9}(?:\.\d{1,9})?) ?(ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)(?![a-z])"
_PARTS = "(?:" + _PART + r"[ ,]{0,2}(?:and )?){1,4}"
_LASTS = re.compile(_PARTS)
# Behind one of these words stands how long; gated by `_HINTS`, since nearly all messages name no wait.
_ASKED = re.compile(
    r"(?:(?:again|retry|retrying|reset|resets) (?:in|after)|wait(?: for)?(?: at least)?|available (?:again )?in)"
    r"[ :]{1,3}(?:about |approximately |~ ?)?(" + _PARTS + ")"
)
_NAMED = re.compile(
    r"retry[-_ ]?(?:after|delay)(?:[-_ ](ms|seconds|s))?[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
    r"(inf(?:inity)?\b|\d{1,12}(?:\.\d{1,9})?(?:e\+?\d{1,3})?)(ms|s|m)?"
)
_HINTS = ("again", "retry", "reset", "wait", "available")


def named_wait_s(error: BaseException, *, now: float) -> float | None:
    """Seconds that the failure asks to wait, or None. `now` is Unix seconds, for values that name a moment.

    However long: a day, a year or "inf" is an answer, too (the caller decides what is too long).

    Headers (`retry-after-ms`, `retry-after` of RFC 9110 section 10.2.3) come before attributes (`retry_after`), these
    before words ("try again in 1m30s", `"retryDelay": "17s"`); the exception itself before what it wraps.
    """
    for one in chain(error):
        for found in (_in_headers(one, now), _in_attributes(one, now), wait_in_words_s(text_of(one))):
            if found is not None:
                return found
    return None


def wait_in_words_s(text: str) -> float | None:
    """Seconds that a message asks to wait, or None. Linear in the text."""
    low = text[:_SCANNED].lower()
    if not any(hint in low for hint in _HINTS):
        return None
    named = _NAMED.search(low)
    if named:
        unit = {"ms": "ms", "m": "m"}.get(named[3] or named[1] or "", "s")
        return _sane(float(named[2]) * _UNITS[unit])
    asked = _ASKED.search(low)
    if asked is None:
        return None
    return _lasting_s(asked[1])


def _lasting_s(duration: str) -> float | None:
    return _sane(sum(float(number) * _unit_s(unit) for number, unit in re.findall(_PART, duration)))


def _unit_s(word: str) -> float:
    return _UNITS["ms"] if word.startswith(("ms", "milli")) else _UNITS[word[0]]


def _in_headers(error: BaseException, now: float) -> float | None:
    for holder in (error, attribute(error, "response")):
        headers = attribute(holder, "headers")
        metadata = holder.get("ResponseMetadata") if isinstance(holder, Mapping) else None  # botocore
        if isinstance(metadata, Mapping):
            headers = metadata.get("HTTPHeaders")
        for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            seconds = _seconds(_header(headers, name), now, unit_s)
            if seconds is not None:
                return seconds
    return None


def _header(headers: object, name: str) -> object:
    """The first value of a header in a mapping of any library, or in pairs as ASGI has them."""
    try:
        pairs = headers.items() if hasattr(headers, "items") else headers
        return next((value for key, value in pairs if _decoded(key).lower() == name), None)  # type: ignore[union-attr]
    except Exception:  # noqa: BLE001  (headers of any library, or none at all)
        return None


def _seconds(value: object, now: float, unit_s: float = 1.0) -> float | None:
    """Read a wait in any spelling: seconds, a duration ("1m30s"), a Unix time, a date; None where it names none."""
    if isinstance(value, list | tuple):
        value = value[0] if value else None
    if isinstance(value, timedelta):
        return _sane(value.total_seconds())
    if isinstance(value, datetime):
        return _until(value, now)
    said = _decoded(value).strip(" \"'")[:_SCANNED]
    try:
        number = float(said or value)  # type: ignore[arg-type]
        return _sane(_from_moment(number, now) if unit_s == 1.0 else number * unit_s)
    except OverflowError:  # a whole number beyond all floats
        return _sane(math.inf if value > 0 else -math.inf)  # type: ignore[operator]
    except Exception:  # noqa: BLE001, S110  (a value of any library may raise when it is asked for its number)
        pass
    if _LASTS.fullmatch(said.lower()):
        return _lasting_s(said.lower())
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            return _until(read(said), now)
        except (ValueError, TypeError, OverflowError):
            continue
    first, comma, _ = said.partition(",")  # a header that was sent twice
    return _seconds(first, now, unit_s) if comma else None


def _until(moment: datetime, now: float) -> float:
    """Seconds until then; a date without a zone is in UTC (RFC 9110 section 5.6.7)."""
    return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now)


def _decoded(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value if isinstance(value, str) else ""


def _in_attributes(error: BaseException, now: float) -> float | None:
    for name in ("retry_after", "retry_after_s", "retry_delay"):
        value = attribute(error, name)
        if isinstance(value, bool):
            continue
        found = _seconds(value, now)
        if found is None:
            found = _seconds(attribute(value, "seconds"), now)  # google.rpc.RetryInfo
        if found is not None:
            return found
    body = attribute(error, "body")
    return wait_in_words_s(json.dumps(body, default=str)[:_SCANNED]) if isinstance(body, dict | list) else None


def _from_moment(value: float, now: float) -> float:
    """Read a Unix time (in seconds or milliseconds) as the seconds until then; any other number is a duration."""
    for at in (value, value / 1_000):
        if now > _NEAR_S and abs(at - now) <= _NEAR_S:
            return max(0.0, at - now)
    return value


def _sane(seconds: float) -> float | None:
    return seconds if seconds >= 0 else None  # NaN neither
