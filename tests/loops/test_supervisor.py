"""A supervisor plans, delegates by skill, hands on what came back, and asks for no plan twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet import Ratchet
from ratchet.errors import Refused, UsageError
from ratchet.records import Json
from ratchet.team import Brief, Handed, Supervised, Supervisor, TeamBudget, TeamPlan, TeamTask, Worker


@pytest.fixture
def ratchet(home: Path) -> Iterator[Ratchet]:
    with Ratchet(home) as held:
        yield held


def supervised(lead: Supervisor, goal: str) -> Supervised:
    return asyncio.run(asyncio.wait_for(lead.run(goal, run="r"), 120))


def research(work: Json, context: Handed) -> Json:
    if work == "dead end":
        raise ValueError("nothing is known about it")
    return f"facts about {work}"


def write(work: Json, context: Handed) -> Json:
    return f"{work}: {'; '.join(map(str, context.results.values()))}"


WORKERS = [
    Worker("ada", research, skills=("research",), about="finds facts"),
    Worker("bob", write, skills=("write",), about="writes reports"),
]


def test_the_next_round_knows_what_came_of_the_last_one_and_a_run_that_is_resumed_plans_nothing_anew(
    ratchet: Ratchet,
) -> None:
    briefs: list[Brief] = []

    async def plan(brief: Brief) -> TeamPlan | list[TeamTask]:
        briefs.append(brief)
        if brief.round == 1:
            return [
                TeamTask(id="dead", work="dead end", skill="research", attempts=1),
                TeamTask(id="owls", work="owls", skill="research"),
            ]
        if brief.round == 2:
            return [TeamTask(id="report", work=brief.goal, skill="write", needs=("owls",))]
        return TeamPlan(answer=f"done: {brief.results['report']}")

    done = supervised(Supervisor("lead", WORKERS, plan=plan, ratchet=ratchet), "A report on owls")
    assert done.answer == "done: A report on owls: facts about owls"
    assert briefs[0].skills == {"research": ("finds facts",), "write": ("writes reports",)}
    assert briefs[1].failures == {"dead": "ValueError: nothing is known about it"}
    again = supervised(Supervisor("lead", WORKERS, plan=plan, ratchet=ratchet), "A report on owls")
    assert (again.answer, len(briefs)) == (done.answer, 3)
    assert len([*ratchet.outcomes(session="r")]) == 3


@pytest.mark.parametrize(
    "bad",
    [
        TeamTask(id="x", skill="research", needs=("nobody",)),
        TeamTask(id="x", skill="cooking"),
        TeamTask(id="x", skill="research", timeout_s=-1),
    ],
)
def test_a_plan_that_cannot_be_run_is_told_back_and_spoils_no_run(ratchet: Ratchet, bad: TeamTask) -> None:
    problems: list[str] = []
    stubborn = True

    def plan(brief: Brief) -> list[TeamTask]:
        problems.append(brief.problem)
        if brief.round > 1:
            return []
        good = TeamTask(id="owls", work="owls", skill="research")
        return [bad] if stubborn or not brief.problem else [good]

    lead = Supervisor("lead", WORKERS, plan=plan, ratchet=ratchet)
    with pytest.raises(UsageError, match="task 'x'"):
        supervised(lead, "owls")
    assert len(problems) == 3
    problems.clear()
    stubborn = False
    done = supervised(lead, "owls")
    assert done.answer == {"owls": "facts about owls"}
    assert [bool(each) for each in problems] == [False, True, False]


def test_a_function_collects_what_the_rounds_brought(ratchet: Ratchet) -> None:
    def plan(brief: Brief) -> list[TeamTask]:
        return (
            [TeamTask(id=name, work=name, skill="research") for name in ("owls", "hawks")] if brief.round == 1 else []
        )

    lead = Supervisor("lead", WORKERS, plan=plan, collect=lambda brief: [*sorted(brief.results)], ratchet=ratchet)
    assert supervised(lead, "birds").answer == ["hawks", "owls"]


def test_a_model_plans_by_the_skills_that_there_are(home: Path) -> None:
    pytest.importorskip("pydantic_ai", reason="needs the extra `model`")
    from ratchet.testing.model_server import ModelServer
    from ratchet.testing.wire import Reply

    rounds: list[dict[str, Json]] = [
        {
            "tasks": [
                {"id": "owls", "skill": "research", "instruction": "owls", "needs": []},
                {"id": "report", "skill": "write", "instruction": "Report", "needs": ["owls"]},
            ],
            "answer": "",
        },
        {"tasks": [], "answer": "the report is written"},
    ]
    replies = [Reply(text=json.dumps(each)) for each in rounds]
    with (
        ModelServer(*replies) as server,
        Ratchet(home, model_base_url=server.openai_url, model_prices="any=1/1") as ratchet,
    ):
        lead = Supervisor("lead", WORKERS, plan="any", ratchet=ratchet)
        done = supervised(lead, "A report on owls")
        asked = [each.text for each in server.asked]
    assert "- research: finds facts" in asked[0]
    assert "facts about owls" in asked[1]
    assert done.answer == "the report is written"
    assert done.run.results["report"] == "Report: facts about owls"


def test_a_team_without_money_asks_no_model_that_costs_some(home: Path) -> None:
    pytest.importorskip("pydantic_ai", reason="needs the extra `model`")
    from ratchet.testing.model_server import ModelServer

    with ModelServer() as server, Ratchet(home, model_base_url=server.openai_url, model_prices="any=1/1") as ratchet:
        lead = Supervisor("lead", WORKERS, plan="any", budget=TeamBudget(usd=0.0), ratchet=ratchet)
        with pytest.raises(Refused):
            supervised(lead, "A report on owls")
        assert not server.asked
