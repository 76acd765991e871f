"""The evolve loop: what is proposed, screened, raced, kept and reverted, and that all of it is written down."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ratchet.cli import show, show_evolve
from ratchet.errors import Conflict, NotFound, Refused, UsageError
from ratchet.evolving.candidate import Evolution
from ratchet.evolving.job import Job, ProposalJob, Proposed
from ratchet.evolving.loop.standing import Archived
from ratchet.evolving.request import EvolveAsked, EvolveMeans
from ratchet.healing.landing.destination import Landing
from ratchet.records import Json
from ratchet.sandbox.command import FileChange
from ratchet.store.timeline import events
from ratchet.testing.evolving import SKILLS, Play, SyntheticMeasure, skills_text, synthetic_benchmark
from support.evolving import Ring, to


@pytest.fixture
def ring(tmp_path: Path) -> Iterator[Ring]:
    made = Ring(tmp_path)
    yield made
    made.runtime.close()


# -- keep or revert ----------------------------------------------------------------------------------------------------


def test_a_true_gain_is_kept_and_a_loss_and_a_no_op_are_reverted(ring: Ring) -> None:
    ended = ring.evolve(to(every=0.2), to(every=0.501), to(every=0.95))
    assert ended.state == "ended"
    assert ring.states(ended) == ["baseline", "reverted", "reverted", "kept"]
    baseline, worse, same, better = ring.candidates(ended)
    assert ended.incumbent == better.id
    assert better.e_value >= 1 / better.level
    assert worse.mean < 0 < better.mean
    assert "not proven better" in same.reason
    assert all(each.incumbent == baseline.id for each in (worse, same, better))


def test_what_is_kept_is_built_upon_and_alternatives_follow_a_revert(ring: Ring) -> None:
    ended = ring.evolve(to(every=0.8), to(every=0.1), to(every=0.99))
    first, second, third = ring.candidates(ended)[1:]
    assert second.parent == first.id
    assert third.parent == first.id
    asked = ring.proposer.jobs[2]
    assert [(each.n, each.state) for each in asked.tried] == [(1, "kept"), (2, "reverted")]
    assert "not proven better" in asked.tried[1].reason


def test_the_folder_of_the_agent_is_never_touched(ring: Ring) -> None:
    before = (Path(ring.agent.folder) / SKILLS).read_text()
    ring.evolve(to(every=0.95))
    assert (Path(ring.agent.folder) / SKILLS).read_text() == before
    assert [each.name for each in Path(ring.agent.folder).iterdir()] == [SKILLS]


def test_the_proposer_is_told_the_weakest_dev_tasks_and_what_keeps_failing(tmp_path: Path) -> None:
    ring = Ring(tmp_path, {"*": 0.5, "dev-0": 1.0, "dev-1": 0.0})
    ring.evolve(to(every=0.1))
    job = ring.proposer.jobs[0]
    assert [(each.task.id, each.score, each.runs) for each in job.weakest] == [("dev-1", 0.0, 2)]
    assert {each.task.split for each in job.weakest} == {"dev"}
    assert [(each.signature, each.count) for each in job.patterns] == [("v1:0000000000000001", 2)]
    ring.runtime.close()


def test_decisions_are_made_on_gate_tasks_only_and_sealed_ones_are_met_once(ring: Ring) -> None:
    ended = ring.evolve(to(every=0.95), to(every=0.3), repeats=5)
    made = ring.book.evaluations(ended.id)
    raced = [each for each in made if each.task.startswith("gate")]
    assert len(raced) == 2 * sum(each.pairs for each in ring.candidates(ended))
    sealed = Counter((each.candidate, each.task) for each in made if each.task.startswith("sealed"))
    versions = {ring.candidates(ended)[0].id, ended.incumbent}
    assert {version for version, _ in sealed} == versions
    assert all(sealed[ended.incumbent, f"sealed-{n}"] == 5 for n in range(4))


def test_the_report_sets_the_winner_beside_chance_and_more_tries(ring: Ring) -> None:
    report = ring.evolve(to(every=1.0), benchmark=synthetic_benchmark(sealed=40)).report
    assert report is not None
    assert report.winner == 1.0
    assert report.baseline == pytest.approx(0.5, abs=0.15)
    assert report.gain == pytest.approx(report.winner - report.baseline)
    assert report.low <= report.gain <= report.high
    assert report.noise is not None
    assert 0 < report.noise < 0.3
    assert report.best_of_n is not None
    assert report.best_of_n > report.baseline
    assert report.n >= 1
    assert report.claimed > 0


def test_nothing_kept_leaves_the_sealed_tasks_unseen(ring: Ring) -> None:
    ended = ring.evolve(to(every=0.3))
    assert ended.report is None
    assert "nothing was proven better" in ended.reason
    assert not [each for each in ring.book.evaluations(ended.id) if each.task.startswith("sealed")]


def test_incumbent_and_candidate_are_run_fresh_for_every_pair(ring: Ring) -> None:
    ended = ring.evolve(to(every=0.5001), to(every=0.5002))
    raced = [each for each in ring.book.evaluations(ended.id) if each.task.startswith("gate")]
    baseline = ring.candidates(ended)[0].id
    assert len({(each.task, each.seed) for each in raced if each.candidate == baseline}) == len(raced) / 2
    pairs = Counter((each.task, each.seed) for each in raced)
    assert set(pairs.values()) == {2}


# -- several at once ---------------------------------------------------------------------------------------------------


def test_candidates_of_a_batch_share_the_runs_of_the_incumbent(ring: Ring) -> None:
    ended = ring.evolve(to(every=0.1), to(every=0.2), to(every=0.3), batch=3)
    raced = Counter(each.candidate for each in ring.book.evaluations(ended.id) if each.task.startswith("gate"))
    baseline, *racers = ring.candidates(ended)
    assert raced[baseline.id] == max(each.pairs for each in racers)
    assert {each.batch for each in racers} == {1}


UNSOLVED = {"*": 0.0} | {f"gate-{n}": 0.0 for n in range(10)}


def solving(*numbers: int) -> Play:
    def play(job: ProposalJob) -> Proposed:
        text = job.workspace.read(SKILLS).decode()
        for number in numbers:
            text = text.replace(f'"gate-{number}": 0.0', f'"gate-{number}": 1.0')
        job.workspace.write(SKILLS, text.encode())
        return Proposed(status="proposed", hypothesis=f"solves {numbers}")

    return play


def test_a_crosser_that_was_not_the_best_races_again_on_top_of_the_best(tmp_path: Path) -> None:
    ring = Ring(tmp_path, UNSOLVED)
    ended = ring.evolve(solving(0, 1, 2, 3, 4), solving(6, 7, 8), batch=2)
    _, best, other, again = ring.candidates(ended)
    assert (best.state, other.state, again.state) == ("kept", "reverted", "kept")
    assert again.retry_of == other.n
    assert again.parent == best.id
    assert again.batch == 2
    assert "goes on as candidate 3" in other.reason
    files = {each.path: each.after for each in ring.book.changes(ended.id)}
    solved = json.loads(files[SKILLS] or b"")
    assert [solved[f"gate-{n}"] for n in range(10)] == [1.0] * 5 + [0.0] + [1.0] * 3 + [0.0]
    ring.runtime.close()


def test_crossers_of_one_race_go_on_together_as_one_candidate(tmp_path: Path) -> None:
    ring = Ring(tmp_path, UNSOLVED)
    ended = ring.evolve(solving(0, 1, 2, 3, 4), solving(6, 7), solving(8, 9), batch=3)
    _, best, one, other, together = ring.candidates(ended)
    assert [each.state for each in (best, one, other, together)] == ["kept", "reverted", "reverted", "kept"]
    assert together.merges == (one.n, other.n)
    assert together.parent == best.id
    assert "goes on as candidate 4" in other.reason
    files = {each.path: each.after for each in ring.book.changes(ended.id)}
    solved = json.loads(files[SKILLS] or b"")
    assert [solved[f"gate-{n}"] for n in range(10)] == [1.0] * 5 + [0.0] + [1.0] * 4
    ring.runtime.close()


def test_a_merged_candidate_that_is_not_proven_falls_apart_and_a_near_miss_waits_for_a_lower_bar(ring: Ring) -> None:
    ended = ring.evolve(to(every=0.5), to(every=0.5), proposals=40)
    held = Archived(ring.runtime.store, ended)
    first, *_ = held.all
    usual: dict[str, Any] = {"state": "reverted", "batch": 1, "pairs": 60, "incumbent": first.id, "revision": 0}
    abouts: dict[str, dict[str, Any]] = {
        "best": {"state": "kept", "peak": 900.0},
        "one": {"peak": 500.0},
        "other": {"peak": 450.0},
        "near": {"peak": 250.0},
        "far": {"peak": 30.0},
        "cheat": {"peak": 250.0, "reason": "refused: it wrote the answers"},
    }
    made = {
        name: held.keep(replace(first, n=held.next_n, id=f"v-{name}", **(usual | about)))
        for name, about in abouts.items()
    }
    merges = (made["one"].n, made["other"].n)
    vain: dict[str, Any] = {"batch": 2, "retry_of": merges[0], "merges": merges, "incumbent": "v-best"}
    held.keep(replace(first, n=held.next_n, id="v-vain", **(usual | vain)))
    again = {each.id: each for each in held.wait_again()}
    assert again.keys() == {"v-one", "v-other", "v-near"}
    assert all(each.state == "waiting" for each in again.values())
    assert [again[name].alone for name in ("v-one", "v-other", "v-near")] == [True, True, False]
    assert "the bar has fallen to 200" in again["v-near"].reason


def test_levels_of_a_batch_are_by_the_keeps_before_it(ring: Ring) -> None:
    ended = ring.evolve(to(every=0.9), to(every=0.2), to(every=0.3), to(every=0.99))
    levels = [each.level for each in ring.candidates(ended)[1:]]
    assert levels == pytest.approx([0.1 / 4, 0.2 / 4, 0.2 / 4, 0.2 / 4])


@pytest.mark.parametrize("batch", [1, 3])
def test_threads_and_processes_come_to_the_same_decisions(tmp_path: Path, batch: int) -> None:
    script = (to(every=0.2), to(every=0.7), to(every=0.501), to(every=0.9), to(every=0.1), to(every=0.97))
    found = []
    for executor, parallel in (("threads", 1), ("threads", 2), ("threads", 4), ("processes", 2)):
        ring = Ring(tmp_path / f"{executor}{parallel}")
        measure = SyntheticMeasure(unmeasured=0.02, seconds=0.001 if parallel > 1 else 0.0)
        ended = ring.evolve(*script, batch=batch, parallel=parallel, executor=executor, measure=measure)
        names = ("n", "id", "state", "parent", "batch", "retry_of", "level", "e_value", "pairs", "mean", "unmeasured")
        found.append([[getattr(each, name) for name in names] for each in ring.candidates(ended)])
        ring.runtime.close()
    assert found[0] == found[1] == found[2] == found[3]


# -- screens -----------------------------------------------------------------------------------------------------------


def test_only_what_is_declared_may_change_and_what_else_did_is_named(ring: Ring) -> None:
    ended = ring.evolve({"harness.py": "x = 1\n", **to(every=0.99)}, {"ratchet-agent.toml": ""})
    _, first, second = ring.candidates(ended)
    assert (first.state, second.state) == ("screened_out", "screened_out")
    assert "harness.py" in first.reason
    assert SKILLS in first.reason
    assert "ratchet-agent.toml" in second.reason
    assert ended.runs == 4  # the baseline, and nothing else


@pytest.mark.parametrize(
    ("path", "text"), [("a.py", "def f(:\n"), ("a.json", "{"), ("a.toml", "x = "), ("a.py", "\x00")]
)
def test_what_does_not_parse_is_not_measured(tmp_path: Path, path: str, text: str) -> None:
    ring = Ring(tmp_path)
    ring.agent = replace(ring.agent, changes=("*",))
    ended = ring.evolve({path: text})
    assert ring.states(ended) == ["baseline", "screened_out"]
    assert path in ring.candidates(ended)[1].reason
    ring.runtime.close()


def test_a_version_that_was_tried_is_not_tried_again(ring: Ring) -> None:
    ended = ring.evolve(to(every=0.2), to(every=0.2), to(every=0.5), {})
    reasons = [each.reason for each in ring.candidates(ended)]
    assert ring.states(ended) == ["baseline", "reverted", "screened_out", "screened_out", "screened_out"]
    assert reasons[2] == "the same version as candidate 1, which is reverted"
    assert reasons[3] == reasons[4] == "it changed nothing"


def test_a_candidate_that_breaks_a_smoke_task_is_not_raced(ring: Ring) -> None:
    bench = synthetic_benchmark(smoke=1)
    ended = ring.evolve(to(every=0.99, gate_0=0.0), to(every=0.99), benchmark=bench)
    first, second = ring.candidates(ended)[1:]
    assert first.state == "screened_out"
    assert "smoke task gate-0" in first.reason
    assert second.state == "kept"


def test_a_smoke_task_that_the_incumbent_cannot_do_either_breaks_nothing(tmp_path: Path) -> None:
    ring = Ring(tmp_path, {"*": 0.5, "gate-0": 0.0})
    ended = ring.evolve(to(every=0.99, gate_0=0.0), benchmark=synthetic_benchmark(smoke=1))
    assert ring.states(ended) == ["baseline", "kept"]
    ring.runtime.close()


def test_the_agents_own_check_stands_before_any_evaluation(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    ring.agent = replace(ring.agent, own_check=("sh", "-c", f"! grep -q 0.2 {SKILLS} || {{ echo no; exit 3; }}"))
    ended = ring.evolve(to(every=0.2), to(every=0.95))
    first, second = ring.candidates(ended)[1:]
    assert first.state == "screened_out"
    assert first.reason == "its own check ends with 3: no"
    assert second.state == "kept"
    ring.agent = replace(ring.agent, own_check=("false",))
    failed = ring.evolve(to(every=0.95))
    assert failed.state == "failed"
    assert "as it is does not pass its own check" in failed.reason
    ring.runtime.close()


def test_settings_are_candidates_too_and_only_declared_values_are(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    knob: dict[str, Json] = {"type": "range", "low": 0, "high": 9, "integer": True, "default": 1}
    ring.agent = replace(ring.agent, knobs={"tries": knob}, settings={"tries": 1})

    def setting(value: object) -> Play:
        return lambda _job: Proposed(status="proposed", settings={"tries": value})  # type: ignore[dict-item]

    ended = ring.evolve(
        setting(4), setting(99), setting(1), lambda _job: Proposed(status="proposed", settings={"x": 1})
    )
    _, four, too_many, same, unknown = ring.candidates(ended)
    assert four.settings == {"tries": 4}
    assert four.batch == 1
    assert "99 is out of range" in too_many.reason
    assert same.reason == "it changed nothing"
    assert "no declared knob; known: tries" in unknown.reason
    ring.runtime.close()


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def test_a_candidate_that_meddles_is_refused_and_named(ring: Ring) -> None:
    ended = ring.evolve(to(every=0.99, meddles=["wrote to /graders/test_held.py"]), to(every=0.9))
    first, second = ring.candidates(ended)[1:]
    assert first.state == "reverted"
    assert first.reason == "refused: wrote to /graders/test_held.py"
    assert second.state == "kept"


def test_what_the_agent_did_before_it_was_changed_is_nobodys_cheat(tmp_path: Path) -> None:
    ring = Ring(tmp_path, {"*": 0.5, "meddles": ["tried to write /root/.cache/x1: EROFS"]})
    ended = ring.evolve(to(every=0.99, meddles=["tried to write /root/.cache/x2: EROFS"]))
    assert ring.states(ended) == ["baseline", "kept"]
    ring.runtime.close()


def test_a_proposer_without_ideas_ends_the_run(ring: Ring) -> None:
    ended = ring.evolve(lambda _job: Proposed(status="nothing", reason="tired"), proposals=50)
    assert ended.state == "ended"
    assert ring.states(ended) == ["baseline"] + ["screened_out"] * 5
    assert "no idea 5 times in a row; the last time: no proposal: tired" in ended.reason


def test_a_proposer_that_breaks_costs_an_asking_and_one_that_refuses_ends_the_run(ring: Ring) -> None:
    def broken(_job: ProposalJob) -> Proposed:
        raise ValueError("oops")

    ended = ring.evolve(broken, to(every=0.95))
    assert ring.states(ended) == ["baseline", "screened_out", "kept"]
    assert "ValueError: oops" in ring.candidates(ended)[1].reason
    refused = ring.evolve(lambda _job: Proposed(status="refused", reason="name a model"))
    assert refused.state == "failed"
    assert "name a model" in refused.reason


def test_where_nothing_can_be_measured_the_run_says_so(ring: Ring) -> None:
    ended = ring.evolve(to(every=0.95), measure=SyntheticMeasure(unmeasured=1.0))
    assert ended.state == "failed"
    assert "nothing could be measured: the machine failed" in ended.reason


def test_pairs_that_could_not_be_measured_are_none(ring: Ring) -> None:
    ended = ring.evolve(to(every=0.95), measure=SyntheticMeasure(unmeasured=0.2))
    kept = ring.candidates(ended)[1]
    assert kept.state == "kept"
    assert kept.unmeasured > 0
    raced = [each for each in ring.book.evaluations(ended.id) if each.task.startswith("gate")]
    assert len(raced) == 2 * (kept.pairs + kept.unmeasured)


def test_a_measure_that_raises_spoils_its_evaluation_and_not_the_run(ring: Ring) -> None:
    ended = ring.evolve(to(every=0.95), measure=Breaking())
    assert ring.states(ended) == ["baseline", "kept"]


class Breaking:
    """Raises on some runs."""

    def __call__(self, job: Job, /) -> object:
        if job.seed % 10 == 0:
            raise RuntimeError("a fault of the measure")
        return SyntheticMeasure()(job)


def test_a_version_that_was_changed_in_its_folder_is_noticed(ring: Ring) -> None:
    def measure(job: Job, /) -> object:
        made = SyntheticMeasure()(job)
        if job.task.id.startswith("gate"):
            place = Path(job.version, SKILLS)
            place.chmod(0o644)
            place.write_text(skills_text({"*": 1.0}))
        return made

    ended = ring.evolve(to(every=0.5001), measure=measure)
    assert ended.state == "failed"
    assert "the files of version" in ended.reason
    assert ring.candidates(ended)[1].state == "reverted"
    assert ring.candidates(ended)[1].reason.startswith("refused:")


def test_an_evaluation_taken_out_of_the_log_is_noticed(ring: Ring) -> None:
    def measure(job: Job, /) -> object:
        ring.runtime.store.delete_before("evaluations", "at", 1e12)
        return SyntheticMeasure()(job)

    ended = ring.evolve(to(every=0.5001), measure=measure)
    assert ended.state == "failed"
    assert "the log of evaluations changed" in ended.reason


# -- budget, stop and resume -------------------------------------------------------------------------------------------


def test_money_is_set_aside_before_an_evaluation_and_never_overspent(ring: Ring) -> None:
    script = [to(every=0.5 + n / 1_000) for n in range(1, 40)]
    ended = ring.evolve(*script, usd=1.0, parallel=3, measure=SyntheticMeasure(cost_usd=0.004))
    assert ended.state == "budget"
    assert ended.cost_usd <= 1.0
    assert ended.cost_usd == pytest.approx(0.004 * ended.runs)
    assert "undecided" in ring.states(ended)
    more = re.search(rf"to go: --resume {ended.id} with --budget-usd ([\d.]+) would see them all", ended.reason)
    assert more, ended.reason
    assert float(more[1]) > 1.0


def test_a_budget_that_pays_for_no_more_tries_still_reports_the_winner(ring: Ring) -> None:
    script = [to(every=0.95), *(to(every=0.95 - n / 1_000) for n in range(1, 60))]
    bench = synthetic_benchmark(sealed=40)
    ended = ring.evolve(*script, usd=2.0, benchmark=bench, measure=SyntheticMeasure(cost_usd=0.004))
    assert ended.state == "budget"
    assert ended.report is not None
    assert ended.report.runs == 2 * 3 * 40
    assert ended.cost_usd <= 2.0


def test_a_run_out_of_money_goes_on_with_more(ring: Ring) -> None:
    script = [to(every=0.5 + n / 1_000) for n in range(1, 4)]
    whole = Ring(ring.folder / "whole")
    expected = whole.evolve(*script, usd=100.0, measure=SyntheticMeasure(cost_usd=0.004))
    ended = ring.evolve(*script, usd=0.5, measure=SyntheticMeasure(cost_usd=0.004))
    assert ended.state == "budget"
    again = ring.resume(ended.id, script, usd=100.0)
    assert again.state == "ended"
    assert ring.states(again) == whole.states(expected)
    assert again.runs == expected.runs
    assert [each.pairs for each in ring.candidates(again)] == [each.pairs for each in whole.candidates(expected)]
    whole.runtime.close()


def test_part_of_the_budget_is_kept_for_the_sealed_tasks(ring: Ring) -> None:
    script = [to(every=0.95), *(to(every=0.95 - n / 1_000) for n in range(1, 60))]
    ended = ring.evolve(*script, usd=2.0, measure=SyntheticMeasure(cost_usd=0.004))
    assert ended.state == "budget"
    assert ended.report is not None
    assert ended.report.gain > 0
    assert "a new run with --budget-usd" in ended.reason
    with pytest.raises(Refused, match="sealed tasks are used once"):
        ring.resume(ended.id, script, usd=100.0)


def test_stopping_once_lets_what_is_under_way_end_and_the_run_goes_on_later(ring: Ring) -> None:
    script = [to(every=0.3), to(every=0.9)]
    whole = Ring(ring.folder / "whole")
    expected = whole.evolve(*script)
    asked = iter(range(10**9))
    ended = ring.evolve(*script, stopping=lambda: next(asked) > 150)
    assert ended.state == "cancelled"
    assert 0 < ended.runs < expected.runs
    before = {(each.candidate, each.task, each.seed) for each in ring.book.evaluations(ended.id)}
    log = ring.folder / "log"
    ring.proposer.script = script
    again = ring.book.resume(ended.id, ring.means(measure=SyntheticMeasure(log=str(log))))
    made = {tuple(json.loads(line)) for line in log.read_text().splitlines()}
    assert again.state == "ended"
    assert not made & before
    assert again.runs == len(made | before) == expected.runs
    assert [each.id for each in ring.candidates(again)] == [each.id for each in whole.candidates(expected)]
    whole.runtime.close()


def test_only_one_process_moves_a_run(ring: Ring) -> None:
    def measure(job: Job, /) -> object:
        with pytest.raises(Conflict, match="another process"):
            ring.book.resume(job.run, ring.means())
        assert [ring.book.show(job.run).state, *(each.state for each in ring.book.list())] == ["running"] * 2
        return SyntheticMeasure()(job)

    assert ring.evolve(to(every=0.3), measure=measure, cap=3).state == "ended"


def test_a_log_is_told_how_the_race_stands_while_nothing_is_decided(
    ring: Ring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", log := io.StringIO())
    monkeypatch.setattr(show, "_TICK_S", 0.01)

    ring.evolve(to(every=0.3), cap=3)
    with show_evolve.watching(quiet=False) as told:
        told(next(each for each in ring.moments if each.what == "evaluated" and each.racers))
        for _ in range(3_000):
            if " evaluations, " in log.getvalue():
                break
            time.sleep(0.01)
    assert re.search(r"\d+ evaluations, 0.00 of [\d.]+ USD  #1 .* pairs", log.getvalue())


def test_a_run_whose_process_is_gone_is_told_as_killed_and_goes_on(
    ring: Ring, capsys: pytest.CaptureFixture[str]
) -> None:
    class Killed(BaseException):
        """What no run answers, as it answers no SIGKILL."""

    def measure(job: Job, /) -> object:
        raise Killed

    with pytest.raises(Killed):
        ring.evolve(to(every=0.3), measure=measure)
    (found,) = ring.book.list()
    assert (found.state, ring.book.show(found.id).state) == ("killed", "killed")
    show_evolve.evolution(found, ring.candidates(found), diffs=False)
    assert f"Next: ratchet evolve --resume {found.id}" in capsys.readouterr().out
    show_evolve.evolution(replace(found, state="running"), ring.candidates(found), diffs=False)
    assert "--resume" not in capsys.readouterr().out
    assert ring.resume(found.id, [to(every=0.3)]).state == "ended"


def test_a_run_that_has_ended_is_not_resumed_and_an_unknown_one_is_named(ring: Ring) -> None:
    ended = ring.evolve(to(every=0.3))
    with pytest.raises(Refused, match="has ended"):
        ring.resume(ended.id, [{}])
    with pytest.raises(NotFound, match="ratchet evolve list"):
        ring.resume("none", [{}])


def test_what_makes_no_sense_is_refused_before_anything_runs(ring: Ring) -> None:
    ring.agent = replace(ring.agent, changes=())
    with pytest.raises(UsageError, match="nothing of the agent may change"):
        ring.evolve({})
    ring.agent = replace(ring.agent, changes=("*",))
    with pytest.raises(UsageError, match="no gate tasks"):
        ring.evolve({}, benchmark=synthetic_benchmark(gate=0))
    with pytest.raises(UsageError, match="no settings to search"):
        ring.book.run(EvolveAsked(agent=ring.agent, benchmark=synthetic_benchmark()), EvolveMeans())
    assert ring.book.list() == []


def test_every_step_is_an_event(ring: Ring) -> None:
    ended = ring.evolve(to(every=0.95), {"x": "y"})
    store = ring.runtime.store
    assert [each["verb"] for each in events(store, ended.id)] == ["started", "kept", "ended"]
    assert [each["verb"] for each in events(store, f"{ended.id}/1")] == ["proposed", "racing", "kept"]
    assert [each["verb"] for each in events(store, f"{ended.id}/2")] == ["screened_out"]


# -- explore -----------------------------------------------------------------------------------------------------------


def test_exploring_draws_parents_from_the_archive_and_promotes_by_the_gate_alone(ring: Ring) -> None:
    script = [to(every=0.45 + n / 1_000) for n in range(12)]
    ended = ring.evolve(*script, explore=True, cap=40)
    candidates = ring.candidates(ended)
    assert len({each.parent for each in candidates[1:]}) > 2
    assert {each.incumbent for each in candidates[1:] if each.batch} == {candidates[0].id}
    assert "kept" not in ring.states(ended)


# -- take it -----------------------------------------------------------------------------------------------------------


def kept_run(ring: Ring) -> Evolution:
    return ring.evolve(to(every=0.95))


def test_the_result_is_a_patch_that_git_takes(ring: Ring) -> None:
    ended = kept_run(ring)
    _, text = ring.book.apply(ended.id)
    folder = Path(ring.agent.folder)
    subprocess.run(["git", "apply", "-p1"], cwd=folder, input=text.encode(), check=True)
    assert json.loads((folder / SKILLS).read_text()) == {"*": 0.95}


def test_applying_keeps_what_a_person_edited_and_revert_undoes_just_the_result(ring: Ring) -> None:
    ended = kept_run(ring)
    place = Path(ring.agent.folder, SKILLS)
    original = place.read_text()
    place.write_text(original + "\n")
    assert ring.book.apply(ended.id, Landing(to="apply"))[0].applied == "apply"
    assert place.read_text() == skills_text({"*": 0.95}) + "\n"
    assert ring.book.revert(ended.id).applied == ""
    assert place.read_text() == original + "\n"
    with pytest.raises(Refused, match="not applied"):
        ring.book.revert(ended.id)


def test_where_both_changed_the_same_lines_nothing_is_written(ring: Ring) -> None:
    ended = kept_run(ring)
    place = Path(ring.agent.folder, SKILLS)
    place.write_text(skills_text({"*": 0.123}))
    with pytest.raises(Conflict):
        ring.book.apply(ended.id, Landing(to="apply"))
    assert place.read_text() == skills_text({"*": 0.123})


def test_the_result_goes_onto_a_branch_and_leaves_the_work_tree_alone(ring: Ring) -> None:
    ended = kept_run(ring)
    folder = Path(ring.agent.folder)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    ring.book.apply(ended.id, Landing(to="branch", name="better"))
    shown = subprocess.run(["git", "show", f"better:{SKILLS}"], cwd=folder, check=True, capture_output=True)
    assert json.loads(shown.stdout) == {"*": 0.95}
    assert json.loads((folder / SKILLS).read_text()) == {"*": 0.5}


def test_settings_go_into_the_agents_declaration(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    declaration = Path(ring.agent.folder, "ratchet-agent.toml")
    declaration.write_text('command = "true"\n[settings]\ntries = 1  # few\n')
    knob: dict[str, Json] = {"type": "range", "low": 0, "high": 9, "integer": True, "default": 1}
    ring.agent = replace(ring.agent, knobs={"tries": knob}, settings={"tries": 1})

    def both(job: ProposalJob) -> Proposed:
        job.workspace.write(SKILLS, skills_text({"*": 0.95}).encode())
        return Proposed(status="proposed", settings={"tries": 4})

    ended = ring.evolve(both)
    assert [each.path for each in ring.book.changes(ended.id)] == [SKILLS, "ratchet-agent.toml"]
    ring.book.apply(ended.id, Landing(to="apply"))
    assert declaration.read_text() == 'command = "true"\n[settings]\ntries = 4  # few\n'
    ring.runtime.close()


def test_a_run_that_kept_nothing_has_nothing_to_apply(ring: Ring) -> None:
    ended = ring.evolve(to(every=0.3))
    with pytest.raises(NotFound, match="kept nothing"):
        ring.book.apply(ended.id)
    changes = ring.book.changes(ended.id, 1)
    assert isinstance(changes[0], FileChange)
    with pytest.raises(NotFound, match="no candidate 9"):
        ring.book.changes(ended.id, 9)
