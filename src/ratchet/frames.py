"""Reads tracebacks (Python, JavaScript, Java, Go, Rust): the exception and the frames of the program under work.

Frames of the standard library and of installed packages say where a cause surfaced, not what it is, and differ
between versions; line numbers move with every edit. Both are left out.
"""

from __future__ import annotations

import re

FRAMES = 5  # the in-project frames nearest to the raise that are kept; further ones tell who called, not what broke

_FOREIGN = re.compile(
    r"site-packages|dist-packages|/lib/python\d|\\lib\\|<frozen |<string>|node_modules|node:|internal/|<anonymous>$|"
    r"/usr/(?:local/)?(?:lib|go)|/go/pkg/mod/|/pkg/mod/|/libexec/|\.cargo/|/rustc/|/rustlib/|library/(?:std|core|alloc)"
)
_FOREIGN_JAVA = re.compile(
    r"(?:java|javax|jdk|sun|com\.sun|kotlin|scala|groovy|jakarta|org\.(?:junit|apache|springframework|hibernate|gradle|eclipse|"
    r"codehaus|mockito|testng|assertj))\."
)
_PYTHON_FRAME = re.compile(r'\s*File "([^"\n]{1,400})", line \d+(?:, in (.{1,200}))?')
_AT_FRAME = re.compile(r"\s*at (?:async )?(?:(.{1,200}?) \()?(.{1,400}?)(?::\d+){0,2}\)?$")
_JAVA_FRAME = re.compile(r"\s*at (?:[\w.\-@]{1,80}/{1,2})?([\w.$<>]{1,300})\(([^()\n]{1,200})\)")
_GO_FILE = re.compile(r"\t(\S{1,400}\.go):\d+")
_RUST_FRAME = re.compile(r"\s*\d+: (?:0x[0-9a-f]+ - )?(.{1,300})")
_RUST_FILE = re.compile(r"\s+at (\S{1,400}\.rs):\d+")
_EXCEPTION = re.compile(r"[A-Za-z_][\w.$]{0,200}(?:: |:?$)")


def trace_of(text: str) -> tuple[str, list[str]]:
    """(what the exception says, its in-project frames nearest to the raise last); ("", []) without a traceback."""
    if 'File "' in text and ("Traceback (most recent" in text or ", line " in text):
        return _python(text.split("\n"))
    if "\n\tat " in text or ("\n    at " in text and ".java:" in text):
        return _java(text.split("\n"))
    if "panicked at" in text:
        return _rust(text.split("\n"))
    if "\n    at " in text or "\n  at " in text:
        return _javascript(text.split("\n"))
    if "goroutine " in text and ".go:" in text:
        return _go(text.split("\n"))
    return "", []


def _base(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def _nearest(frames: list[str]) -> list[str]:
    """The last frames, a recursion (the same frame again and again) told once."""
    kept = [frame for i, frame in enumerate(frames) if i == 0 or frame != frames[i - 1]]
    return kept[-FRAMES:]


def _python(lines: list[str]) -> tuple[str, list[str]]:
    """Of a chain the last traceback counts: its exception is the one that got out."""
    frames: list[str] = []
    said: list[str] = []
    in_trace = after = False
    for raw in lines:
        line = raw.lstrip("| +-") if raw[:4].strip("| +-") == "" and "|" in raw[:8] else raw
        if line.startswith("Traceback (most recent"):
            frames, said, in_trace, after = [], [], True, False
            continue
        found = _PYTHON_FRAME.match(line)
        if found:
            if after:
                frames, said, after = [], [], False
            in_trace = True
            if not _FOREIGN.search(found[1]):
                frames.append(f"in {found[2] or '?'} ({_base(found[1])})")
        elif in_trace and line[:1] not in (" ", "\t", "") and (after or _EXCEPTION.match(line)):
            said.append(line)
            after = True
            in_trace = len(said) < 3
    return "\n".join(said), _nearest(frames) if said else []


def _java(lines: list[str]) -> tuple[str, list[str]]:
    """The exception that got out and its root cause; the frames of the root cause, else of the whole."""
    said: list[str] = []
    frames: list[str] = []
    previous = ""
    for line in lines:
        found = _JAVA_FRAME.match(line)
        if found:
            if previous:
                said = [*said[:1], previous]
                frames = []
                previous = ""
            if not _FOREIGN_JAVA.match(found[1]):
                frames.append("in " + found[1].rsplit("$$", 1)[0])
        elif line.strip() and not line.lstrip().startswith("..."):
            previous = line.strip()
    frames.reverse()
    return "\n".join(said), _nearest(frames)


def _javascript(lines: list[str]) -> tuple[str, list[str]]:
    said: list[str] = []
    frames: list[str] = []
    for line in lines:
        found = _AT_FRAME.match(line) if line.lstrip().startswith("at ") else None
        if found:
            if not _FOREIGN.search(found[2]):
                frames.append(f"in {found[1] or '?'} ({_base(found[2])})")
        elif not frames and line.strip():
            said.append(line)
    frames.reverse()
    return "\n".join(said), _nearest(frames)


def _go(lines: list[str]) -> tuple[str, list[str]]:
    said: list[str] = []
    frames: list[str] = []
    goroutines = 0
    previous = ""
    for line in lines:
        if line.startswith("goroutine "):
            goroutines += 1
        elif not goroutines:
            if line.strip():
                said.append(line)
        elif goroutines == 1:
            found = _GO_FILE.match(line)
            if found and not _FOREIGN.search(found[1]):
                frames.append(f"in {previous.split('(0x')[0].split('({')[0].split('(...')[0]} ({_base(found[1])})")
            previous = line.strip()
    frames.reverse()
    return "\n".join(said), _nearest(frames)


def _rust(lines: list[str]) -> tuple[str, list[str]]:
    said: list[str] = []
    frames: list[str] = []
    name = ""
    for line in lines:
        if line.lstrip().startswith("note: "):
            continue
        found = _RUST_FILE.match(line)
        if found:
            if name and not _FOREIGN.search(found[1]):
                frames.append(f"in {name} ({_base(found[1])})")
            name = ""
            continue
        named = _RUST_FRAME.match(line)
        if named:
            name = named[1].rsplit("::h", 1)[0]
        elif line.strip() and not line.startswith("stack backtrace"):
            said.append(line)
    frames.reverse()
    return "\n".join(said), _nearest(frames)
