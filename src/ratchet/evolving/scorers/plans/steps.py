"""A plan of steps: actions, one after another, that change a state until goals hold.

    state    name -> value, at the beginning
    table    name -> value, which no action changes (distances, prices)
    actions  name -> {parameters, needs, sets, adds, cost}
    never    lists of conditions that must not hold together after any step
    goals    conditions

A condition is [name, operator, value], the operator one of = != < <= > >=. `{x}` in a name or value stands for a
parameter, and a value "@name" for what that name holds (with "-@name", taken away). A name that nobody knows makes an
action impossible. `cost` is a number or "@name". The answer is a list of [action, argument, ...]; the first impossible
step ends it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ratchet.evolving.scorers.answers import BadAnswer, shown
from ratchet.evolving.scorers.plans.found import Found, part
from ratchet.records import Json

_MOST_STEPS = 5_000
_OPERATORS: dict[str, Callable[[object, object], bool]] = {"=": operator.eq, "!=": operator.ne}
_ORDERS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Values: TypeAlias = Mapping[str, Json]


class Impossible(Exception):  # noqa: N818  (an answer, not a fault)
    """A step cannot be taken; says why."""


@dataclass(slots=True)
class _World:
    """Facts that hold now."""

    state: dict[str, Json]
    table: Values

    def of(self, name: str) -> Json:
        if name in self.state:
            return self.state[name]
        if name in self.table:
            return self.table[name]
        raise Impossible(f"there is no {name}")

    def value(self, said: Json, bound: Mapping[str, str]) -> Json:
        if not isinstance(said, str):
            return said
        text = _filled(said, bound)
        if text.startswith("-@"):
            return -_number(self.of(text[2:]))
        return self.of(text[1:]) if text.startswith("@") else text

    def holds(self, condition: Sequence[Json], bound: Mapping[str, str]) -> bool:
        name, sign, said = condition
        have, want = self.of(_filled(str(name), bound)), self.value(said, bound)
        if str(sign) in _OPERATORS:
            return _OPERATORS[str(sign)](have, want)
        return _ORDERS[str(sign)](_number(have), _number(want))


def check(spec: Values, answer: Json) -> Found:
    """Take the steps one by one."""
    if not isinstance(answer, list) or not all(_is_step(each) for each in answer):
        raise BadAnswer("the plan is no list of steps, each a list of an action and its arguments (texts)")
    if len(answer) > _MOST_STEPS:
        raise BadAnswer(f"the plan has more than {_MOST_STEPS:,} steps", "wrong_output")
    world = _world(spec, part(spec, "state", dict))
    goals: list[list[Json]] = part(spec, "goals", list)
    done_before = sum(world.holds(goal, {}) for goal in goals)
    cost, kept = 0.0, 0
    faults: list[str] = []
    for number, step in enumerate(answer, 1):
        assert isinstance(step, list)
        try:
            world.state, price = taken(spec, world.state, [str(word) for word in step])
        except Impossible as error:
            faults.append(f"step {number}, {shown(step)}: {error}")
            break
        cost += price
        kept += 1
    missed = [goal for goal in goals if not world.holds(goal, {})]
    faults += [f"in the end {goal[0]} is {shown(world.of(str(goal[0])))}, not {goal[1]} {goal[2]}" for goal in missed]
    return Found(
        goals=max(0, len(goals) - len(missed) - done_before),
        all_goals=len(goals) - done_before,
        kept=kept,
        rules=len(answer),
        cost=cost,
        faults=tuple(faults),
    )


def taken(spec: Values, state: Values, step: Sequence[str]) -> tuple[dict[str, Json], float]:
    """The state after one step, and the step's cost. Raises Impossible."""
    world = _world(spec, state)
    actions = part(spec, "actions", dict)
    if step[0] not in actions:
        raise Impossible(f"there is no action {step[0]!r}")
    action = actions[step[0]]
    parameters = action.get("parameters", {})
    if len(parameters) != len(step) - 1:
        raise Impossible(f"it takes {len(parameters)} arguments")
    bound = dict(zip(parameters, step[1:], strict=True))
    for name, argument in bound.items():
        if argument not in parameters[name]:
            raise Impossible(f"{argument!r} is no {name}")
    for condition in action.get("needs", []):
        if not world.holds(condition, bound):
            name, sign, said = condition
            name = _filled(str(name), bound)
            raise Impossible(f"{name} is {shown(world.of(name))}, not {sign} {world.value(said, bound)}")
    cost = _number(world.value(action.get("cost", 1), bound))
    changes = [(_filled(name, bound), world.value(said, bound)) for name, said in action.get("sets", [])]
    changes += [
        (_filled(name, bound), _number(world.of(_filled(name, bound))) + _number(world.value(said, bound)))
        for name, said in action.get("adds", [])
    ]
    world.state.update(changes)
    never = spec.get("never", [])
    assert isinstance(never, list)
    for conditions in never:
        assert isinstance(conditions, list)
        if all(world.holds(condition, {}) for condition in conditions if isinstance(condition, list)):
            raise Impossible("after it holds what never may: " + " and ".join(map(_said, conditions)))
    return world.state, cost


def reached(spec: Values, state: Values) -> bool:
    """Tell whether every goal holds."""
    goals: list[list[Json]] = part(spec, "goals", list)
    return all(_world(spec, state).holds(goal, {}) for goal in goals)


def _world(spec: Values, state: Values) -> _World:
    table = spec.get("table", {})
    assert isinstance(table, dict)
    return _World(dict(state), table)


def _said(condition: Json) -> str:
    return " ".join(map(str, condition)) if isinstance(condition, list) else ""


def _is_step(value: Json) -> bool:
    return isinstance(value, list) and 0 < len(value) <= 10 and all(isinstance(word, str) for word in value)


def _filled(text: str, bound: Mapping[str, str]) -> str:
    for name, argument in bound.items():
        text = text.replace("{" + name + "}", argument)
    return text


def _number(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Impossible(f"{shown(value)} is no number")
    return value
