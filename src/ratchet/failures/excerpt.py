"""Finds the lines of a long tool output that carry its error. Lean: hook processes import it."""

from __future__ import annotations

from ratchet.failures.expressions import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re


LINES = 10  # error lines that are kept: a cause is named by the first ones, the hundredth only repeats it
LINE_LIMIT = 300  # characters of one line: beyond them stand values (a page that did not match), not causes
TAIL = 3  # lines kept where none carries an error: what a program says last is nearest to why it ended
LONG = 400  # characters beyond which only the lines that carry the error tell the kind; in a shorter text those that
SHORT = 120  # ... say so, which are not looked for in a line or two, nor where an exit code is known

# Patterns are strings, compiled by `re` (and kept there) when first met: a hook is a process per event.
_ANSI = r"\x1b(?:\[[0-9;?]{0,16}[ -/]{0,2}[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)?|[@-_])"
# What an agent's shell tool writes above the output. It says that, not what: the exit code travels apart.
_HEADER = (
    r"(?:Exit code|Process exited with code|Command failed with exit code) \d{1,3}[.:]?$|Wall time: |Chunk ID: "
    r"|Original token count: |Total output lines: |Output:$"
)
_TOOL_ERROR = "<tool_use_error>"
# What PowerShell puts around the sentence of an error: where, the line with its mark, and its classes.
_POWERSHELL = (
    r"(?m)^(?:At (?:line|.{1,300}):\d{1,6} char:\d{1,6}$|\+ .{0,300}$"
    r"|[ ]{4}\+ (?:CategoryInfo|FullyQualifiedErrorId) .{0,400}$|[ ]$)\n?"
)

# A line is looked at only if it holds one of these, or starts with a place in a source file.
_HINTS = (
    *("error", "fail", "fatal", "panic", "exception", "denied", "not found", "cannot", "can't", "no such", "unable"),
    *("abort", "reject", "killed", "fault", "not ok", "refused", "timed out", "conflict", "expected", "received:"),
    *("***", "** (", "undefined", "ignored by", "not formatted", "err!", "no test"),
    *("\u2501\u2501\u2501", "\u2717", "\u2715", "\u2716", "\u00d7", "\u2503 ["),
)
_PLACE = r"^[ \t]{0,8}[\w./@\-]{1,200}\.[a-z]{1,5}[:(]\d{1,6}[:,)](?!.{0,80}(?:\bwarning\b|\(test\)))"
_PLACE_SIGN = r"\.[a-z]{1,5}[:(]\d"  # stands in every line that it meets
_STRONG = (
    r"\berror(?:\[E\d{4}\]| (?:TS|CS|C|LNK)\d{4,5}|:|!)",
    r"^[ \t]{0,8}(?:ERROR|FATAL|CRITICAL|Error|Fatal)\b[: ]|^[ \t]{1,8}\d{1,6}:\d{1,5} {1,9}error ",
    r"\[(?:ERROR|error|FATAL)\]",
    r"^[ \t]{0,8}(?:[\w$]{1,60}[.:]){0,9}[A-Z]\w{1,60}(?:Error|Exception|Exit|Interrupt)\b",
    r"^fatal: |\bfatal error\b|npm (?:ERR!|error) |^panic: |panicked at|Exception in thread|^Caused by: ",
    r"--- FAIL: |^FAILED |^FAIL +\S|^E {1,8}\S|^not ok \d|BUILD FAIL|Failure/Error: |Assertion with",
    "^ {0,8}[\u2717\u2715\u2716\u25cf\u00d7] |[\u2502\u2503] \\[[A-Z]\\] ",
    r"[Ss]egmentation fault|command not found|: not found$|[Nn]o such file|[Pp]ermission denied",
    r"CONFLICT \(|rejected\]|[Aa]ssertion .{0,80}failed|^[ \t]{0,8}\*\* \(|[Tt]imed out|undefined reference",
    r"[Cc]onnection refused|^[Nn]o tests? (?:found|ran|files)",
    r"^The following paths are ignored|not formatted|would be overwritten",
    r"^\(fail\) |^ {0,8}(?:at )?\S{1,300} (?:format|lint/\S{1,100}|assist/\S{1,100}) .{0,20}\u2501{3}",  # bun, biome
)
# Belongs to a strong line above it.
_DETAIL = r"^[ \t]{0,12}(?:Expected|Received|left|right|expected|actual|got|want) {0,8}: "
# Says again that something failed, not what: kept only where nothing better stands.
_ECHO = (
    r"^Found \d{1,6} errors? in \d|Test suite failed to run|^npm (?:ERR!|error) (?:To see a list| {1,4}npm run)",
    r"\b0 (?:errors?|fail)|\b[Nn]o errors?\b|complete log of this run|^FAIL(?:\t|$)|^error: script",
    r"\berror: (?:aborting due|process didn't exit|could not compile)|For more information about this error",
    r"make(?:\[\d\])?: \*\*\*|errno \d+$|^(?:error )?Command failed with exit code|ERROR task failed",
    r"^npm (?:ERR!|error) (?:$|Exit status|errno|code ELIFECYCLE|A complete|path|command)|Lifecycle script",
)

# One of these stands in every line that one of them meets: most texts hold none.
_ECHO_SIGNS = (
    *("Found ", "suite failed", "npm ", "0 error", "0 fail", "o error", "complete log", "FAIL", "error: "),
    *("For more information", "make", "errno ", "Command failed", "ERROR task", "Lifecycle script"),
)

# Says below an error what to do about it: a program adds it or not, by version and by settings.
_ADVICE = (
    r"(?i)^[ \t]{0,8}(?:hint|help|tip): (?!.{0,200}\bbecause\b)|^[ \t]{0,8}\((?:use|run|try|see) "
    r"|^[ \t]{0,8}(?:to|please|you can|you may|try|use|run|see) .{0,200}"
    r"\b(?:use|run|try|with|command|see)[:,]?[ \t]{0,4}$"
)


# How to call a program, which many print below what was wrong with the call (and some above it).
_USAGE = r"(?i)^[ \t]{0,4}usage(?: of \S{1,100})?(?::|$)"

_forms: list[re.Pattern[str]] = []  # the expressions above, compiled once they are needed


def error_lines(text: str, limit: int = 2000) -> str:
    """The lines of an output that carry its error, in order, unmasked; at most `limit` characters (limit > 0).

    A traceback stays whole if it fits; colours, progress bars and the header of the agent's shell tool go. A text
    without such lines is known by its end. Linear in the text.
    """
    return _found(text, limit)[0]


def carried(text: str, limit: int = 2000) -> tuple[str, bool]:
    """`error_lines` of a text, and whether they are some of many lines that say themselves that they carry an error."""
    return _found(text, limit)


def _found(text: str, limit: int) -> tuple[str, bool]:
    global _last
    asked, known, found = _last
    if asked != limit or known != text:
        found = _error_lines(text, limit)
        _last = limit, text, found
    return found


_last = (0, "", ("", False))  # a failure is read twice in a row, for its kind and for its signature


def _error_lines(text: str, limit: int) -> tuple[str, bool]:
    text = plain(text)
    if text.startswith(_TOOL_ERROR):  # below the sentence stands what was to be edited
        text = text.split("\n", 1)[0]
    if "+ CategoryInfo " in text:
        text = compiled(_POWERSHELL).sub("", text)
    if "\n" not in text:
        return text.removeprefix(_TOOL_ERROR).removesuffix("</tool_use_error>").strip()[:limit], False
    chosen = False
    start = text.rfind("Traceback (most recent call last)")
    if start >= 0:
        said = _last_traceback(text, start, limit)
    else:
        lines = [line for line in text.split("\n") if line.strip(" \t-=_*#~.")]
        lines = without_header(lines)
        if not text.isascii() or "usage" in text.lower():
            lines = _above_usage(lines)
        if len(lines) <= TAIL:
            telling = _without_advice(lines)
        else:
            telling, chosen = _carrying(lines)
        said = "\n".join([line[:LINE_LIMIT] for line in telling])
    from ratchet.failures.runner_reports import test_summary  # most failures of a hook are a line or two, without it

    summary = test_summary(text)
    if summary and not test_summary(said):
        said = f"{said[: max(0, limit - len(summary) - 1)]}\n{summary}"
    return said[:limit].strip(), chosen


def plain(text: str) -> str:
    """The text without colours, with what a progress bar left standing, and with the line breaks that a tool wrote as
    two characters (`\\\\n`) read as such."""
    text = uncoloured(text)
    if "\\n" in text and ("\\n\\n" in text or "\n" not in text):
        text = text.replace("\\r\\n", "\n").replace("\\n", "\n")
    if "\r" in text:
        lines = text.replace("\r\n", "\n").split("\n")
        text = "\n".join([line.rstrip("\r").rsplit("\r", 1)[-1] for line in lines])
    return text


def uncoloured(text: str) -> str:
    """The text without what colours it, moves the cursor or sets a title."""
    return compiled(_ANSI).sub("", text) if "\x1b" in text else text


def without_header(lines: list[str]) -> list[str]:
    """The lines below what an agent's shell tool writes above an output: the exit code, the time that it took."""
    first = 0
    while first < len(lines) - 1 and compiled(_HEADER).match(lines[first]):
        first += 1
    return lines[first:]


def _last_traceback(text: str, start: int, limit: int) -> str:
    """The last traceback up to the end of what its exception says."""
    kept: list[str] = []
    said = 0
    for line in text[start:].split("\n"):
        if said and (not line.strip() or said >= LINES):
            break
        if kept and line[:1] not in (" ", "\t", ""):
            said += 1
        kept.append(line)
    whole = "\n".join(kept)
    if len(whole) <= limit:
        return whole
    exception = "\n".join(kept[-said:])[:limit] if said else ""
    return f"{whole[: limit - len(exception) - 1]}\n{exception}" if len(exception) < limit else exception


def _above_usage(lines: list[str]) -> list[str]:
    """The lines above a program's usage, unless the error stands in or below it: options speak of errors, too."""
    at = next((at for at, line in enumerate(lines) if compiled(_USAGE).match(line)), 0)
    strong = _compiled()[0] if at else None
    return lines[:at] if strong and not any(strong.search(line[:LINE_LIMIT]) for line in lines[at:]) else lines


def _without_advice(lines: list[str]) -> list[str]:
    """A few lines up to the advice that follows their error, as `_carrying` would choose from many."""
    for at in range(1, len(lines)):
        if compiled(_ADVICE).search(lines[at]):
            strong = _compiled()[0]
            if any(strong.search(line) for line in lines[:at]) and not any(strong.search(line) for line in lines[at:]):
                return lines[:at]
    return lines


def _compiled() -> list[re.Pattern[str]]:
    """The forms of lines: strong, echo, place, detail."""
    if not _forms:
        # All at once: another thread sees none of them or all.
        _forms[:] = [compiled(form) for form in ("|".join(_STRONG), "|".join(_ECHO), _PLACE, _DETAIL)]
    return _forms


def _carrying(lines: list[str]) -> tuple[list[str], bool]:
    """The lines that carry an error, each once, and True; else those that mention one; else the last."""
    few = len(lines) <= _FEW
    shapes = _shape("\n".join(lines)).split("\n") if few else lines
    asked = [at for at, shape in enumerate(shapes) if shape not in _bare]
    text = "\n".join([lines[at] for at in asked])
    hints, placed = _signs(text)
    _, _, place, detail = _compiled()
    kept: dict[str, str] = {}
    weak: list[str] = []
    for at in asked:
        line = lines[at]
        low = line.lower()
        at_place = placed and place.match(line) is not None
        if not (kept and ": " in line and detail.match(line)):
            if not at_place and not any(map(low.__contains__, hints)):
                if few:
                    _learn(shapes[at])
                continue
            head = line[:LINE_LIMIT]
            strong, echo = _weighed(head)
            if echo or not (at_place or strong):
                weak.append(line)
                continue
        kept.setdefault(line.strip(), line)
        if "validation error" in low or _announces(low):
            kept.update((below.strip(), below) for below in lines[at + 1 : at + 1 + TAIL])
        if len(kept) >= LINES:
            break
    return list(kept.values()) or weak[:TAIL] or lines[-TAIL:], bool(kept)


def _announces(low: str) -> bool:
    """Tell whether what went wrong stands below this line (in small letters)."""
    return low.rstrip().endswith(("error:", "exception:"))


def _signs(text: str) -> tuple[list[str], bool]:
    """The hints that stand in a text, and whether one of its lines may begin with a place."""
    known = _known_signs.get(text)
    if known is None:
        known = [*filter(text.lower().__contains__, _HINTS)], compiled(_PLACE_SIGN).search(text) is not None
        if len(text) <= LINE_LIMIT:
            if len(_known_signs) >= _REMEMBERED:
                _known_signs.clear()
            _known_signs[text] = known
    return known


_known_signs: dict[str, tuple[list[str], bool]] = {}
_FEW = 24  # lines of a text whose other lines are worth remembering: those of a long output seldom come again
# Hexadecimal digits are all alike and letters small, so that lines which differ by a number or an id have one shape.
# Each character stands for itself: what is in a line is, in its shape, in the line's shape.
_SHAPE = bytes(35 if chr(c) in "0123456789abcdefABCDEF" else c + 32 if 65 <= c <= 90 else c for c in range(256))
# Of a place's sign, and of a detail: a line with other letters is its own shape, so its capitals stay.
_PLACE_SHAPE = r"\.[a-z#]{1,5}[:(]#|^[ \t]{0,12}[A-Za-z#]{3,8} {0,8}: "
_bare: set[str] = set()  # shapes of lines that neither name a place nor hold a hint or a detail
_shaped_signs: list[str] = []


def _shape(text: str) -> str:
    return text.encode("utf-8", "replace").translate(_SHAPE).decode() if text.isascii() else text


def _learn(shape: str) -> None:
    """Remember the shape of a line that says nothing of an error, if no line of that shape can."""
    if not _shaped_signs:
        _shaped_signs[:] = map(_shape, (*_HINTS, *_FURTHER))
    line = f"\n{shape}"
    if len(shape) > LINE_LIMIT or any(map(line.__contains__, _shaped_signs)) or compiled(_PLACE_SHAPE).search(shape):
        return
    if len(_bare) >= _REMEMBERED:
        _bare.clear()
    _bare.add(shape)


# Behind a line break and in small letters: where a line holds one of these, where it stands decides, too, or what
# stands around it.
_FURTHER = (
    *("xit", "eturned", "usage", "traceback (", "old_str", '", line ', "\tat ", "  at ", "panicked", "goroutine "),
    *("\nstring: ", "user said:", "\nline ", "failed to find", "validation error", "[redacted:", "::", "assertions: "),
    *("wall time", "chunk id", "token count", "output lines", "\noutput:", "\x1b", "\r", "\\n"),
)


def deciding(text: str, least: int) -> str:
    """The lines of a text of more than `least` characters (`LONG` or `SHORT`) from which alone its kind and signature
    follow; "" where more of it decides. Texts with the same ones have the same kind and signature."""
    if not least < len(text) <= _LONGEST or text[0] in "<{" or not text.isascii():
        return ""
    lines = [line for line in text.split("\n") if line.strip(" \t-=_*#~.")]
    if not TAIL < len(lines) <= _FEW:
        return ""
    asked = [
        line for line, shape in zip(lines, _shape("\n".join(lines)).split("\n"), strict=True) if shape not in _bare
    ]
    said = "\n".join(asked)
    if not asked or len(asked) > LINES or len(said) > 2 * LINE_LIMIT:
        return ""
    known = _deciding.get(said)
    if known is None:
        if len(_deciding) >= _REMEMBERED:
            _deciding.clear()
        low = f"\n{said.lower()}"
        further = any(map(low.__contains__, _FURTHER)) or any(map(_announces, low.split("\n")))
        known = _deciding[said] = not further and _carrying(asked)[1]
    return said if known else ""


_deciding: dict[str, bool] = {}
_LONGEST = 20 * LONG
_lines: dict[str, tuple[bool, bool]] = {}
_REMEMBERED = 2_048  # at most 1 MB


def _weighed(line: str) -> tuple[bool, bool]:
    """Tell whether a line carries an error, and whether it only says again that something failed; the same lines come
    with every failure of one cause."""
    known = _lines.get(line)
    if known is None:
        strong, echo = _compiled()[:2]
        echoes = any(map(line.__contains__, _ECHO_SIGNS)) and echo.search(line) is not None
        known = strong.search(line) is not None, echoes
        if len(_lines) >= _REMEMBERED:
            _lines.clear()
        _lines[line] = known
    return known


def marks_of(lines: list[str]) -> list[int]:
    """Weigh each line as a sign of an error: 2 carries one, 1 mentions one, 0 neither."""
    place = _compiled()[2]
    marks = []
    for line in lines:
        low = line.lower()
        head = line[:LINE_LIMIT]
        if not any(map(low.__contains__, _HINTS)) and not place.match(head):
            marks.append(0)
        else:
            marks.append(2 if _weighed(head) == (True, False) else 1)
    return marks
