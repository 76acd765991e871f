"""Reads tracebacks (Python, JavaScript, Java, Go, Rust): the exception and the frames of the program under work.

Frames of the standard library and of installed packages say where a cause surfaced, not what it is, and differ
between versions; line numbers move with every edit. Both are left out.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled

FRAMES = 5  # the in-project frames nearest to the raise that are kept; further ones tell who called, not what broke
SAID = 3  # lines of an exception's message that are kept

# Strings, compiled by `re` when a traceback of that language is first met.
_FOREIGN = (
    r"site-packages|dist-packages|/lib/python\d|\\lib\\|<frozen |<string>|node_modules|node:|internal/|<anonymous>$|"
    r"/usr/(?:local/)?(?:lib|go)|/pkg/mod/|/libexec/|\.cargo/|/rustc/|/rustlib/|library/(?:std|core|alloc)"
)
_FOREIGN_JAVA = (
    r"(?:java|javax|jdk|sun|com\.sun|kotlin|scala|groovy|jakarta|org\.(?:junit|apache|springframework|hibernate|gradle|"
    r"eclipse|codehaus|mockito|testng|assertj))\."
)
_PYTHON_FRAME = r'\s*File "([^"\n]{1,400})", line \d+(?:, in (.{1,200}))?'
_PYTEST_FRAME = r"(\S{1,400}\.py):\d+: in "
_PYTEST_PLACE = r"(\S{1,400}\.py):\d+: (?:in (\S{1,200})|\w{0,80}(?:Error|Exception)\b)"
_JAVASCRIPT_FRAME = r"\s*at (?:async )?(?:(.{1,200}?) \()?([^\s()]{1,400}?)(?::\d+){0,2}\)?(?: \{)?$"
_JAVA_FRAME = r"\s*at (?:[\w.\-@]{1,80}/{1,2})?([\w.$<>]{1,300})\(([^()\n]{1,200})\)"
_GO_FILE = r"\t(\S{1,400}\.go):\d+"
_RUST_FRAME = r"\s*\d+: (?:0x[0-9a-f]+ - )?(.{1,300})"
_RUST_FILE = r"\s+at (\S{1,400}\.rs):\d+"
_EXCEPTION = r"[A-Za-z_][\w.$]{0,200}(?:: |:?$)"
_NAMED_EXCEPTION = r"(?:Uncaught )?[\w.$]{0,80}(?:Error|Exception|Rejection|Warning)\b"
# A new log record or a ruler: what the exception says ends before it.
_NEXT_RECORD = r"\d{2,4}[-:/]|\[\d|[-=]{4}|(?:INFO|DEBUG|WARN|WARNING|ERROR)\b|>>> |\$ "


def trace_of(text: str) -> tuple[str, list[str]]:
    """(what the exception says, its in-project frames, the one that raised last); ("", []) without a traceback."""
    if 'File "' in text and ", line " in text:
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


def names_of(text: str) -> set[str]:
    """The names by which a traceback's cause is told from others; empty for a text without a frame.

    The files of its frames (`@cart.py`), the functions in them (`@cart.py:total`), and the parts of its compound names
    (`%total` of `test_total_empty` and `TotalError`): tests of one function share but a part of their names.
    """
    found: set[str] = set()
    for line in text.split("\n"):
        place = _place_in(line)
        if place is not None:
            file, function = place
            found.update((f"@{file}", f"@{file}:{function}") if function else (f"@{file}",))
    if found:
        for name in compiled(_COMPOUND).findall(text):
            found.update([f"%{part.lower()}" for part in compiled(_PART).findall(name)])
    return found


_COMPOUND = r"\b(?:[A-Za-z0-9]{1,40}_\w{1,80}|[A-Za-z]{0,40}[a-z][A-Z]\w{0,80})"
_PART = r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])"


def _place_in(line: str) -> tuple[str, str] | None:
    """(file, function) of the frame that stands in a line, the function "" where none is named; None for no frame."""
    if ".py" in line or 'File "' in line:
        found = compiled(_PYTHON_FRAME).match(line) or compiled(_PYTEST_PLACE).match(line)
        return (_base(found[1]), found[2] or "") if found else None
    if not line.lstrip().startswith("at "):
        return None
    if found := compiled(_JAVA_FRAME).match(line):
        return found[2].partition(":")[0], found[1].rpartition(".")[2]
    found = compiled(_JAVASCRIPT_FRAME).match(line)
    return (_base(found[2]), found[1] or "") if found else None


def without_foreign(text: str) -> str:
    """The text without the frames of installed packages and the standard library, where it has others."""
    kept: list[str] = []
    foreign = own = 0
    inside = False  # a foreign frame: its source and marks are indented
    for line in text.split("\n"):
        frame = _frame_in(line)
        if frame is not None:
            inside = frame
            foreign += inside
            own += not inside
        elif inside and line[:4].strip():
            inside = False
        if not inside:
            kept.append(line)
    return "\n".join(kept) if foreign and own else text


def _frame_in(line: str) -> bool | None:
    """Tell whether the frame that stands in a line is a foreign one; None where none does."""
    if ".py" in line or 'File "' in line:
        found = compiled(_PYTHON_FRAME).match(line) or compiled(_PYTEST_FRAME).match(line)
        return _is_foreign(found[1]) if found else None
    if not line.lstrip().startswith("at "):
        return None
    if found := compiled(_JAVA_FRAME).match(line):
        return compiled(_FOREIGN_JAVA).match(found[1]) is not None
    found = compiled(_JAVASCRIPT_FRAME).match(line)
    return _is_foreign(found[2]) if found else None


def _base(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def _is_foreign(path: str) -> bool:
    return compiled(_FOREIGN).search(path) is not None


def _nearest(frames: list[str]) -> list[str]:
    """The last frames; a recursion (the same frame again and again) is told once."""
    kept = [frame for i, frame in enumerate(frames) if i == 0 or frame != frames[i - 1]]
    return kept[-FRAMES:]


def _python(lines: list[str]) -> tuple[str, list[str]]:
    """Of a chain the last traceback counts: its exception is the one that got out."""
    frames: list[str] = []
    said: list[str] = []
    expects = False  # inside a traceback, its exception not complete yet
    for raw in lines:
        # Groups draw a tree in front of their lines.
        line = raw.lstrip("| +-") if "|" in raw[:8] and not raw[:4].strip("| +-") else raw
        found = compiled(_PYTHON_FRAME).match(line) if 'File "' in line else None
        if found or line.startswith("Traceback (most recent"):
            if said:
                frames, said = [], []
            expects = True
            if found and not _is_foreign(found[1]):
                frames.append(f"in {found[2] or '?'} ({_base(found[1])})")
        elif expects and line[:1] not in (" ", "\t", ""):
            if said and compiled(_NEXT_RECORD).match(line):
                expects = False
            elif said or compiled(_EXCEPTION).match(line):
                said.append(line)
                expects = len(said) < SAID
        elif said:
            expects = False
    return "\n".join(said), _nearest(frames) if said else []


def _java(lines: list[str]) -> tuple[str, list[str]]:
    """The exception that got out and its root cause, with the frames of the root cause."""
    said: list[str] = []
    frames: list[str] = []
    previous = ""
    for line in lines:
        found = compiled(_JAVA_FRAME).match(line)
        if found:
            if previous:
                said, frames, previous = [*said[:1], previous], [], ""
            if not compiled(_FOREIGN_JAVA).match(found[1]):
                frames.append("in " + found[1].partition("$$")[0])
        elif line.strip() and not line.lstrip().startswith("..."):
            previous = line.strip()
    frames.reverse()
    return "\n".join(said), _nearest(frames)


def _javascript(lines: list[str]) -> tuple[str, list[str]]:
    """The exception that stands nearest above the first frames; none if nothing there is called one."""
    said: list[str] = []
    frames: list[str] = []
    framed = False
    for line in lines:
        found = compiled(_JAVASCRIPT_FRAME).match(line) if line.lstrip().startswith("at ") else None
        if found:
            framed = True
            if not _is_foreign(found[2]):
                frames.append(f"in {found[1] or '?'} ({_base(found[2])})")
        elif not framed and line.strip():
            if compiled(_NAMED_EXCEPTION).match(line):
                said = [line]
            elif said:
                said.append(line.strip())
    frames.reverse()
    return "\n".join(said[:SAID]) if framed else "", _nearest(frames)


def _go(lines: list[str]) -> tuple[str, list[str]]:
    """The panic and the frames of the goroutine that it ended, the first one listed."""
    said: list[str] = []
    frames: list[str] = []
    goroutines = 0
    function = ""
    for line in lines:
        if line.startswith("goroutine "):
            goroutines += 1
        elif not goroutines:
            if line.startswith(("panic: ", "fatal error: ")):
                said = [line]
            elif said and line.strip():
                said.append(line)
        elif goroutines == 1:
            found = compiled(_GO_FILE).match(line)
            if found and not _is_foreign(found[1]):
                frames.append(f"in {function} ({_base(found[1])})")
            function = line.strip().removeprefix("created by ").rpartition("(")[0] or line.strip()
    frames.reverse()
    return "\n".join(said[:SAID]), _nearest(frames)


def _rust(lines: list[str]) -> tuple[str, list[str]]:
    """The panic and, where a backtrace was asked for, its frames."""
    said: list[str] = []
    frames: list[str] = []
    function = ""
    traced = False
    for line in lines:
        if "panicked at" in line:
            said, frames, traced = [line], [], False
        elif line.startswith("stack backtrace") or line.lstrip().startswith("note: "):
            traced = True
        elif traced:
            found = compiled(_RUST_FILE).match(line)
            named = None if found else compiled(_RUST_FRAME).match(line)
            if found and function and not _is_foreign(found[1]):
                frames.append(f"in {function} ({_base(found[1])})")
            function = compiled(r"::h[0-9a-f]{16}$").sub("", named[1]) if named else ""
        elif said and line.strip():
            said.append(line)
    frames.reverse()
    return "\n".join(said[:SAID]), _nearest(frames)
