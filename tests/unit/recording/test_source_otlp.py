"""OTLP traces: spans that mean something, in every naming, and every failing span."""

from __future__ import annotations

import base64
import json
import uuid
from pathlib import Path

import pytest

from ratchet.recording.sources.lines import peek
from ratchet.recording.sources.otlp import Otlp
from ratchet.records import Json, Outcome, Row
from support.histories import lines, read

SOURCE = Otlp()
NANO = 1_769_940_000_000_000_000


def pair(key: str, value: Json) -> Row:
    if isinstance(value, bool):
        return {"key": key, "value": {"boolValue": value}}
    if isinstance(value, int):
        return {"key": key, "value": {"intValue": str(value)}}
    return {"key": key, "value": {"stringValue": value}}


def span(own: str, attributes: Row, **more: Json) -> Row:
    return {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": own,
        "name": "a span",
        "startTimeUnixNano": str(NANO),
        "endTimeUnixNano": str(NANO + 1_500_000_000),
        "attributes": [pair(key, value) for key, value in attributes.items()],
        **more,
    }


def request(*spans: Row, resource: Row | None = None) -> Row:
    about: Json = [pair(key, value) for key, value in {"service.name": "shop", **(resource or {})}.items()]
    return {"resourceSpans": [{"resource": {"attributes": about}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


def outcomes(tmp_path: Path, *spans: Row, resource: Row | None = None) -> list[Outcome]:
    return read(SOURCE, lines(tmp_path / "t.jsonl", [request(*spans, resource=resource)])).outcomes


EXCEPTION: Json = [
    {
        "name": "exception",
        "attributes": [
            pair("exception.type", "openai.RateLimitError"),
            pair("exception.message", "slow down"),
            pair("exception.stacktrace", "Traceback (most recent call last):\n  x\nopenai.RateLimitError: slow down"),
        ],
    }
]


@pytest.mark.parametrize(
    ("attributes", "tokens"),
    [
        (
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": "m",
                "gen_ai.usage.input_tokens": 7,
                "gen_ai.usage.output_tokens": 5,
            },
            12,
        ),
        ({"gen_ai.request.model": "m", "gen_ai.usage.prompt_tokens": 7, "gen_ai.usage.completion_tokens": 5}, 12),
        (
            {
                "openinference.span.kind": "LLM",
                "llm.model_name": "m",
                "llm.token_count.total": 12,
                "llm.token_count.prompt": 7,
            },
            12,
        ),
        ({"traceloop.span.kind": "llm", "gen_ai.response.model": "m", "llm.usage.total_tokens": 12}, 12),
        ({"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 7}, None),
    ],
)
def test_each_naming_of_a_models_call_is_understood(tmp_path: Path, attributes: Row, tokens: int | None) -> None:
    (found,) = outcomes(tmp_path, span("00f067aa0ba902b7", attributes))
    assert (found.ok, found.model, found.tokens, found.agent) == (True, "m", tokens, "shop")
    assert (found.started_at, found.duration_s) == (1769940000.0, 1.5)
    assert found.session == "5b8efff798038103d269b633813fc60c"


def test_an_exception_event_tells_type_and_traceback(tmp_path: Path) -> None:
    attributes: Row = {"gen_ai.operation.name": "chat", "http.response.status_code": 429, "session.id": "s-1"}
    (found,) = outcomes(tmp_path, span("00f067aa0ba902b7", attributes, status={"code": 2}, events=EXCEPTION))
    assert found.failure is not None
    assert (found.failure.type, found.failure.status, found.session) == ("openai.RateLimitError", 429, "s-1")
    assert found.failure.message.startswith("Traceback")


@pytest.mark.parametrize("code", [2, "2", "STATUS_CODE_ERROR"])
def test_a_failing_span_is_never_dropped(tmp_path: Path, code: Json) -> None:
    plain = span("a1", {"db.system": "postgres"}, status={"code": code, "message": "deadlock detected"})
    quiet = span("a2", {"db.system": "postgres"})
    (found,) = outcomes(tmp_path, plain, quiet)
    assert found.failure is not None
    assert found.failure.message == "deadlock detected"


def test_an_exception_that_the_span_handled_is_no_failure(tmp_path: Path) -> None:
    handled = span("a1", {"gen_ai.operation.name": "chat"}, status={"code": 1}, events=EXCEPTION)
    unsaid = span("a2", {"gen_ai.operation.name": "chat"}, status={}, events=EXCEPTION)
    assert [found.ok for found in outcomes(tmp_path, handled, unsaid)] == [True, False]


@pytest.mark.parametrize("bad", ["toxic", "harmful", "hallucinated", "biased", "issues", "errors", "violation"])
@pytest.mark.parametrize("good", ["relevant", "faithful", "acceptable", "grounded", "compliant", "safe"])
@pytest.mark.parametrize("negation", ["not ", "non-", "no_", "without "])
def test_a_negated_label_says_the_opposite(tmp_path: Path, bad: str, good: str, negation: str) -> None:
    labels = (bad, f"{negation}{good}", good, f"{negation}{bad}")
    spans = [span(f"{n:016x}", {"gen_ai.evaluation.score.label": label}) for n, label in enumerate(labels, 1)]
    assert [each.ok for each in outcomes(tmp_path, *spans)] == [False, False, True, True]


@pytest.mark.parametrize("name", ["handled", "exception.handled", "exception.mechanism.handled"])
def test_of_several_exceptions_the_one_that_was_not_handled_is_told(tmp_path: Path, name: str) -> None:
    met = [pair("exception.type", "ValueError"), pair(name, True)]
    ended = [pair("exception.type", "TimeoutError")]
    events: list[Json] = [
        {"name": "exception", "attributes": list(met)},
        {"name": "gen_ai.client.operation.exception", "attributes": list(ended)},
    ]
    told = outcomes(tmp_path, span("01" * 8, {"gen_ai.operation.name": "chat"}, events=events))
    assert [each.failure and each.failure.type for each in told] == ["TimeoutError"]
    alone = outcomes(tmp_path, span("02" * 8, {"gen_ai.operation.name": "chat"}, events=events[:1]))
    assert [each.ok for each in alone] == [True]


@pytest.mark.parametrize("spelled", ["hex", "upper", "base64", "base64 unpadded", "url-safe base64", "uuid", "0x"])
def test_an_id_is_one_id_however_it_is_written(tmp_path: Path, spelled: str) -> None:
    trace, own = "fbefffff98038103d269b633813fc60c", "eee19bfec3c1b174"
    both = [trace, own]
    if spelled == "upper":
        both = [each.upper() for each in both]
    elif spelled == "0x":
        both = [f"0x{each}" for each in both]
    elif spelled == "uuid":
        both = [str(uuid.UUID(trace)), own]
    elif spelled != "hex":
        encode = base64.urlsafe_b64encode if "url" in spelled else base64.b64encode
        both = [encode(bytes.fromhex(each)).decode() for each in both]
        both = [each.rstrip("=") if "unpadded" in spelled else each for each in both]
    attributes: Row = {"gen_ai.operation.name": "chat"}
    here = outcomes(tmp_path, {**span(own, attributes), "traceId": trace})
    there = outcomes(tmp_path, {**span(both[1], attributes), "traceId": both[0]})
    assert [(each.id, each.session) for each in there] == [(each.id, each.session) for each in here]
    assert here[0].session == trace


@pytest.mark.parametrize(
    "trace", ["t", "x" * 32, "5b8e", "not an id at all", "AAAA", "5b8efff798038103d269b633813fc60c00"]
)
def test_what_is_no_id_stands_as_it_came(tmp_path: Path, trace: str) -> None:
    (found,) = outcomes(tmp_path, {**span("own", {"gen_ai.operation.name": "chat"}), "traceId": trace})
    assert found.session == trace


def event(name: str, given: Row) -> Row:
    return {"name": name, "attributes": [pair(key, value) for key, value in given.items()]}


@pytest.mark.parametrize(
    ("more", "ok"),
    [
        ({"status": {"code": 1}}, True),
        ({"status": {"code": "STATUS_CODE_OK"}, "error.type": "timeout"}, True),
        ({"status": {}, "exception.escaped": False}, True),
        ({"status": {}, "exception.escaped": "False"}, True),
        ({"status": {}, "exception.handled": True}, True),
        ({"status": {}, "gen_ai.response.finish_reasons": '["stop"]'}, True),
        ({"status": {}, "exception.escaped": True}, False),
        ({"status": {}}, False),
        ({"status": {"code": 2}, "exception.escaped": False}, False),
        ({"status": {}, "error.type": "timeout"}, False),
    ],
)
def test_an_exception_that_was_handled_is_no_failure(tmp_path: Path, more: Row, ok: bool) -> None:
    about = {key: value for key, value in more.items() if key.startswith("exception.")}
    own = {key: value for key, value in more.items() if key != "status" and key not in about}
    raised: Json = [event("exception", {"exception.type": "ValueError", "exception.message": "x", **about})]
    one = span("a1", {"gen_ai.operation.name": "chat", **own}, status=more["status"], events=raised)
    assert [found.ok for found in outcomes(tmp_path, one)] == [ok]


@pytest.mark.parametrize(
    ("name", "reason", "kind"),
    [
        ("gen_ai.response.finish_reasons", ["stop"], ""),
        ("gen_ai.response.finish_reasons", ["tool_calls"], ""),
        ("gen_ai.response.finish_reasons", ["end_turn"], ""),
        ("gen_ai.response.finish_reasons", '["content_filter"]', "content_filter"),
        ("gen_ai.response.finish_reasons", ["length"], "context_overflow"),
        ("gen_ai.response.finish_reasons", ["stop", "length"], ""),
        ("gen_ai.response.finish_reasons", ["SAFETY"], "content_filter"),
        ("gen_ai.response.finish_reasons", ["refusal"], "refusal"),
        ("gen_ai.response.finish_reasons", ["MALFORMED_FUNCTION_CALL"], "malformed_output"),
        ("gen_ai.response.finish_reasons", ["error"], "other"),
        ("gen_ai.response.finish_reasons", [], ""),
        ("gen_ai.response.finish_reasons", "[", ""),
        ("llm.response.stop_reason", "max_tokens", "context_overflow"),
        ("ai.response.finishReason", "content-filter", "content_filter"),
    ],
)
def test_a_finish_reason_is_read_as_the_kinds_have_it(tmp_path: Path, name: str, reason: Json, kind: str) -> None:
    held: Json = {"stringValue": reason}
    if isinstance(reason, list):
        held = {"arrayValue": {"values": [{"stringValue": each} for each in reason]}}
    one = span("a1", {"gen_ai.operation.name": "chat"})
    one["attributes"] = [*one["attributes"], {"key": name, "value": held}]  # type: ignore[misc]
    (found,) = outcomes(tmp_path, one)
    assert (found.failure.kind if found.failure else "") == kind
    assert found.ok is not bool(kind)


@pytest.mark.parametrize(
    ("score", "label", "ok", "kept"),
    [
        (0.9, "pass", True, 0.9),
        (0.1, "fail", False, 0.1),
        (None, "incorrect", False, None),
        (None, "not_relevant", False, None),
        (None, "Unsafe", False, None),
        (None, "relevant", True, None),
        (0.0, "safe", True, 0.0),
        (1.0, "toxic", False, 1.0),
        (0.2, "", False, 0.2),
        (0.5, "", True, 0.5),
        (4.0, "", True, None),
        (4.0, "fail", False, None),
        (None, "", True, None),
    ],
)
def test_what_an_evaluator_found_is_the_score_and_may_be_the_failure(
    tmp_path: Path, score: float | None, label: str, ok: bool, kept: float | None
) -> None:
    given: Row = {"gen_ai.evaluation.name": "Relevance", "gen_ai.evaluation.explanation": "it answers another question"}
    given |= {"gen_ai.evaluation.score.value": str(score)} if score is not None else {}
    given |= {"gen_ai.evaluation.score.label": label} if label else {}
    one = span("a1", {"gen_ai.operation.name": "chat"}, events=[event("gen_ai.evaluation.result", given)])
    (found,) = outcomes(tmp_path, one)
    assert (found.ok, found.score) == (ok, kept)
    if found.failure is not None:
        assert found.failure.kind == "wrong_output"
        assert "it answers another question" in found.failure.message


def test_a_tools_span_is_a_step_and_judged_by_its_result(tmp_path: Path) -> None:
    attributes: Row = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "bash",
        "gen_ai.tool.call.arguments": '{"command": "git push"}',
        "gen_ai.tool.call.result": "fatal: The current branch x has no upstream branch.",
        "gen_ai.agent.name": "coder",
    }
    (found,) = outcomes(tmp_path, span("a1", attributes), resource={"session.id": "s-9"})
    assert found.step is not None
    assert (found.agent, found.task, found.step.head, found.session) == ("coder", "bash", "git push", "s-9")
    assert found.failure is not None
    assert not found.failure.flagged


def test_a_span_counts_once_wherever_it_is_met(tmp_path: Path) -> None:
    one = request(span("a1", {"gen_ai.operation.name": "chat"}))
    path = lines(tmp_path / "a.jsonl", [one, one])
    document = tmp_path / "b.json"
    document.write_text(json.dumps(one, indent=2))
    assert SOURCE.claims(peek(str(document)))
    assert len({*read(SOURCE, path).ids, *read(SOURCE, document).ids}) == 1


def test_odd_spans_break_nothing(tmp_path: Path) -> None:
    odd: list[Json] = [
        {
            "resourceSpans": [
                None,
                {"scopeSpans": [{"spans": [5, {}, {"spanId": "a", "attributes": {"llm.x": 1}, "status": 7}]}]},
            ]
        },
        {"resourceSpans": "no"},
        {"resourceLogs": []},
        {
            "resource_spans": [
                {"scope_spans": [{"spans": [{"span_id": "b", "trace_id": "t", "attributes": [{"key": "gen_ai.x"}]}]}]}
            ]
        },
    ]
    taught = read(SOURCE, lines(tmp_path / "t.jsonl", odd))
    assert len(taught.outcomes) == 2
    assert ["spanId" in piece.reason for piece in taught.bad] == [True]


def test_a_trace_without_spans_of_interest_says_so(tmp_path: Path) -> None:
    assert read(SOURCE, lines(tmp_path / "t.jsonl", [request(span("a1", {"http.route": "/"}))])).note
    assert read(SOURCE, lines(tmp_path / "u.jsonl", [{"resourceSpans": 5}])).bad
