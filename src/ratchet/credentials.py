"""Tells a credential that stands next to its name (`password=...`, `"api_key": "..."`, `--token ...`) from ordinary text.

Lean: a hook process imports this.
"""

from __future__ import annotations

import re

PASSWORD = "password"  # noqa: S105  (a class of names: whatever is assigned to it is a secret, random or not)
TOKEN = "token"  # noqa: S105  (a secret when it looks made by a machine)
WEAK = "weak"  # a name that mostly holds harmless things: a secret only when long and plainly random

NEEDLES = ("pass", "pwd", "secret", "token", "cred", "key", "auth", "sig", "session", "cvv", "cvc", "otp", "dsn")
"""A text without one of these, in lower case, holds no name that matters here."""

# The longest alternatives first. What may follow the word inside the same name (`secretAccessKey`, `token_v2`) and the
# few words of prose between name and colon ("API key provided: ...") are bounded: that is what keeps this linear.
_NAME = r"""
(?<!redacted:)(?P<dashes>(?<![\w-])--?(?:[a-z0-9]{1,20}[-_.]){0,4}?)?
(?P<name>
  (?P<password>pass(?:word|wd|phrase|code|wort)s?|(?<![a-z])pwd|(?<=db)pwd|(?<=[_.-])pwd|(?<![a-z])(?:cvv2?|cvc|otp)(?![a-z])
    |(?<![a-z])pass(?=[\s"'\\\])]{0,4}[=:]|\s+[^\s=:])|(?<=[_-])pass(?![a-z])|secret)
 |(?P<token>tokens?|credentials?|(?<![a-z])creds
    |(?:api|access|private|secret|signing|encryption|account|shared|master|service|auth|client|storage|webhook|license
       |subscription|deploy|app|session|sas)[\s_.-]?keys?)
 |(?P<weak>(?<![a-z])(?:key|sig|auth|dsn)(?![a-z])|signature|session(?:[_-]?id)?)
)
(?P<rest>[\w.-]{0,40}+(?:\ [a-z]{1,12}){0,3}?)
"""
# `is` is a separator of prose, whitespace one of command lines, `>` one of XML, `, value:` one of manifests.
_SEPARATOR = r"""
(?P<closer>[\\"'\])]{0,6}+)
(?P<sep>\s{0,8}(?:=>|:=|={1,2}|:(?!//)|\bis\b(?=\s))\s{0,8}|>|,?\s{1,40}["']?value["']?\s{0,4}[:=]\s{0,4}|,\s{0,8}(?=["'])
  |(?(dashes)[ \t]{1,8}|(?!)))
(?P<opener>(?:[bfru]{1,2}(?=["']))?\\{0,7}["'`])?
"""
_compiled: list[re.Pattern[str]] = []


def _pattern() -> re.Pattern[str]:
    if not _compiled:
        _compiled.append(re.compile(_NAME + _SEPARATOR, re.IGNORECASE | re.VERBOSE | re.ASCII))
    return _compiled[0]


_UNQUOTED = re.compile(r"(?:[^\s\"'`<>&|;\\]|\\(?![nrt\"'\\]))++")
_NEXT_FIELD = re.compile(r",(?=[\w.-]{1,60}[=:])")
_QUOTED_LIMIT = 1000  # characters searched for the closing quote; beyond, the value is taken as unquoted
_SHORTEST_PASSWORD, _SHORTEST_SPOKEN, _SHORTEST_TOKEN, _SHORTEST_WEAK = 3, 6, 8, 20

# Names of facts about a credential: `token_count`, `secret_name`, `password_file`.
_ABOUT = re.compile(
    r"(?:count|limit|name|type|file|path|url|uri|length|len|size|ttl|expir\w*|required|field|version|usage|budget|stdin"
    r"|policy|hint|reset|label|format|arn|error|status|s used|izer|ized|ize|isation|ization)s?$",
    re.IGNORECASE,
)
_PLAIN = frozenset(
    [
        "a",
        "an",
        "and",
        "any",
        "are",
        "at",
        "be",
        "but",
        "by",
        "can",
        "cannot",
        "changed",
        "default",
        "denied",
        "disabled",
        "does",
        "empty",
        "enabled",
        "error",
        "expected",
        "expired",
        "failed",
        "failure",
        "false",
        "field",
        "flag",
        "for",
        "found",
        "from",
        "has",
        "hidden",
        "if",
        "in",
        "incorrect",
        "input",
        "invalid",
        "is",
        "it",
        "may",
        "mandatory",
        "match",
        "mismatch",
        "missing",
        "must",
        "needed",
        "nil",
        "no",
        "none",
        "not",
        "null",
        "of",
        "ok",
        "on",
        "only",
        "option",
        "optional",
        "or",
        "prompt",
        "provided",
        "rejected",
        "required",
        "revoked",
        "set",
        "should",
        "str",
        "string",
        "text",
        "that",
        "the",
        "this",
        "to",
        "true",
        "type",
        "undefined",
        "unknown",
        "unset",
        "value",
        "was",
        "with",
        "wrong",
        "yes",
        "you",
        "your",
        "bytes",
        "int",
        "bool",
        "object",
        "number",
        "basic",
        "bearer",
        "digest",
    ]
)
_REFERENCE = re.compile(r"(?:[A-Za-z_]\w*(?:\.|::|->))+[A-Za-z_]\w*\(?\)?$|[A-Za-z_][\w.]*\(|[A-Za-z_][A-Za-z_.]*\[")
_FACT = re.compile(
    r"[\w./-]{0,200}\.(?:py|js|ts|json|txt|md|ya?ml|toml|cfg|ini|log|sh|html|csv|pem|key|crt|env)$"  # a file
    r"|v?\d+(?:\.\d+)+\w*$|\d+(?:\.\d+)?[a-z]{1,7}$"  # a version, a quantity
)
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$", re.IGNORECASE)
_MASKED = frozenset("*x.•…-_#X?")


def hide_named(text: str) -> str:
    """The text with every credential that stands next to its name replaced by `[redacted:password|secret]`."""
    out: list[str] = []
    done = 0
    position = 0
    search = _pattern().search
    while (match := search(text, position)) is not None:
        span = _value_span(text, match)
        position = match.end("name")
        if span is None:
            continue
        start, end, quoted = span
        kind = _class_of(match)
        if start < done or not _is_credential(match, kind, text[start:end], quoted, _ends_line(text, end)):
            continue
        label = "password" if match["name"][:1] in "pP" and kind == PASSWORD else "secret"
        out += (text[done:start], f"[redacted:{label}]")
        done = position = end
    return "".join((*out, text[done:])) if out else text


def is_secret_value(name: str, value: str) -> bool:
    """Whether a value held under this name (a key of a mapping, an option) is a credential."""
    match = _pattern().search(f"{name}=")
    if match is None:
        return False
    return _is_credential(match, _class_of(match), value, quoted=True, alone=False)


def _class_of(match: re.Match[str]) -> str:
    return PASSWORD if match["password"] else TOKEN if match["token"] else WEAK


def _value_span(text: str, match: re.Match[str]) -> tuple[int, int, bool] | None:
    """Where the value begins and ends, and whether quotes enclose it."""
    start = match.end()
    opener = match["opener"]
    if opener:
        quote = opener[-1]
        end = _closing_quote(text, start, quote, opener.count("\\"))
        if end >= 0:
            return start, end, True
    found = _UNQUOTED.match(text, start)
    if found is None:
        return None
    end = found.end()
    field = _NEXT_FIELD.search(text, start, end)
    if field is not None:
        end = field.start()
    while end > start and text[end - 1] in ",.:!?)}]" and text[start] != "[":
        end -= 1
    return (start, end, False) if end > start else None


def _closing_quote(text: str, start: int, quote: str, depth: int) -> int:
    """The quote that closes one written with `depth` backslashes before it; -1 when there is none nearby."""
    limit = min(len(text), start + _QUOTED_LIMIT)
    position = start
    while (position := text.find(quote, position, limit)) >= 0:
        slashes = 0
        while slashes <= depth + 1 and text[position - 1 - slashes : position - slashes] == "\\":
            slashes += 1
        closes = slashes <= depth if depth else slashes % 2 == 0
        if closes:
            return max(start, position - (slashes if depth else 0))
        position += 1
    return -1


def _ends_line(text: str, end: int) -> bool:
    return end >= len(text) or text[end] in "\r\n" or text.startswith("\\n", end)


def _is_credential(match: re.Match[str], kind: str, value: str, quoted: bool, alone: bool) -> bool:
    if _is_harmless(match, value):
        return False
    sep = match["sep"].strip()
    if sep == "," and not (match["dashes"] or looks_random(value, _SHORTEST_TOKEN)):
        return False
    if kind == WEAK:
        return looks_random(value, _SHORTEST_WEAK) and not _UUID.match(value)
    if kind == TOKEN:
        return looks_random(value, _SHORTEST_TOKEN)
    if match["name"].lower() == "pass" and not quoted and sep != "=":
        return False  # `PASS: tests/test_a1.py` of a test runner
    if sep.lower() == "is" or " " in match["rest"]:
        return looks_random(value, _SHORTEST_SPOKEN)
    return _is_password(value, quoted, sep, alone)


def _is_harmless(match: re.Match[str], value: str) -> bool:
    low = value.lower()
    if not value or value[0] in "$<%{(" or low.startswith("[redacted:") or low.strip("'\"[](){}") in _PLAIN:
        return True
    if _ABOUT.search(match["rest"]) or _REFERENCE.match(value) or _MASKED.issuperset(value):
        return True
    holds_name = match["name"].lower() in low or "your" in low
    return holds_name and not any(c.isdigit() for c in value)


def _is_password(value: str, quoted: bool, sep: str, alone: bool) -> bool:
    if len(value) < _SHORTEST_PASSWORD:
        return False
    words = value.lower().split()
    if len(words) > 1 and not _PLAIN.isdisjoint(words):
        return False  # a sentence about a password, not one
    if quoted or "=" in sep or sep in ("", ">") or "value" in sep.lower():
        return True
    varied = (
        any(c.isdigit() or c in "!@#$%^&*+=~?" for c in value) or value[1:] != value[1:].lower() != value[1:].upper()
    )
    return varied or alone or len(value) >= _SHORTEST_WEAK


def looks_random(value: str, shortest: int) -> bool:
    """Whether a machine made this: long enough, without spaces, and its characters change class as no word does."""
    if len(value) < shortest or any(c.isspace() for c in value) or value.startswith(("/", "./", "~/", "http")):
        return False
    digits = sum(c.isdigit() for c in value)
    letters = sum(c.isalpha() for c in value)
    if not letters:
        return False
    if shortest < _SHORTEST_WEAK and digits and letters:
        return _FACT.match(value) is None
    if digits >= 4 and len(value) >= 32 and all(c in "0123456789abcdefABCDEF" for c in value):
        return True
    return len(value) >= 16 and _class_changes(value) >= 0.3 * len(value)


def _class_changes(value: str) -> int:
    classes = ["d" if c.isdigit() else "u" if c.isupper() else "l" if c.islower() else "s" for c in value]
    following = iter(classes[1:])
    return sum(a != b for a, b in zip(classes, following, strict=False) if "s" not in (a, b))
