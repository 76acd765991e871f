"""Runs over benchmarks: what is written, what is paid, what a second look says."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from ratchet.errors import Conflict, NotFound, RatchetError, Refused, UsageError
from ratchet.evolving.bench.benchmark import Evaluation
from ratchet.evolving.bench.book import BenchAsked, BenchBook, BenchMeans
from ratchet.evolving.job import Job
from ratchet.runtime import Runtime


@dataclass
class Scripted:
    """A measure whose evaluations a function of the job tells; counts what it was asked."""

    said: Callable[[Job], dict[str, object]] = lambda _job: {"score": 1.0}
    asked: list[tuple[str, str, int]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, job: Job, /) -> Evaluation:
        with self.lock:
            self.asked.append((job.candidate, job.task.id, job.seed))
        told = {"result": "passed", "score": 1.0, **self.said(job)}
        if "score" in told and told["result"] == "passed" and float(str(told["score"])) < 1:
            told["result"] = "failed"
        return Evaluation(run=job.run, candidate=job.candidate, task=job.task.id, seed=job.seed, at=1.0, **told)  # type: ignore[arg-type]


@pytest.fixture
def runtime(home: Path) -> Iterator[Runtime]:
    with Runtime.open(home=home) as made:
        yield made


@pytest.fixture
def book(runtime: Runtime, tmp_path: Path) -> BenchBook:
    rows = [
        {
            "task_id": f"t{n}",
            "prompt": f"def f{n}():\n",
            "test": "def check(c):\n    assert c()\n",
            "entry_point": f"f{n}",
        }
        for n in range(6)
    ]
    path = tmp_path / "six.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    made = runtime.benchmarks
    made.import_tasks(str(path))
    return made


@pytest.fixture
def asked(tmp_path: Path) -> BenchAsked:
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "agent.py").write_text("print(1)\n")
    (folder / "ratchet-agent.toml").write_text('command = "python agent.py"\n[settings]\ntone = "warm"\n')
    return BenchAsked(agent=str(folder), bench="six", unsafe=True, cwd=tmp_path)


def test_each_task_is_run_with_each_seed_and_written_down(book: BenchBook, asked: BenchAsked) -> None:
    measure = Scripted(lambda job: {"score": 0.5 if job.task.id == "t0" else 1.0, "result": "partly", "cost_usd": 0.1})
    told: list[tuple[int, int]] = []
    means = BenchMeans(measure=measure, told=lambda _made, done, planned: told.append((done, planned)))
    ended = book.run(replace(asked, repeats=2, seed=5, parallel=3), means)
    assert sorted(measure.asked) == sorted((ended.version, f"t{n}", seed) for n in range(6) for seed in (5, 6))
    assert told[-1] == (12, 12)
    held, found = book.figures(ended.id)
    assert (held.runs, held.unmeasured, held.mean) == (12, 0, found.score.mean)
    assert (held.state, held.name) == ("ended", "six")
    assert held.cost_usd == pytest.approx(1.2)
    assert (found.runs, found.tasks[0].score.n, found.tasks[0].score.mean) == (12, 2, 0.5)
    assert book.history()[0] == held
    assert book.history(name="none") == []


def test_tasks_can_be_chosen_by_split_and_glob(book: BenchBook, asked: BenchAsked) -> None:
    measure = Scripted()
    book.run(replace(asked, tasks=("t[12]", "t5")), BenchMeans(measure=measure))
    assert {task for _, task, _ in measure.asked} == {"t1", "t2", "t5"}
    split = book.benchmark("six").tasks[0].split
    measure = Scripted()
    book.run(replace(asked, split=split), BenchMeans(measure=measure))
    assert {task for _, task, _ in measure.asked} == {each.id for each in book.benchmark("six").of(split)}
    with pytest.raises(UsageError, match="no task of six"):
        book.run(replace(asked, tasks=("x*",)), BenchMeans(measure=measure))


def test_a_version_is_measured_as_it_was_when_the_run_began(book: BenchBook, asked: BenchAsked) -> None:
    seen: list[str] = []

    def look(job: Job) -> dict[str, object]:
        seen.append((Path(job.version) / "agent.py").read_text())
        (Path(str(asked.agent)) / "agent.py").write_text("print(2)\n")
        assert job.settings == {"tone": "warm"}
        return {}

    first = book.run(replace(asked, tasks=("t0", "t1")), BenchMeans(measure=Scripted(look)))
    assert seen == ["print(1)\n"] * 2
    second = book.run(replace(asked, tasks=("t0",)), BenchMeans(measure=Scripted(look)))
    assert seen[-1] == "print(2)\n"
    assert first.version != second.version


def test_a_run_that_was_stopped_goes_on_and_pays_for_nothing_twice(book: BenchBook, asked: BenchAsked) -> None:
    measure = Scripted(lambda _job: {"cost_usd": 0.1})
    stopped = book.run(asked, BenchMeans(measure=measure, stopping=lambda: len(measure.asked) >= 2))
    assert (stopped.state, len(measure.asked)) == ("cancelled", 2)
    ended = book.resume(stopped.id, BenchMeans(measure=measure))
    assert (ended.state, len(measure.asked)) == ("ended", 6)
    assert max(Counter(measure.asked).values()) == 1
    assert ended.cost_usd == pytest.approx(0.6)
    with pytest.raises(Refused):
        book.resume(stopped.id)
    with pytest.raises(NotFound):
        book.resume("none")


def test_a_run_that_breaks_keeps_what_ended(book: BenchBook, asked: BenchAsked) -> None:
    measure = Scripted()

    def told(_made: Evaluation, done: int, _planned: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        book.run(asked, BenchMeans(measure=measure, told=told))
    held = book.history()[0]
    assert held.state == "cancelled"
    assert len(book.evaluations(held.id)) == 3
    with pytest.raises(NotFound):
        book.evaluations("none")
    assert book.resume(held.id, BenchMeans(measure=measure)).state == "ended"
    assert len(measure.asked) == 6


def test_the_budget_ends_a_run_and_a_larger_one_goes_on(book: BenchBook, asked: BenchAsked) -> None:
    measure = Scripted(lambda _job: {"cost_usd": 1.0})
    ended = book.run(replace(asked, usd=4.0), BenchMeans(measure=measure))
    assert ended.state == "budget"
    assert ended.cost_usd <= 4
    assert 1 <= len(measure.asked) < 6
    assert book.resume(ended.id, BenchMeans(measure=measure, usd=50)).state == "ended"
    assert len(measure.asked) == 6


def test_a_run_that_goes_on_with_no_money_spends_none(book: BenchBook, asked: BenchAsked) -> None:
    measure = Scripted(lambda _job: {"cost_usd": 1.0})
    ended = book.run(replace(asked, usd=4.0), BenchMeans(measure=measure))
    made = len(measure.asked)
    assert book.resume(ended.id, BenchMeans(measure=measure, usd=0.0)).state == "budget"
    assert len(measure.asked) == made


def test_a_machine_on_which_nothing_can_be_measured_is_given_up(book: BenchBook, asked: BenchAsked) -> None:
    measure = Scripted(lambda _job: {"result": "unmeasured", "reason": "no network"})
    ended = book.run(replace(asked, repeats=5), BenchMeans(measure=measure))
    assert ended.state == "failed"
    assert "no network" in ended.reason
    assert len(measure.asked) == 10


def test_an_agent_against_itself_uses_other_seeds_and_shows_the_noise(book: BenchBook, asked: BenchAsked) -> None:
    measure = Scripted(lambda job: {"score": float(hash((job.task.id, job.seed)) % 2)})
    ended = book.run(replace(asked, aa=True, repeats=3), BenchMeans(measure=measure))
    assert len(set(measure.asked)) == 36
    assert {seed for arm, _, seed in measure.asked if arm == "a"}.isdisjoint(
        {seed for arm, _, seed in measure.asked if arm == "b"}
    )
    noise = book.noise(ended.id)
    assert (noise.gain.n, noise.unpaired) == (18, 0)
    assert noise.gain.low <= noise.gain.mean <= noise.gain.high
    other = book.run(asked, BenchMeans(measure=measure))
    compared = book.compare(other.id, other.id)
    assert compared.noise_run == ended.id
    assert compared.noise_floor == pytest.approx(noise.gain.half_width * 3**0.5)  # of 18 pairs, for 6
    with pytest.raises(UsageError):
        book.noise(other.id)


def test_two_runs_are_compared_in_pairs(book: BenchBook, asked: BenchAsked) -> None:
    one = book.run(asked, BenchMeans(measure=Scripted(lambda job: {"score": float(job.task.id < "t3")})))
    two = book.run(asked, BenchMeans(measure=Scripted(lambda job: {"score": float(job.task.id < "t5")})))
    found = book.compare(one.id, two.id).paired
    assert (found.gain.n, found.better, found.worse) == (6, 2, 0)
    assert found.gain.mean == pytest.approx(1 / 3)
    assert found.needed() > found.gain.n


def test_runs_of_different_benchmarks_are_not_compared(book: BenchBook, asked: BenchAsked, tmp_path: Path) -> None:
    other, _ = book.import_tasks("true", kind="command", name="other")
    one = book.run(asked, BenchMeans(measure=Scripted()))
    two = book.run(replace(asked, bench=other.name), BenchMeans(measure=Scripted()))
    with pytest.raises(Refused, match="same benchmark"):
        book.compare(one.id, two.id)
    few = book.run(replace(asked, tasks=("t0",)), BenchMeans(measure=Scripted()))
    rest = book.run(replace(asked, tasks=("t1",)), BenchMeans(measure=Scripted()))
    with pytest.raises(Refused, match="no task in common"):
        book.compare(few.id, rest.id)


def test_only_one_process_works_on_a_run(book: BenchBook, asked: BenchAsked) -> None:
    def again(job: Job) -> dict[str, object]:
        if len(seen) == 0:
            seen.append(job.run)
            with pytest.raises(Conflict):
                book.resume(job.run, BenchMeans(measure=Scripted()))
        return {}

    seen: list[str] = []
    assert book.run(asked, BenchMeans(measure=Scripted(again))).state == "ended"
    assert seen


def test_what_changed_while_it_ran_is_named(book: BenchBook, asked: BenchAsked, runtime: Runtime) -> None:
    def meddle(_job: Job) -> dict[str, object]:
        (runtime.home / "salt").write_text("0" * 32)
        return {}

    ended = book.run(asked, BenchMeans(measure=Scripted(meddle)))
    assert any("salt" in each for each in ended.tampered)
    quiet = book.run(asked, BenchMeans(measure=Scripted()))
    assert quiet.tampered == ()


def test_a_lesson_that_others_add_or_move_on_is_no_meddling_and_one_that_is_rewritten_is(
    book: BenchBook, asked: BenchAsked, runtime: Runtime
) -> None:
    first = runtime.lessons.add(when="the formatter complains", do="run the formatter first")

    def others(job: Job) -> dict[str, object]:
        if job.task.id == "t0":
            runtime.lessons.add(when="the server does not answer", do="look at the log first")
            runtime.lessons.retire(first.id)
        return {}

    def meddle(job: Job) -> dict[str, object]:
        if job.task.id == "t0":
            with sqlite3.connect(runtime.home / "ratchet.db") as outside:
                outside.execute("UPDATE lessons SET text = 'trust me' WHERE id = ?", (first.id,))
            outside.close()
        return {}

    assert book.run(asked, BenchMeans(measure=Scripted(others))).tampered == ()
    told = book.run(asked, BenchMeans(measure=Scripted(meddle))).tampered
    assert told == ("what was learnt changed while the agent ran",)


def test_a_benchmark_that_changed_meanwhile_is_not_gone_on_with(
    book: BenchBook, asked: BenchAsked, runtime: Runtime, tmp_path: Path
) -> None:
    measure = Scripted()
    stopped = book.run(asked, BenchMeans(measure=measure, stopping=lambda: len(measure.asked) >= 2))
    (runtime.home / "benchmarks" / "six.json").unlink()
    book.import_tasks("true", kind="command", name="six")
    with pytest.raises(Conflict, match="no longer"):
        book.resume(stopped.id, BenchMeans(measure=measure))


def test_a_log_of_inspect_is_one_run_however_often_it_is_imported(book: BenchBook, tmp_path: Path) -> None:
    def log(name: str, values: str) -> Path:
        samples = [
            {"id": n, "epoch": 1, "scores": {"m": {"value": value}}, "total_time": 1} for n, value in enumerate(values)
        ]
        path = tmp_path / name
        path.write_text(
            json.dumps({"status": "success", "eval": {"task": "x/My Task", "model": name}, "samples": samples})
        )
        return path

    one = book.import_run(log("one.json", "CCII"))
    assert book.import_run(tmp_path / "one.json") == one
    two = book.import_run(log("two.json", "CCCI"))
    assert [each.id for each in book.history(name="my-task")] in ([one.id, two.id], [two.id, one.id])
    found = book.compare(one.id, two.id).paired
    assert (found.gain.n, found.better, found.worse) == (4, 1, 0)
    with pytest.raises(Refused):
        book.resume(one.id)


def test_nothing_is_half_imported(book: BenchBook, tmp_path: Path, runtime: Runtime) -> None:
    before = sorted((runtime.home / "benchmarks").iterdir()), book.names(), len(book.history())
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"task_id": "a"}\n')
    torn = tmp_path / "torn.json"
    samples = [{"id": 1, "scores": {"m": {"value": "C"}}}, {"id": 2, "epoch": []}]
    torn.write_text(json.dumps({"eval": {"task": "t"}, "samples": samples}))
    for act in (
        lambda: book.import_tasks(str(bad)),
        lambda: book.import_tasks(str(tmp_path / "none")),
        lambda: book.import_tasks(str(tmp_path), kind="humaneval"),
        lambda: book.import_run(torn),
        lambda: book.import_run(bad),
    ):
        with pytest.raises(RatchetError):
            act()
    assert (sorted((runtime.home / "benchmarks").iterdir()), book.names(), len(book.history())) == before


@pytest.mark.slow
def test_ten_thousand_evaluations_are_a_page_of_history(book: BenchBook, runtime: Runtime, asked: BenchAsked) -> None:
    from ratchet.evolving import rows as evolutions

    run = book.run(replace(asked, tasks=("t0",)), BenchMeans(measure=Scripted()))
    made = [
        Evaluation(run=run.id, candidate="more", task=f"t{n % 50}", seed=n, result="passed", score=1.0, at=float(n))
        for n in range(10_000)
    ]
    with runtime.store.transaction():
        runtime.store.insert_new("evaluations", [evolutions.evaluation_row(each) for each in made])
    assert book.figures(run.id)[1].runs == 10_001
