"""What is said of failed edits, replayed from real histories: how often, and is it where the edit then was made?

    python -m benchmarks.edits DIR...

DIR holds sessions of Claude Code (JSON lines; public source: entireio/cli, MIT, and any repository that keeps its
sessions on a branch `entire/checkpoints/v1`). A failed edit is one whose text was not in its file, or not once. The
file is taken as it was: as the next edit of it that worked names it (`originalFile`), else as the session last read or
wrote it. An answer is right where that next edit replaced lines that it names, wrong where it replaced others, unknown
where none followed, or the whole file was written. Of those that say how far the text is to be moved it is
asked, too, whether it then stands there, once. `spared` are the calls after a right answer that failed on the file
again, or looked at it, before that edit.

Beside it, in the same run: the line of the file that is the first one of the old text, where there is one alone.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ratchet.failures.wordings import CHANGED, UNREAD
from ratchet.lessons.edit_calls import AskedEdit, edits_of
from ratchet.lessons.edits import answer

_PLACE = re.compile(
    r"\bat lines? (\d+)(?: (?:to|and) (\d+))?|^Lines (\d+) (?:to|and) (\d+)|begins at lines ([\d, and]+)", re.IGNORECASE
)
_MOVES = re.compile(r"with (\d+) (tab|blank)s? (more|less) before each line")
_AROUND = 12  # lines around one of several places: the edit that follows has to take some into it


@dataclass(frozen=True, slots=True)
class Called:
    """One call with what came back."""

    id: str
    tool: str
    given: Any
    said: str
    failed: bool
    result: Any

    @property
    def edit(self) -> AskedEdit | None:
        """Its only edit; None of another call."""
        found = edits_of(self.given) if self.tool == "Edit" else []
        return found[0] if len(found) == 1 else None

    @property
    def file(self) -> str:
        return str(self.given.get("file_path") or "") if isinstance(self.given, dict) else ""

    @property
    def missed(self) -> bool:
        return self.failed and self.edit is not None and ("not found" in self.said or "matches of" in self.said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--all", action="store_true", help="print every answer")
    asked = parser.parse_args()
    for folder in asked.folders:
        print(f"{folder.name}: {_line(_counted(folder, shown=asked.all))}")


def _line(found: Counter[str]) -> str:
    said = (
        f"{found['missed']} failed edits, the file known of {found['known']}: answered {found['answered']}, right "
        f"{found['right']}, wrong {found['wrong']}, unknown {found['unknown']}; "
        f"{found['fits']} of {found['moves']} moved as told stand there; calls spared {found['spared']}"
    )
    return f"{said} | first line alone: right {found['plain right']}, wrong {found['plain wrong']}"


def _counted(folder: Path, *, shown: bool) -> Counter[str]:
    found: Counter[str] = Counter()
    seen: set[str] = set()
    for path in sorted(folder.rglob("*.jsonl")):
        calls = [*_calls(path)]
        for at, call in enumerate(calls):
            edit = call.edit
            if not call.missed or edit is None or call.id in seen:
                continue
            seen.add(call.id)  # a session that goes on in another file is in both
            found["missed"] += 1
            text, following = _file_at(calls, at)
            if text is None:
                continue
            found["known"] += 1
            text = text.replace("\r\n", "\n")
            said = answer(text, edit.old, edit.new, every=edit.every)
            verdict = _verdict(_named(said), text, following) if said else "silent"
            found["answered"] += bool(said)
            found[verdict] += 1
            if moved := _MOVES.search(said):
                found["moves"] += 1
                found["fits"] += text.count(_moved(edit.old, moved)) == 1
            if verdict == "right":
                found["spared"] += _spared(calls, at, following)
            found[f"plain {_verdict(_first_line(text, edit.old), text, following)}"] += 1
            if shown:
                print(f"  {path.stem[:40]} {Path(call.file).name} {verdict}: {said}")
    return found


def _calls(path: Path) -> Iterator[Called]:
    asked: dict[str, tuple[str, Any]] = {}
    for line in path.read_text("utf-8", "replace").split("\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        message = record.get("message") if isinstance(record, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_use":
                asked[block["id"]] = block.get("name", ""), block.get("input")
            elif isinstance(block, dict) and block.get("tool_use_id") in asked:
                tool, given = asked.pop(block["tool_use_id"])
                said = block.get("content")
                said = said if isinstance(said, str) else json.dumps(said)
                failed = block.get("is_error") is True
                yield Called(block["tool_use_id"], tool, given, said, failed, record.get("toolUseResult"))


def _file_at(calls: Sequence[Called], at: int) -> tuple[str | None, AskedEdit | None]:
    """(the file of a failed edit as it was then, the edit of it that worked next)."""
    same = [call for call in calls if call.file == calls[at].file and not call.failed]
    later = [call for call in calls[at + 1 :] if call in same]
    worked = next((call for call in later if call.tool in ("Edit", "Write")), None)
    following = worked.edit if worked is not None else None
    before = worked.result.get("originalFile") if worked is not None and isinstance(worked.result, dict) else None
    if isinstance(before, str):
        return before, following
    looked = [call for call in later[: later.index(worked) if worked is not None else None] if _whole(call) is not None]
    if looked:
        return _whole(looked[0]), following
    held: str | None = None
    for call in calls[:at]:
        if call in same:
            held = _whole(call) if call.tool in ("Read", "Write") else _edited(call, held)
    return held, following


def _whole(call: Called) -> str | None:
    """The whole file that a call read or wrote."""
    if call.tool == "Write":
        return str(call.given.get("content"))
    file = call.result.get("file") if call.tool == "Read" and isinstance(call.result, dict) else None
    if isinstance(file, dict) and file.get("startLine") == 1 and file.get("numLines") == file.get("totalLines"):
        return str(file.get("content"))
    return None


def _edited(call: Called, held: str | None) -> str | None:
    before = call.result.get("originalFile") if isinstance(call.result, dict) else None
    text, edit = before if isinstance(before, str) else held, call.edit
    if text is None or edit is None or edit.old not in text:
        return None
    return text.replace(edit.old, edit.new) if edit.every else text.replace(edit.old, edit.new, 1)


def _named(said: str) -> list[tuple[int, int]]:
    """The lines that an answer names."""
    found = _PLACE.search(said)
    if found is None:
        return []
    if found[5]:
        return [(int(each) - _AROUND, int(each) + _AROUND) for each in re.findall(r"\d+", found[5])]
    first = int(found[1] or found[3])
    return [(first, int(found[2] or found[4] or first))]


def _moved(old: str, said: re.Match[str]) -> str:
    step = ("\t" if said[2] == "tab" else " ") * int(said[1])
    if said[3] == "less":
        return "\n".join(line.removeprefix(step) for line in old.split("\n")).strip()
    return "\n".join(step + line if line.strip() else line for line in old.split("\n")).strip()


def _first_line(text: str, old: str) -> list[tuple[int, int]]:
    wanted = next((line.strip() for line in old.split("\n") if line.strip()), "")
    places = [number for number, line in enumerate(text.split("\n"), 1) if line.strip() == wanted]
    return [(places[0], places[0])] if len(places) == 1 else []


def _verdict(named: Sequence[tuple[int, int]], text: str, following: AskedEdit | None) -> str:
    if not named or following is None or text.count(following.old) != 1:
        return "unknown"
    first = text.count("\n", 0, text.index(following.old)) + 1
    last = first + following.old.rstrip("\n").count("\n")
    return "right" if any(first <= end and last >= begin for begin, end in named) else "wrong"


def _spared(calls: Sequence[Called], at: int, following: AskedEdit | None) -> int:
    """Count the calls up to the edit that worked which failed on the same file, or looked at it."""
    count = 0
    for call in calls[at + 1 :]:
        if call.edit is not None and not call.failed and call.file == calls[at].file:
            return count
        told = call.said.startswith((UNREAD, CHANGED))
        about = calls[at].file in json.dumps(call.given) or Path(calls[at].file).name in json.dumps(call.given)
        count += about and not told
    return 0 if following is None else count


if __name__ == "__main__":
    main()
