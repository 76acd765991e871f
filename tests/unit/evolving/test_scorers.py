"""What scorers of data say of answers: right, partly right, and hostile ones. No sandbox: nothing is run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.evolving.bench.benchmark import BenchTask
from ratchet.evolving.scorers import Scored, score
from ratchet.evolving.scorers.answers import MOST_BYTES, BadAnswer
from ratchet.evolving.scorers.calls import Call, compared, fits
from ratchet.evolving.scorers.plan import worth
from ratchet.evolving.scorers.plans import SHAPES
from ratchet.evolving.scorers.plans.found import Found
from ratchet.records import Json
from ratchet.sandbox.copied import CopiedWorkspace
from ratchet.sandbox.plain import Plain

RIVER: dict[str, Json] = {
    "state": {"boat": "left", "fuel": 3, "man": "left", "dog": "left"},
    "table": {"way.left.right": 1, "way.right.left": 2},
    "actions": {
        "go": {
            "parameters": {"x": ["left", "right"], "y": ["left", "right"]},
            "needs": [["boat", "=", "{x}"], ["fuel", ">=", "@way.{x}.{y}"]],
            "sets": [["boat", "{y}"]],
            "adds": [["fuel", "-@way.{x}.{y}"]],
            "cost": "@way.{x}.{y}",
        },
        "take": {"parameters": {"who": ["man", "dog"]}, "sets": [["{who}", "right"]], "cost": 5},
    },
    "never": [[["boat", "=", "right"], ["man", "=", "left"], ["dog", "=", "right"]]],
    "goals": [["boat", "=", "right"], ["man", "=", "right"]],
}
JOBS: dict[str, Json] = {
    "jobs": {
        "a": {"takes": 2, "uses": {"oven": 1}},
        "b": {"takes": 3, "uses": {"oven": 1}, "after": ["a"]},
        "c": {"takes": 1, "from": 2, "by": 4},
    },
    "capacity": {"oven": 1},
    "cost": "end",
}
THINGS: dict[str, Json] = {
    "things": {
        "a": {"size": {"kg": 2}},
        "b": {"size": {"kg": 2}, "allowed": ["y"]},
        "c": {"size": {"kg": 1}, "worth": 4},
    },
    "places": {"x": {"room": {"kg": 3}, "cost": 1}, "y": {"room": {"kg": 2}, "cost": 2, "least": 1}},
    "prices": {"a": {"x": 5}},
    "apart": [["a", "b"]],
    "together": [],
}
STOPS: dict[str, Json] = {
    "places": {"home": [0, 0], "p": [1, 0], "q": [2, 0]},
    "vehicles": {"v": {"start": "home", "end": "home", "room": 3}, "w": {"start": "q"}},
    "stops": {"p": {"load": 2, "by": 5, "takes": 1}, "q": {"load": 2, "from": 4}},
    "pairs": [],
}


class Desk:
    """A workspace with an answer, scored."""

    def __init__(self, folder: Path) -> None:
        (folder / "project").mkdir()
        self.files = folder / "place" / "files"
        self.workspace = CopiedWorkspace.create(folder / "project", folder / "place")

    def score(self, scorer: str, spec: Mapping[str, Json]) -> Scored:
        task = BenchTask(id="t", kind="plan", split="dev", instruction="", scorer=scorer, spec=spec)
        return score(task, self.workspace, Plain())

    def plan(self, spec: Mapping[str, Json], shape: str, answer: Json, best: float = 1) -> Scored:
        (self.files / "answer.json").write_text(json.dumps(answer))
        return self.score("plan", {**spec, "shape": shape, "best": best})


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# -- hostile answers ---------------------------------------------------------------------------------------------------


def write(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


def linked(path: Path) -> None:
    path.with_name("other.json").write_text("[]")
    path.symlink_to("other.json")


def linked_twice(path: Path) -> None:
    path.with_name("other.json").write_text("[]")
    os.link(path.with_name("other.json"), path)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda _path: None, "there is no answer.json"),
        (write(b"[" + b" " * 10_000_000 + b"]"), "no plain file of at most 256 kB"),
        (write(b"[" * 100_000), "nested"),
        (write(b"[" * 40 + b"]" * 40), "nested more than 32 deep"),
        (write(b'{"a":' * 33 + b"1" + b"}" * 33), "nested more than 32 deep"),
        (write(b"[NaN]"), "NaN"),
        (write(b"[-Infinity]"), "Infinity"),
        (write(b"[1e999]"), "too large"),
        (write(b"[" + b"9" * 5_000 + b"]"), "too large"),
        (write(b'[{"a": 1, "a": 2}]'), "twice"),
        (write(b"\xff\xfe[\x00"), "not UTF-8"),
        (write(b"[1,]"), "no JSON"),
        (write(b""), "no JSON"),
        (write(b"[] []"), "no JSON"),
        (linked, "no plain file"),
        (linked_twice, "no plain file"),
        (lambda path: path.mkdir(), "no plain file"),
        (lambda path: os.mkfifo(path), "no plain file"),
    ],
)
@pytest.mark.parametrize("scorer", ["plan", "calls"])
def test_what_is_no_answer_scores_nothing_and_says_why(
    desk: Desk, make: Callable[[Path], object], said: str, scorer: str
) -> None:
    make(desk.files / "answer.json")
    spec = {**RIVER, "shape": "steps", "best": 1} if scorer == "plan" else {"tools": [], "calls": []}
    found = desk.score(scorer, spec)
    assert found.score == 0.0
    assert not found.unmeasured
    assert said in found.reason
    assert found.kind in ("malformed_output", "empty_response")
    assert found.signature.startswith("v1:")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "answer", [None, 1, "x", True, [1], [[]], [[1]], [[None, {}]], {"a": {}}, {"a": [[]]}, {"": ""}]
)
def test_an_answer_of_another_shape_scores_nothing(desk: Desk, shape: str, answer: Json) -> None:
    spec = {"steps": RIVER, "schedule": JOBS, "assignment": THINGS, "routes": STOPS}[shape]
    found = desk.plan(spec, shape, answer)
    assert found.score == 0.0
    assert not found.unmeasured
    assert found.reason


@pytest.mark.parametrize("answer", [None, {}, "x", [1], [[]], [{}], [{"tool": 1}], [{"tool": "a", "arguments": []}],
                                    [{"tool": "a", "arguments": {}, "id": 1}], [{"tool": "a"}] * 101])  # fmt: skip
def test_calls_of_another_shape_score_nothing(desk: Desk, answer: Json) -> None:
    (desk.files / "answer.json").write_text(json.dumps(answer))
    found = desk.score("calls", {"tools": [{"name": "a"}], "calls": [{"tool": "a"}]})
    assert found.score == 0.0
    assert found.reason


def test_an_unknown_scorer_is_no_fault_of_the_agent(desk: Desk) -> None:
    assert desk.score("taste", {}).unmeasured
    assert desk.plan({}, "circle", []).unmeasured


def test_cancelled_is_unmeasured(desk: Desk) -> None:
    task = BenchTask(
        id="t", kind="plan", split="dev", instruction="", scorer="plan", spec={**RIVER, "shape": "steps", "best": 1}
    )
    found = score(task, desk.workspace, Plain(), cancelled=lambda: True)
    assert (found.unmeasured, found.kind) == (True, "cancelled")


# -- plans -------------------------------------------------------------------------------------------------------------


def test_a_plan_of_least_cost_is_worth_all(desk: Desk) -> None:
    found = desk.plan(RIVER, "steps", [["take", "man"], ["go", "left", "right"]], best=6)
    assert (found.score, found.reason) == (1.0, "")


def test_a_dearer_plan_is_worth_less_and_says_what_would_do(desk: Desk) -> None:
    steps: Json = [["take", "man"], ["take", "dog"], ["go", "left", "right"]]
    found = desk.plan(RIVER, "steps", steps, best=6)
    assert found.score == pytest.approx(0.7 + 0.3 * (1 - 5 / 6))
    assert found.reason == "it costs 11, and 6 would do"


@pytest.mark.parametrize(
    ("steps", "value", "said"),
    [
        ([], 0.0, "in the end boat is"),
        ([["go", "right", "left"]], 0.0, 'boat is "left", not = right'),
        ([["go", "left", "right"]], 0.3, 'man is "left"'),
        ([["fly"]], 0.0, "there is no action 'fly'"),
        ([["go", "left"]], 0.0, "takes 2 arguments"),
        ([["go", "left", "moon"]], 0.0, "'moon' is no y"),
        ([["take", "dog"], ["go", "left", "right"]], 0.0, "what never may"),
        ([["take", "man"], ["go", "left", "left"]], 0.15, "there is no way.left.left"),
        ([["go", "left", "right"], ["go", "right", "left"], ["go", "left", "right"]], 0.0, "fuel is 0"),
    ],
)
def test_a_plan_that_breaks_off_gets_its_share(desk: Desk, steps: Json, value: float, said: str) -> None:
    found = desk.plan(RIVER, "steps", steps)
    assert found.score == pytest.approx(value)
    assert said in found.output


@pytest.mark.parametrize(
    ("answer", "value", "said"),
    [
        ({"a": 0, "b": 2, "c": 2}, 1.0, ""),
        ({"a": 0, "b": 3, "c": 3}, 0.94, "it costs 6"),
        ({"a": 1, "b": 0, "c": 2}, 0.6 * 4 / 6, "b starts at 0, before a ends at 3"),
        ({"a": 0, "b": 2, "c": 4}, 0.6 * 5 / 6, "c ends at 5, after 4"),
        ({"a": 0, "b": 2, "c": 1}, 0.6 * 5 / 6, "c starts at 1, before 2"),
        ({"a": 0, "b": 2}, 0.6 * 2 / 3 * 5 / 6, "c has no start"),
        ({"a": 0, "b": 2, "c": 2.5}, 0.6 * 2 / 3 * 5 / 6, "c has no start"),
        ({"a": 0, "b": 2, "c": 2, "d": 0}, 0.6 * 5 / 6, "there is no job"),
        ({}, 0.0, "a has no start"),
    ],
)
def test_schedules(desk: Desk, answer: Json, value: float, said: str) -> None:
    found = desk.plan(JOBS, "schedule", answer, best=5)
    assert found.score == pytest.approx(value)
    assert said in found.reason


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"a": "x", "b": "y", "c": "x"}, ""),
        ({"a": "x", "b": "y"}, "it costs 12"),
        ({"a": "y", "b": "y"}, "y holds 4 kg"),
        ({"a": "x", "b": "x"}, "b may not be in x"),
        ({"a": "x"}, "b has no place"),
        ({"a": "x", "b": "z"}, "b has no place"),
        ({"a": "x", "b": "y", "d": "x"}, "there is no"),
        ({"a": "x", "b": ["y"]}, "b has no place"),
    ],
)
def test_assignments(desk: Desk, answer: Json, said: str) -> None:
    found = desk.plan(THINGS, "assignment", answer, best=8)
    assert (found.score == 1.0) is (said == "")
    assert said in found.reason


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"v": ["p"], "w": ["q"]}, ""),
        ({"v": ["q"], "w": ["p"]}, "it costs 5"),
        ({"v": ["p", "q"]}, "v carries 4"),
        ({"w": ["q", "p"]}, "not visited|p is reached at 5|it costs 1"),
        ({"v": ["p"], "w": ["q", "q"]}, "q is visited 2 times"),
        ({"v": ["p"]}, "q is not visited"),
        ({"v": ["p"], "x": ["q"]}, "there is no"),
    ],
)
def test_routes(desk: Desk, answer: Json, said: str) -> None:
    found = desk.plan(STOPS, "routes", answer, best=2)
    assert (found.score == 1.0) is (said == "" or "it costs 1" in said)
    assert any(each in found.reason for each in said.split("|")) or found.score == 1.0


@given(
    goals=st.integers(0, 5), more=st.integers(0, 5), kept=st.integers(0, 9), broken=st.integers(0, 9),
    cost=st.floats(0, 1e6), best=st.floats(0, 1e3), over=st.floats(0, 1e3),
)  # fmt: skip
def test_only_a_whole_plan_of_least_cost_is_worth_one(
    goals: int, more: int, kept: int, broken: int, cost: float, best: float, over: float
) -> None:
    found = Found(goals=goals, all_goals=goals + more, kept=kept, rules=kept + broken, cost=cost)
    value = worth(found, best=best, worst=best + over)
    assert 0.0 <= value <= 1.0
    whole = not more and not broken
    assert (value >= 0.7) is whole
    assert (value == 1.0) is (whole and cost <= best + 1e-9)


# -- calls -------------------------------------------------------------------------------------------------------------

WANTED = [
    Call("find", {"name": "Ada"}),
    Call("book", {"who": {"$result": 1, "field": "id"}, "days": {"$set": [1, 2]}, "note": {"$maybe": ""}}, after=(0,)),
    Call("tell", {"text": {"$text": "All is well."}, "at": {"$near": 5, "within": 0.5}}, after=(1,)),
]
RIGHT = [
    Call("find", {"name": "Ada"}),
    Call("book", {"who": {"$result": 1, "field": "id"}, "days": [2, 1]}),
    Call("tell", {"text": "all  is well", "at": 5.4}),
]
KNOWN = frozenset(("find", "book", "tell", "drop"))


def test_the_calls_asked_for_are_worth_all() -> None:
    assert compared(WANTED, RIGHT, known=KNOWN) == (1.0, [])


@pytest.mark.parametrize(
    ("given_calls", "said"),
    [
        ([], "no call of find"),
        ([*RIGHT, Call("drop", {})], "call 4 of drop is superfluous"),
        ([*RIGHT, Call("fly", {})], "there is no tool 'fly'"),
        ([*RIGHT, RIGHT[0]], "superfluous"),
        ([RIGHT[0], RIGHT[2], RIGHT[1]], "comes before book"),
        ([RIGHT[1], RIGHT[0], RIGHT[2]], "book is given 'who'"),
        ([Call("find", {"name": "Bob"}), *RIGHT[1:]], "call 1: find is given 'name': \"Bob\""),
        ([Call("find", {}), *RIGHT[1:]], "find lacks the argument 'name'"),
        ([Call("find", {"name": "Ada", "fast": True}), *RIGHT[1:]], "not asked for"),
        ([RIGHT[0], Call("book", {"who": {"$result": 2, "field": "id"}, "days": [1, 2]}), RIGHT[2]], "'who'"),
        ([RIGHT[0], Call("book", {"who": {"$result": 1, "field": "name"}, "days": [1, 2]}), RIGHT[2]], "'who'"),
        ([RIGHT[0], Call("book", {"who": {"$result": 1, "field": "id"}, "days": [1, 2, 2]}), RIGHT[2]], "'days'"),
    ],
)
def test_what_is_wrong_costs_and_is_named(given_calls: Sequence[Call], said: str) -> None:
    value, faults = compared(WANTED, given_calls, known=KNOWN)
    assert value < 1.0
    assert any(said in each for each in faults), faults


def test_order_counts_only_where_it_matters() -> None:
    wanted = [Call("a", {"x": 1}), Call("a", {"x": 2}), Call("b", {"of": {"$result": 2, "field": "id"}}, after=(1,))]
    given_calls = [Call("a", {"x": 2}), Call("b", {"of": {"$result": 1, "field": "id"}}), Call("a", {"x": 1})]
    assert compared(wanted, given_calls, known=frozenset("ab")) == (1.0, [])


@pytest.mark.parametrize(
    ("want", "value", "yes"),
    [
        (1, 1.0, True), (1, True, False), (True, True, True), (0, False, False), ("a", "A", False), (None, None, True),
        ({"$any_of": ["a", "b"]}, "b", True), ({"$any_of": ["a", "b"]}, "c", False), ([1, 2], [2, 1], False),
        ({"a": [1]}, {"a": [1]}, True), ({"a": 1}, {"a": 1, "b": 2}, False), ({"$near": 5, "within": 1}, True, False),
        ({"$near": 5, "within": 1}, "5", False), ({"$text": "a"}, ["a"], False), ({"$set": [1]}, 1, False),
        ([], {}, False),
        ([{"$text": "x"}], ["X"], True), ({"$set": [{"a": 1}, {"b": 2}]}, [{"b": 2}, {"a": 1}], True),
    ],
)  # fmt: skip
def test_values_fit_what_is_asked_for(want: Json, value: Json, yes: bool) -> None:
    assert fits(want, value) is yes


NAMES = st.sampled_from(["a", "b", "c", "x", "y", "v", "w", "p", "q", "man", "left", "right", "go", "take"])
PLAIN = st.none() | st.booleans() | st.integers() | NAMES
NESTED = PLAIN | st.lists(PLAIN | st.lists(PLAIN, max_size=3), max_size=3) | st.dictionaries(NAMES, PLAIN, max_size=2)
JSONS = st.lists(NESTED, max_size=4) | st.dictionaries(NAMES, NESTED, max_size=4) | PLAIN
CALLS = st.lists(
    st.builds(Call, st.sampled_from("abc"), st.dictionaries(st.sampled_from("xy"), PLAIN, max_size=2)), max_size=5
)


@given(CALLS, CALLS)
def test_a_score_is_one_exactly_where_nothing_is_wrong(wanted: list[Call], given_calls: list[Call]) -> None:
    value, faults = compared(wanted, given_calls, known=frozenset("abc"))
    assert 0.0 <= value <= 1.0
    assert (value > 1.0 - 1e-9) is (not faults)
    if not faults:
        assert len(wanted) == len(given_calls)


@given(JSONS)
def test_no_answer_breaks_a_scorer(answer: Json) -> None:
    for shape, spec in (("steps", RIVER), ("schedule", JOBS), ("assignment", THINGS), ("routes", STOPS)):
        try:
            found = SHAPES[shape](spec, answer)
        except BadAnswer:
            continue
        assert 0 <= found.goals <= found.all_goals
        assert 0 <= found.kept <= found.rules
        assert found.cost >= 0
    assert fits(answer, answer)


def test_an_answer_may_be_as_large_as_its_limit(desk: Desk) -> None:
    (desk.files / "answer.json").write_bytes(b"[" + b" " * (MOST_BYTES - 2) + b"]")
    assert "in the end" in desk.score("plan", {**RIVER, "shape": "steps", "best": 1}).reason
