"""Says a lesson in the words of the client that asks: each tool by the name that it has there.

Lean: hook processes import this.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled
from ratchet.failures.programs import role_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from re import Match

    from ratchet.records import Row

# Words before or behind say that a tool is meant ("Call Read with", "the Read tool"): a name alone is one of code, too,
# or a word of a command (`-t run_command`, "import read_file").
_NAME = compiled(r"(`?)\b([A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*)\b(`?)(?![\w/=(-]|[.:]\w)")
_SERVED = compiled(r"\bmcp__([A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*)__([A-Za-z0-9_-]+)")


def in_words_of(tools: Mapping[str, str], lessons: Sequence[Row]) -> list[Row]:
    """Lessons as a client is told them. `tools` are its own names, by role ("read", "edit", "write", "shell",
    "search"), and how it names those of MCP servers ("mcp": a form with `{server}` and `{tool}`); without any the
    lessons stay as they are."""
    return [_worded(tools, each) for each in lessons] if tools else [*lessons]


def _worded(tools: Mapping[str, str], lesson: Row) -> Row:
    text, steps, own = lesson.get("text"), lesson.get("steps"), str(lesson.get("tool") or "")
    said: Row = {**lesson}
    if isinstance(text, str):
        said["text"] = worded(tools, text, own)
    if isinstance(steps, list | tuple):
        said["steps"] = [worded(tools, each, own) if isinstance(each, str) else each for each in steps]
    return said


def worded(tools: Mapping[str, str], text: str, own: str = "") -> str:
    """A text with the names that tools have in a client; `own` is the tool that failed where it was learnt."""

    def named(found: Match[str]) -> str:
        before, name, behind = found.groups()
        if before != behind or not _is_meant(found, own):
            return found.group()
        return f"{before}{tools.get(role_of(name)) or name}{behind}"

    form = tools.get("mcp", "")
    if form:
        text = _SERVED.sub(lambda found: form.format(server=found[1], tool=found[2]), text)
    return _NAME.sub(named, text)


def _is_meant(found: Match[str], own: str) -> bool:
    """Tell whether a word that could name a tool does: code has functions to call, too, of the same names."""
    text = found.string
    before, behind = text[: found.start()], text[found.end() :]
    if behind == " tool" or behind.startswith((" tool ", " tool.", " tool,", " tool:")):
        return True
    return found[2] == own and before.endswith(("Call ", "call "))
