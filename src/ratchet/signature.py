"""Turns an error text into its signature: what varies is masked, what names the cause stays.

The same cause gives the same signature on every machine and in every process: nothing here reads the clock, the
locale, the working directory or Python's randomised `hash()`. Changing what a text masks to is a new `VERSION`.
"""

from __future__ import annotations

import hashlib
import re

from ratchet.frames import trace_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

VERSION = "v1"
LIMIT = 1_000  # characters of a template; a cause is named within them, and recall compares trigrams of all of them
TEXT_LIMIT = 20_000  # characters of a text that are looked at: half from its head, half from its tail

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,16}[ -/]{0,2}[@-~]")
_QUOTES = (
    ('"', re.compile(r'"([^"\n]{1,160})"')),
    ("'", re.compile(r"(?<![\w'])'([^'\n]{1,160})'(?![\w'])")),
    ("`", re.compile(r"`([^`\n]{1,160})`")),
    ("\u2018", re.compile("\u2018([^\u2018\u2019\n]{1,160})\u2019")),
    ("\u201c", re.compile("\u201c([^\u201c\u201d\n]{1,160})\u201d")),
)
# A run of characters that may belong to one id, path, address or number. Everything else (quotes, brackets, commas,
# `=`) separates them.
_ATOM = re.compile(r"<[a-z]{2,5}>|[\w.\-/\\:@~%+$#*]+")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]{1,19}://[^\s\"'<>()\[\]{}|`,;]+")
_NUMBER = re.compile(r"[+-]?(?:\d[\d_]*(?:\.\d+){0,2}|\.\d+)(?:[eE][+-]?\d+)?%?|\d{1,9}:\d{1,9}")
_DURATION = re.compile(
    r"[+-]?(?:\d+(?:\.\d+)?(?:ns|us|\u00b5s|ms|s|m|h|d|sec|secs|min|mins|seconds?|minutes?|hours?|days?))+"
)
_SIZE = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[kKMGTP]i?[bB]?|[bB]|[kMG]?Hz|px|bytes)")
_TIME = re.compile(
    r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[T_ ]?\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)?(?:Z|[+-]\d{2}:?\d{2})?"
    r"|\d{1,2}:\d{2}:\d{2}(?:[.,:]\d+)?(?:Z|[+-]\d{2}:?\d{2})?|\d{1,2}/\d{1,2}/\d{2,4}|\d{4}-\d{2}-\d{2}-\d{2}\.\d{2}\.\d{2}\.\d+"
)
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_IPV4 = re.compile(r"[\w.\-]*/?\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d{1,5})?")
_IPV6 = re.compile(r"(?=[0-9a-fA-F:]*::|(?:[0-9a-fA-F]{1,4}:){7})[0-9a-fA-F:]{3,39}(?:%\w{1,15})?")
_MAC = re.compile(r"[0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){5,15}")
_HEX = re.compile(r"0[xX][0-9a-fA-F]+|(?=[a-f]{0,40}\d)[0-9a-f]{6,128}|(?=[A-F]{0,40}\d)[0-9A-F]{6,128}|[a-f]{8,40}")
_LINE = re.compile(r"(?::\d+){1,2}(?:-\d+)?$")
_FILE = re.compile(
    r"[\w.\-@+$]*\.(?:[cm]?[jt]sx?|pyi?|pyc|ipynb|java|class|jar|kt|go|rs|rb|php|cs|c|cc|cpp|cxx|h|hpp|swift|scala|sh|"
    r"bash|zsh|sql|html?|css|scss|vue|svelte|json[l5]?|ya?ml|toml|ini|cfg|conf|env|lock|xml|md|rst|txt|csv|tsv|log|"
    r"pdf|png|jpe?g|gif|svg|zip|gz|zst|tar|tgz|whl|so|dll|dylib|exe|o|a|db|sqlite3?|pem|key|crt|tmp|bak|out|bin|dat|"
    r"properties|gradle|proto|tf|mod|sum|service|sock|pid)"
)
_HOST = re.compile(
    r"(?:[A-Za-z0-9][A-Za-z0-9\-]{0,62}\.){1,12}(?:com|org|net|edu|gov|mil|int|info|biz|io|ai|dev|app|cloud|local|internal|lan|"
    r"localdomain|corp|test|example|co|uk|de|us|eu|cn|jp|fr|nl|ru|ca|au|in|br|at|be|ch|cz|dk|es|fi|gr|hk|hu|ie|il|it|kr|"
    r"mx|no|nz|pl|pt|ro|se|sg|sk|tr|tw|ua|za)(?::\d{1,5})?|localhost(?::\d{1,5})?"
)
_EMAIL = re.compile(r"[\w.+\-]+@[\w\-]+(?:\.[\w\-]+)+")
# A compiler's or linter's code (TS2345, E0308, ORA-00942) names the cause: it is a word, not a number.
_CODE = re.compile(r"[A-Z]{1,5}-?\d{3,5}")
_ID = re.compile(r"(?=\w*\d)[A-Za-z0-9]{8,}")
_SEGMENT = re.compile(r"[A-Za-z0-9]+")
_DIGITS = re.compile(r"(?:(?<=[_:=#])[-+])?\d+(?:\.\d+)*")

_DATE = re.compile(
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?(?:<num>,? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    r"[a-z]{0,6}\.?,? (?:<num>,? ){0,2}(?:at )?<time>(?: (?:[A-Z]{2,4}|<num>))?(?: <num>)?"
)
_SIZED = re.compile(r"<num> (?:[kKMGTP]i?)?B\b")
_QUERY = re.compile(r"(?<=\w)\?[\w.%+\-]{1,80}=[^\s\"'<>]*")
_THOUSANDS = re.compile(r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,])")
_MILLIS = re.compile(r"(:\d\d),(\d{3})(?!\d)")
_TIMES = re.compile(r"<time>(?:,? <time>)+(?: ?(?:UTC|GMT|[AP]M))?")
_SPELLED = re.compile(
    r"(?:\B<)?<num> ?(?:(?:milli|micro|nano)?seconds?|secs?|msecs?|ms|minutes?|mins?|hours?|hrs?|days?|weeks?)\b"
)


class _Memo(dict[str, str]):
    """Masks of tokens met before. Bounded: forgets everything when full, which costs a little time and no truth."""

    FULL = 20_000

    def __missing__(self, token: str) -> str:
        masked = _mask_token(token)
        if len(token) <= 80:
            if len(self) >= self.FULL:
                self.clear()
            self[token] = masked
        return masked


_MEMO = _Memo()


def mask(text: str) -> str:
    """The text with ids, numbers, times, paths, addresses, quoted names and durations replaced by placeholders.

    Line breaks stay, other white space becomes one blank. Masking a masked text changes nothing. Linear in its length.
    """
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    for quote, pattern in _QUOTES:
        if quote in text:
            text = pattern.sub(_mask_quoted, text)
    known = _MEMO.__getitem__
    if "\n" in text or "\r" in text:
        text = "\n".join([" ".join(map(known, line.split())) for line in text.splitlines()])
    else:
        text = " ".join(map(known, text.split()))
    if "<time>" in text:
        text = _TIMES.sub("<time>", _DATE.sub("<time>", text))
    if "<num>" in text:
        text = _SIZED.sub("<size>", _SPELLED.sub("<dur>", text))
    return text


def template_of(text: str) -> str:
    """What an error text says once everything that varies is masked; at most `LIMIT` characters.

    Of a traceback: the exception and its in-project frames. Of a long tool output: the lines that carry the error.
    """
    if len(text) > TEXT_LIMIT:
        text = text[: TEXT_LIMIT // 2] + "\n" + text[-TEXT_LIMIT // 2 :]
    said, frames = trace_of(text)
    masked = mask(_error_lines(said or text)).strip()
    if frames:
        room = LIMIT - sum(map(len, frames)) - len(frames)
        masked = "\n".join([masked[: max(room, LIMIT // 2)], *frames])
    return masked if len(masked) <= LIMIT else masked[: LIMIT + 1].rsplit(None, 1)[0][:LIMIT]


def sign(kind: str, template: str) -> str:
    """`v1:` and 16 hex digits that name this kind and template for ever, everywhere."""
    digest = hashlib.sha256(f"{kind}\n{template}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{VERSION}:{digest[:16]}"


def _error_lines(text: str) -> str:
    return text


def _mask_token(token: str) -> str:
    if token.isalpha():
        return token
    if "://" in token:
        token = _URL.sub("<url>", token)
    if "?" in token:
        token = _QUERY.sub("", token)
    if "," in token:
        token = _MILLIS.sub(r"\1.\2", _THOUSANDS.sub("0", token))
    return _ATOM.sub(_mask_atom, token)


def _mask_quoted(match: Match[str]) -> str:
    """A quoted name is a parameter; a quoted sentence and the keys and values of JSON say what happened."""
    inner: str = match[1]
    whole: str = match[0]
    text = match.string
    if inner.isspace() or " " in inner.strip() or text[match.end() : match.end() + 1] == ":":
        return whole
    before = text[max(0, match.start() - 4) : match.start()].rstrip()
    if before.endswith(('":', "':")):
        return whole
    return "<name>"


def _mask_atom(match: Match[str]) -> str:
    atom: str = match[0]
    if atom.isalpha() or atom[0] == "<" or match.string[match.end() : match.end() + 1] == "<":
        return atom
    core = atom.strip(".:-*#+") if atom[-1] in ".:-*#+" or atom[0] in ".:*#" else atom
    if not core or core.isalpha():
        return atom
    start = atom.find(core)
    return atom[:start] + _mask_core(core) + atom[start + len(core) :]


def _mask_core(core: str) -> str:
    has_digit = any(c in "0123456789" for c in core)
    if has_digit:
        for pattern, placeholder in _WITH_DIGITS:
            if pattern.fullmatch(core):
                return placeholder
    elif _HEX.fullmatch(core):
        return "<hex>"
    if "/" in core or "\\" in core:
        return _mask_path(core, has_digit=has_digit)
    plain = _LINE.sub("", core) if has_digit and ":" in core else core
    if "." in plain and _FILE.fullmatch(plain):
        return "<path>"
    if "@" in core and _EMAIL.fullmatch(core):
        return "<email>"
    if ("." in core or core.startswith("localhost")) and _HOST.fullmatch(core):
        return "<host>"
    if ":" in core:
        return ":".join([_mask_core(part) if part and not part.isalpha() else part for part in core.split(":")])
    if not has_digit or _CODE.fullmatch(core):
        return core
    return _DIGITS.sub("<num>", _SEGMENT.sub(_mask_segment, core))


_WITH_DIGITS = (
    (_NUMBER, "<num>"),
    (_DURATION, "<dur>"),
    (_SIZE, "<size>"),
    (_TIME, "<time>"),
    (_UUID, "<id>"),
    (_HEX, "<hex>"),
    (_IPV4, "<ip>"),
    (_MAC, "<mac>"),
    (_IPV6, "<ip>"),
)


def _mask_path(core: str, *, has_digit: bool) -> str:
    if core[0] in "/~\\" or core.startswith(("./", "../")) or core[1:3] in (":\\", ":/"):
        return "<path>" if len(core) > 1 else core
    pieces = re.split(r"[/\\]", _LINE.sub("", core))
    if len(pieces) > 2 or not pieces[-1] or _FILE.fullmatch(pieces[-1]):
        return "<path>" if any(c.isalpha() for c in core) else _DIGITS.sub("<num>", core)
    return _DIGITS.sub("<num>", _SEGMENT.sub(_mask_segment, core)) if has_digit else core


def _mask_segment(match: Match[str]) -> str:
    segment: str = match[0]
    if segment.isdigit():
        return segment
    if _HEX.fullmatch(segment):
        return "<hex>"
    if _ID.fullmatch(segment) and len(_DIGITS.findall(segment)) >= 2:
        return "<id>"
    return segment
