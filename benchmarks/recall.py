"""Recall: the right memory first, an answer only where it is sure, and none for a failure that nothing is known about.

    python benchmarks/recall.py [--loghub DIR] [--sessions DIR] [--tracebacks FILE ...] [--reports DIR] [--locomo DIR]
                                [--unseen] [--meaning]

Every query is asked of a real store through `lessons.recall`, twice: with its memory, and with all that is right for
it taken out, where any answer is a false one. The sets (`recall_sets.py`):

- log lines: loghub-2k with corrected templates (github.com/logpai/loghub, research use); unseen: Linux and OpenStack;
- tracebacks: faults seeded into a public project (`seeded.py`); unseen: every third fault;
- sessions: failures of real coding sessions with one finding, whose key is the label; unseen: from 2026-01-20 on;
- reports: duplicates of public trackers in the layout of github.com/av9ash/gitbugs (CC BY); the weight of titles and
  the shares of meaning were chosen on hadoop and seamonkey, how words saturate on the older half of OpenOffice's (the
  pairs of github.com/dutta1kartik3/duplicate-bug-detection, brought into that layout);
- conversations: LoCoMo (github.com/snap-research/locomo, CC BY-NC: an argument); unseen: every third conversation.

By itself the unseen part of no set is opened; `--unseen` opens it. Baseline of the same run: FTS5's BM25 over the whole
texts, which never abstains. Intervals are Wilson's at 95 %. With `--meaning`, which needs the extra `semantic`, what
people wrote is asked for with its model, and MiniLM alone stands beside it.
"""

from __future__ import annotations

import argparse
import random
import re
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

from figures import Figure, at_least, at_most, publish
from ratchet.lessons import meaning
from ratchet.lessons.calibration import calibrate
from ratchet.lessons.lessons import add
from ratchet.lessons.recall import Recalled, recall, sought
from ratchet.lessons.recall import recalled as recalled_where
from ratchet.ports import Where
from ratchet.records import Json
from ratchet.store.sqlite import SqliteStore
from recall_sets import (
    Part,
    Query,
    RecallSet,
    conversations,
    logs,
    noise_of,
    pasted,
    reports,
    sessions,
    tracebacks,
)

SHARED = Path(__file__).parent.parent.parent / "shared" / "data"
MANY = (10_000, 100_000)
ASKED = 400  # queries of a set at most
WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Told:
    """Of one set: how many queries, and the shares of those whose right memory came first, among the first five, was
    answered surely; and of those that were answered although their memory was gone."""

    queries: int
    first: float
    among_five: float
    answered: float
    false: float
    bm25: float
    bm25_five: float
    meant: float
    meant_five: float


class Memory:
    """A store that holds a set's memories as a person would have written them, beside an FTS5 index of them."""

    def __init__(self, folder: str, held: RecallSet) -> None:
        self.held = held
        self.store = SqliteStore(Path(folder) / "ratchet.db")
        self.names: dict[str, str] = {}
        self.plain = sqlite3.connect(":memory:")
        self.plain.execute("CREATE VIRTUAL TABLE texts USING fts5(said, name UNINDEXED)")
        with self.store.transaction():
            for at, (name, text) in enumerate(held.memory.items()):
                kept = add(
                    self.store, when=text, do=f"advice {name}", state="active", source=held.source, now=float(at)
                )
                row = self.store.get("lessons", kept.id) or {}
                self.store.swap("lessons", kept.id, int(str(row["revision"])), {**row, "head": name})
                self.names[kept.id] = name
                self.plain.execute("INSERT INTO texts VALUES (?, ?)", (text, name))
        calibrate(self.store)

    def asked(self, query: Query, *, gone: bool) -> Recalled:
        if not gone and query.among is None:
            return recall(self.store, query.text, limit=5)
        known = [*self.names.values()][: query.among]
        others: list[Json] = [name for name in known if not gone or name not in query.right]
        where: Where = {"state": "active", "head": ("in", others)}
        return recalled_where(self.store, sought(query.text), where, limit=5, project=None)

    def listed(self, found: Recalled) -> list[str]:
        return [self.names[each.id] for each in (*found.lessons, *found.possibly)]

    def by_bm25(self, text: str, among: int | None = None) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in list(dict.fromkeys(WORD.findall(text.lower())))[:200])
        if not words:
            return []
        ask = "SELECT name FROM texts WHERE texts MATCH ? AND rowid <= ? ORDER BY rank LIMIT 5"
        return [name for (name,) in self.plain.execute(ask, (words, len(self.names) if among is None else among))]

    def by_meaning(self, text: str, among: int | None = None) -> list[str]:
        model = meaning.loaded()
        if model is None or self.held.source == "person":
            return []
        near = model.near(text, [*self.held.memory.values()][:among])
        return [name for _, name in sorted(zip(near, self.held.memory, strict=False), reverse=True)[:5]]


@contextmanager
def remembering(held: RecallSet) -> Iterator[Memory]:
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory(folder, held)
        try:
            yield memory
        finally:
            memory.store.close()


def measured(held: RecallSet, part: Part) -> Told | None:
    queries = held.of(part)
    if not queries:
        return None
    queries = random.Random(4).sample(queries, min(ASKED, len(queries)))
    first = five = answered = false = bm25 = bm25_five = meant = meant_five = 0
    with remembering(held) as memory:
        for query in queries:
            found = memory.asked(query, gone=False)
            listed = memory.listed(found)
            first += bool(listed) and listed[0] in query.right
            five += any(name in query.right for name in listed[:5])
            answered += bool(found.lessons) and memory.names[found.lessons[0].id] in query.right
            false += bool(memory.asked(query, gone=True).lessons)
            plain = memory.by_bm25(query.text, query.among)
            bm25 += bool(plain) and plain[0] in query.right
            bm25_five += any(name in query.right for name in plain)
            alone = memory.by_meaning(query.text, query.among)
            meant += bool(alone) and alone[0] in query.right
            meant_five += any(name in query.right for name in alone)
    counts = (first, five, answered, false, bm25, bm25_five, meant, meant_five)
    shares = [count / len(queries) for count in counts]
    return Told(len(queries), *shares)


def interval(share: float, of: int) -> str:
    """Wilson's interval at 95 %, in percent."""
    z = 1.96
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return f"{100 * max(0.0, middle - half):.1f} to {100 * (middle + half):.1f} %"


@dataclass(frozen=True, slots=True)
class Goal:
    """Goals on a set (`../shared/recall.md`); None asks for nothing."""

    first: float | None = None
    five: float | None = None
    answered: float | None = None
    false: float | None = None


GOALS = {
    "log lines": Goal(first=0.985, answered=0.88, false=0.03),
    "tracebacks": Goal(first=0.85, five=0.97, answered=0.68, false=0.06),
    "sessions": Goal(first=0.95, answered=0.70, false=0.02),
    "conversations": Goal(first=0.68),
    "reports": Goal(first=0.56, five=0.80),
}
MEANT = {**GOALS, "reports": Goal(first=0.62, five=0.86)}
"""With the extra `semantic`."""


def on_set(held: RecallSet, part: Part, beside: Told | None = None) -> tuple[Told | None, list[Figure]]:
    told = measured(held, part)
    if told is None:
        return None, []
    noun, model = held.name.partition(":")[0], meaning.loaded() if held.source != "person" else None
    goal = (MEANT if model else GOALS).get(noun, Goal())
    alone = [f", {share:.3f} MiniLM" if model else "" for share in (told.meant, told.meant_five)]
    name = f"{held.name}, {part}, {told.queries} of {len(held.memory)}"
    figures = [
        _at_least(f"{name}: @1", told.first, goal.first, f"{told.bm25:.3f} BM25{alone[0]}"),
        _at_least(f"{name}: @5", told.among_five, goal.five, f"{told.bm25_five:.3f} BM25{alone[1]}"),
    ]
    if beside is not None:
        figures[0] = at_least(f"{name}: @1", told.first, beside.first - 0.03, baseline=f"{beside.first:.3f} bare")
    if held.source == "person":
        figures.append(_at_least(f"{name}: answered surely", told.answered, goal.answered, "1 BM25, right or not"))
        false = f"{name}: answered falsely ({interval(told.false, told.queries)})"
        shown = Figure(name=false, measured=f"{100 * told.false:.1f} %", baseline="100 % BM25")
        if goal.false is not None:
            shown = at_most(false, 100 * told.false, 100 * goal.false, unit="%", baseline="100 % BM25")
        figures.append(shown)
    return told, figures


def _at_least(name: str, value: float, goal: float | None, baseline: str) -> Figure:
    if goal is None:
        return Figure(name=name, measured=f"{value:.3f}", baseline=baseline)
    return at_least(name, value, goal, baseline=baseline)


def enlarged(memory: dict[str, str], size: int) -> dict[str, str]:
    """More memories in the same words: lines with some of their words exchanged."""
    choice = random.Random(1)
    texts = list(memory.values())
    vocabulary = sorted({word for text in texts for word in text.split() if word.isalpha() and len(word) > 3})
    more = dict(memory)
    while len(more) < size:
        pieces = choice.choice(texts).split(" ")
        for _ in range(max(2, len(pieces) // 4)):
            pieces[choice.randrange(len(pieces))] = choice.choice(vocabulary)
        more[f"more/{len(more)}"] = " ".join(pieces)
    return more


def timed(held: RecallSet, size: int, goal_ms: float) -> Figure:
    """CPU time of finding and judging in a process that lives on."""
    large = RecallSet(held.name, enlarged(held.memory, size), held.queries)
    taken: list[float] = []
    with remembering(large) as memory:
        asked = random.Random(2).sample(held.of("dev"), 200)
        for query in asked[:50]:
            recall(memory.store, query.text, listing=False)
        for query in asked:
            started = time.process_time()
            recall(memory.store, query.text, listing=False)
            taken.append(1_000 * (time.process_time() - started))
        started = time.process_time()
        for query in asked[:20]:
            memory.by_bm25(query.text)
        plain = 1_000 * (time.process_time() - started) / 20
    taken.sort()
    name = f"time at {size:,} memories: p95 (p50 {taken[len(taken) // 2]:.2f} ms)"
    return at_most(name, taken[int(0.95 * len(taken))], goal_ms, unit="ms CPU", baseline=f"{plain:.2f} ms BM25, mean")


def figures_of(makers: Sequence[Callable[[], RecallSet]], given: argparse.Namespace) -> list[Figure]:
    figures: list[Figure] = []
    parts: tuple[Part, ...] = ("dev", "unseen") if given.unseen else ("dev",)
    for make in makers:
        held = make()
        for part in parts:
            told, found = on_set(held, part)
            figures += found
            if held.name in ("tracebacks", "sessions") and told and given.sessions.is_dir():
                figures += on_set(pasted(held, noise_of(given.sessions)), part, told)[1]
        if held.name == "log lines":
            goals = dict(zip(MANY, (5.0, 8.0), strict=True))
            figures += [timed(held, size, goals.get(size, 8.0)) for size in given.times]
    if given.locomo:
        for part in parts:
            figures += on_set(conversations(given.locomo), part)[1]
    if given.reports and given.unseen:
        figures += on_trackers(reports(given.reports))
    return figures


def on_trackers(trackers: Sequence[RecallSet]) -> list[Figure]:
    """Each tracker, and all of them together, for which the goals are."""
    figures: list[Figure] = []
    each: list[Told] = []
    for tracker in trackers:
        told, found = on_set(tracker, "unseen")
        figures += found
        each += [told] if told else []
    queries = sum(told.queries for told in each)
    if not queries:
        return figures

    def share(name: str) -> float:
        return float(sum(told.queries * getattr(told, name) for told in each)) / queries

    goal = (MEANT if meaning.loaded() else GOALS)["reports"]
    for at, name, plain, alone, least in (
        ("@1", "first", "bm25", "meant", goal.first),
        ("@5", "among_five", "bm25_five", "meant_five", goal.five),
    ):
        beside = f"{share(plain):.3f} BM25" + (f", {share(alone):.3f} MiniLM" if meaning.loaded() else "")
        figures.append(_at_least(f"reports, pooled, unseen, {queries}: {at}", share(name), least, beside))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loghub", type=Path, default=SHARED / "loghub")
    parser.add_argument("--sessions", type=Path, default=SHARED / "claude-code-more" / "cli")
    parser.add_argument("--tracebacks", type=Path, nargs="*", default=[])
    parser.add_argument("--reports", type=Path)
    parser.add_argument("--locomo", type=Path)
    parser.add_argument("--unseen", action="store_true", help="open what was put aside, too")
    parser.add_argument("--meaning", action="store_true", help="what people wrote by its meaning, too")
    parser.add_argument("--times", type=int, nargs="*", default=[MANY[0]], help="sizes of memory to time")
    given = parser.parse_args()
    if given.meaning:
        meaning.load()
    makers: list[Callable[[], RecallSet]] = []
    if given.loghub.is_dir():
        makers.append(lambda: logs(given.loghub))
    if given.tracebacks:
        makers.append(lambda: tracebacks(given.tracebacks))
    if given.sessions.is_dir():
        makers.append(lambda: sessions(given.sessions))
    publish("recall", figures_of(makers, given))


if __name__ == "__main__":
    main()
