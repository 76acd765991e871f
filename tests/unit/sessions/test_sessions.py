"""A session is listed by its counts, opened step by step, and its texts come from its history."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import ratchet
from ratchet.errors import NotFound, UsageError
from ratchet.records import Json, Row
from ratchet.runtime import Runtime
from ratchet.sessions.prices import Prices, Tokens
from support.histories import claude, lines, result, use

SECRET = "sk-ant-api03-" + "a1B2" * 20


def words(text: str, second: float) -> dict[str, Json]:
    return claude("user", second, message={"role": "user", "content": text})


def thinking(second: float, message: str, tokens: int) -> dict[str, Json]:
    body: Json = {
        "id": message,
        "role": "assistant",
        "model": "claude-opus-4",
        "content": [{"type": "text", "text": "Done."}],
        "usage": {"input_tokens": tokens, "output_tokens": 1},
    }
    return claude("assistant", second, message=body)


HISTORY = (
    words("make the shop build", 0),
    use("toolu_01aaaaaaaaaaaaaaaaaaaaaa", "Bash", {"command": "make build"}, 1, message="m1", tokens=3),
    use("toolu_01aaaaaaaaaaaaaaaaaaaaaa", "Bash", {"command": "make build"}, 1.1, message="m1", tokens=100),
    result(
        "toolu_01aaaaaaaaaaaaaaaaaaaaaa", "Exit code 2\nmake: *** No rule to make target 'build'.", 2, is_error=True
    ),
    use("toolu_01bbbbbbbbbbbbbbbbbbbbbb", "Bash", {"command": "make all"}, 3, message="m2", tokens=200),
    result("toolu_01bbbbbbbbbbbbbbbbbbbbbb", f"built with {SECRET}", 4),
    thinking(5, "m3", 50),
)


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with Runtime.open(home=tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return lines(tmp_path / "history.jsonl", HISTORY)


def test_a_list_counts_each_answer_once_and_the_last_one_too(runtime: Runtime, path: Path) -> None:
    runtime.learn([path])
    (found,) = runtime.sessions.list().items
    assert (found.calls, found.failures, found.title) == (2, 1, "make the shop build")
    assert found.tokens == Tokens(given=350, made=1)
    assert [(each.model, each.messages) for each in found.models] == [("claude-opus-4", 3)]


def test_reading_the_same_history_again_in_another_file_counts_nothing_twice(runtime: Runtime, path: Path) -> None:
    lines(path.with_name("copy.jsonl"), HISTORY[:3])
    runtime.learn([path.with_name("copy.jsonl")])
    runtime.learn([path])
    (found,) = runtime.sessions.list().items
    assert (found.calls, found.tokens.total) == (2, 351)


def test_a_session_is_opened_step_by_step_with_results_from_its_history(runtime: Runtime, path: Path) -> None:
    runtime.learn([path])
    session = runtime.sessions.list().items[0].id
    found = runtime.sessions.show(session[:6])
    first, second = found.steps
    assert [each.number for each in found.steps] == [1, 2]
    assert (first.place, first.outcome.ok, first.tokens.given) == ("read", False, 100)
    assert "No rule to make target" in first.result
    assert second.result.startswith("built with")
    assert SECRET not in second.result
    assert [each.text for each in found.said if each.who == "person"] == ["make the shop build"]


def test_steps_come_in_pages_and_from_any_step_on(runtime: Runtime, path: Path) -> None:
    runtime.learn([path])
    session = runtime.sessions.list().items[0].id
    first = runtime.sessions.show(session, limit=1)
    rest = runtime.sessions.show(session, limit=1, cursor=first.next)
    assert [each.number for each in (*first.steps, *rest.steps)] == [1, 2]
    assert rest.next is None
    there = runtime.sessions.show(session, at=rest.steps[0].outcome.id)
    assert there.steps[0] == rest.steps[0]


def test_a_history_that_changed_or_went_is_said_to_have(runtime: Runtime, path: Path) -> None:
    runtime.learn([path])
    session = runtime.sessions.list().items[0].id
    path.write_bytes(path.read_bytes().replace(b"built with", b"made  with"))
    assert [each.place for each in runtime.sessions.show(session).steps] == ["read", "changed"]
    path.unlink()
    assert [each.place for each in runtime.sessions.show(session).steps] == ["gone", "gone"]


def test_an_outcome_is_shown_with_the_steps_beside_it(runtime: Runtime, path: Path) -> None:
    runtime.learn([path])
    newest, oldest = runtime.sessions.outcomes().items
    found = runtime.sessions.step(newest.id)
    assert found.step.number == 2
    assert [each.id for each in found.before] == [oldest.id]
    assert found.path == str(path)
    assert [each.id for each in runtime.sessions.outcomes(ok=False).items] == [oldest.id]


def test_runs_that_were_recorded_make_a_session_too(runtime: Runtime) -> None:
    runtime.record("bot", task="plan", ok=True, session="s1", tokens=10, cost_usd=0.5, model="m")
    runtime.record("bot", task="act", error="connection refused", session="s1")
    (found,) = runtime.sessions.list(agent="bot").items
    assert (found.calls, found.failures, found.tokens.unsplit, found.cost_usd) == (2, 1, 10, 0.5)


def test_an_unknown_or_ambiguous_beginning_is_an_error(runtime: Runtime) -> None:
    for name in ("abc1", "abc2"):
        runtime.record("bot", ok=True, session=name)
    with pytest.raises(NotFound, match="no session x"):
        runtime.sessions.show("x")
    with pytest.raises(UsageError, match="abc1, abc2"):
        runtime.sessions.show("abc")


def test_money_is_asked_of_ones_own_prices_first_and_is_unknown_where_nobody_knows() -> None:
    prices = Prices({"mine": (1.0, 10.0)})
    assert prices.of("mine", Tokens(given=1_000_000, made=100_000)) == pytest.approx(2.0)
    assert prices.of("nobody-knows-it", Tokens(given=1)) is None
    assert prices.of("mine", Tokens(unsplit=5)) is None


def test_listed_prices_tell_cached_tokens_apart() -> None:
    pytest.importorskip("genai_prices")
    prices = Prices({})
    given, cached, stored, hour, made = (
        prices.of("claude-opus-4-5-20251101", tokens)
        for tokens in (
            Tokens(given=10**6),
            Tokens(cached=10**6),
            Tokens(stored=10**6),
            Tokens(stored=10**6, stored_hour=10**6),
            Tokens(made=10**6),
        )
    )
    assert (cached or 0) < (given or 0) < (stored or 0) < (hour or 0) < (made or 0)
    assert prices.of("claude-opus-4-5-20251101", Tokens(stored=2 * 10**6, stored_hour=10**6)) == stored + hour  # type: ignore[operator]


def test_a_cache_for_an_hour_is_counted_apart_and_again_in_a_home_that_did_not(tmp_path: Path) -> None:
    pytest.importorskip("genai_prices")
    usage: Row = {
        "input_tokens": 1,
        "cache_creation_input_tokens": 10**6,
        "cache_creation": {"ephemeral_5m_input_tokens": 400_000, "ephemeral_1h_input_tokens": 600_000},
        "output_tokens": 1,
    }
    body: Row = {"id": "m", "role": "assistant", "model": "claude-opus-4-5-20251101", "content": [], "usage": usage}
    path = lines(tmp_path / "hour.jsonl", [claude("assistant", 1, message=body)])
    with Runtime.open(home=tmp_path / "hour") as runtime:
        runtime.learn([path])
        total = runtime.sessions.costs().total
        assert (total.tokens.stored, total.tokens.stored_hour, total.tokens.total) == (10**6, 600_000, 10**6 + 2)
        assert total.cost_usd == pytest.approx(0.4 * 6.25 + 0.6 * 10 + 5e-6 + 25e-6)
        shown = runtime.sessions.list().items[0]
        assert shown.cost_usd == pytest.approx(total.cost_usd)
        for table in ("message_tokens", "session_models"):  # as a home has it that was made before they were told apart
            runtime.store.delete("cursors", {"path": ("!=", "")})
            held = runtime.store.find(table).rows
            runtime.store.delete(table, {"session": shown.id})
            put = runtime.store.insert_new if table == "message_tokens" else runtime.store.add
            put(table, [{**row, "stored_hour": None} for row in held])
        runtime.learn([path])
        assert runtime.sessions.list().items[0].tokens.stored_hour == 600_000


def test_a_trace_is_a_tree_of_its_spans_also_where_a_part_begins_inside(runtime: Runtime, tmp_path: Path) -> None:
    def span(number: int, parent: int | None) -> Row:
        told: Row = {"traceId": f"{7:032x}", "spanId": f"{number:016x}", "name": f"step {number}"}
        at = 1_795_000_000 + number
        told |= {"startTimeUnixNano": str(at * 10**9), "endTimeUnixNano": str((at + 1) * 10**9)}
        told["attributes"] = [{"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}}]
        return told if parent is None else {**told, "parentSpanId": f"{parent:016x}"}

    spans: list[Json] = [span(1, None), span(2, 1), span(3, 2), span(4, 1), span(5, 99)]
    trace: Row = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    (tmp_path / "trace.json").write_text(json.dumps(trace))
    runtime.learn([tmp_path / "trace.json"])
    (session,) = [each.id for each in runtime.sessions.list().items if each.agent == "otlp"]
    opened = runtime.sessions.show(session)
    assert [(each.outcome.task, each.depth) for each in opened.steps] == [
        *(("step 1", 0), ("step 2", 1), ("step 3", 2), ("step 4", 1), ("step 5", 1))
    ]
    inside = runtime.sessions.show(session, at=opened.steps[2].outcome.id, limit=1)
    assert [each.depth for each in inside.steps] == [2]


def test_a_step_and_its_pattern_lead_to_what_was_learnt_and_what_mended_it(runtime: Runtime) -> None:
    runtime.learn([Path(ratchet.__file__).parent / "demo" / "history"])
    steps = [step for each in runtime.sessions.list().items for step in runtime.sessions.show(each.id).steps]
    taught = [each for each in steps if each.fixed_by and each.taught]
    assert taught
    for failed in taught:
        detail = runtime.pattern(failed.pattern)
        assert detail.mended
        assert all(not one.ok and other.ok for one, other in detail.mended)
        assert any(failed.outcome.id in runtime.lessons.show(each).evidence for each in failed.taught)
