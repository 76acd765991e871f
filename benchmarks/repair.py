"""Repair without a model, on the tasks that ship: how many are fixed, how many of the chosen patches also hold on tests
that the solver did not see, after how many candidates; and what memory brings.

Who wrote the faults knows the templates, so the first figures are reported for orientation. Beside the order stand
suspicion alone and chance, with the same templates, limits and seed. Memory is compared on a stream of faults of few
classes (what one team or one agent does again and again, of kinds that the order without memory does not put first)
and on the diverse tasks, with a shuffled memory as placebo. All arms have the same limits and the same search; counted
are the candidates until the first that passes.

    python benchmarks/repair.py [--tasks N] [--stream N] [--candidates 2000] [--orders best,coverage] [--workers 2]
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from figures import Figure, at_most, publish
from ratchet import tasks
from ratchet.errors import Refused
from ratchet.healing.episode import Memo
from ratchet.healing.solvers.faults import shuffled
from ratchet.healing.solvers.repair import (
    CHOICE,
    Order,
    SearchRequest,
    SearchResult,
    files_of,
    note_of,
    search,
)
from ratchet.ports import Sandbox
from ratchet.sandbox.choice import Sandboxes
from ratchet.sandbox.command import Command, Limits, View
from ratchet.tasks import CHECK, ShippedTask, faults

_EVERY = 3
_RESAMPLES = 4_000
_LONGEST_S = 1_200.0  # candidates are the limit, not a busy machine
_STREAM_CANDIDATES = 600  # of each task in a stream; what only one arm finds by then counts so many in the other
_ORDERS: Mapping[str, Order] = {"best": "best", "coverage": "coverage", "random": "random"}
Memory = Callable[[Sequence[Memo]], Sequence[Memo]]


@dataclass(frozen=True, slots=True)
class Tried:
    """One task with one order or memory."""

    name: str
    tried: int
    found_at: int
    right: bool
    memo: Memo | None = None

    @property
    def effort(self) -> int:
        """Candidates until the first that passed; all of them where none did. (The search goes on after the first, to
        have a choice; less so where memory speaks for it, which would flatter memory here.)"""
        return self.found_at or self.tried


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=0, help="only so many of the shipped tasks")
    parser.add_argument("--stream", type=int, default=40, help="faults in the recurring stream")
    parser.add_argument("--candidates", type=int, default=2_000)
    parser.add_argument("--orders", default="best,coverage,random")
    parser.add_argument("--workers", type=int, default=2, help="searches at a time")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        try:
            bench = Bench(Sandboxes(Path(home)).chosen(), given.candidates)
        except Refused as error:
            print(f"skipped: {error}", file=sys.stderr)
            return 0
        with ThreadPoolExecutor(given.workers) as workers:
            shipped = tasks.all_tasks()[: given.tasks or None]
            figures = _orders(bench, shipped, [each for each in given.orders.split(",") if each], workers)
            figures += _memory(bench, shipped, given.stream, workers)
    return publish("repair", figures)


class Bench:
    """Runs the search in the sandbox, and the chosen patch on the held-back tests."""

    def __init__(self, sandbox: Sandbox, candidates: int) -> None:
        self._sandbox = sandbox
        self._candidates = candidates

    def run(
        self,
        task: ShippedTask,
        *,
        order: Order = "best",
        memos: Sequence[Memo] = (),
        candidates: int = 0,
        choice: int = CHOICE,
    ) -> Tried:
        with tempfile.TemporaryDirectory() as scratch:
            folder = task.lay_out(Path(scratch) / "p")
            asked = SearchRequest(
                check=CHECK, candidates=candidates or self._candidates, choice=choice, seconds=_LONGEST_S, order=order,
                memos=memos, signature=task.name,
            )  # fmt: skip
            found = search(asked, self._sandbox, View(folder=folder), limits=Limits())
        held = bool(found.patches) and self._holds(task, found)
        return Tried(task.name, found.tried, found.found_at, held, _memo(task, found))

    def _holds(self, task: ShippedTask, found: SearchResult) -> bool:
        """Whether the chosen patch passes the tests that the solver did not see."""
        with tempfile.TemporaryDirectory() as scratch:
            folder = task.lay_out(Path(scratch) / "p")
            for path, content in files_of(found.patches[0]).items():
                (folder / path).write_bytes(content)
            for name in task.project:
                if name.startswith("test_"):
                    (folder / name).unlink()
            held = task.lay_out_held(Path(scratch) / "h")
            for each in held.iterdir():
                (folder / each.name).write_bytes(each.read_bytes())
            return self._passes(folder)

    def fails(self, task: ShippedTask) -> bool:
        """Whether the tests fail, and do so by themselves within ten seconds."""
        with tempfile.TemporaryDirectory() as scratch:
            ran = self._checked(task.lay_out(Path(scratch) / "p"))
        return ran == 1

    def _passes(self, folder: Path) -> bool:
        return self._checked(folder) == 0

    def _checked(self, folder: Path) -> int:
        argv = (*CHECK, "-x", "-p", "no:cacheprovider")
        ran = self._sandbox.run(Command(argv=argv, view=View(folder=folder), limits=Limits(wall_s=120.0, cpu_s=10.0)))
        return ran.exit_code


def _memo(task: ShippedTask, found: SearchResult) -> Memo | None:
    if not found.patches:
        return None
    return Memo(
        solver="repair", signature=task.name, kind="test_failure", task=task.name, note=note_of(found.patches[0])
    )


def _orders(
    bench: Bench, shipped: Sequence[ShippedTask], orders: Sequence[str], workers: ThreadPoolExecutor
) -> list[Figure]:
    """Our order on all tasks; the others, which take far longer, on every third, with ours on those beside them."""
    figures: list[Figure] = []
    ours: dict[str, Tried] = {}
    for order in map(_ORDERS.__getitem__, orders):  # none: only what memory brings
        best = order == "best"
        run = partial(bench.run, order=order, choice=CHOICE if best else 0)  # of the others only the count is wanted
        chosen = shipped if best else shipped[::_EVERY]
        runs = list(workers.map(lambda task, run=run, order=order: _told(order, run(task)), chosen))
        if best:
            ours = {each.name: each for each in runs}
        right = f", {sum(each.right for each in runs)} also right on held-back tests" if best else ""
        same = [ours[each.name] for each in runs if each.name in ours]
        figures.append(
            Figure(
                name=f"order {order}",
                measured=f"{_fixed(runs)}{right}",
                baseline="" if best or not same else f"order best on the same: {_fixed(same)}",
            )
        )
    return figures


def _fixed(runs: Sequence[Tried]) -> str:
    at = [each.found_at for each in runs if each.found_at]
    return f"{len(at)} of {len(runs)} fixed, median candidate {statistics.median(at) if at else 0:.0f}"


def _memory(bench: Bench, shipped: Sequence[ShippedTask], length: int, workers: ThreadPoolExecutor) -> list[Figure]:
    single = [task for task in shipped if task.edits == 1]
    recurring = list(faults.stream(single, bench.fails, length=length, seed=7))
    diverse = list(single)
    random.Random(7).shuffle(diverse)
    arms: Mapping[str, tuple[Sequence[ShippedTask], Memory]] = {
        "none": (recurring, lambda _memos: ()),
        "shuffled": (recurring, shuffled),
        "memory": (recurring, lambda memos: memos),
        "diverse none": (diverse, lambda _memos: ()),
        "diverse memory": (diverse, lambda memos: memos),
    }
    running = {name: workers.submit(_streamed, bench, stream, name, memory) for name, (stream, memory) in arms.items()}
    runs = {name: each.result() for name, each in running.items()}
    first, task = next(each for each in zip(runs["diverse none"], diverse, strict=True) if each[0].found_at > 1)
    again = bench.run(task, choice=0, memos=[first.memo] if first.memo else [])
    ratio, low, high = _ratio(runs["memory"], runs["none"])
    placebo, *_ = _ratio(runs["shuffled"], runs["none"])
    foreign, *_ = _ratio(runs["diverse memory"], runs["diverse none"])
    fixed = [run.effort for run in runs["none"] if run.found_at]
    base = f"{len(fixed)} of {length} fixed without memory, by {sum(fixed)} candidates"
    return [
        at_most("recurring stream: candidates with memory / without", ratio, 0.7, baseline=base),
        at_most("  upper end of its 95 % interval", high, 1.0, baseline=f"lower end {low:.2f}"),
        Figure(name="  shuffled memory / without", measured=f"{placebo:.3g} x", goal="> 1", holds=placebo > 1),
        at_most("diverse tasks: candidates with memory / without", foreign, 1.05),
        Figure(
            name="exact repeat: fixed at candidate",
            measured=str(again.found_at),
            goal="1",
            baseline=str(first.found_at),
            holds=again.found_at == 1,
        ),
    ]


def _streamed(bench: Bench, stream: Sequence[ShippedTask], name: str, memory: Memory) -> list[Tried]:
    """The stream in order, remembering what passed; an answer to a program is never there when it comes."""
    memos: list[Memo] = []
    runs = []
    for at, task in enumerate(stream):
        known = [memo for memo in memos if memo.task.rsplit("_", 1)[0] != task.name.rsplit("_", 1)[0]]
        run = _told(name, bench.run(task, memos=memory(known), candidates=_STREAM_CANDIDATES, choice=0))
        runs.append(run)
        if run.memo is not None:
            memos.append(Memo(**{**_fields(run.memo), "at": float(at)}))  # type: ignore[arg-type]
    return runs


def _fields(memo: Memo) -> dict[str, object]:
    return {
        name: getattr(memo, name) for name in ("solver", "signature", "kind", "task", "note", "template", "project")
    }


def _ratio(of: Sequence[Tried], over: Sequence[Tried]) -> tuple[float, float, float]:
    """Total candidates of one over the other's, with a bootstrap interval over tasks (Efron 1979, percentile). Tasks
    that neither fixed tell of the limit only, not of the order, and are left out."""
    pairs = [(a.effort, b.effort) for a, b in zip(of, over, strict=True) if a.found_at or b.found_at]
    draw = random.Random(0)
    drawn = []
    for _ in range(_RESAMPLES):
        chosen = draw.choices(pairs, k=len(pairs))
        drawn.append(sum(a for a, _ in chosen) / max(1, sum(b for _, b in chosen)))
    drawn.sort()
    total = sum(a for a, _ in pairs) / max(1, sum(b for _, b in pairs))
    return total, drawn[int(0.025 * _RESAMPLES)], drawn[int(0.975 * _RESAMPLES)]


def _told(what: str, run: Tried) -> Tried:
    print(
        f"{what:16} {run.name:24} {run.found_at or '-':>6} of {run.tried:<6} {'right' if run.right else ''}", flush=True
    )
    return run


if __name__ == "__main__":
    main()
