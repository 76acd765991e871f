"""What a word before the step is worth: real sessions in order, each told what the ones before it had proven.

    python benchmarks/before.py --history DIR [--split 2026-01-20] [--later]

DIR holds the sessions of one project (JSON lines of Claude Code, the file's name its session; public source:
entireio/cli, MIT). What decides was tuned on the sessions before the split; with `--later` those from it on are scored.
The sessions are replayed as they were, told nothing: a word is right if the step that it came before failed of the
lesson's finding, else it is wrong. Paths that are there are not known afterwards: one counts as there once a call of
the project named it and worked.

Counted are failures whose fix was of a kind seen in an earlier session; how many had a word before (in the digest of
the session's start, or at the step), how many at the step itself, and the failing turns that right words spare, beside
those that the same lessons spare when they are told in the failing turn alone.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lessons import SPLIT, sessions_in
from ratchet.failures.circles import RecentCall
from ratchet.failures.diagnostics import keys_of
from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons.ahead import trigger
from ratchet.lessons.ahead.making import triggers
from ratchet.lessons.backtest.backtest import backtest, keep
from ratchet.lessons.fence import START_LIMIT, digest
from ratchet.lessons.mined import mine_session, resolution_of
from ratchet.lessons.mining.calls import ToolCall, calls_of
from ratchet.lessons.mining.drafts import group_of
from ratchet.lessons.mining.mining import Resolution
from ratchet.lessons.standing import LessonStanding, place, unsaid
from ratchet.lessons.told import IN_VAIN
from ratchet.ports import Store
from ratchet.records import Json, Row
from ratchet.store.sqlite import SqliteStore

PROJECT = "/project"


@dataclass
class Part:
    """The figures of one part."""

    sessions: int = 0
    steps: int = 0
    failures: int = 0
    known: int = 0
    before: int = 0
    stepped: int = 0
    at_step: int = 0
    words: Counter[str] = field(default_factory=Counter)
    spared_after: int = 0
    spared_before: int = 0
    said: list[str] = field(default_factory=list)


class Replay:
    """All that the sessions replayed so far taught."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.kinds: dict[str, set[str]] = defaultdict(set)
        self.paths: set[str] = set()

    def session(self, name: str, rows: Sequence[Row], part: Part) -> None:
        """Replay one session against what is known, then learn it."""
        known = triggers(self.store, PROJECT)
        digest = self._digest()
        calls = calls_of(rows)
        said = self._said(known, calls, part)
        ingest(self.store, rows)
        mine_session(self.store, name)
        ends = [resolution_of(row) for row in self.store.find("resolutions", {"session": name}, order=("at",)).rows]
        self._score(calls, ends, said, digest, part)
        for end in ends:
            if _is_fix(end):
                self.kinds[group_of(end)].update(end.forms)

    def _digest(self) -> set[str]:
        active = self.store.find("lessons", {"project": PROJECT, "state": "active"}).rows
        rows = [row for row in active if not unsaid(LessonStanding(row))]
        rows.sort(key=lambda row: (place(LessonStanding(row)), str(row["id"])))  # as `lookup.top` has it
        return {str(row["group"]) for row in digest(rows, START_LIMIT)[1]}

    def _said(self, known: Sequence[trigger.Trigger], calls: Sequence[ToolCall], part: Part) -> dict[str, set[str]]:
        """Call -> the groups of the lessons of which a word came before it."""
        root = next((call.project for call in calls if call.project), "")
        told: Counter[str] = Counter()
        said: dict[str, set[str]] = {}
        threads: dict[str, list[RecentCall]] = defaultdict(list)
        groups = {each.lesson: self.store.get("lessons", each.lesson) or {} for each in known}
        for call in calls:
            given = call.input if call.shell else {"change": call.change, **call.fields}
            around = _Around(call.project or root, root, threads[call.thread], self.paths)
            met = [
                each
                for each in trigger.met(known, call.tool, given, around)
                if told[each.lesson] < (1 if each.kind in trigger.ONCE else IN_VAIN)
            ]  # as `reply` has it
            part.steps += 1
            if met:
                told.update(each.lesson for each in met)
                said[call.id] = {str(groups[each.lesson].get("group")) for each in met}
                keys = {str(key) for each in met for key in groups[each.lesson].get("keys") or []}  # type: ignore[union-attr]
                right = call.failed and bool(keys & set(keys_of(call.message)))
                part.words["right" if right else "wrong"] += 1
                part.said.append(
                    f"{'right' if right else 'WRONG'} {call.session[:16]} {trigger.line(met, around)[:150]}"
                )
            threads[call.thread].append(_Done(call))
            if call.ok:
                self.paths |= _named(call, call.project or root)
        return said

    def _score(
        self,
        calls: Sequence[ToolCall],
        ends: Sequence[Resolution],
        said: dict[str, set[str]],
        digest: set[str],
        part: Part,
    ) -> None:
        part.sessions += 1
        by_id = {call.id: call for call in calls}
        part.failures += sum(call.failed for call in calls)
        seen: dict[str, set[str]] = defaultdict(set)
        for end in ends:
            group = group_of(end)
            known = group in self.kinds and (end.way == "step" or bool(set(end.forms) & self.kinds[group]))
            if known and _is_fix(end) and end.failed_id in by_id:
                seen[end.failed_id].add(group)
        word_at: dict[str, float] = {}
        for name, groups in said.items():
            for group in groups:
                word_at[group] = min(word_at.get(group, by_id[name].at), by_id[name].at)
        met: Counter[str] = Counter()
        for name in sorted(seen, key=lambda name: by_id[name].at):
            groups = seen[name]
            part.known += 1
            stepped = any(word_at.get(group, by_id[name].at + 1) <= by_id[name].at for group in groups)
            part.at_step += any(group in said.get(name, ()) for group in groups)
            part.stepped += stepped
            part.before += stepped or bool(groups & digest)
            wholly = all(
                group in digest or word_at.get(group, by_id[name].at + 1) <= by_id[name].at for group in groups
            )
            part.spared_before += wholly
            part.spared_after += all(met[group] for group in groups)
            met.update(groups)


class _Around(trigger.Surroundings):
    """The surroundings of a call that is long past."""

    def __init__(self, cwd: str, root: str, before: Sequence[RecentCall], paths: set[str]) -> None:
        super().__init__(cwd, root, lambda head: trigger.added_since(before, head))
        self._paths = paths

    def exists(self, folder: str, path: str) -> bool:
        return path in self._paths if path[:1] in "/~" else f"{folder.rstrip('/')}/{path}" in self._paths


class _Done(RecentCall):
    """A call with its change where its input had it."""

    def __init__(self, call: ToolCall) -> None:
        given: Json = call.input if call.shell else {"new_string": call.new_text}
        super().__init__(call.tool, given, "", failed=call.failed)


def _named(call: ToolCall, cwd: str) -> set[str]:
    words = [word for piece in call.pieces for word in piece.words] if call.shell else [call.target]
    return {word if word[:1] in "/~" else f"{cwd.rstrip('/')}/{word}" for word in words if "/" in word}


def _is_fix(end: Resolution) -> bool:
    return bool(group_of(end)) and (end.worked or end.rule in ("flag", "never"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--history", required=True)
    parser.add_argument("--split", default=SPLIT)
    parser.add_argument("--later", action="store_true", help="score the sessions from the split on, too")
    parser.add_argument("--all", action="store_true", help="print every word")
    asked = parser.parse_args()
    sessions = sessions_in(Path(asked.history))
    parts = {"before": Part(), "from": Part()}
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "lessons.db")
        replay = Replay(store)
        for number, (name, rows) in enumerate(rows_in_order(sessions)):
            part = "before" if name < asked.split else "from"
            if part == "from" and not asked.later:
                break
            replay.session(name, rows, parts[part])
            if number % 5 == 4:
                keep(store, *backtest(store))
        store.close()
    for part, label in (("before", f"sessions before {asked.split}"), ("from", f"sessions from {asked.split} on")):
        if parts[part].sessions:
            _print(label, parts[part], every=asked.all)


def rows_in_order(sessions: Mapping[str, Sequence[Row]]) -> Iterator[tuple[str, list[Row]]]:
    """Sessions as they began, with their rows in one folder."""
    for name in sorted(sessions, key=lambda name: (str(sessions[name][0]["started_at"]), name)):
        root = next((str(row["project"]) for row in sessions[name] if row.get("project")), "")
        yield (
            name,
            [
                {**row, "session": name, "project": PROJECT + str(row.get("project") or "").removeprefix(root)}
                for row in sessions[name]
            ],
        )


def _print(label: str, part: Part, *, every: bool) -> None:
    def share(count: int) -> str:
        return f"{count} ({count / part.known:.0%})" if part.known else str(count)

    print(f"\n{label}: {part.sessions} sessions, {part.steps} steps, {part.failures} failures")
    print(f"  with a fix of a kind seen before: {part.known}")
    print(
        f"  of these a word before {share(part.before)}, goal 45 %; the digest apart {share(part.stepped)}, goal 20 %"
    )
    print(f"  at the very call that failed {share(part.at_step)}")
    right, wrong = part.words["right"], part.words["wrong"]
    print(
        f"  words at a step: right {right}, wrong {wrong}: {100 * wrong / part.steps:.2f} wrong in 100 steps, goal .5"
    )
    print(f"  turns spared: told before {part.spared_before}, told in the failing turn alone {part.spared_after}")
    for line in part.said if every else ():
        print(f"    {line}")


if __name__ == "__main__":
    started = time.perf_counter()
    main()
    print(f"\n{time.perf_counter() - started:.0f} s")
