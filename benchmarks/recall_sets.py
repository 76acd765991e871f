"""The sets that recall is measured on: memories by name, and queries with the names that are right for them.

A query's `part` is "dev", or "unseen" for what was put aside until all choices were made (the last column of the
table in docs/explanation/figures.md says what that is for each set).
"""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ratchet.failures.diagnostics import diagnostics
from ratchet.failures.excerpt import marks_of
from ratchet.recording.sources import source_for
from ratchet.records import Outcome

PER_MEMORY = 5
UNSEEN_LOGS = frozenset(("Linux", "OpenStack"))
UNSEEN_FROM = 1_768_867_200.0  # sessions from 2026-01-20 on
PASTED_LINES = 200
_EXCUSED = frozenset(("user_denied", "cancelled", "cascade"))

Part = Literal["dev", "unseen"]
Source = Literal["person", "report", "conversation"]


@dataclass(frozen=True, slots=True)
class Query:
    """A text, the names of the memories that are right for it, whether it was put aside, and of how many of the
    memories, the first ones, it is asked (None: of all): nobody could remember what came later."""

    text: str
    right: tuple[str, ...]
    part: Part
    among: int | None = None


@dataclass(frozen=True, slots=True)
class RecallSet:
    """Memories by name, and what is asked. `source` is who wrote them."""

    name: str
    memory: dict[str, str]
    queries: list[Query]
    source: Source = "person"

    def of(self, part: Part) -> list[Query]:
        return [query for query in self.queries if query.part == part]


def logs(folder: Path) -> RecallSet:
    """One memory a template, queries with other parameters; two systems are unseen."""
    choice = random.Random(0)
    memory: dict[str, str] = {}
    queries: list[Query] = []
    for path in sorted(folder.glob("*.csv")):
        system = path.name.split("_")[0]
        lines: dict[str, dict[str, None]] = {}
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                lines.setdefault(row["EventId"], {})[row["Content"]] = None
        for event, texts in lines.items():
            first, *others = texts
            memory[f"{system}/{event}"] = first
            part: Part = "unseen" if system in UNSEEN_LOGS else "dev"
            asked = choice.sample(others, min(PER_MEMORY, len(others)))
            queries += [Query(text, (f"{system}/{event}",), part) for text in asked]
    return RecallSet("log lines", memory, queries)


def tracebacks(files: Sequence[Path]) -> RecallSet:
    """One memory a fault (`seeded.py`), queries from its other tests; every third fault is unseen."""
    memory: dict[str, str] = {}
    queries: list[Query] = []
    for file in files:
        for at, fault in enumerate(json.loads(file.read_text())):
            name, (first, *others) = fault["fault"], fault["failures"]
            if name not in memory:
                memory[name] = first
                queries += [Query(text, (name,), "dev" if at % 3 else "unseen") for text in others]
    return RecallSet("tracebacks", memory, queries)


def sessions(folder: Path) -> RecallSet:
    """Failures of real sessions that show one finding; its key is the label, the memory is from an earlier session."""
    failures = sorted(_failures(folder), key=lambda each: each.started_at)
    memory: dict[str, str] = {}
    since: dict[str, str] = {}
    queries: list[Query] = []
    for outcome in failures:
        said = outcome.failure.message if outcome.failure else ""
        keys = {each.key for each in diagnostics(said)}
        if len(keys) != 1:
            continue
        (key,) = keys
        if key in memory and since[key] != outcome.session:
            queries.append(Query(said, (key,), "unseen" if outcome.started_at >= UNSEEN_FROM else "dev"))
        elif key not in memory:
            memory[key], since[key] = said, outcome.session
    return RecallSet("sessions", memory, queries)


def _failures(folder: Path) -> Iterator[Outcome]:
    seen: set[str] = set()
    for path in sorted(folder.glob("*.jsonl")):
        for read in source_for(str(path)).read(str(path), 0, {}):
            for item in read.items:
                if isinstance(item, Outcome) and item.failure and item.id not in seen:
                    seen.add(item.id)
                    if item.failure.kind not in _EXCUSED:
                        yield item


def pasted(bare: RecallSet, noise: Sequence[str]) -> RecallSet:
    """The same queries inside 200 lines of other output."""
    choice = random.Random(3)

    def inside(text: str) -> str:
        lines = [choice.choice(noise) for _ in range(PASTED_LINES)]
        at = choice.randrange(PASTED_LINES)
        return "\n".join([*lines[:at], text, *lines[at:]])

    asked = [replace(query, text=inside(query.text)) for query in bare.queries]
    return replace(bare, name=f"{bare.name} in 200 lines", queries=asked)


def noise_of(folder: Path) -> list[str]:
    """Lines of successful steps: what else stands in a paste."""
    lines: dict[str, None] = {}
    for path in sorted(folder.glob("*.jsonl"))[:20]:
        for text in re.findall(r'"stdout":\s?"((?:[^"\\]|\\.){40,4000})"', path.read_text(errors="replace")):
            lines.update((line, None) for line in text.split("\\n") if 10 < len(line) < 200 and "rror" not in line)
    plain = [line for line, mark in zip(lines, marks_of(list(lines)), strict=True) if not mark]
    return plain[:5_000] or ["ok"]


def conversations(folder: Path) -> RecallSet:
    """LoCoMo: one memory a session, queries that one session answers; every third conversation is unseen."""
    memory: dict[str, str] = {}
    queries: list[Query] = []
    held: list[dict[str, Any]] = []
    for path in sorted(folder.rglob("*.json")):
        found = json.loads(path.read_text())
        held += found if isinstance(found, list) else [found]
    for at, each in enumerate(held):
        talk = each.get("conversation", each)
        for key in talk:
            if re.fullmatch(r"session_\d+", key) and talk[key]:
                said = [f"{turn['speaker']}: {turn.get('text') or turn.get('clean_text', '')}" for turn in talk[key]]
                memory[f"{at}/{key[8:]}"] = "\n".join([str(talk.get(f"{key}_date_time", "")), *said])
        for question in each.get("qa", []):
            answered = {str(name).partition(":")[0].strip("D( ") for name in question.get("evidence", [])}
            if len(answered) == 1 and question.get("category") != 5:
                part: Part = "dev" if at % 3 else "unseen"
                queries.append(Query(question["question"], (f"{at}/{answered.pop()}",), part))
    known = [query for query in queries if query.right[0] in memory]
    return RecallSet("conversations", memory, known, "conversation")


def reports(folder: Path) -> list[RecallSet]:
    """Duplicates of public trackers (gitbugs' layout): each is asked of the reports that were there before it."""
    return [found for path in sorted(folder.rglob("*_bugs.csv")) if (found := _tracker(path)).queries]


def _tracker(path: Path) -> RecallSet:
    csv.field_size_limit(10_000_000)
    texts: dict[int, str] = {}
    with path.open(newline="", errors="replace") as file:
        for row in csv.DictReader(file):
            said = f"{row.get('Summary') or ''}\n{row.get('Description') or ''}"
            texts[int(row.get("Issue id") or row.get("Issue ID") or row["Bug ID"])] = said
    earlier: dict[int, set[int]] = {}
    for pairs in path.parent.glob("*-combined.csv"):
        with pairs.open(newline="") as file:
            for cells in csv.reader(file):
                pair = {int(name) for name in cells if name.strip().isdecimal()} & texts.keys()
                if len(pair) == 2:
                    earlier.setdefault(max(pair), set()).add(min(pair))
    memory = {str(number): texts[number] for number in sorted(texts)}
    place = {name: at for at, name in enumerate(memory)}
    queries = [
        Query(texts[new], tuple(map(str, sorted(old))), "unseen", among=place[str(new)])
        for new, old in sorted(earlier.items())
    ]
    return RecallSet(f"reports: {path.parent.name}", memory, queries, "report")
