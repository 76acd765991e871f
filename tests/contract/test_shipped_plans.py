"""The least costs of the shipped plans are the least: found again by looking at everything."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from ratchet.evolving.bench.benchmark import BenchTask
from ratchet.evolving.bench.shipped import shipped
from ratchet.evolving.scorers.plans import SHAPES, assignment, routes, schedule
from ratchet.evolving.scorers.plans.steps import Impossible, reached, taken

PLANS = [task for task in shipped("core").tasks if task.kind == "plan"]
Spec = Mapping[str, Any]


def cheapest_steps(spec: Spec) -> float:
    """Dijkstra over all states."""
    steps = [
        [action, *arguments]
        for action, about in spec["actions"].items()
        for arguments in itertools.product(*about.get("parameters", {}).values())
    ]
    numbers = itertools.count()
    heap: list[tuple[float, int, dict[str, Any]]] = [(0.0, next(numbers), dict(spec["state"]))]
    seen: set[tuple[tuple[str, Any], ...]] = set()
    while heap:
        cost, _, state = heapq.heappop(heap)
        if reached(spec, state):
            return cost
        key = tuple(sorted(state.items()))
        if key in seen:
            continue
        seen.add(key)
        for step in steps:
            try:
                following, price = taken(spec, state, step)
            except Impossible:
                continue
            heapq.heappush(heap, (cost + price, next(numbers), following))
    raise AssertionError("no plan reaches the goals")


def schedules(spec: Spec) -> Iterator[dict[str, Any]]:
    """Every order of jobs, each put at the earliest time that it can have: one of them is best (Kolisch 1996)."""
    jobs, capacity = spec["jobs"], spec["capacity"]
    for order in itertools.permutations(jobs):
        starts: dict[str, int] = {}
        for name in order:
            job = jobs[name]
            if any(each not in starts for each in job.get("after", [])):
                break
            at = max([job.get("from", 0), *(starts[each] + jobs[each]["takes"] for each in job.get("after", []))])
            while not fits(jobs, capacity, starts, name, at):
                at += 1
            starts[name] = at
        else:
            yield starts


def fits(jobs: Spec, capacity: Spec, starts: Mapping[str, int], name: str, at: int) -> bool:
    return all(
        amount
        + sum(
            jobs[other].get("uses", {}).get(resource, 0)
            for other, start in starts.items()
            if start <= time < start + jobs[other]["takes"]
        )
        <= capacity[resource]
        for resource, amount in jobs[name].get("uses", {}).items()
        for time in range(at, at + jobs[name]["takes"])
    )


def assignments(spec: Spec) -> Iterator[dict[str, Any]]:
    things = spec["things"]
    choices = [
        [*thing.get("allowed", spec["places"]), *([None] if "worth" in thing else [])] for thing in things.values()
    ]
    for chosen in itertools.product(*choices):
        yield {name: place for name, place in zip(things, chosen, strict=True) if place is not None}


def all_routes(spec: Spec) -> Iterator[dict[str, Any]]:
    vehicles, stops = list(spec["vehicles"]), list(spec["stops"])
    for order in itertools.permutations(stops):
        for cuts in itertools.combinations_with_replacement(range(len(stops) + 1), len(vehicles) - 1):
            ends = [0, *cuts, len(stops)]
            yield {name: list(order[ends[at] : ends[at + 1]]) for at, name in enumerate(vehicles)}


def least(task: BenchTask) -> float:
    spec: Spec = task.spec
    if spec["shape"] == "steps":
        return cheapest_steps(spec)
    check, every = {
        "schedule": (schedule.check, schedules),
        "assignment": (assignment.check, assignments),
        "routes": (routes.check, all_routes),
    }[str(spec["shape"])]
    found = (check(spec, plan) for plan in every(spec))
    return min(each.cost for each in found if not each.faults)


@pytest.mark.parametrize("task", PLANS, ids=lambda task: task.id)
def test_no_plan_is_cheaper_than_the_best(task: BenchTask) -> None:
    assert task.spec["shape"] in SHAPES
    assert least(task) == task.spec["best"]
