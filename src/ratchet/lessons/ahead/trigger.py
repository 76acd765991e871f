"""Tells which proven lessons are about a step that is about to run: those of a project stand in one small file.

A line of the file is one trigger; it holds a needle that the bytes of an event must have before any JSON is parsed.
Which steps fail is decided when the file is written (`making`); here they are only recognised. Lean: hook processes
import this.
"""

from __future__ import annotations

import os

from ratchet.ids import hex_of
from ratchet.lessons import exposure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ratchet.failures.circles import RecentCall
    from ratchet.records import Json

LEAST_LINES = 80
"""Lines that were added since a check last ran, from which on its usual findings are named before it runs again, once a
session: of 57 real sessions' runs 4 of 18 then showed one of them, at any run 8 of 185 (`benchmarks/before.py`)."""
NAMED = 8
"""Findings of a check that are named at once."""
CHECK, BESIDE = "check", "beside"
ONCE = frozenset((CHECK, BESIDE))
"""Kinds that a session is told once."""
_LIMIT_BYTES = 65_536
_FIELDS = ("needle", "kind", "tool", "head", "word", "lesson", "pattern", "text")
_MOVED = "place"  # about where the shell stands: no word of the event tells


class Trigger:
    """One lesson and the steps that it is about. `kind` says how they are recognised:

    - "flag": a command of `head` with the option `word`
    - "alone": the command `head` without operands, and nothing before it but a change of folder
    - "bare": the program `word`, not run through another one
    - "path": a command that names the path `word`, which is not there, unless `head` makes it in the same line
    - "same": literally the command whose text has the hash `word`
    - "value": a call of `tool` whose field `head` is `word`; "field": one that has the field `word`; "tool": any
    - "place": a command that names a path of the project's root, while the shell stands elsewhere
    - "import": the check `head`, while a file that the session edited uses a name without its import; `word` is the
      name, the module and the ending of such files
    - "check": the check `head`, after many lines were added
    - "beside": what a check found in one session so far: named only with what is proven of it
    """

    __slots__ = _FIELDS

    def __init__(
        self, *, needle: str, kind: str, tool: str, head: str, word: str, lesson: str, pattern: str, text: str
    ) -> None:
        self.needle, self.kind, self.tool, self.head, self.word = needle, kind, tool, head, word
        self.lesson, self.pattern, self.text = lesson, pattern, text

    def written(self) -> str:
        """The trigger as a line. Raises ValueError for a field that would break it."""
        fields = [str(getattr(self, name)) for name in _FIELDS]
        if any("\t" in field or "\n" in field for field in fields):
            raise ValueError(f"the trigger of lesson {self.lesson} holds a tab or a line's end")
        return "\t".join(fields)


class Surroundings:
    """Surroundings of a step that is about to run: the folder where the shell stands, and the project's root. `added`
    counts the lines that the session added since a check last ran, `edited` names the files that it edited."""

    __slots__ = ("_added", "_edited", "cwd", "root")

    def __init__(
        self, cwd: str, root: str, added: Callable[[str], int], edited: Callable[[], Iterable[str]] = tuple
    ) -> None:
        self.cwd, self.root, self._added, self._edited = cwd.rstrip("/"), root.rstrip("/"), added, edited

    def exists(self, folder: str, path: str) -> bool:
        """Tell whether a path is there, seen from a folder."""
        return os.path.exists(os.path.join(folder, os.path.expanduser(path)))

    def added_since(self, head: str) -> int:
        """Lines that the session added since this check last ran."""
        return self._added(head)

    def lacks(self, name: str, module: str, ending: str) -> bool:
        """Tell whether a file of this ending that the session edited uses a name and neither imports nor defines it."""
        paths = [path for path in self._edited() if path.endswith(f".{ending}")]
        if not paths:
            return False
        from ratchet.lessons.ahead.importing import lacks

        return any(lacks(os.path.join(self.cwd, path), name, module) for path in paths)


def path_of(home: str, project: str) -> str:
    """Return where a home keeps the triggers of a project, by its name."""
    return os.path.join(home, "hook", "ahead", hex_of(project)[:24])


def held(home: str, folder: str) -> bytes:
    """The lines of the project that a folder belongs to; nothing where it has none."""
    if not os.path.isdir(os.path.join(home, "hook", "ahead")):
        return b""
    try:
        descriptor = os.open(path_of(home, exposure.project_name(folder)), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _LIMIT_BYTES)
    finally:
        os.close(descriptor)


def near(lines: bytes, event: bytes, *, moved: bool) -> list[Trigger]:
    """The triggers whose needle stands in an event; `moved` says that the shell left the project's root."""
    found = []
    for line in lines.split(b"\n"):
        needle, _, rest = line.partition(b"\t")
        if (needle in event) if needle else (moved and rest.startswith(_MOVED.encode())):
            each = read(line.decode("utf-8", "replace"))
            if each is not None:
                found.append(each)
    return found


def read(line: str) -> Trigger | None:
    """The trigger of a line; None for what is none."""
    fields = line.split("\t")
    return Trigger(**dict(zip(_FIELDS, fields, strict=True))) if len(fields) == len(_FIELDS) else None


def met(triggers: Iterable[Trigger], tool: str, given: Json, around: Surroundings) -> list[Trigger]:
    """The triggers that are about a step, the surest first: one, or the findings of one check."""
    found = [each for each in triggers if _is_met(each, tool, given, around)]
    first = next((each for each in found if each.kind != BESIDE), None)
    together = _TOGETHER.get(first.kind, ()) if first else ()
    if first is None or not together:
        return [first] if first else []
    return [each for each in found if each.kind in together and each.head == first.head][:NAMED]


_TOGETHER = {"import": ("import",), CHECK: (CHECK, BESIDE)}


def edited(calls: Sequence[RecentCall | None]) -> list[str]:
    """The files that these calls of a session edited, the latest first."""
    found = [call.target for call in reversed(calls) if call is not None and call.is_edit and not call.failed]
    return [path for path in dict.fromkeys(found) if path][:_FILES]


_FILES = 12


def added_since(calls: Sequence[RecentCall | None], head: str) -> int:
    """Count the lines that these calls of a session added since the check `head` last ran."""
    from ratchet.failures.intent import commands, head_of
    from ratchet.failures.programs import is_shell
    from ratchet.failures.tool_call import CHANGE_CHARS, change_text, input_text

    count = 0
    for call in reversed(calls):
        if call is None:
            continue
        if is_shell(call.tool):
            asked = input_text(call.tool, call.given)
            if any(head_of(words)[0] == head for words, _ in commands(asked)):
                break
        elif not call.failed:
            count += sum(part[:2] == "+ " for part in change_text(call.given)[:CHANGE_CHARS].split("\n"))
    return count


def line(triggers: Sequence[Trigger], around: Surroundings) -> str:
    """Say what these triggers of one step know, in one line of ours."""
    told = "; ".join(each.text for each in triggers)
    first = triggers[0]
    if first.kind == CHECK:
        told = f"`{first.head}` after edits of this size fails here most of {told}"
    elif first.kind == "import":
        told = f"a file that was edited uses a name that `{first.head}` will not know: {told}"
    elif first.kind == "place":
        told = f"the shell does not stand in the project's root ({os.path.relpath(around.root, around.cwd)}); {told}"
    return f"Ratchet, from earlier runs of this project (recorded data): {told}."


def _is_met(each: Trigger, tool: str, given: Json, around: Surroundings) -> bool:
    from ratchet.failures.programs import is_shell

    kind = each.kind
    if kind in ("tool", "value", "field"):
        if tool != each.tool:
            return False
        fields = given if isinstance(given, dict) else {}
        return kind == "tool" or (fields.get(each.head) == each.word if kind == "value" else each.word in fields)
    if not is_shell(tool):
        return False
    from ratchet.failures.intent import commands, head_of
    from ratchet.failures.programs import NOISE
    from ratchet.failures.tool_call import input_text

    asked = input_text(tool, given)
    if kind == "bare":
        return _runs_bare(asked, each.word)
    if kind == "same":
        return _is_same(asked, each.word)
    pieces = [words for words, _ in commands(asked)]
    heads = [head_of(words)[0] for words in pieces]
    if kind == "alone":
        return [" ".join(words) for words in pieces if words[0] not in NOISE][:1] == [each.head]
    if kind == "flag":
        named = [words for words, head in zip(pieces, heads, strict=True) if head == each.head]
        return any(word.partition("=")[0] == each.word for words in named for word in words)
    if kind == "path":
        if each.head in heads or around.exists(around.cwd, each.word):
            return False
        return any(word.rstrip("/") == each.word for words in pieces for word in words)
    if kind == "import":
        name, _, rest = each.word.partition(" ")
        module, _, ending = rest.partition(" ")
        return each.head in heads and around.lacks(name, module, ending)
    if kind in ONCE:
        return each.head in heads and around.added_since(each.head) >= LEAST_LINES
    return kind == "place" and _stands_elsewhere(pieces, around)


def marked(command: str) -> str:
    """Hash a command, white space aside. Unmasked: what worked instead names the same operands."""
    return hex_of(" ".join(command.split()))[:16]


def _runs_bare(asked: str, program: str) -> bool:
    """Tell whether a command line runs a program as such: first in a simple command, assignments aside."""
    import re

    return re.search(rf"(?:^|&&|\|\|?|;|\n|\()\s*(?:\w+=\S*\s+)*{re.escape(program)}(?=\s|$)", asked) is not None


def _is_same(asked: str, mark: str) -> bool:
    from ratchet.failures import tool_call

    return marked(tool_call.safe(asked, tool_call.INPUT_CHARS)) == mark  # as the failed one was kept


def _stands_elsewhere(pieces: Sequence[Sequence[str]], around: Surroundings) -> bool:
    if around.cwd == around.root or any(words[0] in ("cd", "pushd") for words in pieces):
        return False
    for words in pieces:
        for word in words:
            named = "/" in word and word[:1] not in "/~-$" and "://" not in word and "*" not in word
            if named and around.exists(around.root, word) and not around.exists(around.cwd, word):
                return True
    return False
