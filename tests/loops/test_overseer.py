"""The overseer sees what goes nowhere, says so, goes further where that does not help, and notes the effect."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from ratchet import Ratchet
from ratchet.failures.circles import RecentCall
from ratchet.healing import rows as episodes
from ratchet.healing.episode import Budget, Task
from ratchet.lessons import told
from ratchet.ports import Notice
from ratchet.records import Json
from ratchet.runtime import Runtime
from ratchet.team import rows as teams
from ratchet.team.overseer import rows
from ratchet.team.overseer.assembly import overseer_of
from ratchet.team.overseer.judging import Action, Sight, Sighted, SightLimits, judge, next_action, next_look_s
from ratchet.team.overseer.overseer import Overseer, WatchSource
from ratchet.team.overseer.sources import CodingSessions, Evolutions, Healings, TeamRuns, as_told
from ratchet.testing.loop_reports import LoopReport, reports
from ratchet.testing.model_server import ModelServer
from ratchet.testing.wire import Reply


@pytest.mark.parametrize("report", reports(), ids=lambda report: report.name)
def test_a_loop_that_somebody_reported_is_told_by_its_fourth_round(report: LoopReport) -> None:
    seen = [as_told(call) for call in report.calls]
    sights = [Sight(kind="session", id="s", calls=seen[:n]) for n in range(1, 4 * report.a_round + 1)]
    assert any(judge(each, now=0.0).judgement == "looping" for each in sights)


def test_a_limit_that_is_passed_and_silence_are_seen() -> None:
    def judged(**given: object) -> Sighted:
        return judge(Sight(kind="team run", id="r", began_at=100.0, **given), now=1_000.0)  # type: ignore[arg-type]

    assert judged(usd=2.0, limits=SightLimits(usd=1.0)).reason == "it has cost 2.00 USD of 1"
    assert judged(tokens=11, limits=SightLimits(tokens=10)).judgement == "over_budget"
    assert judged(limits=SightLimits(seconds=899)).judgement == "over_budget"
    assert judged(last_at=200.0, limits=SightLimits(quiet_s=799)).judgement == "stuck"
    assert judged(last_at=900.0, limits=SightLimits(quiet_s=799)).judgement == "progress"


def test_progress_is_looked_at_less_and_less_and_trouble_at_once() -> None:
    fine, bad = Sighted(judgement="progress"), Sighted(judgement="looping")
    paces = [5.0]
    for _ in range(8):
        paces.append(next_look_s(fine, paces[-1], moved=True))
    assert paces == [5, 10, 20, 40, 80, 160, 300, 300, 300]
    assert (next_look_s(fine, 40, moved=False), next_look_s(bad, 300, moved=True)) == (40, 5)


def test_the_mildest_action_that_is_left_comes_next() -> None:
    every: tuple[Action, ...] = ("tell", "redirect", "pause", "cancel")
    assert next_action((), every, every) == "tell"
    assert next_action(("tell",), ("tell", "cancel"), every) == "cancel"
    assert next_action(("tell",), ("tell", "cancel"), every[:1]) is None
    assert next_action(("tell", "redirect", "pause", "cancel"), every, every) is None


class Scripted:
    """Work that is as it is set to be."""

    def __init__(self) -> None:
        self.calls: list[RecentCall | None] = []
        self.acted: list[Action] = []
        self.runs = True

    def sights(self, now: float) -> list[Sight]:
        can: frozenset[Action] = frozenset(("tell", "redirect", "pause", "cancel"))
        seen = Sight(kind="session", id="s", calls=self.calls, steps=len(self.calls), began_at=1.0, can=can)
        return [seen] if self.runs else []

    def act(self, sight: Sight, action: Action, judged: Sighted) -> str:
        self.acted.append(action)
        return f"{action}: {judged.reason}"

    def fail(self, times: int) -> None:
        for _ in range(times):
            turn = len(self.calls)
            given: Json = {"command": "npm run build"}
            self.calls.append(RecentCall("Bash", given, "sh: vite: not found in this place", failed=True, turn=turn))


def test_what_does_not_help_is_followed_by_the_next_step_and_each_has_its_effect(home: Path) -> None:
    work, said = Scripted(), list[Notice]()
    with Ratchet(home) as ratchet:
        store = ratchet._runtime.store
        every: tuple[Action, ...] = ("tell", "redirect", "pause", "cancel")
        overseer = Overseer(lambda: store, [work], allowed=every, tell=said.append)
        now = 1_000.0
        for _ in range(9):
            work.fail(1)
            overseer.look(now)
            now += 6.0
        assert work.acted == ["tell", "redirect", "pause", "cancel"]
        done = rows.interventions(store)[::-1]
        assert [each.effect for each in done[:3]] == ["it went on all the same"] * 3
        assert done[0].said == "tell: the same failure 3 times"
        assert done[0].judgement == "looping"
        work.runs = False
        overseer.look(now)
        assert rows.interventions(store)[0].effect == "it has ended"
    assert said[0].title == "session s is looping"


def test_work_that_goes_another_way_is_left_alone_and_that_is_the_effect(home: Path) -> None:
    work = Scripted()
    with Ratchet(home) as ratchet:
        store = ratchet._runtime.store
        overseer = Overseer(lambda: store, [work])
        work.fail(3)
        overseer.look(1_000.0)
        work.calls.append(RecentCall("Read", {"file_path": "/p/package.json"}, '{"scripts": {}}', turn=9))
        for turn in range(10, 14):
            work.calls.append(
                RecentCall("Read", {"file_path": f"/p/{turn}.ts"}, f"file {turn} of the project", turn=turn)
            )
        overseer.look(1_006.0)
        (done,) = rows.interventions(store)
    assert (work.acted, done.effect) == (["tell"], "it went another way: progress")


def test_only_what_is_allowed_is_done_then_a_person_is_asked_once(home: Path) -> None:
    work, said = Scripted(), list[Notice]()
    with Ratchet(home) as ratchet:
        overseer = Overseer(lambda: ratchet._runtime.store, [work], tell=said.append)
        for look in range(15):
            work.fail(1)
            overseer.look(1_000.0 + 6 * look)
    assert work.acted == ["tell", "redirect"]
    assert [each.text.partition("; ")[2] for each in said] == [
        "it was decided to tell",
        "it was decided to redirect",
        "nothing is left that the overseer may do: have a look",
    ]


def test_a_second_opinion_may_hold_back_all_but_a_word(home: Path) -> None:
    work = Scripted()
    with Ratchet(home) as ratchet:
        store = ratchet._runtime.store
        overseer = Overseer(lambda: store, [work], opinion=lambda sight, judged: (False, "it is waiting for a deploy"))
        for look in range(10):
            work.fail(1)
            overseer.look(1_000.0 + 6 * look)
        done = rows.interventions(store)[::-1]
    assert work.acted == ["tell"]
    assert (done[1].action, done[1].opinion) == (None, "it is waiting for a deploy")


# -- real sources ------------------------------------------------------------------------------------------------------


def transcript(path: Path, times: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [{"type": "user", "message": {"role": "user", "content": "Build it"}, "sessionId": path.stem}]
    for number in range(times):
        use: Json = {"type": "tool_use", "id": f"toolu_{number:026}", "name": "Bash", "input": {"command": "make app"}}
        error = "Exit code 2\nmake: *** No rule to make target 'app'.  Stop."
        result: Json = {"type": "tool_result", "tool_use_id": f"toolu_{number:026}", "content": error, "is_error": True}
        lines += [
            {"type": "assistant", "message": {"role": "assistant", "content": [use]}, "sessionId": path.stem},
            {"type": "user", "message": {"role": "user", "content": [result]}, "sessionId": path.stem},
        ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_session_of_a_coding_agent_gets_a_note_once(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "user/.claude/projects/p/6f9a1c1e-0000-4000-8000-000000000001.jsonl"
    transcript(path, 4)
    sessions = CodingSessions(home, {"HOME": str(tmp_path / "user")})
    with Ratchet(home) as ratchet:
        overseer = Overseer(lambda: ratchet._runtime.store, [sessions])
        (done,) = overseer.look()
        assert overseer.look() == []  # not due
    assert (done.subject, done.action) == (f"session {path.stem}", "tell")
    note = told.take(str(home), path.stem)
    assert note == done.said
    assert "the same failure for the 4th time: `make app`" in note
    assert told.take(str(home), path.stem) == ""


def test_a_session_that_goes_on_all_the_same_is_paused_only_where_a_person_allowed_it(
    home: Path, tmp_path: Path
) -> None:
    path = tmp_path / "user/.claude/projects/p/6f9a1c1e-0000-4000-8000-000000000001.jsonl"
    transcript(path, 4)
    (sight,) = CodingSessions(home, {"HOME": str(tmp_path / "user")}).sights(time.time())
    assert next_action(("tell", "redirect"), sight.can, {"tell", "redirect"}) is None
    assert next_action(("tell", "redirect"), sight.can, {"tell", "redirect", "pause"}) == "pause"
    CodingSessions(home, {}).act(sight, "pause", judge(sight, time.time()))
    note = told.take(str(home), path.stem)
    assert note.startswith(told.PAUSE)
    assert note.endswith("The overseer ended this turn, since it went on all the same. Say how to go on, and it does.")


def test_a_session_that_rests_since_long_is_not_running(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "user/.claude/projects/p/s.jsonl"
    transcript(path, 4)
    os.utime(path, (time.time() - 3_600,) * 2)
    assert list(CodingSessions(home, {"HOME": str(tmp_path / "user")}).sights(time.time())) == []


def test_a_run_of_a_team_that_stands_still_is_paused_where_that_is_allowed(home: Path) -> None:
    with Ratchet(home) as ratchet:
        store = ratchet._runtime.store
        teams.begin(store, "r", "t", "driver")
        pause: Action = "pause"
        overseer = Overseer(lambda: store, [TeamRuns(lambda: store)], allowed=(pause,))
        assert overseer.look(time.time()) == []
        (done,) = overseer.look(time.time() + 2_000)
        assert (done.judgement, done.action) == ("stuck", "pause")
        assert teams.run(store, "r").asked == "pause"


def test_a_healing_and_an_evolution_that_stand_still_are_told_to_a_person_once(home: Path) -> None:
    said: list[Notice] = []
    with Ratchet(home) as ratchet:
        store = ratchet._runtime.store
        now = time.time()
        task = Task(id="t", check=("true",), folder=str(home))
        episodes.begin(store, task, Budget(seconds=60.0), solver="repair", episode_id="e1")
        store.insert_new("evolutions", [{"id": "v1", "state": "running", "started_at": now, "revision": 1}])
        sources: list[WatchSource] = [Healings(lambda: store), Evolutions(lambda: store)]
        overseer = Overseer(lambda: store, sources, allowed=("tell", "redirect"), tell=said.append)
        for later in (10.0, 1_000.0, 1_100.0):
            assert overseer.look(now + later) == []
    assert [each.title for each in said] == ["task e1 is stuck", "evolution v1 is stuck"]


def test_the_overseer_of_a_home_asks_a_model_before_it_does_more_than_tell(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pydantic_ai", reason="needs the extra `model`")
    path = tmp_path / "user/.claude/projects/p/s.jsonl"
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    says = Reply(text='{"goes_nowhere": false, "why": "it waits for a mirror"}')
    with ModelServer(says) as server, Runtime.open(home=home, model_base_url=server.openai_url) as runtime:
        overseer = overseer_of(runtime, model="any")
        for look, times in enumerate((4, 8, 12)):
            transcript(path, times)
            overseer.look(time.time() + 10 * look)
        done = rows.interventions(runtime.store)[::-1]
        asked = server.asked[0].text
    assert [(each.action, each.opinion) for each in done] == [("tell", ""), (None, "it waits for a mirror")]
    assert "No rule to make target" in asked


def test_without_an_answer_of_the_model_the_rules_stand(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "user/.claude/projects/p/s.jsonl"
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    with Runtime.open(home=home, model_base_url="http://127.0.0.1:9/v1") as runtime:
        overseer = overseer_of(runtime, model="any")
        for look, times in enumerate((4, 8)):
            transcript(path, times)
            overseer.look(time.time() + 10 * look)
        told_first, redirected = rows.interventions(runtime.store)[::-1]
    assert (told_first.action, redirected.action) == ("tell", "redirect")
    assert redirected.opinion.startswith("no second opinion: ")
