"""What was written for self-improving-loop runs over Ratchet's store, with one import line changed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet import Ratchet, UsageError
from ratchet.compat.self_improving_loop import AutoRollback, SelfImprovingLoop
from ratchet.compat.self_improving_loop.rollback import proven_worse
from ratchet.records import Row
from support.snippets import snippet

SEED = "seeds/001_d1f2564e271bbe1a.txt"
FIRST = "from self_improving_loop import SelfImprovingLoop"
SECRET = "sk-ant-api03-" + "Ab3dEf6hIj" * 9


class Settings:
    """A configuration under the loop's control, and the idea to change it."""

    def __init__(self) -> None:
        self.held: Row = {"mode": "good"}

    def get_config(self, agent_id: str) -> Row:
        return dict(self.held)

    def apply_config(self, agent_id: str, config_patch: Row) -> bool:
        self.held |= config_patch
        return True

    def rollback_config(self, agent_id: str, backup_config: Row) -> None:
        self.held = dict(backup_config)

    def analyze(self, agent_id: str, traces: object, before_metrics: object) -> Row:
        return {"mode": "bad"}


@pytest.fixture
def loop(home: Path) -> Iterator[SelfImprovingLoop]:
    settings = Settings()
    loop = SelfImprovingLoop(strategy=settings, config_adapter=settings)
    loop.adaptive_threshold.set_manual_threshold("agent", failure_threshold=1, cooldown_hours=24)
    yield loop
    loop.ratchet.close()


def fail() -> None:
    raise ValueError("boom")


def ran(loop: SelfImprovingLoop, *, ok: bool, times: int = 1) -> list[Row | None]:
    done = [loop.track("agent", "work", (lambda: None) if ok else fail) for _ in range(times)]
    return [each["rollback_executed"] for each in done]


@pytest.mark.parametrize(
    ("first", "after"),
    [
        (FIRST, "That's it. The loop silently watches every execution, decides when to tune, and undoes tunings that"),
        ("from self_improving_loop import AdaptiveThreshold", "Auto-rollback (the safety net)"),
        ("from self_improving_loop import TelegramNotifier", "Performance"),
    ],
)
def test_the_snippets_of_the_page_run(home: Path, shared: Path, first: str, after: str) -> None:
    lines = [line.strip() for line in (shared / SEED).read_text().splitlines()]
    end = next(line for line in lines if line.startswith(after))
    code = snippet(shared / SEED, first, end)
    if "TelegramNotifier" in first:
        code = code.replace("loop = Self", f"{FIRST.replace('self_', 'ratchet.compat.self_', 1)}\nloop = Self")
    exec(compile(code, "seed", "exec"), {})


def test_the_snippet_of_the_page_on_rollbacks_runs(
    loop: SelfImprovingLoop, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backup = loop.auto_rollback.backup_config("my-agent", {"mode": "good"}, "i1")
    loop.auto_rollback.rollback("my-agent", backup)
    first = 'rollback_history = loop.auto_rollback.get_rollback_history("my-agent")'
    exec(compile(snippet(shared / SEED, first, "Pluggable notifier"), "seed", "exec"), {"loop": loop})
    assert capsys.readouterr().out.startswith("rolled back")


def test_a_change_that_is_proven_worse_is_undone(loop: SelfImprovingLoop) -> None:
    ran(loop, ok=True, times=30)
    ran(loop, ok=False)  # the failure that brings the change
    settings = loop.config_adapter
    assert isinstance(settings, Settings)
    assert settings.held == {"mode": "bad"}
    undone = [each for each in ran(loop, ok=False, times=10) if each]
    assert settings.held == {"mode": "good"}
    assert undone[0]["restore_applied"] is True
    assert loop.get_improvement_stats("agent")["rollback_count"] == 1


def test_a_change_that_does_no_harm_stays(loop: SelfImprovingLoop) -> None:
    ran(loop, ok=True, times=8)
    ran(loop, ok=False, times=3)
    assert not any(ran(loop, ok=number % 4 != 0, times=1)[0] for number in range(60))
    assert isinstance(loop.config_adapter, Settings)
    assert loop.config_adapter.held == {"mode": "bad"}


def test_looking_after_every_task_undoes_few_harmless_changes() -> None:
    chance, undone, runs = random.Random(7), 0, 400
    for _ in range(runs):
        before = {"total_tasks": 40, "success_rate": sum(chance.random() < 0.8 for _ in range(40)) / 40}
        ok = 0
        for tasks in range(1, 61):
            ok += chance.random() < 0.8
            if proven_worse(before, {"total_tasks": tasks, "success_rate": ok / tasks}):
                undone += 1
                break
    assert undone / runs <= 0.05


def test_a_change_that_makes_calls_slower_is_undone(loop: SelfImprovingLoop) -> None:
    for number in range(12):
        loop._record_trace("agent", "work", True, 1.0 + number / 100)
    ran(loop, ok=False)
    for number in range(12):
        loop._record_trace("agent", "work", True, 1.5 + number / 100)
    undone = loop.check_and_rollback("agent")
    assert undone is not None
    assert str(undone["reason"]).startswith("latency rose")


def test_what_the_adapter_only_says_is_not_called_applied(loop: SelfImprovingLoop) -> None:
    assert isinstance(loop.config_adapter, Settings)
    loop.config_adapter.apply_config = lambda agent_id, config_patch: True  # type: ignore[method-assign]
    assert loop.track("agent", "work", fail)["improvement_applied"] == 0
    assert loop.state.get("backups") is None


def test_a_broken_loop_costs_no_result(loop: SelfImprovingLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(loop.trace_store, "append", broken)
    assert loop.track("agent", "work", lambda: 42)["result"] == 42


def test_what_has_not_run_is_no_success(loop: SelfImprovingLoop) -> None:
    async def later() -> int:
        return 1

    for unbegun in (later, lambda: (each for each in "ab")):
        with pytest.raises(UsageError, match=r"ratchet\.watch"):
            loop.track("agent", "work", unbegun)
    assert [*loop.ratchet.outcomes()] == []


def test_a_state_that_was_torn_stops_nothing(home: Path) -> None:
    home.mkdir()
    (home / "loop_state.json").write_text('{"backups": {"agent"')
    assert SelfImprovingLoop().state == {}
    assert (home / "loop_state.json.broken").exists()


def test_a_name_makes_no_agent_critical(loop: SelfImprovingLoop) -> None:
    assert loop.adaptive_threshold.get_threshold("product-search", []) == (2, 72, 12)
    loop.adaptive_threshold.set_manual_threshold("pager", is_critical=True)
    assert loop.adaptive_threshold.get_threshold("pager", []) == (1, 24, 6)


def test_what_the_package_recorded_before_is_known_and_counts_once(home: Path) -> None:
    home.mkdir()
    row = {"agent_id": "old", "task": "work", "success": False, "error": "timeout", "duration_sec": 2.0}
    lines = [json.dumps({**row, "timestamp": f"2026-11-0{day}T10:00:00"}) for day in range(1, 4)]
    (home / "traces.jsonl").write_text("\n".join(lines) + "\n")
    loop = SelfImprovingLoop()
    loop.track("new", "work", lambda: None)
    Ratchet().learn(home / "traces.jsonl")
    kept = [*SelfImprovingLoop().ratchet.outcomes()]
    assert sorted(each.agent for each in kept) == ["new", "old", "old", "old"]


def test_a_secret_reaches_no_file(loop: SelfImprovingLoop, home: Path) -> None:
    def leak() -> None:
        raise ValueError(f"401 for key {SECRET}")

    assert SECRET in str(loop.track("agent", "work", leak, {"key": SECRET})["error"])
    for path in home.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


def test_backups_made_in_one_second_are_apart(home: Path) -> None:
    held = AutoRollback()
    first, second = (held.backup_config("agent", {"mode": mode}, "i") for mode in ("one", "two"))
    assert held.rollback("agent", first)["config"] == {"mode": "one"}
    assert held.rollback("agent", second)["config"] == {"mode": "two"}
