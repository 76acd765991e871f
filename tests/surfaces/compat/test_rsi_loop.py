"""What was written for rsi-loop runs over Ratchet's store, with one import line changed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ratchet import Range, Ratchet
from ratchet.compat.rsi_loop import Config, Outcome, RSILoop
from ratchet.compat.rsi_loop.integrations.generic import GenericAdapter
from support.snippets import snippet

SEED = "seeds/000_c4c68ec366dc5abe.txt"
SECRET = "sk-ant-api03-" + "Ab3dEf6hIj" * 9


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without settings of its own."""
    monkeypatch.delenv("RATCHET_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def loop(folder: Path) -> RSILoop:
    return RSILoop()


def run(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(code, "seed", "exec"), names)
    return names


def test_the_quick_start_of_the_page_runs(folder: Path, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(snippet(shared / SEED, "from rsi_loop import RSILoop", "Framework Integrations"))
    said = capsys.readouterr().out
    assert "Health: " in said
    assert "Patterns found: 0" not in said
    assert Ratchet(folder / "rsi_data").patterns()[0].kind == "rate_limit"


def test_the_adapter_of_the_page_for_coding_agents_runs(folder: Path, shared: Path) -> None:
    first = "from rsi_loop.integrations.claude_code import ClaudeCodeAdapter"
    run(snippet(shared / SEED, first, "Generic (File-Based)"))
    kept = [*Ratchet(folder / "rsi_data").outcomes()]
    assert sorted((each.task, each.ok) for each in kept) == [
        ("code_review", True),
        ("model_routing", True),
        ("session_management", False),
    ]


def test_the_watched_folder_of_the_page_is_taken(folder: Path, shared: Path) -> None:
    (folder / "rsi_inbox").mkdir()
    (folder / "rsi_inbox" / "one.json").write_text('{"task": "search", "success": false, "error": "timeout"}')
    first = "from rsi_loop.integrations.generic import GenericAdapter"
    [outcome] = run(snippet(shared / SEED, first, "Webhook"))["outcomes"]
    assert (outcome.task_type, outcome.success, outcome.issues) == ("search", False, ["timeout"])


def test_the_webhook_of_the_page_answers(folder: Path, shared: Path) -> None:
    pytest.importorskip("flask", reason="rsi-loop's webhook is a Flask application: pip install flask")
    first = "from rsi_loop.integrations.webhook import WebhookAdapter"
    app = run(snippet(shared / SEED, first, "Features"))["app"].test_client()
    assert app.post("/observe", json={"task": "code_gen", "success": True, "quality": 4}).status_code == 201
    assert app.get("/health").json == {"health_score": 1.0}
    assert app.get("/patterns").json["patterns"] == []


def test_a_secret_reaches_no_file(loop: RSILoop, folder: Path) -> None:
    outcome = Outcome(success=False, error_message=f"401 for key {SECRET}", notes=SECRET, metadata={"key": SECRET})
    loop.observer.record(outcome)
    assert loop.observer.load_outcomes()[0].success is False
    for path in (folder / "rsi_data").rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


def test_an_outcome_comes_back_as_it_was_recorded(loop: RSILoop) -> None:
    given = Outcome(source="cursor", task_type="lint", success=False, error_message="429 rate limit", quality=2)
    given.tags, given.metadata, given.duration_ms = ["a"], {"run": 7}, 1500
    loop.observer.record(given)
    loop.observer.record(given)  # the same id is the same outcome
    assert loop.observer.load_outcomes() == [given]


def test_what_rsi_loop_recorded_before_is_known(folder: Path) -> None:
    (folder / "rsi_data").mkdir()
    row = Outcome(source="cron", task_type="nightly", success=False, error_message="Request timed out").to_dict()
    lines = [json.dumps({**row, "id": f"{number:08x}"}) for number in range(3)]
    (folder / "rsi_data" / "outcomes.jsonl").write_text("\n".join(lines) + "\n")
    loop = RSILoop()
    assert [each.task_type for each in loop.observer.load_outcomes()] == ["nightly"] * 3
    assert len(RSILoop().observer.load_outcomes()) == 3  # read once
    assert loop.patterns()[0].issue in ("timeout", "error_cluster")


def test_the_home_that_the_environment_names_is_shared_with_all_agents(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RATCHET_HOME", str(folder / "all"))
    RSILoop().observer.record_simple("deploy", success=False, error="Connection refused")
    assert [each.task for each in Ratchet().outcomes()] == ["deploy"]
    assert RSILoop(Config(data_dir="own")).observer.load_outcomes() == []


def test_a_perfect_agent_is_healthy_and_one_that_broke_just_now_is_not(loop: RSILoop) -> None:
    for _ in range(30):
        loop.observer.record_simple("work", success=True)
    assert loop.health_score() == 1.0
    for _ in range(10):
        loop.observer.record_simple("work", success=False, error="boom")
    assert loop.health_score() < 30 / 40


def test_a_safe_fix_starts_a_trial_where_the_agent_has_live_settings(loop: RSILoop) -> None:
    assert loop.observer.ratchet.settings("api", max_retries=Range(1, 9, default=1)).current().max_retries == 1
    for _ in range(6):
        loop.observer.record_simple("call", success=False, error="429 Too Many Requests", source="api")
    loop.run_cycle()
    [fix] = [each for each in loop.fixes() if each.type == "auto"]
    assert (fix.status, fix.safe_category, fix.target) == ("trial", "retry_logic", "settings:api")
    assert loop.observer.ratchet.trials.list()[0].change.new == {"max_retries": 3}


def test_nothing_starts_by_itself_where_it_is_switched_off(folder: Path) -> None:
    loop = RSILoop(Config(auto_fix_enabled=False))
    assert loop.observer.ratchet.settings("api", max_retries=Range(1, 9, default=1)).current().max_retries == 1
    for _ in range(6):
        loop.observer.record_simple("call", success=False, error="429 Too Many Requests", source="api")
    loop.run_cycle()
    assert [each.status for each in loop.fixes()] == ["proposed"]
    assert loop.observer.ratchet.trials.list() == []


def test_one_bad_file_costs_itself(folder: Path) -> None:
    inbox = folder / "rsi_inbox"
    inbox.mkdir()
    for name, text in {"a": "not json", "b": "[1]", "c": '{"task": "ok", "success": true}'}.items():
        (inbox / f"{name}.json").write_text(text)
    adapter = GenericAdapter()
    assert [each.task_type for each in adapter.poll()] == ["ok"]
    assert adapter.poll() == []
    assert sorted(path.name for path in inbox.glob("*.json")) == ["a.json", "b.json"]


def test_failures_of_two_sources_that_always_come_together_are_correlated(loop: RSILoop) -> None:
    now = datetime.now(UTC)
    for hour in range(40):
        at = (now - timedelta(hours=hour)).isoformat()
        for source, error in (("api", "429 Too Many Requests"), ("cron", "Connection refused")):
            ok = hour % 4 != 0
            said = "" if ok else error
            loop.observer.record(Outcome(timestamp=at, source=source, success=ok, error_message=said))
    [found] = loop.analyzer.cross_source_correlations()
    assert found == {"issues": ["network", "rate_limit"], "correlation": "same hour", "sources": ["api", "cron"]}


def test_no_code_that_a_clones_data_folder_names_is_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "rsi_data").mkdir()
    (folder / "rsi_data" / "ratchet.toml").write_text('proposers = "evilmod:go"\n')
    (folder / "evilmod.py").write_text("open('ran', 'w').close()\ndef go(pattern):\n    return []\n")
    monkeypatch.syspath_prepend(str(folder))
    loop = RSILoop()
    for _ in range(6):
        loop.observer.record_simple("call", success=False, error="429 Too Many Requests", source="api")
    assert loop.run_cycle()
    assert not (folder / "ran").exists()
