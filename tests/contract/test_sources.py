"""What holds for every source: whatever a file holds, reading raises nothing, and what it yields can be stored."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratchet.errors import BackendError
from ratchet.ports import Source
from ratchet.recording.sources import SOURCES, source_for
from ratchet.records import Json, Outcome, Row, to_row

every_source = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)

# The words that formats are made of, so that what is drawn comes close to real records.
WORDS = st.sampled_from(
    [
        *("user", "assistant", "system", "progress", "tool", "tool_use", "tool_result", "agent_progress", "api_error"),
        *("session_meta", "response_item", "event_msg", "function_call", "function_call_output", "item_completed"),
        *("CommandExecution", "item.completed", "command_execution", "failed", "error", "gemini", "run", "ActionEvent"),
        *("ObservationEvent", "agent", "call_AbCdEfGhIjKlMnOpQrSt", "Bash", "exec", "2026-02-01T10:00:00Z", "", "x"),
        *("Exit code: 1\nOutput:\nboom", "Traceback (most recent call last):", "\ud800", "{", "<tool_use_error>a"),
    ]
)
KEYS = st.sampled_from(
    [
        *(
            "type",
            "subtype",
            "role",
            "message",
            "content",
            "id",
            "uuid",
            "sessionId",
            "timestamp",
            "data",
            "name",
            "input",
        ),
        *(
            "tool_use_id",
            "is_error",
            "toolUseResult",
            "usage",
            "payload",
            "call_id",
            "arguments",
            "output",
            "item",
            "info",
        ),
        *("status", "exit_code", "command", "tool_calls", "tool_call_id", "function", "toolCalls", "result", "parts"),
        *(
            "messages",
            "history",
            "trajectory",
            "traj",
            "action",
            "args",
            "observation",
            "extras",
            "cause",
            "kind",
            "source",
        ),
        *("resourceSpans", "scopeSpans", "spans", "spanId", "attributes", "key", "value", "events", "success", "error"),
        *("task", "state", "tool", "time", "tokens", "duration", "agentId", "model", "cwd", "isSidechain", "level"),
    ]
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), WORDS, st.text(max_size=20))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=6)),
    max_leaves=30,
)
RECORDS = st.dictionaries(KEYS, VALUES, max_size=10)


def read(source: Source, data: bytes, cut: int | None = None) -> list[Outcome]:
    """All outcomes of a file; read in two parts when `cut` says where the first ended."""
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.jsonl"
        carry: Row = {}
        offset = 0
        for end in (len(data),) if cut is None else (cut, len(data)):
            path.write_bytes(data[:end])
            source.claims(data[:end])
            for piece in source.read(str(path), offset, carry):
                carry = json.loads(json.dumps(carry)) if cut is None else carry
                assert 0 <= piece.offset <= end
                outcomes += [item for item in piece.items if isinstance(item, Outcome)]
                offset = piece.offset
            carry = json.loads(json.dumps(carry))
    return outcomes


@every_source
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    records=st.lists(RECORDS, min_size=1, max_size=8), join=st.sampled_from([b"\n", b"", b"\n\0\n", b"\nnull\n[]\n"])
)
def test_records_of_any_shape_raise_nothing_and_yield_what_can_be_stored(
    source: Source, records: list[Json], join: bytes
) -> None:
    data = join.join(json.dumps(record).encode() for record in records) + b"\n"
    for outcome in read(source, data):
        json.dumps(to_row(outcome), ensure_ascii=False, allow_nan=False).encode()


@every_source
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(document=VALUES, indent=st.sampled_from([None, 1]))
def test_documents_of_any_shape_raise_nothing(source: Source, document: Json, indent: int | None) -> None:
    read(source, json.dumps(document, indent=indent).encode())


@every_source
@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=400))
def test_bytes_of_any_kind_raise_nothing(source: Source, data: bytes) -> None:
    with contextlib.suppress(BackendError):  # a compression that this Python cannot read
        read(source, data)


SAMPLES: dict[str, Callable[[int], Row]] = {
    "claude-code": lambda n: {
        "type": "user",
        "sessionId": "s",
        "timestamp": f"2026-02-01T10:00:{n:02}Z",
        "message": {
            "content": [{"type": "tool_result", "tool_use_id": f"toolu_01AbCdEfGhIjKlMnOp{n:02}", "content": "x"}]
        },
    },
    "codex": lambda n: {
        "type": "response_item",
        "timestamp": f"2026-02-01T10:00:{n:02}Z",
        "payload": {"type": "function_call_output", "call_id": f"call_{n}", "output": "Exit code: 1\nOutput:\nboom"},
    },
    "otlp": lambda n: {
        "resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": f"a{n}", "traceId": "t", "status": {"code": 2}}]}]}]
    },
    "messages": lambda n: {"role": "tool", "tool_call_id": f"call_{n}", "content": "Error: no"},
    "jsonl": lambda n: {"task": f"t{n}", "success": False, "error": "boom"},
}


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=25, deadline=None)
@given(share=st.floats(0, 1))
def test_a_file_read_while_it_grows_yields_what_it_yields_at_once(name: str, share: float) -> None:
    source = next(source for source in SOURCES if source.name == name)
    data = b"".join(json.dumps(SAMPLES[name](n)).encode() + b"\n" for n in range(6))
    whole = [outcome.id for outcome in read(source, data)]
    assert len(set(whole)) == 6
    assert [outcome.id for outcome in read(source, data, cut=max(1, int(share * len(data))))] == whole


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_of_each_format_is_claimed_by_its_source(tmp_path: Path, name: str) -> None:
    path = tmp_path / "history.txt"
    path.write_text(json.dumps(SAMPLES[name](1)) + "\n")
    assert source_for(str(path)).name == name
