"""What lessons are worth: learnt from real histories in order, scored on knowledge that was read from them by hand.

    python -m benchmarks.lessons --history DIR --rows rows.jsonl --silence silence.jsonl [--split 2026-01-20] [--all]

DIR holds the sessions of one project (JSON lines of Claude Code, the file's name its session; public source:
entireio/cli, MIT). A row of `rows` is one thing that a careful engineer of the project would want told: a right lesson
is recalled by `error` and holds one of `accept_any` and none of `must_not`. `silence` lists failures where silence is
right. Sessions before the split are what thresholds were tuned on; each figure is printed for both parts.

Beside them: the product before this miner and its prototype, as they were measured once, and a baseline of twenty lines
that pairs an error line with the next command, measured in the same run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ratchet.failures.excerpt import error_lines
from ratchet.failures.missing_names import name_in
from ratchet.failures.patterns.ingest import ingest
from ratchet.failures.signature import mask
from ratchet.lessons.imports import OPENED
from ratchet.lessons.lessons import listed
from ratchet.lessons.lookup import matching
from ratchet.lessons.mined import mine_session
from ratchet.lessons.mining.calls import calls_of
from ratchet.lessons.origins import GROUP
from ratchet.lessons.paths import is_told
from ratchet.lessons.recall import recall
from ratchet.lessons.words.kept import hear
from ratchet.lessons.words.weights import SHOWN_POINTS
from ratchet.ports import Store, Where
from ratchet.recording.rows import row_of
from ratchet.recording.sources.claude_code import ClaudeCode
from ratchet.records import Lesson, Outcome, Row, Saying
from ratchet.store.sqlite import SqliteStore

SPLIT = "2026-01-20"
EXCUSED = frozenset(("cascade", "user_denied", "cancelled"))
OFFERED = 3  # lessons that a failing turn is handed at most
NEXT = 8  # calls in which a file that was missing is opened, or another one is
_SHOWN: Where = {"points": (">=", SHOWN_POINTS)}
BEFORE = {
    "product before (27c0e09), held-back part": (
        "rows 1 of 91 (15 with candidates), silence broken 4 of 35, walk-forward right 0, wrong 0, unknown 2"
    ),
    "prototype, held-back part, once": (
        "rows 20 of 73 without a person's words, silence broken 0 of 35, walk-forward right 47, wrong 23, unknown 22"
    ),
}


@dataclass
class Part:
    """The figures of one part."""

    failures: int = 0
    offers: Counter[str] = field(default_factory=Counter)
    worst: list[str] = field(default_factory=list)


def main() -> None:
    asked = _arguments()
    sessions, words = sessions_in(Path(asked.history)), words_in(Path(asked.history))
    rows, silence = _lines(asked.rows), _lines(asked.silence)
    print(f"{len(sessions)} sessions, {sum(map(len, sessions.values()))} calls")
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "ratchet.db")
        parts = {"before": Part(), "from": Part()}
        paired = _Paired()
        scored: dict[str, list[str]] = {"before": [], "from": []}
        for name in sorted(sessions, key=lambda name: (sessions[name][0]["started_at"], name)):
            part = "before" if name < asked.split else "from"
            if part == "from" and not scored["before"]:
                scored["before"] = _scored(store, _of(rows, "before", asked.split), _of(silence, "before", asked.split))
            _replay(store, name, sessions[name], words[name], parts[part], paired)
        scored["from"] = _scored(store, _of(rows, "from", asked.split), _of(silence, "from", asked.split))
        both = _scored(store, rows, silence)
        for part, label in (("before", f"sessions before {asked.split}"), ("from", f"sessions from {asked.split} on")):
            print(f"\n{label}")
            print("\n".join(scored[part]))
            _print_walk(parts[part])
        print("\nall sessions, all rows\n" + "\n".join(both))
        print("\nbaseline: the command after an error line, where two sessions agree")
        print(f"  {paired.said}")
        for name, said in BEFORE.items():
            print(f"{name}: {said}")
        if asked.all:
            _print_lessons(listed(store))
        store.close()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--history", required=True)
    parser.add_argument("--rows", required=True)
    parser.add_argument("--silence", required=True)
    parser.add_argument("--split", default=SPLIT)
    parser.add_argument("--all", action="store_true", help="print every lesson")
    return parser.parse_args()


def _lines(path: str) -> list[Row]:
    return [json.loads(line) for line in Path(path).read_text().splitlines() if line.strip()]


def _of(rows: Iterable[Row], part: str, split: str) -> list[Row]:
    return [row for row in rows if (str(row["session"]) < split) == (part == "before")]


def sessions_in(folder: Path) -> dict[str, list[Row]]:
    """The calls of each session as rows, all of one project: on other machines its folder has other names."""
    found: dict[str, list[Row]] = defaultdict(list)
    for path in sorted(folder.glob("*.jsonl")):
        for read in ClaudeCode().read(str(path), 0, {}):
            found[path.stem] += [row_of(item) for item in read.items if isinstance(item, Outcome)]
    return {name: sorted(rows, key=lambda row: str(row["started_at"])) for name, rows in found.items() if rows}


def words_in(folder: Path) -> dict[str, list[Saying]]:
    """What people said in each session."""
    found: dict[str, list[Saying]] = defaultdict(list)
    for path in sorted(folder.glob("*.jsonl")):
        for read in ClaudeCode().read(str(path), 0, {}):
            found[path.stem] += [replace(item, session=path.stem) for item in read.items if isinstance(item, Saying)]
    return found


def _replay(
    store: SqliteStore, name: str, rows: Sequence[Row], words: Sequence[Saying], part: Part, paired: _Paired
) -> None:
    """Ask at each failure what was known before this session, learn the session, and see which offers were right."""
    root = next((str(row["project"]) for row in rows if row.get("project")), "")
    moved = [{**_moved(row, root), "session": name} for row in rows]
    offered: dict[str, tuple[Row, Row]] = {}  # as it was then, since this session may change what it tells
    failed = [row for row in moved if not row["ok"]]
    for row in failed:
        failure = row["failure"]
        assert isinstance(failure, dict)
        if row.get("task") == "model" or failure.get("kind") in EXCUSED:
            continue
        part.failures += 1
        for each in _handed(store, row, failure):
            offered.setdefault(f"{each['id']} {each.get('files', '')}", (each, row))
    paired.replay(moved)
    ingest(store, moved)
    hear(store, words)
    mine_session(store, name)
    ends = store.find("resolutions", {"session": name}).rows
    for lesson, row in offered.values():
        verdict = _placed(lesson, row, moved) if "files" in lesson else _verdict(lesson, str(lesson["id"]), ends)
        part.offers[verdict] += 1
        if verdict == "wrong":
            part.worst.append(f"{name[:19]} {str(lesson['text']).splitlines()[0][:110]}")


def _handed(store: SqliteStore, row: Row, failure: Row) -> list[Row]:
    """What an agent is handed at a failure, as its hook asks: with the step that failed."""
    step = row["step"]
    assert isinstance(step, dict)
    home = str(Path(store.path).parent)
    return matching(home, failure, project="/project", asked=str(step["input"]), tool=str(step["tool"]))[:OFFERED]


def _placed(told: Row, failed: Row, rows: Sequence[Row]) -> str:
    """Whether one of the files that were told for a missing path was opened by one of the next calls."""
    after = [row for row in rows if str(row["started_at"]) > str(failed["started_at"])][:NEXT]
    opened = [call.target for call in calls_of(after) if call.ok and call.head in OPENED]
    right = any(is_told(path, map(str, told["files"])) for path in opened)  # type: ignore[arg-type]
    return "right" if right else "wrong" if opened else "unknown"


def _moved(row: Row, root: str) -> Row:
    """A row as if its session's folder were `/project`, with the paths in what it was given and said."""
    moved: Row = json.loads(json.dumps(row).replace(json.dumps(root)[1:-1], "/project")) if root else row
    return {**moved, "project": moved.get("project") or "/project"}


def _verdict(held: Row, lesson_id: str, ends: Sequence[Row]) -> str:
    """Whether what a lesson says ended the failures that it was offered at."""
    keys = set(map(str, held.get("keys") or []))  # type: ignore[arg-type]
    missing = {key.split(" ", 2)[2] for key in keys} if held.get("group") == GROUP else set()
    about = [
        row
        for row in ends
        if row["worked"]
        and (keys & set(map(str, row["keys"])) or any(name_in(str(key)) in missing for key in row["keys"]))  # type: ignore[arg-type, union-attr]
    ]
    if held.get("rule") == "edit":
        about = [row for row in about if row["way"] == "edit" and (row["added"] or row["forms"])]
        told = [set(forms) for forms in held.get("told") or []]  # type: ignore[union-attr, arg-type]
        right = any(forms & set(row["forms"]) for row in about for forms in told)  # type: ignore[arg-type]
    else:
        right = any(row["lesson_id"] == lesson_id for row in ends if row["worked"] or row["rule"] in ("flag", "never"))
    return "right" if right else "wrong" if about else "unknown"


def _scored(store: Store, rows: Sequence[Row], silence: Sequence[Row]) -> list[str]:
    """Rows that a right lesson meets, without a person's words, and failures at which silence is broken."""
    own = [row for row in rows if row.get("type") != "correction"]
    active = [str(row["row"]) for row in own if _met(store, row, ("active",))]
    known = [str(row["row"]) for row in own if _met(store, row, ("active", "candidate", "retired", "quarantined"))]
    spoken = [row for row in silence if _recalled(store, row, ("active",))]
    lines = [f"  rows met by an active lesson {len(active)} of {len(own)}, by any evidence {len(known)} of {len(own)}"]
    lines.append(f"  silence broken {len(spoken)} of {len(silence)}")
    lines += [
        f"    {str(row['error'])[:70]!r}: {[each.text[:60] for each in _recalled(store, row, ('active',))]}"
        for row in spoken
    ]
    said = [row for row in rows if row.get("type") == "correction"]
    quotes = [[str(move["quote"]) for move in store.find("moves", asked).rows] for asked in ({}, _SHOWN)]
    heard, shown = (sum(any(_right(row, quote) for quote in each) for row in said) for each in quotes)
    lines.append(f"  corrections in evidence {heard} of {len(said)}, {shown} of them shown as rules")
    missing = [str(row["row"]) for row in own if str(row["row"]) not in known]
    lines.append(
        f"  no evidence: {' '.join(missing)}; evidence only: {' '.join(each for each in known if each not in active)}"
    )
    lines.append(f"  active lessons {sum(each.state == 'active' for each in listed(store))}")
    return lines


def _recalled(store: Store, row: Row, states: tuple[str, ...]) -> list[Lesson]:
    found = recall(store, str(row["error"]), limit=20, project="/project", states=states)  # type: ignore[arg-type]
    # What one session alone saw is no sure answer, and evidence all the same.
    once = [each for each in found.possibly if each.match == "finding" and found.silent != "itself"]
    return [each.lesson for each in (*found.lessons, *(once if "candidate" in states else ()))]


def _met(store: Store, row: Row, states: tuple[str, ...]) -> bool:
    return any(_right(row, each.text) for each in _recalled(store, row, states))


def _right(row: Row, text: str) -> bool:
    said = text.lower()
    accepted = any(str(word).lower() in said for word in row["accept_any"])  # type: ignore[union-attr]
    return accepted and not any(str(word).lower() in said for word in row["must_not"])  # type: ignore[union-attr]


def _print_walk(part: Part) -> None:
    right, wrong, unknown = (part.offers[name] for name in ("right", "wrong", "unknown"))
    share = wrong / part.failures if part.failures else 0.0
    print(
        f"  walk-forward: right {right}, wrong {wrong}, unknown {unknown}; wrong words at {share:.1%} of "
        f"{part.failures} failures"
    )
    for line in part.worst:
        print(f"    wrong: {line}")


def _print_lessons(lessons: Sequence[Lesson]) -> None:
    for each in lessons:
        print(f"\n[{each.state}] {each.worked} of {each.tried} sessions  {each.when[:110]}  {each.reason}")
        print("  " + each.text.replace("\n", "\n  "))


class _Paired:
    """The baseline: after an error line, say what two earlier sessions ran next."""

    def __init__(self) -> None:
        self._next: dict[str, Counter[str]] = defaultdict(Counter)
        self._offers: Counter[str] = Counter()

    def replay(self, rows: Sequence[Row]) -> None:
        steps = [(row, str(row["step"]["input"])) for row in rows if row.get("task") == "Bash"]  # type: ignore[index, call-overload]
        met: dict[str, set[str]] = defaultdict(set)
        for (row, _), (_, then) in zip(steps, steps[1:], strict=False):
            if not row["ok"]:
                line = mask(error_lines(str(row["failure"]["message"]))).split("\n")[0]  # type: ignore[index, call-overload]
                met[line].add(mask(then))
        for line, commands in met.items():
            best = self._next[line].most_common(1)
            if best and best[0][1] >= 2:
                self._offers["right" if best[0][0] in commands else "wrong"] += 1
            self._next[line].update(commands)

    @property
    def said(self) -> str:
        return f"walk-forward: right {self._offers['right']}, wrong {self._offers['wrong']}"


if __name__ == "__main__":
    started = time.perf_counter()
    main()
    print(f"\n{time.perf_counter() - started:.0f} s")
