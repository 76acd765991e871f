"""Find what made the difference between a call of a tool that is no shell and the one that worked.

What an editing or reading tool says itself ("read the file first", "set replace_all") is no lesson: its own message
tells it at every failure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ratchet.lessons.mining.calls import Piece, ToolCall, value_text
from ratchet.lessons.mining.remedy import Remedy, evidence
from ratchet.lessons.mining.similar import names
from ratchet.records import Json

TAKES_NO = " takes no "
"""Words of an advice of which the failure alone shows the half: the tool has no such field."""
_ONE_WORD = re.compile(r"[\w.:/@-]{2,60}")  # a value whose shape shows what is asked for
_PATHS = frozenset(("file_path", "path", "notebook_path", "absolute_path", "filename", "cwd"))


def fields_remedy(failed: ToolCall, worked: ToolCall) -> Remedy:
    """Which inputs of the same tool differ."""
    was, now = failed.fields, worked.fields
    if failed.head == "read":
        return evidence("unclear", worked.input)
    changed = [name for name in now if name in was and was[name] != now[name] and name not in _PATHS]
    blamed = [name for name in changed if isinstance(was[name], str) and names(failed.message, str(was[name]))]
    for name in blamed:
        value, old = now[name], str(was[name])
        if isinstance(value, str) and 1 < len(value) <= 80 and len(old) <= 80:
            text = f"Call {failed.tool} with `{value}` as `{name}`; there is no `{old}`."
            return Remedy(rule="fields", text=text, do=value, reusable=True, form=f"value {failed.tool} {name} {old}")
    added = [name for name in now if name not in was]
    dropped = [name for name in was if name not in now and names(failed.message, name)]
    if len(dropped) == 1 and len(added) == 1 and was[dropped[0]] == now[added[0]]:
        return _renamed(failed, added[0], dropped[0])
    for name in changed:
        value, old = str(now[name]), str(was[name])
        one_word = _ONE_WORD.fullmatch(value) and _ONE_WORD.fullmatch(old)
        if names(failed.message, name) and one_word and _form(value) != _form(old):
            text = f"Call {failed.tool} with a `{name}` like `{value}`, not one like `{old}`."
            return Remedy(rule="fields", text=text, do=value, reusable=True, form=f"kind {failed.tool} {name}")
    told = [name for name in added if re.search(rf"\b{re.escape(name)}\b", failed.message)]
    return _with_fields(failed, worked, told) if told else evidence("unclear", worked.input)


def other_field(failed: ToolCall, calls: Sequence[ToolCall]) -> Remedy | None:
    """The tool says that it takes no such field, and those of its calls that worked give a value of that shape in
    another one; None where none does."""
    ok = [call.fields for call in calls if call.ok and call.tool == failed.tool]
    wrong = [name for name in failed.fields if names(failed.message, name) and not any(name in each for each in ok)]
    if len(wrong) != 1 or not ok:
        return None
    shape = _shape(failed.fields[wrong[0]])
    taken = Counter(name for each in ok for name in each.keys() - failed.fields.keys() if _shape(each[name]) == shape)
    return _renamed(failed, min(taken, key=lambda name: (-taken[name], name)), wrong[0]) if taken else None


def _shape(value: Json) -> tuple[str, ...]:
    """Name the kind of value that a field holds: a path from the root, another one, a number, a word, a text."""
    text = value if isinstance(value, str) else ""
    return type(value).__name__, text[:1] if "/" in text and " " not in text else " " * (" " in text)


def _form(word: str) -> str:
    """Mask a word down to where its letters, digits and signs stand: words of one kind share it."""
    return _LETTERS.sub("a", _DIGITS.sub("0", word))


_DIGITS, _LETTERS = re.compile(r"\d+"), re.compile(r"[^\W\d_]+")


def _renamed(failed: ToolCall, takes: str, not_taken: str) -> Remedy:
    text = f"Call {failed.tool} with `{takes}`; it{TAKES_NO}`{not_taken}`."
    form = f"with {failed.tool} {takes} {not_taken}"
    return Remedy(rule="fields", text=text, do=takes, reusable=True, form=form)


def by_shell(failed: ToolCall, worked: ToolCall, piece: Piece) -> Remedy:
    """A command looked for what a tool could not, since it did not start."""
    text = f"`{failed.tool}` cannot start its own program here: look by `{worked.tool}` instead."
    return Remedy(rule="stand_in", text=text, do=piece.head, reusable=True, form=f"by {worked.tool}")


def _with_fields(failed: ToolCall, worked: ToolCall, names: Sequence[str]) -> Remedy:
    example = ", ".join(f"{name}={value_text(worked.fields[name])}" for name in names)[:200]
    text = f"Call {failed.tool} with {' and '.join(f'`{name}`' for name in names)} (for example {example})."
    return Remedy(rule="fields", text=text, do=example, reusable=True, form=f"with {failed.tool} {' '.join(names)}")
