"""Scores by a function of Python: benchmarks whose tasks are texts, and a `Measure` that asks the function."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ratchet.errors import UsageError
from ratchet.evolving.bench.account import result_of
from ratchet.evolving.bench.benchmark import Benchmark, BenchTask, Evaluation, Split
from ratchet.evolving.job import Job
from ratchet.failures.redaction.text import clean, redact
from ratchet.failures.signature import sign, template_of
from ratchet.records import Json

log = logging.getLogger(__name__)

_REASON_CHARS = 500
_FEEDBACK_CHARS = 6_000
_LEAST_TASKS = 3
_SHARES: tuple[tuple[Split, float], ...] = (("dev", 0.2), ("gate", 0.5))  # the rest is sealed, as in `importing`


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCall:
    """One run that a metric is asked to make: a version, on a task."""

    texts: Mapping[str, str]
    """The version's text files, by their path."""
    settings: Mapping[str, Json]
    task: str
    """The id of the task, and its `instruction`."""
    instruction: str
    seed: int
    folder: Path
    """Where the version's files lie, read-only; `.` where it has none."""


Scored = float | tuple[float, str] | tuple[float, str, float]
"""A score in [0, 1]; with what was wrong, for whoever proposes; with what the run cost, in USD."""
Metric = Callable[[MetricCall], Scored]


@dataclass(frozen=True, slots=True)
class MetricMeasure:
    """Port `Measure`: the metric runs the version itself, in this process. What it raises is no score."""

    metric: Metric

    def __call__(self, job: Job, /) -> Evaluation:
        folder = Path(job.version)
        call = MetricCall(
            texts=_texts(folder) if job.version else {},
            settings=job.settings,
            task=job.task.id,
            instruction=job.task.instruction,
            seed=job.seed,
            folder=folder,
        )
        began = time.monotonic()
        made = Evaluation(
            run=job.run,
            candidate=job.candidate,
            task=job.task.id,
            seed=job.seed,
            result="unmeasured",
            isolation="none",
            at=time.time(),
        )
        try:
            score, feedback, usd = _read(self.metric(call))
        except Exception as error:
            # Anybody's function: what it raises costs the evaluation, not the run.
            log.exception("metric.failed", extra={"task": job.task.id, "seed": job.seed})
            reason = clean(f"the metric raised {type(error).__name__}: {error}", _REASON_CHARS)
            return _timed(made, began, reason=reason)
        told = redact(feedback)
        kind = "" if score >= 1 else "wrong_output"
        return _timed(
            made,
            began,
            result=result_of(score),
            score=score,
            reason=clean(" ".join(told.split()), _REASON_CHARS),
            output=clean(told, _FEEDBACK_CHARS),
            kind=kind,
            signature=sign(kind, template_of(told)) if kind else "",
            cost_usd=usd,
        )


def texts_benchmark(tasks: Mapping[str, str]) -> Benchmark:
    """A benchmark of these instructions by id: a fifth for proposers, half for decisions, the rest for the report, by a
    hash of the id, and at least one each. Raises UsageError for fewer than three."""
    if len(tasks) < _LEAST_TASKS:
        raise UsageError(f"{len(tasks)} tasks cannot be split: one for proposers, one to decide on, one for the report")
    drawn = sorted(tasks, key=lambda id_: hashlib.sha256(id_.encode("utf-8", "surrogateescape")).digest())
    splits: list[Split] = []
    for split, share in _SHARES:
        splits += [split] * max(1, round(share * len(drawn)))
    of = dict(zip(drawn, [*splits[: len(drawn) - 1], *["sealed"] * len(drawn)], strict=False))
    made = Benchmark(
        name="texts",
        title="scored by a metric in Python",
        tasks=tuple(
            BenchTask(id=id_, kind="code", split=of[id_], instruction=text, scorer="metric")  # type: ignore[arg-type]
            for id_, text in sorted(tasks.items())
        ),
    )
    return Benchmark(name=f"texts-{made.hash[1:13]}", title=made.title, tasks=made.tasks)


def _texts(folder: Path) -> dict[str, str]:
    return dict(_read_texts(folder, sorted(path for path in folder.rglob("*") if path.is_file())))


def _read_texts(folder: Path, paths: Iterable[Path]) -> Iterable[tuple[str, str]]:
    for path in paths:
        try:
            yield path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # no text


def _read(scored: Scored) -> tuple[float, str, float]:
    score, feedback, usd = (*scored, *("", 0.0)[len(scored) - 1 :]) if isinstance(scored, tuple) else (scored, "", 0.0)
    if isinstance(score, bool):
        score = float(score)
    if not isinstance(score, int | float) or not 0 <= score <= 1:
        raise UsageError(f"the score is {score!r}; use a number from 0 to 1, or (score, feedback)")
    return float(score), str(feedback), max(0.0, float(usd))


def _timed(made: Evaluation, began: float, **about: object) -> Evaluation:
    return replace(made, wall_s=time.monotonic() - began, **about)  # type: ignore[arg-type]
