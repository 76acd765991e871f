"""What was written for reloop runs over Ratchet's store, with one import line changed; its memories are read."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from fastapi.testclient import TestClient

from ratchet import Ratchet, UsageError
from ratchet.compat.reloop import FailureMemory, SyncFailureMemory, retry
from ratchet.compat.reloop.api.server import create_app
from ratchet.compat.reloop.config import settings
from ratchet.compat.reloop.core.agent import ReLoopAgent
from ratchet.compat.reloop.models import FailureRecord, PlaybookExport, Task, TaskStatus
from ratchet.compat.reloop.providers.memory import RatchetMemory
from support.snippets import snippet

SEEDS = ("seeds/002_88166b7c58497cd6.txt", "seeds/004_2a42624155b1fe3e.txt")
SECRET = "sk-ant-api03-" + "Ab3dEf6hIj" * 9
SHARP = {
    "error_type": "ImportError",
    "error_message": "No module named 'sharp'",
    "root_cause": "Missing dependency",
    "suggested_fix": "pip install sharp",
}


@pytest.fixture
def memory(home: Path) -> SyncFailureMemory:
    return SyncFailureMemory()


def record(**changes: object) -> FailureRecord:
    return FailureRecord.model_validate(
        {
            "task_id": "build",
            "attempt_number": 1,
            "signature": {"error_type": "ImportError", "error_message": "No module named 'sharp'"},
            "analysis": {
                "root_cause": "Missing dependency",
                "what_was_tried": "",
                "why_it_failed": "",
                "suggested_fix": "pip install sharp",
            },
            **changes,
        }
    )


@pytest.mark.parametrize(
    ("seed", "after"), [(SEEDS[0], "```"), (SEEDS[1], "2. As a Framework (full self-healing loop)")]
)
def test_the_three_lines_of_the_page_find_what_was_kept(
    home: Path, shared: Path, memory: SyncFailureMemory, seed: str, after: str
) -> None:
    memory.store_failure(**SHARP)  # type: ignore[arg-type]
    code = snippet(shared / seed, "from reloop import FailureMemory", after)
    names: dict[str, object] = {}
    body = "\n    ".join(["async def page():", *code.splitlines(), "return similar"])
    exec(compile(body, "seed", "exec"), names)
    [found] = asyncio.run(names["page"]())  # type: ignore[operator]
    assert (found["error_type"], found["suggested_fix"]) == ("ImportError", "pip install sharp")


def test_what_was_suggested_waits_as_a_lesson_for_all_agents(memory: SyncFailureMemory) -> None:
    memory.store_failure(**SHARP)  # type: ignore[arg-type]
    [lesson] = Ratchet().lessons.list()
    assert (lesson.text, lesson.state) == ("pip install sharp", "candidate")


def test_the_whole_error_text_finds_a_failure(memory: SyncFailureMemory) -> None:
    memory.store_failure(**SHARP)  # type: ignore[arg-type]
    memory.store_failure(error_type="TypeError", error_message="unsupported operand", suggested_fix="int()")
    said = "Traceback (most recent call last):\n  File \"app.py\", line 3\nImportError: No module named 'sharp'"
    assert [each["error_type"] for each in memory.search(said)] == ["ImportError"]
    assert memory.search("the weather of tomorrow") == []


def test_what_stays_in_its_project_is_found_in_no_other(memory: SyncFailureMemory) -> None:
    memory.store_failure(**SHARP, task_id="a", transferable=False)  # type: ignore[arg-type]
    memory.store_failure(**SHARP, task_id="b")  # type: ignore[arg-type]
    memory.store_failure(**SHARP, task_id="c")  # type: ignore[arg-type]
    found = memory.search_cross_project("ImportError sharp", exclude_task_id="c")
    assert [each["task_id"] for each in found] == ["b"]


def test_cleared_memory_is_empty_and_takes_new_failures(memory: SyncFailureMemory) -> None:
    memory.store_failure(**SHARP, anti_pattern="vendoring")  # type: ignore[arg-type]
    assert memory.get_anti_patterns() == ["vendoring"]
    memory.clear()
    assert memory.stats()["total_failures"] == 0
    memory.store_failure(**SHARP)  # type: ignore[arg-type]
    memory.store_success(approach="installed", key_insight="a peer dependency")
    assert (memory.stats()["total_failures"], memory.stats()["total_successes"]) == (1, 1)


def test_a_failure_without_a_message_is_refused(memory: SyncFailureMemory) -> None:
    with pytest.raises(ValueError, match="error_message must be"):
        memory.store_failure(error_type="E", error_message=" ")


def test_a_secret_reaches_no_file(memory: SyncFailureMemory, home: Path) -> None:
    memory.store_failure(error_type="AuthError", error_message=f"bad key {SECRET}", root_cause=SECRET)
    for path in home.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


def test_an_export_is_learnt_once_and_found(home: Path, tmp_path: Path) -> None:
    held = record(id="abc123abc123", cost_usd=0.25)
    file = tmp_path / "reloop-playbook.json"
    file.write_text(json.dumps(PlaybookExport(failures=[held]).model_dump(mode="json"), indent=2))
    ratchet = Ratchet()
    assert (ratchet.learn(file).outcomes, ratchet.learn(file).outcomes) == (1, 0)
    [outcome] = ratchet.outcomes()
    assert (outcome.agent, outcome.task, outcome.cost_usd) == ("reloop", "build", 0.25)
    assert outcome.failure is not None
    assert outcome.failure.kind == "dependency_missing"
    assert asyncio.run(RatchetMemory(ratchet, home).search("ImportError sharp")) == [held]


def test_an_export_as_yaml_is_learnt_once_and_found(home: Path, tmp_path: Path) -> None:
    held = record(id="abc123abc123", cost_usd=0.25)
    file = tmp_path / "reloop-playbook.yaml"
    said = PlaybookExport(failures=[held]).model_dump(mode="json")
    file.write_text(yaml.safe_dump(said, sort_keys=False))
    ratchet = Ratchet()
    assert (ratchet.learn(file).outcomes, ratchet.learn(file).outcomes) == (1, 0)
    assert asyncio.run(RatchetMemory(ratchet, home).search("ImportError sharp")) == [held]


@pytest.mark.parametrize("odd", ["x: &a [1]\ny: [*a, *a]", "x: !!timestamp 2026-01-01", "x: [", "x: " + "[" * 5_000])
def test_yaml_that_is_no_export_is_named_and_never_unfolded(home: Path, tmp_path: Path, odd: str) -> None:
    file = tmp_path / "reloop-playbook.yaml"
    file.write_text(f"failures:\n- signature:\n    error_type: a\n    error_message: b\n{odd}\n")
    learned = Ratchet().learn(file)
    assert (learned.outcomes, len(learned.quarantined)) == (0, 1)


def test_a_database_of_reloop_is_read_where_its_path_is_given(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "reloop_memory.db"
    with closing(sqlite3.connect(file)) as held, held:
        held.execute("CREATE TABLE failures (id TEXT PRIMARY KEY, error_hash TEXT, data TEXT)")
        held.execute("CREATE TABLE successes (id TEXT PRIMARY KEY, data TEXT)")
        held.execute("INSERT INTO failures VALUES ('f', 'h', ?)", (record().model_dump_json(),))
        held.execute("INSERT INTO failures VALUES ('g', 'h', '{torn')")
    learned = Ratchet().learn(file)
    assert (learned.outcomes, [each.line for each in learned.quarantined]) == (1, [2])
    memory = SyncFailureMemory(backend="sqlite", sqlite_path=str(file))
    assert [each["error_type"] for each in memory.search("No module named 'sharp'")] == ["ImportError"]


@pytest.mark.parametrize("odd", ["[1]", "[" * 200_000, "{torn", b"\x00\xff", 7, None])
def test_an_odd_row_of_a_database_of_reloop_costs_itself(home: Path, tmp_path: Path, odd: object) -> None:
    file = tmp_path / "reloop_memory.db"
    with closing(sqlite3.connect(file)) as held, held:
        held.execute("CREATE TABLE failures (id TEXT PRIMARY KEY, error_hash TEXT, data)")
        held.execute("CREATE TABLE successes (id TEXT PRIMARY KEY, data TEXT)")
        held.execute("INSERT INTO failures VALUES ('g', 'h', ?)", (odd,))
        held.execute("INSERT INTO failures VALUES ('f', 'h', ?)", (record().model_dump_json(),))
    learned = Ratchet().learn(file)
    assert (learned.outcomes, [each.line for each in learned.quarantined]) == (1, [1])


def test_a_view_in_a_database_of_reloop_is_not_read(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "reloop_memory.db"
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT '' AS error_hash, i AS data FROM n"
    )
    with closing(sqlite3.connect(file)) as held, held:
        held.execute(f"CREATE VIEW failures AS {endless}")
        held.execute("CREATE TABLE successes (id TEXT PRIMARY KEY, data TEXT)")
        held.execute("INSERT INTO successes VALUES ('s', '{\"task_id\": \"build\"}')")
    learned = Ratchet().learn(file)
    assert (learned.outcomes, len(learned.quarantined)) == (1, 1)
    assert "failures is no table" in learned.quarantined[0].reason


def test_an_exception_that_healing_agent_saved_is_learnt(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "_healing_agent_exceptions"
    folder.mkdir()
    saved = {
        "timestamp": "2026-11-28T20:41:56.178744",
        "capture_type": "error",
        "function_info": {"name": "divide", "qualname": "divide", "module": "shop.cart", "source_code": "..."},
        "error": {"type": "ZeroDivisionError", "message": "division by zero", "line_number": 6},
    }
    (folder / "20261128_204156_divide.json").write_text(json.dumps(saved, indent=2))
    ratchet = Ratchet()
    assert ratchet.learn(folder).outcomes == 1
    [outcome] = ratchet.outcomes()
    assert (outcome.agent, outcome.task, outcome.ok) == ("shop.cart", "divide", False)


def test_the_variables_of_the_page_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"MAX_RETRIES": "2", "MAX_BUDGET_USD": "0.5", "CIRCUIT_BREAKER_THRESHOLD": "4", "API_PORT": "9000"}
    said = settings({**given, "REDIS_URL": "redis://r", "OPENAI_API_KEY": "k"})
    assert (said.max_retries, said.max_budget_usd, said.circuit_breaker_threshold) == (2, 0.5, 4)
    assert (said.api_port, said.api_host, said.redis_url, said.openai_api_key) == (9000, "127.0.0.1", "redis://r", "k")
    with pytest.raises(UsageError, match="MAX_RETRIES is 'many'"):
        settings({"MAX_RETRIES": "many"})


def test_every_variable_that_the_page_names_has_a_setting(shared: Path) -> None:
    page = (shared / SEEDS[0]).read_text()
    named = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `") and line.count("|") == 5]
    variables = {name for name in named if name.isupper()}
    assert len(variables) == 15
    assert variables <= {name.upper() for name in type(settings({})).__dataclass_fields__}


def test_a_call_is_repeated_as_often_as_the_environment_says(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_RETRIES", "2")
    monkeypatch.setattr("time.sleep", lambda _s: None)
    calls: list[int] = []

    @retry()
    def refused() -> None:
        calls.append(1)
        raise ConnectionRefusedError("Connection refused")

    with pytest.raises(ConnectionRefusedError):
        refused()
    assert len(calls) == 3


def test_a_task_without_a_check_says_what_to_name(home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    agent = ReLoopAgent(memory=RatchetMemory(Ratchet(), home))
    task = asyncio.run(agent.run(Task(instruction="fix it", metadata={"folder": str(tmp_path / "empty")})))
    assert task.status is TaskStatus.FAILED
    assert "metadata['check']" in (task.result or "")
    assert [each.event_type for each in agent.timeline.get_timeline(task.id)] == ["task.created", "task.abandoned"]


def test_an_unknown_backend_is_refused(home: Path) -> None:
    with pytest.raises(ValueError, match="Unknown backend"):
        FailureMemory(backend="postgres")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 201),
        ({"Origin": "http://localhost"}, 201),
        ({"Host": "rebound.example"}, 421),
        ({"Origin": "https://other.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_no_page_of_another_site_begins_a_task(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str], status: int
) -> None:
    monkeypatch.chdir(tmp_path)
    with TestClient(create_app(), base_url="http://localhost") as client:
        assert client.post("/v1/tasks", json={"instruction": "fix it"}, headers=headers).status_code == status
        assert len(client.get("/v1/tasks").json()) == (status == 201)


@pytest.mark.parametrize("name", ["check", "folder"])
def test_a_request_names_no_command_and_no_folder_unless_the_program_allows_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = {"instruction": "fix it", "metadata": {name: str(tmp_path)}}
    for app, status in ((create_app(), 403), (create_app(commands=True), 201)):
        with TestClient(app, base_url="http://localhost") as client:
            assert client.post("/v1/tasks", json=asked).status_code == status
