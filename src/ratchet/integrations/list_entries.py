"""A path of ours in the list of files that a coding agent reads, in its YAML settings: edited line by line, so that
comments and order stay.

    read:                      read: [CONVENTIONS.md, OURS]          read: [CONVENTIONS.md, OURS]   # was a single one
      - CONVENTIONS.md
      - OURS

What is written in another way (an anchor, a list over several lines) is left as it is, and refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ratchet.errors import Refused
from ratchet.records import Json

_OURS = re.compile(r".*/notes/(?:[0-9a-f]{12}|everywhere)\.md")
_ITEM = re.compile(r"[ \t]*- +(\"[^\"\n]*\"|'[^'\n]*'|[^\s#&*!|>{\[%@`\"'][^#\n]*?)[ \t]*(?:#[^\n]*)?\n?")
_PLAIN = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|[^\s\[\]{},#&*!|>%@`\"'][^\[\]{},#\n]*")


@dataclass(frozen=True, slots=True)
class ListForm:
    """The list under a `key` of the outermost level, and in it the path of our notes."""

    key: str

    def held(self, path: Path, text: str) -> Json:
        """Our path, as it stands there."""
        return next((item for item in self._parted(path, text)[1] if _is_ours(item)), None)

    def with_ours(self, path: Path, text: str, wanted: Json) -> str:
        """The text with our path as the last of the list."""
        ours = str(wanted)
        ahead, items, behind, style, comment = self._parted(path, text)
        if style == "absent":
            line_feed = "" if not text or text.endswith("\n") else "\n"
            return f"{text}{line_feed}{self.key}:\n  - {ours}\n"
        if style == "block":
            last = ahead[-1]
            indent = last[: len(last) - len(last.lstrip())]
            ended = last if last.endswith("\n") else f"{last}\n"
            return "".join([*ahead[:-1], ended, f"{indent}- {ours}\n", *behind])
        return "".join([*ahead, f"{self.key}: [{', '.join([*items, ours])}]{comment}\n", *behind])

    def without_ours(self, path: Path, text: str, original: str | None) -> str:  # noqa: ARG002
        """The text without our path; without the key, where nothing else is in its list."""
        ahead, items, behind, style, comment = self._parted(path, text)
        left = [item for item in items if not _is_ours(item)]
        if len(left) == len(items):
            return text
        if style == "block":
            kept = [line for line in ahead if not ((found := _ITEM.fullmatch(line)) and _is_ours(found[1]))]
            return "".join([*(kept if left else kept[:-1]), *behind])
        line = f"{self.key}: [{', '.join(left)}]{comment}\n" if len(left) > 1 else ""
        line = f"{self.key}: {left[0]}{comment}\n" if len(left) == 1 else line
        return "".join([*ahead, line, *behind])

    def _parted(self, path: Path, text: str) -> tuple[list[str], list[str], list[str], str, str]:
        """(lines ahead, items, lines behind, how it is written, the comment behind the list). Of a block, the lines
        ahead end with its last item. Raises Refused."""
        lines = text.splitlines(keepends=True)
        at = [n for n, line in enumerate(lines) if re.match(rf"['\"]?{self.key}['\"]?[ \t]*:(?:\s|$)", line)]
        if not at:
            return lines, [], [], "absent", ""
        found = re.fullmatch(rf"{self.key}:[ \t]*([^#\n]*?)([ \t]*(?:#[^\n]*)?)\n?", lines[at[0]])
        if len(at) > 1 or found is None or "\t" in text.partition(f"{self.key}:")[2].partition(":")[0]:
            raise self._refused(path)
        value, start = found[1], at[0]
        if value:
            inner = value[1:-1] if value[0] == "[" and value[-1] == "]" else value
            items = [each.strip() for each in inner.split(",")] if inner is not value else [value]
            items = [each for each in items if each]
            if not all(_PLAIN.fullmatch(each) for each in items):
                raise self._refused(path)
            return lines[:start], items, lines[start + 1 :], "flow", found[2]
        end, items = start + 1, []
        for n in range(start + 1, len(lines)):
            if not lines[n].strip() or lines[n].lstrip().startswith("#"):
                continue
            item = _ITEM.fullmatch(lines[n])
            if item is None:
                if lines[n][0] in " \t-":
                    raise self._refused(path)
                break
            items.append(item[1])
            end = n + 1
        if not items:
            raise self._refused(path)
        return lines[:end], items, lines[end:], "block", ""

    def _refused(self, path: Path) -> Refused:
        return Refused(f"{path}: `{self.key}` is written in a way that is not edited; add the file to its list by hand")


def _is_ours(item: str) -> bool:
    return _OURS.fullmatch(item.strip("\"'")) is not None
