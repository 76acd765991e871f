"""Evidence for a proposer about the version that it is to better: its weakest tasks, and what keeps failing. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ratchet.evolving.bench.benchmark import BenchTask, Evaluation
from ratchet.evolving.job import WeakTask
from ratchet.failures.redaction.text import clean
from ratchet.failures.signature import template_of
from ratchet.records import Pattern

EXAMPLES = 3
_TEMPLATE_CHARS = 400


def weakest(tasks: Sequence[BenchTask], runs: Iterable[Evaluation]) -> tuple[WeakTask, ...]:
    """The tasks on which it does not always reach full score, the worst first, with its worst runs."""
    of_task: dict[str, list[Evaluation]] = defaultdict(list)
    for each in runs:
        if each.measured:
            of_task[each.task].append(each)
    found = []
    for task in tasks:
        made = sorted(of_task[task.id], key=lambda each: (each.score, each.seed))
        score = sum(each.score for each in made) / len(made) if made else 1.0
        if score < 1.0:
            found.append(WeakTask(task=task, score=score, runs=len(made), examples=tuple(made[:EXAMPLES])))
    return tuple(sorted(found, key=lambda each: (each.score, each.task.id)))


def patterns(runs: Iterable[Evaluation], agent: str) -> tuple[Pattern, ...]:
    """Group failures by signature, the most frequent first; each task counts as a session."""
    grouped: dict[str, list[Evaluation]] = defaultdict(list)
    for each in runs:
        if each.signature:
            grouped[each.signature].append(each)
    found = [_pattern(signature, made, agent) for signature, made in grouped.items()]
    return tuple(sorted(found, key=lambda each: (-each.count, each.signature)))


def _pattern(signature: str, made: Sequence[Evaluation], agent: str) -> Pattern:
    tasks = {each.task for each in made}
    said = next((each.reason or each.output for each in made if each.reason or each.output), "")
    return Pattern(
        id=signature,
        signature=signature,
        kind=made[0].kind,
        template=clean(template_of(said), _TEMPLATE_CHARS),
        count=len(made),
        sessions=len(tasks),
        agents=(agent,),
        first_seen=min(each.at for each in made),
        last_seen=max(each.at for each in made),
        trend="steady",
        recurring=len(made) > 1,
        wasted_s=sum(each.wall_s for each in made),
        wasted_tokens=sum(each.tokens for each in made),
        impact=float(len(made)),
    )
