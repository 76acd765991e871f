"""OTLP comes in: every dialect, both encodings, and nothing of it is dropped."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ratchet.errors import BackendError, UsageError
from ratchet.recording.sources.otlp_wire import MOST_BYTES, MOST_OBJECTS, MOST_RECORDS, NESTED, PROTOBUF, Signal
from ratchet.records import Row
from ratchet.runtime import Runtime
from support import otlp_payloads
from support.otlp_payloads import CASES, Case, seen, span

IN_PAGE = otlp_payloads.PAGE.read_text(encoding="utf-8").splitlines()
ANEW = "write the page anew: PYTHONPATH=tests python -m surfaces.otlp_payloads"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.dialect}: {case.what}")
def test_each_dialect_is_understood_as_the_page_says(case: Case, tmp_path: Path) -> None:
    outcomes, events = seen(case, tmp_path)
    if case.event:
        assert ([str(each["verb"]) for each in events], outcomes) == ([case.event], [])
    else:
        (outcome,) = outcomes
        assert (outcome.agent, outcome.task, outcome.ok) == (case.agent, case.task, not case.kind)
        assert (outcome.failure.kind if outcome.failure else "") == case.kind
        assert outcome.failure is None or outcome.failure.signature.startswith("v1:")
        assert (outcome.tokens, outcome.cost_usd) == (case.tokens, case.cost_usd)
    assert otlp_payloads.row(case, outcomes, events) in IN_PAGE, ANEW


def test_the_page_has_a_row_for_each_case_and_no_other() -> None:
    start, end = IN_PAGE.index(otlp_payloads.BEGIN), IN_PAGE.index(otlp_payloads.END)
    assert len([line for line in IN_PAGE[start:end] if line.startswith("| ")]) == len(CASES) + 1


def test_the_same_request_again_adds_nothing(tmp_path: Path) -> None:
    with Runtime.open(home=tmp_path) as runtime:
        for case in (*CASES, *CASES):
            runtime.intake.otlp(case.signal, json.dumps(case.request).encode())
        finished = [case for case in CASES if not case.event]
        assert len(list(runtime.outcomes())) == len(finished)
        assert len(runtime.store.find("events", {"noun": ("in", ["log", "metric"])}).rows) == len(CASES) - len(finished)


def test_the_real_exporter_of_the_sdk_arrives_as_protobuf_and_gzip(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.sdk")
    trace = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    from google.protobuf.json_format import ParseDict

    request = json.loads(json.dumps(CASES[2].request))
    sent = ParseDict(_base64_ids(request), trace.ExportTraceServiceRequest()).SerializeToString()
    with Runtime.open(home=tmp_path) as runtime:
        got = runtime.intake.otlp("traces", gzip.compress(sent), content_type=PROTOBUF, encoding="gzip")
        assert (got.outcomes, got.rejected, got.content_type, got.answer) == (1, 0, PROTOBUF, b"")
        runtime.intake.otlp("traces", json.dumps(CASES[2].request).encode())
        (outcome,) = runtime.outcomes()  # the same span in both encodings is one outcome
        assert outcome.failure is not None
        assert outcome.failure.kind == "rate_limit"


def _base64_ids(request: Row) -> Row:
    """The request with its ids as protobuf's own JSON writes bytes."""
    import base64

    text = json.dumps(request)
    for length in (32, 16):
        plain = f"{3:0{length}x}"
        text = text.replace(f'"{plain}"', f'"{base64.b64encode(bytes.fromhex(plain)).decode()}"')
    found = json.loads(text)
    assert isinstance(found, dict)
    return found


def test_the_shared_spellings_of_one_span_are_one_outcome_in_one_session(tmp_path: Path) -> None:
    held = Path(__file__).resolve().parents[3] / "shared" / "cases" / "behaviour"
    if not held.is_dir():
        pytest.skip("LOUD: ../shared/cases/behaviour is not there; nothing was tested")
    with Runtime.open(home=tmp_path) as runtime:
        for name in ("otlp-hex", "otlp-upper", "otlp-base64"):
            runtime.intake.otlp("traces", (held / f"{name}.json").read_bytes())
        assert [each.session for each in runtime.outcomes()] == ["5b8efff798038103d269b633813fc60c"]


def test_a_span_without_an_id_is_rejected_and_the_others_are_kept(tmp_path: Path) -> None:
    request = json.loads(json.dumps(CASES[0].request))
    spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans.append({"name": "nameless"})
    with Runtime.open(home=tmp_path) as runtime:
        got = runtime.intake.otlp("traces", json.dumps(request).encode())
    assert (got.outcomes, got.rejected) == (1, 1)
    assert json.loads(got.answer)["partialSuccess"] == {
        "rejectedSpans": "1",
        "errorMessage": "a span without a spanId",
    }


@pytest.mark.parametrize(
    ("body", "sent", "why"),
    [
        (b"{", {}, "no OTLP/JSON"),
        (b"[]", {}, "an object is due"),
        (b"[" * 100_000, {}, "no OTLP/JSON"),
        (b"\xff\xfe", {"content_type": PROTOBUF}, "no OTLP protobuf"),
        (b"no gzip at all", {"encoding": "gzip"}, "gzip cannot be read"),
        (gzip.compress(b"{}")[:-6], {"encoding": "gzip"}, "cut off"),
        (gzip.compress(b"\n" * (MOST_BYTES + 1)), {"encoding": "gzip"}, "more than 64 MB"),
        (b"{}", {"encoding": "br"}, "send gzip"),
        (b"{}", {"content_type": "text/plain"}, "set the Content-Type"),
        (b'{"resourceSpans": "x"}', {}, "resourceSpans is a list, not a str"),
        (b'{"resourceSpans": [{}, {"scopeSpans": [{"spans": [{}, 3]}]}]}', {}, r"\[1\]\.scopeSpans\[0\]\.spans\[1\]"),
        (b'{"resourceLogs": []}', {}, "send it to /v1/logs"),
    ],
    ids=[
        *("cut", "list", "deep", "garbage", "plain as gzip", "cut gzip", "bomb", "brotli", "text"),
        *("no list", "no span", "logs"),
    ],
)
def test_a_body_that_is_no_request_is_refused_with_what_is_wrong(
    body: bytes, sent: dict[str, str], why: str, tmp_path: Path
) -> None:
    with Runtime.open(home=tmp_path) as runtime, pytest.raises(UsageError, match=why):
        runtime.intake.otlp("traces", body, **sent)


def _nested(signal: Signal, levels: int, within: str, many: int) -> bytes:
    """An OTLP/JSON request with `many` times `within` below so many of its lists."""
    body = ",".join([within] * many)
    for names in reversed(NESTED[signal][:levels]):
        body = f'{{"{names[0]}":[{body}]}}'
    return body.encode()


def _packed(numbers: tuple[int, ...], within: bytes) -> bytes:
    """Protobuf messages around others: the field's number, the length in five bytes, what it holds."""
    for number in reversed(numbers):
        length = bytes((len(within) >> 7 * n & 0x7F) | (0x80 if n < 4 else 0) for n in range(5))
        within = bytes((number << 3 | 2,)) + length + within
    return within


@pytest.mark.parametrize("signal", ["traces", "logs", "metrics"])
@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("before", [b"", b"\x7b\x7c", b"\x78\x01", b"\x7d\0\0\0\0"])
def test_a_small_body_of_very_many_empty_records_is_refused_before_any_is_made(
    signal: Signal, levels: int, before: bytes, tmp_path: Path
) -> None:
    many = _packed((1, 2, 2)[: levels - 1], before + bytes((0x0A if levels == 1 else 0x12, 0)) * (MOST_RECORDS + 1))
    with Runtime.open(home=tmp_path) as runtime:
        with pytest.raises(UsageError, match="more than 100,000 records: send smaller"):
            runtime.intake.otlp(signal, _nested(signal, levels, "{}", MOST_RECORDS + 1))
        with pytest.raises(UsageError, match="more than 100,000 records: send smaller"):
            runtime.intake.otlp(signal, many, content_type=PROTOBUF)


@pytest.mark.parametrize("within", ["{}", "[]", '{"attributes":[{}]}'])
def test_very_many_objects_below_one_record_are_refused_too(within: str, tmp_path: Path) -> None:
    attributes = _packed((1, 2, 2), b"\x4a\0" * (MOST_OBJECTS + 1))
    with Runtime.open(home=tmp_path) as runtime:
        with pytest.raises(UsageError, match="more than 1,000,000 objects: send smaller"):
            runtime.intake.otlp("traces", b'{"x":%s}' % _nested("traces", 1, within, MOST_OBJECTS))
        with pytest.raises(UsageError, match="more than 1,000,000 objects: send smaller"):
            runtime.intake.otlp("traces", attributes, content_type=PROTOBUF)


@pytest.mark.parametrize(
    ("signal", "request_"),
    [
        ("traces", {}),
        ("traces", {"resourceSpans": None}),
        ("metrics", {"resourceMetrics": [{"scopeMetrics": [{"metrics": None}, {}]}]}),
        (
            "logs",
            {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"kvlistValue": 3}, "attributes": [1, {}]}]}]}]},
        ),
        (
            "metrics",
            {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": 5, "gauge": {"dataPoints": [{}]}}]}]}]},
        ),
    ],
)
def test_a_request_with_little_or_odd_in_it_hurts_nobody(signal: Signal, request_: Row, tmp_path: Path) -> None:
    with Runtime.open(home=tmp_path) as runtime:
        got = runtime.intake.otlp(signal, json.dumps(request_).encode())
        runtime.drain()
        assert got.outcomes == 0
        assert list(runtime.outcomes()) == []


def test_no_secret_of_a_request_reaches_the_disk(tmp_path: Path) -> None:
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 2
    logs = otlp_payloads.log(f"sent with {key}", {"api_key": key, "note": f"Bearer {key}"}, service="api")
    metrics = otlp_payloads.metric("calls", 1.0, {"authorization": f"Bearer {key}"})
    traces = span("call", {"gen_ai.tool.name": "fetch", "gen_ai.tool.call.arguments": f"curl -u me:{key}"}, error=key)
    with Runtime.open(home=tmp_path) as runtime:
        for signal, request in (("logs", logs), ("metrics", metrics), ("traces", traces)):
            runtime.intake.otlp(signal, json.dumps(request).encode())  # type: ignore[arg-type]
        journalled = [each.read_bytes() for each in (tmp_path / "journal").iterdir()]
        runtime.drain()
    kept = [each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()]
    assert not [content for content in (*journalled, *kept) if key.encode() in content]


def test_what_cannot_be_written_down_is_not_answered_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Runtime.open(home=tmp_path) as runtime:
        monkeypatch.setattr(runtime.recorder, "append", lambda _row: False)
        with pytest.raises(BackendError, match="send it again"):
            runtime.intake.otlp("traces", json.dumps(CASES[0].request).encode())


# -- in this process -------------------------------------------------------------------------------------------------


@pytest.fixture
def tracer_of() -> Callable[..., object]:
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    from ratchet.integrations.otel import SpanProcessor

    def made(home: Path, **given: bool) -> object:
        provider = sdk.TracerProvider()
        provider.add_span_processor(SpanProcessor(home=home, **given))
        return provider.get_tracer("test")

    return made


def test_a_span_processor_records_what_failed_and_what_means_something(
    tracer_of: Callable[..., object], tmp_path: Path
) -> None:
    tracer = tracer_of(tmp_path)
    with tracer.start_as_current_span("plain detail"):  # type: ignore[attr-defined]
        pass
    with tracer.start_as_current_span("chat", attributes={"gen_ai.request.model": "m"}):  # type: ignore[attr-defined]
        pass
    with (
        pytest.raises(KeyError),
        tracer.start_as_current_span("fails"),  # type: ignore[attr-defined]
    ):
        raise KeyError("price")
    with Runtime.open(home=tmp_path) as runtime:
        found = {each.task: each for each in runtime.outcomes()}
    assert set(found) == {"chat", "fails"}
    assert found["chat"].ok
    assert found["fails"].failure is not None
    assert found["fails"].failure.type == "KeyError"


def test_a_span_processor_never_raises_into_the_host(
    tracer_of: Callable[..., object], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    tracer = tracer_of(blocked, every=True)
    with tracer.start_as_current_span("work"):  # type: ignore[attr-defined]
        pass
    assert "span.lost" in caplog.text or "lost" in caplog.text


# -- over HTTP -------------------------------------------------------------------------------------------------------


def test_the_exporter_of_the_real_sdk_is_served(tmp_path: Path) -> None:
    uvicorn = pytest.importorskip("uvicorn")
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    exporting = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    http = pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    from ratchet.serving.api.app import create

    with Runtime.open(home=tmp_path) as runtime, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(create(runtime), log_level="warning", timeout_graceful_shutdown=5))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            address = f"http://127.0.0.1:{listening.getsockname()[1]}/v1/traces"
            exporter = exporting.OTLPSpanExporter(endpoint=address, compression=http.Compression.Gzip)
            provider = sdk.TracerProvider()
            provider.add_span_processor(SimpleSpanProcessor(exporter))
            tracer = provider.get_tracer("test")
            with (
                pytest.raises(TimeoutError),
                tracer.start_as_current_span("execute_tool", attributes={"gen_ai.tool.name": "search"}),
            ):
                raise TimeoutError("timed out after 30 s")
            provider.shutdown()
        finally:
            server.should_exit = True
            thread.join(30)
        (outcome,) = runtime.outcomes()
    assert (outcome.task, outcome.failure.kind if outcome.failure else "") == ("search", "timeout")


def test_what_is_wrong_with_a_request_is_told_in_its_answer(tmp_path: Path) -> None:
    testclient = pytest.importorskip("starlette.testclient")
    from ratchet.serving.api.app import create

    with Runtime.open(home=tmp_path) as runtime:
        client = testclient.TestClient(create(runtime), base_url="http://localhost")
        good = client.post("/v1/logs", json=CASES[8].request)
        assert (good.status_code, good.json()) == (200, {})
        bad = client.post("/v1/traces", content=b"{", headers={"content-type": "application/json"})
        assert (bad.status_code, bad.headers["content-type"]) == (400, "application/problem+json")
        assert "no OTLP/JSON" in bad.json()["detail"]
        for body in (b"", b"[]", b"\xff\xfe", b'{"resourceSpans": 3}', b'{"resourceLogs": []}'):
            assert client.post("/v1/traces", content=body).status_code == 400
        packed = {"content-encoding": "gzip", "content-type": PROTOBUF}
        assert client.post("/v1/metrics", content=b"x", headers=packed).status_code == 400
