"""The scorer of plans: whether a plan reaches its goals, keeps its rules, and what it costs.

`spec["shape"]` says what kind of plan it is (`scorers.plans`), `spec["best"]` is the least cost that there is. A plan
that reaches every goal and keeps every rule is worth 0.7, and up to 1 the nearer its cost is to the best: nothing more
at `spec["worst"]` (twice the best, unless given). Any other is worth 0.6 x its share of the goals x its share of the
rules; goals that were reached before the plan began do not count.
"""

from __future__ import annotations

from collections.abc import Callable

from ratchet.evolving.bench.benchmark import BenchTask
from ratchet.evolving.scorers import answers
from ratchet.evolving.scorers.answers import BadAnswer
from ratchet.evolving.scorers.plans import SHAPES
from ratchet.evolving.scorers.plans.found import Found
from ratchet.evolving.scorers.scored import Scored, unmeasured, wrong
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import Limits

_VALID = 0.7
_INVALID = 0.6
_NOTHING = 1e-9  # sums of fractions in another order


def score(
    task: BenchTask, workspace: Workspace, sandbox: Sandbox, *, limits: Limits, cancelled: Callable[[], bool]
) -> Scored:
    """Score the plan in `answer.json` is."""
    del sandbox, limits, cancelled  # a comparison of data
    shape = SHAPES.get(str(task.spec.get("shape")))
    if shape is None:
        return unmeasured(f"task {task.id} asks for a plan of no known shape; there are: {', '.join(SHAPES)}")
    try:
        found = shape(task.spec, answers.read(workspace))
    except BadAnswer as error:
        return wrong(str(error), kind=error.kind)
    best = _number(task.spec["best"])
    value = worth(found, best=best, worst=_number(task.spec.get("worst", 2 * best)))
    if value >= 1.0:
        return Scored(score=1.0)
    if found.faults:
        more = f" (and {len(found.faults) - 1} more)" if len(found.faults) > 1 else ""
        return wrong(found.faults[0] + more, score=value, output="\n".join(found.faults[:50]))
    return wrong(f"it costs {found.cost:g}, and {best:g} would do", score=value)


def worth(found: Found, *, best: float, worst: float) -> float:
    """The score of what was found of a plan."""
    if found.goals < found.all_goals or found.kept < found.rules:
        goals = found.goals / found.all_goals if found.all_goals else 1.0
        rules = found.kept / found.rules if found.rules else 1.0
        return _INVALID * goals * rules
    if found.cost <= best + _NOTHING:
        return 1.0
    over = (found.cost - best) / (worst - best) if worst > best else 1.0
    return _VALID + (1 - _VALID) * max(0.0, 1 - over) * (1 - _NOTHING)


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)
