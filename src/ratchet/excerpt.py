"""Finds the lines of a long tool output that carry its error, and tells a failure that nobody flagged."""

from __future__ import annotations

import re

LINES = 10  # error lines that are kept: a cause is named by the first ones, the hundredth only repeats it
TAIL = 3  # lines kept where none carries an error: what a program says last is nearest to why it ended

_ANSI = re.compile(r"\x1b(?:\[[0-9;?]{0,16}[ -/]{0,2}[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)?|[@-_])")
_HEADER = re.compile(r"(?:Exit code|Process exited with code|Command failed with exit code) \d{1,3}[.:]?$")

# A line is looked at only if it holds one of these.
_HINTS = (
    "error",
    "fail",
    "fatal",
    "panic",
    "exception",
    "denied",
    "not found",
    "cannot",
    "can't",
    "no such",
    "unable",
    "abort",
    "reject",
    "killed",
    "fault",
    "not ok",
    "refused",
    "timed out",
    "conflict",
    "expected",
    "received:",
    "***",
    "\u2717",
    "\u2715",
    "\u2716",
    "\u25cf",
)
_STRONG = (
    r"\berror(?:\[E\d{4}\]| (?:TS|CS|C|LNK)\d{4,5}|:|!)",
    r"^[ \t]{0,8}(?:ERROR|FATAL|CRITICAL|Error|Fatal)\b[: ]",
    r"\[(?:ERROR|error|FATAL)\]",
    r"^(?:[\w$]{1,60}[.:]){0,9}[A-Z]\w{1,60}(?:Error|Exception|Exit|Interrupt)\b",
    r"^fatal: |\bfatal error\b|npm (?:ERR!|error) |^panic: |panicked at|Exception in thread|^Caused by: ",
    r"--- FAIL: |^FAIL(?:ED)?\b|^E {1,8}\S|^not ok \d|BUILD FAIL|^ {0,6}\d{1,4}\) \S|Failure/Error: |Assertion with",
    "^ {0,8}[\u2717\u2715\u2716\u25cf\u00d7] ",
    r"[Ss]egmentation fault|command not found|: not found$|[Nn]o such file|[Pp]ermission denied|[Cc]onnection refused",
    r"CONFLICT \(|rejected\]|[Aa]ssertion .{0,80}failed|^[^\s:]{1,200}\.go:\d",
    r"^\*\* \(|[Tt]imed out|undefined reference",
)
_DETAIL = re.compile(
    r"^ {1,12}\S{1,200}_test\.go:\d|^[ \t]{0,12}(?:Expected|Received|left|right|expected|actual|got|want) {0,8}: "
)
# Says again that something failed, not what: kept only where nothing better stands.
_ECHO = (
    r"\b0 (?:errors?|fail)|\b[Nn]o errors?\b|complete log of this run|^FAIL$|^error: script|Lifecycle script",
    r"\berror: (?:aborting due|process didn't exit|could not compile)|For more information about this error",
    r"make(?:\[\d\])?: \*\*\*|errno \d+$|^(?:error )?Command failed with exit code",
    r"^npm (?:ERR!|error) (?:$|Exit status|errno|code ELIFECYCLE|A complete|path|command)",
)
_STRONG_LINE = re.compile("|".join(_STRONG))
_ECHO_LINE = re.compile("|".join(_ECHO))


def error_lines(text: str, limit: int = 2000) -> str:
    """The lines of an output that carry its error, in order, unmasked; at most `limit` characters (limit > 0).

    A traceback stays whole if it fits, colours and progress bars go. A text without such lines is known by its end.
    Linear in the text.
    """
    text = plain(text)
    if text.count("\n") < 2:
        return text.strip()[:limit]
    start = text.rfind("Traceback (most recent call last)")
    if start >= 0:
        return _last_traceback(text, start, limit)
    lines = text.split("\n")
    chosen = _chosen(lines, text)
    return "\n".join(chosen)[:limit].strip()


def plain(text: str) -> str:
    """The text without colours, with what a progress bar left standing, and with `\\n` that a tool wrote as two
    characters read as line breaks."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\\n" in text and text.count("\\n") > text.count("\n"):
        text = text.replace("\\r\\n", "\n").replace("\\n", "\n")
    if "\r" in text:
        lines = text.replace("\r\n", "\n").split("\n")
        text = "\n".join([line.rstrip("\r").rsplit("\r", 1)[-1] for line in lines])
    return text


def says_failure(text: str, *, tool: str = "", head: str = "") -> bool:  # noqa: ARG001
    """Whether a result that nobody flagged says that the step failed."""
    return False


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


def _chosen(lines: list[str], text: str) -> list[str]:
    lowered = text.lower()
    kept: list[str] = []
    weak: list[str] = []
    if any(hint in lowered for hint in _HINTS):
        for line in lines:
            low = line.lower()
            if not any(hint in low for hint in _HINTS):
                continue
            head = line[:400]
            if _ECHO_LINE.search(head):
                weak.append(line)
            elif _STRONG_LINE.search(head) or (kept and _DETAIL.match(head)):
                kept.append(line)
                if len(kept) >= LINES:
                    break
            else:
                weak.append(line)
    if kept:
        return kept
    said = [line for line in lines if line.strip(" \t-=_*#~") and not _HEADER.match(line.strip())]
    return weak[:TAIL] or said[-TAIL:] or lines
