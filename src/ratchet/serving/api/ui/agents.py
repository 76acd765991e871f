"""Agents measured and evolved: benchmark runs, two of them compared, and the tree of candidates."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from ratchet.evolving.bench.watch import WatchBook, sentence
from ratchet.evolving.rows import tally
from ratchet.serving.api.access import READS
from ratchet.serving.api.serving import Operations
from ratchet.serving.api.ui import asking
from ratchet.serving.api.ui.asking import Start, part
from ratchet.serving.api.ui.rendering import drawn
from ratchet.serving.shapes.evolving import branches

router = asking.router()


@router.get("/ui/evolve", dependencies=[READS])
def evolutions(request: Request, runtime: Operations, start: Start = 0) -> Response:
    """All runs of the evolve loop, newest first."""
    rows, following = part(request, runtime.evolutions.list(), start)
    tallies = runtime.evolutions.tallies([each.id for each in rows])
    return drawn(request, "evolutions.html", rows=rows, next=following, tallies=tallies)


@router.get("/ui/evolve/{run}", dependencies=[READS])
def evolution(run: str, request: Request, runtime: Operations) -> Response:
    """One run with the tree of its candidates."""
    held = runtime.evolutions.show(run)
    candidates = list(runtime.evolutions.candidates(run))
    return drawn(
        request,
        "evolution.html",
        held=held,
        candidates=candidates,
        below=branches(candidates),
        tally=tally(candidates),
    )


@router.get("/ui/bench", dependencies=[READS])
def benches(request: Request, runtime: Operations, start: Start = 0) -> Response:
    """All benchmark runs, newest first."""
    rows, following = part(request, runtime.benchmarks.history(), start)
    return drawn(request, "benches.html", rows=rows, next=following)


@router.get("/ui/bench/compare", dependencies=[READS])
def compare(request: Request, runtime: Operations, first: str = "", second: str = "") -> Response:
    """Two runs in pairs."""
    found = runtime.benchmarks.compare(first, second)
    return drawn(
        request,
        "bench_compare.html",
        first=found.first,
        second=found.second,
        paired=found.paired,
        noise=found.noise,
        scores=found.scores,
        unlike=found.unlike,
    )


@router.get("/ui/bench/watch/{baseline}", dependencies=[READS])
def watch(baseline: str, request: Request, runtime: Operations, start: Start = 0) -> Response:
    """A benchmark on a schedule: what its checks say, the newest first."""
    held = WatchBook(runtime.benchmarks, tell=runtime.outbox.tell).watch(baseline)
    rows, following = part(request, [*reversed([*enumerate(held.checks, 1)])], start)
    return drawn(request, "bench_watch.html", held=held, rows=rows, next=following, verdict=sentence(held))


@router.get("/ui/bench/{run}", dependencies=[READS])
def bench(run: str, request: Request, runtime: Operations, start: Start = 0) -> Response:
    """One run, its tasks the worst first."""
    held, figures = runtime.benchmarks.figures(run)
    tasks = sorted(figures.tasks, key=lambda each: (each.score.mean, each.task))
    rows, following = part(request, tasks, start)
    return drawn(request, "bench.html", held=held, figures=figures, rows=rows, next=following)
