"""Turns an error text into its signature: what varies is masked, what names the cause stays.

The same cause gives the same signature on every machine and in every process: nothing here reads the clock, the
locale, the working directory or Python's randomised `hash()`. Changing what a text masks to is a new `VERSION`.

Placeholders: `<num>`, `<hex>`, `<id>` (UUIDs, random identifiers), `<time>`, `<dur>` (durations), `<size>`, `<path>`,
`<url>`, `<host>`, `<ip>`, `<mac>`, `<email>`, `<name>` (whatever was quoted).
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled
from ratchet.ids import hex_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

VERSION = "v1"
LIMIT = 1_000  # characters of a template: a cause is named within them, and recall compares all of their trigrams
TEXT_LIMIT = 64_000  # characters of a text that are looked at: half from its head, half from its tail

# Patterns that are strings are compiled by `re` (and kept there) when first met: a hook is a process per event, and
# most events need none of them. All are linear: no two neighbouring repeats can match the same character.
_ANSI = r"\x1b\[[0-9;?]{0,16}[ -/]{0,2}[@-~]"
_QUOTED = {
    '"': r'"([^"\n]{1,160})"',
    "'": r"(?<![\w'>])'([^'\n]{1,160})'(?![\w'<])",  # not the apostrophes of "can't" and "users'"
    "`": r"`([^`\n]{1,160})`",
    "\u2018": "\u2018([^\u2018\u2019\n]{1,160})\u2019",
    "\u201c": "\u201c([^\u201c\u201d\n]{1,160})\u201d",
    "\u201e": "\u201e([^\u201c\u201d\u201e\n]{1,160})[\u201c\u201d]",
    "\u00ab": "[\u00ab\u00bb] ?([^\u00ab\u00bb\n]{1,160}?) ?[\u00ab\u00bb]",
    "\u300c": "\u300c([^\u300c\u300d\n]{1,160})\u300d",
}
# A run of characters that may belong to one id, path, address or number; all others (quotes, brackets, commas, `=`)
# separate. A placeholder is a run of its own, so that masking twice changes nothing.
_ATOM = compiled(r"<[a-z]{2,5}>|[\w.\-/\\:@~%+$#*]+")
_PLACEHOLDER = compiled(r"<[a-z]{2,5}>")
_URL = r"[A-Za-z][A-Za-z0-9+.\-]{1,19}://[^\s\"'<>()\[\]{}|`,;]+"
_QUERY = r"(?<=\w)\?[\w.%+\-]{1,80}=[^\s\"'<>]*"
_THOUSANDS = r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,])"
_MILLIS = r"(:\d\d),(\d{3})(?!\d)"

_NUMBER = compiled(r"[+-]?(?:\d[\d_]*(?:\.\d+){0,2}|\.\d+)(?:[eE][+-]?\d+)?%?|\d{1,9}:\d{1,9}")
_DURATION = r"[+-]?(?:\d+(?:\.\d+)?(?:ns|us|\u00b5s|ms|s|m|h|d|sec|secs|min|mins|seconds?|minutes?|hours?|days?)){1,6}"
_SIZE = r"[+-]?\d+(?:\.\d+)?(?:[kKMGTP]i?[bB]?|[bB]|[kMG]?Hz|px|bytes)"
_TIME = (
    r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[T_ ]?\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)?(?:Z|[+-]\d{2}:?\d{2})?"
    r"|\d{1,2}:\d{2}:\d{2}(?:[.,:]\d+)?(?:Z|[+-]\d{2}:?\d{2})?|\d{1,2}/\d{1,2}/\d{2,4}"
    r"|\d{4}(?:-\d{2}){3}\.\d{2}\.\d{2}\.\d+"
)
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_IPV4 = r"(?:[\w\-][\w.\-]{0,100}/|/)?\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d{1,5})?"  # Java writes host/address:port
_IPV6 = r"(?=[0-9a-fA-F:]*::|(?:[0-9a-fA-F]{1,4}:){7})[0-9a-fA-F:]{3,39}(?:\d{1,3}(?:\.\d{1,3}){3})?(?:%\w{1,15})?"
_MAC = r"[0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){5,15}"
_HEX = compiled(r"0[xX][0-9a-fA-F]+|(?=[a-f]{0,40}\d)[0-9a-f]{6,128}|(?=[A-F]{0,40}\d)[0-9A-F]{6,128}")
_EMAIL = r"[\w.+\-]+@[\w\-]+(?:\.[\w\-]+)+"
# A compiler's or linter's code (TS2345, E0308, ORA-00942) names the cause: it is a word, not a number.
_CODE = r"[A-Z]{1,5}-?\d{3,5}"
# So does an HTTP status, where a text calls it one: it becomes such a code.
_STATUS = (
    r"(?i)\b((?:status code|response (?:code|status)|error code|(?:api|returned) error"
    r"|http(?:/[\d.]{1,3})?(?: error)?)(?: of)?[:=]? )([45]\d\d)\b(?!\.\d)"
)
_DIGIT = compiled(r"[0-9]")
_SEGMENT = compiled(r"[A-Za-z0-9]+")
_DIGITS = compiled(r"(?:(?<=[_:=#])[-+])?\d+(?:\.\d+)*")

_DATE = (
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?(?:<num>,? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    r"[a-z]{0,6}\.?,? (?:<num>,? ){0,2}(?:at )?<time>(?: (?:[A-Z]{2,4}|<num>))?(?: <num>)?"
)
_TIMES = r"<time>(?:,? <time>)+(?: ?(?:UTC|GMT|[AP]M))?"
_SPELLED = r"(?:\B<)?<num> ?(?:(?:milli|micro|nano)?seconds?|m?secs?|ms|minutes?|mins?|hours?|hrs?|days?|weeks?)\b"
_SIZED = r"<num> (?:[kKMGTP]i?)?B\b"

_CODE_FILES = (
    "js|jsx|ts|tsx|cjs|mjs|py|pyi|ipynb|ex|exs|erl|hs|ml|lua|dart|zig|java|kt|go|rs|rb|php|cs|c|cc|cpp|cxx|h|hpp|swift|"
    "scala|sh|bash|ps1|bat|sql"
)
_DATA_FILES = (
    "html|htm|css|scss|vue|svelte|json|jsonl|json5|yaml|yml|toml|ini|cfg|conf|env|lock|xml|md|rst|txt|csv|tsv|log|pdf|png|"
    "jpg|jpeg|gif|svg|zip|gz|zst|tar|tgz|whl|pyc|class|jar|so|dll|dylib|exe|o|a|db|sqlite|sqlite3|pem|key|crt|tmp|bak|out|"
    "bin|dat|properties|gradle|proto|tf|mod|sum|service|sock|pid"
)
_EXTENSIONS = frozenset((*_CODE_FILES.split("|"), *_DATA_FILES.split("|")))
_TOP = "com|org|net|edu|gov|mil|io|ai|dev|local|internal"
_TOP_OF_LONG = (  # of three labels or more; of two these are mostly code (`logger.info`, `sys.in`)
    "int|info|biz|app|cloud|lan|localdomain|corp|test|example|co|uk|de|us|eu|cn|jp|fr|nl|ru|ca|au|in|br|at|be|ch|cz|dk|es|"
    "fi|gr|hk|hu|ie|il|it|kr|mx|no|nz|pl|pt|ro|se|sg|sk|tr|tw|ua|za"
)
_DOMAINS = frozenset(_TOP.split("|"))
_LONG_DOMAINS = _DOMAINS.union(_TOP_OF_LONG.split("|"))
_DRIVE = r"(?<![A-Za-z0-9])[A-Z]:\\"
_WRAPPED = r"(?s)\A<([a-z_]{3,40})>(.*)</\1>\s*\Z"  # <tool_use_error>
_EXIT = r"\A(?:Error: )?(?:Exit code|Process exited with code|Command failed with exit code) \d{1,3}[.:]?\s*\n(?=.*\S)"
_ECHOES = ("\nString: ", "the user said:\n")  # what follows repeats the caller's own words
_REPLACED = r"(?s)(old_str) `.{0,8000}?` (did not appear|in lines)"  # an editor quotes what it was to find
_QUERIED = r"\nLINE \d{1,6}: [^\n]*(?:\n[ \t]*\^)?"  # PostgreSQL points into the caller's query
_SOUGHT = r"(?s)(Failed to find (?:expected lines|context)[^\n]{0,300}):\n.*"  # what a patch looked for
_TRACES = ('", line ', "\n\tat ", "\n    at ", "\n  at ", "panicked at", "goroutine ")


class _Memo(dict[str, str]):
    """Masks of tokens met before. Bounded: it forgets everything when full, which costs a little time and no truth."""

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

    Line breaks stay, other white space becomes one blank. What is masked already stays as it is. Linear in the length.
    """
    if "\x1b" in text:
        text = compiled(_ANSI).sub("", text)
    if '\\"' in text:
        text = text.replace('\\"', '"')
    for quote, pattern in _QUOTED.items():
        if quote in text:
            text = compiled(pattern).sub(_mask_quoted, text)
    if "rror" in text or "tatus" in text or "HTTP" in text or "esponse" in text:
        text = compiled(_STATUS).sub(_coded, text).replace("HTTP HTTP", "HTTP")
    known = _MEMO.__getitem__
    if "\n" in text:
        text = "\n".join([" ".join(map(known, line.split())) for line in text.split("\n")])
    else:
        text = " ".join(map(known, text.split()))
    if "<time>" in text:
        text = compiled(_TIMES).sub("<time>", compiled(_DATE).sub("<time>", text))
    if "<num> " in text:
        text = compiled(_SPELLED).sub("<dur>", text)
        if "B" in text:
            text = compiled(_SIZED).sub("<size>", text)
    return text


def _coded(status: Match[str]) -> str:
    return f"{status[1]}HTTP{status[2]}"


def template_of(text: str) -> str:
    """Mask everything that varies in an error text; at most `LIMIT` characters.

    Of a traceback: the exception and its in-project frames. Of a long tool output: the lines that carry the error.
    """
    said, frames = _error_of(text)
    if len(said) > _SHORT:
        return _masked(said, frames)
    masked = _remembered.get((said, *frames))
    if masked is None:
        if len(_remembered) >= _REMEMBERED:
            _remembered.clear()
        masked = _remembered[said, *frames] = _masked(said, frames)
    return masked


def _masked(said: str, frames: list[str]) -> str:
    masked = mask(said).strip()
    if "\n" in masked:
        # A line that is the same but for its parameters tells nothing new.
        masked = "\n".join(dict.fromkeys(masked.split("\n")))
    if frames:
        room = LIMIT - sum(map(len, frames)) - len(frames)
        masked = "\n".join([masked[: max(room, LIMIT // 2)], *frames])
    if len(masked) > LIMIT:
        # Between words, or half a placeholder would be left.
        masked = masked[: LIMIT + 1].rsplit(None, 1)[0][:LIMIT]
    return masked


_SHORT = 2_000  # characters: at most 1 MB is remembered
_REMEMBERED = 512
_remembered: dict[tuple[str, ...], str] = {}  # what is left of an error's text often repeats itself to the letter


def _error_of(text: str) -> tuple[str, list[str]]:
    """The part of a text that carries its error, and the in-project frames of a traceback."""
    if len(text) > TEXT_LIMIT:
        text = text[: TEXT_LIMIT // 2] + "\n" + text[-TEXT_LIMIT // 2 :]
    if text[:11] == '{"output":"':
        text = _output_of(text)
    if text[:1] == "<":
        text = compiled(_WRAPPED).sub(r"\2", text)
    if "old_str `" in text:
        text = compiled(_REPLACED).sub(r"\1 <name> \2", text, count=1)
    if "\n" not in text and (text.count("\\n") < 2 or compiled(_DRIVE).search(text)):
        return text, []  # one line, and no text that a tool wrote with its line breaks spelled out
    from ratchet.failures.excerpt import error_lines, plain

    text = plain(text)
    if " code " in text[:48]:
        text = compiled(_EXIT).sub("", text, count=1)
    if any(map(text.__contains__, _TRACES)):
        from ratchet.failures.tracebacks import trace_of

        said, frames = trace_of(text)
        if said:
            return said, frames
    for echo in _ECHOES:
        text = text.partition(echo)[0]
    if "\nLINE " in text:
        text = compiled(_QUERIED).sub("", text)
    if "Failed to find " in text:
        text = compiled(_SOUGHT).sub(r"\1", text)
    return error_lines(text), []


def _output_of(text: str) -> str:
    """Return what a shell printed, out of the JSON in which some agents keep it."""
    import json  # a hook, which meets few such texts, has no time for it

    try:
        said = json.loads(text)["output"]
    except (ValueError, RecursionError):
        return text
    return said if isinstance(said, str) and said.strip() else text


def sign(kind: str, template: str) -> str:
    """`v1:` and 16 hex digits that name this kind and template for ever, everywhere."""
    digest = hex_of(f"{kind}\n{template}")
    return f"{VERSION}:{digest[:16]}"


def _mask_quoted(match: Match[str]) -> str:
    """A quoted name is a parameter; a quoted sentence and the keys and values of JSON say what happened."""
    whole: str = match[0]
    inner: str = match[1]
    if inner[0] in "/~" or inner[1:3] == ":\\":
        return "<name>"  # a path, with blanks or without
    if " " in inner.strip() or inner.isspace():
        return whole
    text, start, end = match.string, match.start(), match.end()
    before = text[max(0, start - 12) : start].rstrip(" \t")
    is_key = text[end : end + 1] == ":" and before[-1:] in ("", "{", ",", "\n", "[")
    return whole if is_key or before.endswith(('":', "':")) else "<name>"


def _mask_token(token: str) -> str:
    if token.isalpha():
        return _mask_word(token)
    if "://" in token:
        token = compiled(_URL).sub("<url>", token)
    if "?" in token:
        token = compiled(_QUERY).sub("", token)
    if "," in token:
        token = compiled(_THOUSANDS).sub("0", compiled(_MILLIS).sub(r"\1.\2", token))
    return _ATOM.sub(_mask_atom, token)


def _mask_word(word: str) -> str:
    """Hex without a digit: no common word of eight letters is spelled with a to f alone."""
    if word == "localhost":
        return "<host>"
    return "<hex>" if len(word) >= 8 and not word.strip("abcdef") else word


def _mask_atom(match: Match[str]) -> str:
    atom: str = match[0]
    if atom.isdigit():
        return "<num>"
    if atom.isalpha():
        return _mask_word(atom)
    text, start = match.string, match.start()
    # A placeholder and what is glued to it was masked before; what follows `<` is a closing tag.
    if atom[0] == "<" or _PLACEHOLDER.match(text, match.end()) or text[start - 1 : start + 1] == "</":
        return atom
    if text[start - 1 : start] == ">" and _PLACEHOLDER.fullmatch(
        text, max(0, text.rfind("<", max(0, start - 7), start)), start
    ):
        return atom
    core = atom.rstrip(".:-*#+")
    if core[:2] != "./" and core[:3] != "../":
        core = core.lstrip("*#") if core[:1] == "." and core.find("/") > 0 else core.lstrip(".*#")
    if core[:1] == ":" and core[:2] != "::":
        core = core[1:]
    if not core:
        return atom
    start = atom.find(core)
    return f"{atom[:start]}{_mask_core(core)}{atom[start + len(core) :]}"


def _mask_core(core: str) -> str:
    if core.isdigit():
        return "<num>"
    has_digit = _DIGIT.search(core) is not None
    if has_digit:
        whole = _quantity(core) or _address(core)
        if whole:
            return whole
    if ":" in core[2:]:
        return _mask_parts(core)
    if "/" in core or "\\" in core:
        return _mask_path(core, has_digit=has_digit)
    if "." in core:
        if _is_file(core):
            return "<path>"
        if _is_host(core):
            return "<host>"
    elif core == "localhost":
        return "<host>"
    if "@" in core and compiled(_EMAIL).fullmatch(core):
        return "<email>"
    if not has_digit or compiled(_CODE).fullmatch(core):
        return core
    return _mask_glued(core)


def _mask_parts(core: str) -> str:
    """Each part between colons by itself; the line numbers of a path and the port of a host go with it."""
    parts = core.split(":")
    if len(parts[0]) == 1 and parts[1][:1] in ("\\", "/"):
        parts[:2] = [f"{parts[0]}:{parts[1]}"]  # C:\
    kept: list[str] = []
    for part in parts:
        if kept and kept[-1] in ("<path>", "<host>") and part.replace("-", "").isdigit():
            continue
        kept.append(_mask_core(part) if part and (part == "localhost" or not part.isalpha()) else part)
    return ":".join(kept)


def _quantity(core: str) -> str:
    if _NUMBER.fullmatch(core):
        return "<num>"
    if core[0] in "+-0123456789":
        if core[-1].isalpha():
            if compiled(_DURATION).fullmatch(core):
                return "<dur>"
            if compiled(_SIZE).fullmatch(core):
                return "<size>"
        if ("-" in core or ":" in core or "/" in core) and compiled(_TIME).fullmatch(core):
            return "<time>"
    return "<hex>" if _HEX.fullmatch(core) else ""


def _address(core: str) -> str:
    if core.count(".") >= 3 and compiled(_IPV4).fullmatch(core):
        return "<ip>"
    if len(core) == 36 and core.count("-") == 4 and compiled(_UUID).fullmatch(core):
        return "<id>"
    if core.count(":") > 1 or core.count("-") > 4:
        if compiled(_MAC).fullmatch(core):
            return "<mac>"
        if compiled(_IPV6).fullmatch(core):
            return "<ip>"
    return ""


def _mask_path(core: str, *, has_digit: bool) -> str:
    if core[0] in "/~\\" or core.startswith(("./", "../")) or core[1:3] in (":\\", ":/"):
        return "<path>" if len(core) > 1 else core
    pieces = core.replace("\\", "/").split("/")
    if len(pieces) > 2 or not pieces[-1] or _is_file(pieces[-1]):
        return "<path>" if compiled(r"[^\W\d]").search(core) else _DIGITS.sub("<num>", core)
    return _mask_glued(core) if has_digit else core  # and/or, application/json, origin/main


def _is_file(name: str) -> bool:
    stem, dot, extension = name.rpartition(".")
    return dot != "" and extension.lower() in _EXTENSIONS and not any(mark in stem for mark in ":%~#*\\")


def _is_host(name: str) -> bool:
    labels = name.split(".")
    domains = _DOMAINS if len(labels) == 2 else _LONG_DOMAINS
    return labels[-1] in domains and all(labels) and "".join(labels).replace("-", "").isalnum()


def _mask_glued(core: str) -> str:
    return _DIGITS.sub("<num>", _SEGMENT.sub(_mask_segment, core))


def _mask_segment(match: Match[str]) -> str:
    """Random identifiers: hex, several runs of digits, or long with some digits and both cases."""
    segment: str = match[0]
    if segment.isdigit() or len(segment) < 6:
        return segment
    if _HEX.fullmatch(segment):
        return "<hex>"
    if len(segment) >= 8 and _DIGIT.search(segment):
        mixed = len(segment) >= 16 and segment not in (segment.lower(), segment.upper())
        if len((_DIGIT if mixed else _DIGITS).findall(segment)) > 1:
            return "<id>"
    return segment
