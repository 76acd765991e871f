"""A plan of starts: when each job begins.

    jobs      name -> {takes, after: [jobs], uses: {resource: amount}, from, by}
    capacity  resource -> how much of it there is at any time
    cost      "end" (when the last job ends), or {job: price of each unit of time until it ends}

The answer is job -> start, whole numbers from 0. A job uses its resources from its start until just before its end.
"""

from __future__ import annotations

from collections.abc import Mapping

from ratchet.evolving.scorers.answers import BadAnswer, shown
from ratchet.evolving.scorers.plans.found import Found, number, part
from ratchet.records import Json

_LATEST = 1_000_000


def check(spec: Mapping[str, Json], answer: Json) -> Found:
    """Look at every rule once; one that speaks of a job without a start is not kept."""
    if not isinstance(answer, dict):
        raise BadAnswer("the schedule is no object of jobs and their starts")
    jobs = part(spec, "jobs", dict)
    faults = [f"there is no job {shown(name)}" for name in answer if name not in jobs]
    starts = {name: start for name in jobs if (start := _start(answer.get(name))) is not None}
    faults += [f"{name} has no start" for name in jobs if name not in starts]
    rules = 1
    kept = 0 if len(answer.keys() - jobs.keys()) else 1
    for name, job in jobs.items():
        said = [
            *_order_faults(jobs, starts, name),
            _window_fault(name, job, starts.get(name)),
        ]
        rules += len(said)
        kept += said.count("")
        faults += filter(None, said)
    for resource, limit in part(spec, "capacity", dict).items():
        fault = _overload(jobs, starts, resource, number(limit))
        rules += 1
        kept += not fault and bool(starts)
        faults += [fault] if fault else []
    return Found(
        goals=len(starts),
        all_goals=len(jobs),
        kept=kept,
        rules=rules,
        cost=_cost(spec["cost"], jobs, starts),
        faults=tuple(faults),
    )


def _start(said: Json) -> int | None:
    if isinstance(said, bool) or not isinstance(said, int) or not 0 <= said <= _LATEST:
        return None
    return said


def _order_faults(jobs: Mapping[str, Mapping[str, Json]], starts: Mapping[str, int], name: str) -> list[str]:
    before = jobs[name].get("after", [])
    assert isinstance(before, list)
    faults = []
    for each in map(str, before):
        if name not in starts or each not in starts:
            faults.append(f"{name} after {each}: one of them has no start")
        elif starts[name] < (end := starts[each] + number(jobs[each]["takes"])):
            faults.append(f"{name} starts at {starts[name]}, before {each} ends at {end:g}")
        else:
            faults.append("")
    return faults


def _window_fault(name: str, job: Mapping[str, Json], start: int | None) -> str:
    if start is None:
        return f"{name} has no start"
    if start < number(job.get("from")):
        return f"{name} starts at {start}, before {number(job.get('from')):g}"
    end, by = start + number(job["takes"]), number(job.get("by"), float("inf"))
    return f"{name} ends at {end:g}, after {by:g}" if end > by else ""


def _overload(jobs: Mapping[str, Mapping[str, Json]], starts: Mapping[str, int], resource: str, limit: float) -> str:
    """The first time at which a resource is used beyond its limit; use only rises where a job starts."""
    using = {name: amount for name in starts if (amount := number(_uses(jobs[name]).get(resource)))}
    for at in sorted({starts[name] for name in using}):
        now = [name for name in using if starts[name] <= at < starts[name] + number(jobs[name]["takes"])]
        if sum(using[name] for name in now) > limit:
            return f"at {at}, {', '.join(sorted(now))} use more {resource} than the {limit:g} there is"
    return ""


def _uses(job: Mapping[str, Json]) -> Mapping[str, Json]:
    uses = job.get("uses", {})
    assert isinstance(uses, dict)
    return uses


def _cost(how: Json, jobs: Mapping[str, Mapping[str, Json]], starts: Mapping[str, int]) -> float:
    ends = {name: start + number(jobs[name]["takes"]) for name, start in starts.items()}
    if isinstance(how, dict):
        return sum(number(price) * ends.get(name, 0) for name, price in how.items())
    return max(ends.values(), default=0.0)
