"""`record`: what is valid is kept, what is not is named, no secret is written, and nothing reaches the host."""

from __future__ import annotations

import datetime
import json
import logging
import math
import os
from collections import UserDict
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratchet import Ratchet
from ratchet.ids import outcome_id
from ratchet.recording.batch import rows_of
from ratchet.recording.journal import segments
from ratchet.recording.recorder import Recorder, row_of
from ratchet.records import Failure, Fields, Outcome, Row, Step, outcome_of, to_row

SECRETS = {
    "provider key": "sk-" + "proj-Zx9vB3nM1qW7eR5tY2uI8oP4aS6dF0gH",
    "bearer token": "mF_9B5f4a1JqMmF_9B5f4a1JqM",
    "JWT": "ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "private key": "MIIEpAIBAAKCAQEA7bq3aB3kQw9ZxR5tYu",
    "connection string": "s3cr3tpassw0rd",
    "e-mail": "mary.jones@mail.example.org",
    "card": "4242 4242 4242 4242",
    "named value": "q8Xv2Lm9pZ4k",
}
FRAMES = {
    "bearer token": "Authorization: Bearer {}",
    "private key": "-----BEGIN " + "PRIVATE KEY-----\n{}\n-----END " + "PRIVATE KEY-----",
    "connection string": "postgres://app:{}@db.internal:5432/app",
    "named value": 'client_secret="{}"',
}


class Odd:
    """A value of a host that cannot be asked anything."""

    def __bool__(self) -> bool:
        raise RuntimeError("ask me not")

    def __float__(self) -> float:
        raise RuntimeError("ask me not")


def row(agent: str = "a", **fields: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", row_of(agent, fields))


def written(home: Path) -> str:
    return "".join(Path(path).read_text(encoding="utf-8") for path in segments(str(home)))


# --- what is kept ----------------------------------------------------------------------------------------------------
def test_everything_said_is_kept_in_its_column() -> None:
    found = row(
        "bot",
        task="answer",
        ok=True,
        started_at=1_790_000_000.5,
        duration_s=1.5,
        first_item_s=0.25,
        cost_usd=0.01,
        tokens=120,
        model="m",
        session="s",
        thread="t",
        unit="u",
        project=Path("/srv/app"),
        source="mine",
        step=Step(tool="Bash", head="git push", input="git push origin x"),
        context={"retries": 2},
    )
    assert len(found.pop("id")) == 36
    assert found == {
        "r": "outcome",
        "agent": "bot",
        "ok": True,
        "started_at": 1_790_000_000.5,
        "source": "mine",
        "task": "answer",
        "duration_s": 1.5,
        "first_item_s": 0.25,
        "cost_usd": 0.01,
        "tokens": 120,
        "model": "m",
        "session": "s",
        "thread": "t",
        "unit": "u",
        "project": "/srv/app",
        "step": {"tool": "Bash", "head": "git push", "input": "git push origin x"},
        "context": {"retries": 2},
    }


@pytest.mark.parametrize(
    ("given_", "ok"),
    [
        ({}, True),
        ({"ok": True}, True),
        ({"ok": False}, False),
        ({"ok": True, "error": "x"}, True),
        ({"ok": False, "score": 1.0}, False),
        ({"error": "x"}, False),
        ({"error": ""}, False),
        ({"error": "x", "score": 1.0}, False),
        ({"error": ValueError("x")}, False),
        ({"score": 0.5}, True),
        ({"score": 0.49}, False),
        ({"quality": 3}, True),
        ({"quality": 2}, False),
        ({"status": 503}, False),
        ({"status": 200}, True),
        ({"exit_code": 1}, False),
        ({"exit_code": 0}, True),
        ({"kind": "timeout"}, False),
        ({"error": None, "score": None}, True),
        ({"ok": None}, False),
        ({"ok": None, "error": None, "score": None}, False),
        ({"ok": None, "score": 0.9}, True),
        ({"ok": 1}, True),
        ({"ok": 0}, False),
    ],
)
def test_ok_is_as_given_else_follows_from_error_and_score(given_: dict[str, Any], ok: bool) -> None:
    found = row(**given_)
    assert found["ok"] is ok
    assert "invalid" not in found.get("context", {})
    assert not (ok and "failure" in found)


@pytest.mark.parametrize(("quality", "score"), [(1, 0.0), (2, 0.25), (3, 0.5), (4, 0.75), (5, 1.0), (4.5, 0.875)])
def test_a_quality_of_1_to_5_is_a_score_of_0_to_1(quality: float, score: float) -> None:
    assert row(quality=quality)["score"] == score


def test_an_exception_tells_its_message_its_class_and_its_classes() -> None:
    class OrderTimeoutError(TimeoutError):
        pass

    failure = row(error=OrderTimeoutError("took 3 s"), status=504)["failure"]
    assert failure["message"] == "took 3 s"
    assert failure["type"].endswith("OrderTimeoutError")
    assert failure["bases"] == ["TimeoutError", "OSError", "Exception"]
    assert failure["status"] == 504
    assert row(error=TimeoutError())["failure"]["message"] == ""


def test_a_success_that_had_an_error_to_tell_keeps_it_in_its_context() -> None:
    assert row(ok=True, error="first try failed")["context"]["noted"]["message"] == "first try failed"


def test_a_key_of_the_caller_names_the_outcome_and_chance_does_otherwise() -> None:
    assert row(id="k1", session="s")["id"] == outcome_id("python", "s", "k1")
    assert row(id="k1", session="s")["id"] == row(id="k1", session="s", task="again")["id"]
    assert row(id="k1", session="s")["id"] != row(id="k1", session="t")["id"]
    assert row()["id"] != row()["id"]


def test_a_run_began_when_it_says_else_as_long_ago_as_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
    assert row(started_at=moment)["started_at"] == moment.timestamp()
    monkeypatch.setattr("ratchet.recording.recorder.time.time", lambda: 1000.0)
    assert row(duration_s=30)["started_at"] == 970.0
    assert row()["started_at"] == 1000.0


def test_a_row_and_its_outcome_say_the_same() -> None:
    outcome = Outcome(
        id="o1",
        agent="a",
        ok=False,
        started_at=1.5,
        session="s",
        score=0.0,
        failure=Failure(message="boom", kind="timeout", status=504, flagged=False),
        step=Step(tool="Bash", input="make"),
        context={"x": [1, None]},
    )
    stored = to_row(outcome)
    assert stored == json.loads(json.dumps(stored))
    assert "task" not in stored
    assert outcome_of(stored) == outcome
    minimal = Outcome(id="o2", agent="a", ok=True, started_at=0.0)
    assert to_row(minimal) == {"id": "o2", "agent": "a", "ok": True, "started_at": 0.0}
    assert outcome_of(to_row(minimal)) == minimal


def test_a_row_of_a_newer_version_or_a_database_is_read_all_the_same() -> None:
    stored: Row = {"id": "o", "agent": "a", "ok": 1, "started_at": 2, "novel": 3, "failure": {"bases": ["X"], "odd": 1}}
    outcome = outcome_of(stored)
    assert outcome.ok is True
    assert outcome.failure == Failure(message="")


# --- what is not -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("score", 85),
        ("score", math.nan),
        ("score", -0.1),
        ("score", "high"),
        ("quality", 0),
        ("quality", 6),
        ("ok", "yes"),
        ("ok", 2),
        ("task", 17),
        ("task", ["a"]),
        ("duration_s", -1),
        ("duration_s", math.inf),
        ("duration_s", "fast"),
        ("duration_s", True),
        ("cost_usd", math.nan),
        ("cost_usd", 1e300),
        ("duration_s", 1e300),
        ("tokens", 1.5),
        ("tokens", 10**30),
        ("tokens", -1),
        ("status", "500"),
        ("exit_code", 1.5),
        ("started_at", "yesterday"),
        ("started_at", 1_790_000_000_000),
        ("model", object()),
        ("session", 5),
        ("step", 3),
        ("context", "text"),
        ("error", 5),
        ("latency", 3),
    ],
)
def test_a_value_that_is_not_usable_is_left_out_and_named(name: str, value: object) -> None:
    given_: dict[str, Any] = {"ok": True, name: value}
    found = row(**given_)
    assert any(problem.startswith(name) for problem in found["context"]["invalid"])
    assert found["ok"] is (name != "ok")
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    "given_",
    [
        {"score": False},
        {"score": True},
        {"score": math.nan},
        {"score": math.inf},
        {"score": 1.5},
        {"score": -0.0001},
        {"score": "0.9"},
        {"score": [1.0]},
        {"quality": 0},
        {"quality": 6},
        {"quality": "good"},
        {"ok": "yes"},
        {"ok": "false"},
        {"ok": 2},
        {"ok": []},
        {"ok": math.nan},
        {"score": Odd()},
        {"ok": Odd()},
    ],
)
def test_a_judgement_that_cannot_be_used_is_no_success(given_: dict[str, Any], home: Path) -> None:
    assert row(**given_)["ok"] is False
    assert row(**given_, task="t")["context"]["invalid"] == list(given_)
    assert rows_of([{"agent": "a", **given_}])[0]["ok"] is False
    with Ratchet(home) as ratchet:
        ratchet.record("a", **given_)
        assert [each.ok for each in ratchet.outcomes()] == [False]


@pytest.mark.parametrize("given_", [{"score": 0.9, "quality": 0}, {"ok": True, "score": math.nan}])
def test_a_judgement_that_can_be_used_counts_beside_one_that_cannot(given_: dict[str, Any]) -> None:
    assert row(**given_)["ok"] is True


def test_the_rest_of_a_bad_call_is_kept() -> None:
    found = row(task="t", tokens="many", cost_usd=1)
    assert (found["task"], found["cost_usd"]) == ("t", 1.0)
    assert "tokens" not in found


def test_numbers_of_other_libraries_are_numbers() -> None:
    class Tokens:
        def __index__(self) -> int:
            return 7

    found = row(cost_usd=Decimal("0.5"), tokens=Tokens())
    assert (found["cost_usd"], found["tokens"]) == (0.5, 7)


@pytest.mark.parametrize("agent", [None, 3, "", b"x"])
def test_an_agent_without_a_name_is_unknown(agent: Any) -> None:
    found = row(agent)
    assert found["agent"] == "unknown"
    assert found["context"]["invalid"] == ["agent"]


def test_a_wrong_call_is_logged_once(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder(str(home))
    for _ in range(3):
        recorder.record("a", **cast("Any", {"velocity": 3}))
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "velocity" in caplog.text


class Hostile:
    """Raises at every touch."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__

    def __float__(self) -> float:
        raise RuntimeError("no number")

    def __index__(self) -> int:
        raise RuntimeError("no index")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no equal")

    __hash__ = object.__hash__


class HostileError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def cyclic() -> dict[str, object]:
    value: dict[str, object] = {}
    value["self"] = [value]
    return value


NAMES = (*Fields.__annotations__, "nonsense")
VALUES: list[object] = [
    Hostile(),
    HostileError(),
    cyclic(),
    {"step": Hostile(), Hostile(): 1},
    {"tool": cyclic(), "input": cyclic()},
    "\ud800\udfff\0",
    "x" * 3_000_000,
    b"\xff\xfe",
    math.nan,
    -math.inf,
    10**5000,
    [[[[[[[[[[[[[[[]]]]]]]]]]]]]]],
    UserDict({"a": 1}),
    datetime.datetime.max.replace(tzinfo=datetime.UTC),
    datetime.date.min,
    Exception(Exception("x" * 100_000)),
    KeyboardInterrupt(),
    ExceptionGroup("g", [ValueError("a"), OSError("b")]),
    type,
    lambda: 1,
]


@pytest.mark.parametrize("name", NAMES)
def test_no_value_makes_a_record_raise_or_go_missing(home: Path, name: str) -> None:
    recorder = Recorder(str(home))
    ids = [recorder.record("a", **cast("Any", {name: value})) for value in VALUES]
    lines = written(home).splitlines()
    assert [json.loads(line)["id"] for line in lines] == ids
    assert max(map(len, lines)) < 60_000
    assert "NaN" not in written(home)
    assert recorder.lost == 0


JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner),
    max_leaves=20,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(fields=st.dictionaries(st.sampled_from(NAMES), JSON_LIKE), agent=JSON_LIKE)
def test_whatever_is_said_becomes_one_line_of_plain_json(home: Path, fields: dict[str, Any], agent: Any) -> None:
    found = row_of(agent, fields)
    text = json.dumps(found, allow_nan=False, ensure_ascii=False)
    text.encode()
    assert "\0" not in text
    assert isinstance(found["ok"], bool)


# --- secrets ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", SECRETS)
def test_no_secret_reaches_the_disk_from_error_arguments_or_context(home: Path, kind: str) -> None:
    text = FRAMES.get(kind, "the value {} was refused").format(SECRETS[kind])
    recorder = Recorder(str(home))
    recorder.record("a", error=text)
    recorder.record("a", error=ValueError(text), task=text)
    recorder.record("a", ok=False, context={"deep": [{"er": text}], text: 1})
    recorder.record("a", step={"tool": "Bash", "input": f"run {text}", "target": text, "change": f"- {text}"})
    recorder.record("a", step={"tool": "Http", "input": {"headers": [text], "body": {"x": text}}})
    recorder.record(text, model=text, session=text, thread=text, unit=text, project=text, kind=text, source=text)
    recorder.record("a", id=text)
    recorder.record("a", error="lorem ipsum " * 245 + text + " dolor" * 2000)
    found = written(home)
    assert len(found.splitlines()) == 8
    # Four digits of a card may stand in a time by chance; a card is told by all of them.
    for piece in [part for part in SECRETS[kind].split() if len(part) > 4] or [SECRETS[kind]]:
        assert piece not in found
    assert "[redacted:" in found


def test_values_under_key_like_names_are_hidden_wherever_they_are_nested(home: Path) -> None:
    recorder = Recorder(str(home))
    recorder.record("a", context={"headers": {"X-Api-Key": "4f9a8b7c6d5e4f3a"}, "db": [{"password": "swordfish"}]})
    recorder.record("a", step={"tool": "Call", "input": {"auth": {"client_secret": "opensesame"}}})
    for secret in ("4f9a8b7c6d5e4f3a", "swordfish", "opensesame"):
        assert secret not in written(home)


def test_long_texts_keep_head_and_tail(home: Path) -> None:
    error = "HEAD " + "lorem ipsum " * 5000 + " TAIL"
    message = row(error=error)["failure"]["message"]
    assert len(message) <= 4000
    assert message.startswith("HEAD")
    assert message.endswith("TAIL")


# --- outages ---------------------------------------------------------------------------------------------------------
def test_an_unwritable_home_is_reported_once_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    recorder = Recorder(str(tmp_path / "file"))
    named = [recorder.record("a") for _ in range(5)]
    assert len(set(named)) == 5
    assert recorder.lost == 5
    assert len(caplog.records) == 1
    assert str(tmp_path / "file") in caplog.text


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_reported_once_and_counted(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder(str(home))
    recorder.record("a")
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, recorder._journal._fd)
    os.close(full)
    for _ in range(3):
        recorder.record("a")
    assert recorder.lost == 3
    assert len(caplog.records) == 1
    recorder.close()
    recorder.record("a")
    assert sorted(json.loads(line)["r"] for line in written(home).splitlines()) == ["lost", "outcome", "outcome"]


def test_a_log_handler_that_raises_reaches_nobody(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            raise RuntimeError("broken filter")

    broken = Broken()
    logger = logging.getLogger("ratchet.recording.recorder")
    logger.addFilter(broken)
    try:
        recorder = Recorder(str(home))
        assert recorder.record("a", **cast("Any", {"unheard_of": 1}))
        (home / "journal").rename(home / "elsewhere")
        (home / "journal").write_text("")
        recorder.close()
        assert recorder.record("a")
    finally:
        logger.removeFilter(broken)
