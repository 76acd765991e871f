"""`ratchet.classify`: texts, JSON bodies and exceptions of any library."""

from __future__ import annotations

import asyncio
import errno
import json
import subprocess
from pathlib import Path

import pytest

import ratchet
from ratchet.failures.classification import raised
from ratchet.failures.kinds.table import KINDS


class Response:
    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


class ProviderError(Exception):
    """As SDKs shape theirs: a status, a body, a response."""

    def __init__(self, message: str, **facts: object) -> None:
        super().__init__(message)
        vars(self).update(facts)


class RetryError(Exception):
    """As tenacity's: the last attempt is a finished future."""

    def __init__(self, error: BaseException) -> None:
        super().__init__("RetryError[<Future at 0x7f state=finished>]")
        self.last_attempt = type("Attempt", (), {"_exception": error})()


class HostileError(Exception):
    """Every attribute that is asked for raises, and so does str()."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)

    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_a_classification_says_kind_advice_signature_and_template() -> None:
    said = ratchet.classify("HTTP 429: try again in 12 s, request 14290")
    assert (said.kind, said.transient, said.retry_safe) == ("rate_limit", True, True)
    assert said.signature.startswith("v1:")
    assert "14290" not in said.template
    assert said == ratchet.classify("HTTP 429: try again in 3 s, request 881")


@pytest.mark.parametrize("text", ["", " \n", "Something went wrong.", "database is locked", "\ud800"])
def test_advice_is_always_yes_or_no(text: str) -> None:
    said = ratchet.classify(text)
    assert said.kind in KINDS
    assert said.transient in (True, False)
    assert said.retry_safe in (True, False)


def test_a_providers_json_body_is_classified_by_its_codes() -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert ratchet.classify(json.dumps(body)).kind == "overloaded"
    quota = {"error": {"code": "insufficient_quota", "message": "no"}}
    assert ratchet.classify(json.dumps(quota), status=429).kind == "quota_exhausted"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError(), "timeout"),
        (asyncio.CancelledError(), "cancelled"),
        (KeyboardInterrupt(), "cancelled"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), "network"),
        (OSError(errno.EACCES, "no"), "permission"),
        (FileNotFoundError(2, "gone", "x.csv"), "resource_missing"),
        (ModuleNotFoundError("No module named 'x'"), "dependency_missing"),
        (KeyError("rate_limit"), "code_error"),
        (AssertionError("never negative"), "assertion"),
        (RecursionError("maximum recursion depth exceeded"), "iteration_limit"),
        (json.JSONDecodeError("Expecting value", "", 0), "malformed_output"),
        (subprocess.CalledProcessError(127, "rg"), "tool_not_found"),
        (subprocess.CalledProcessError(1, "git", stderr=b"fatal: Authentication failed for 'https://x'"), "auth"),
        (subprocess.TimeoutExpired("x", 3), "timeout"),
        (ProviderError("no", status_code=429), "rate_limit"),
        (ProviderError("no", response=Response(401)), "auth"),
        (ProviderError("no", code=503), "overloaded"),
        (ProviderError("no", status_code=429, body={"error": {"type": "insufficient_quota"}}), "quota_exhausted"),
        (
            ProviderError(
                "no",
                response={"Error": {"Code": "ThrottlingException"}, "ResponseMetadata": {"HTTPStatusCode": 400}},
            ),
            "rate_limit",
        ),
        (ProviderError("no", error=type("Data", (), {"code": -32601})()), "tool_not_found"),
        (RetryError(ProviderError("no", status_code=529)), "overloaded"),
        (ExceptionGroup("many", [TimeoutError()]), "timeout"),
        (RuntimeError("boom"), "code_error"),
    ],
)
def test_an_exception_is_read_by_class_status_code_and_body(error: BaseException, kind: str) -> None:
    assert ratchet.classify(error).kind == kind


def test_a_vague_wrapper_is_decided_by_its_cause_and_keeps_its_own_text() -> None:
    wrapper = RuntimeError("the agent failed")
    wrapper.__cause__ = ProviderError("no", status_code=401)
    said = ratchet.classify(wrapper)
    assert said.kind == "auth"
    assert "the agent failed" in said.template


def test_an_exception_whose_attributes_and_text_raise_is_classified() -> None:
    assert ratchet.classify(HostileError()).kind == "code_error"


def test_a_circle_of_causes_ends() -> None:
    first, second = RuntimeError("a"), RuntimeError("b")
    first.__cause__, second.__cause__ = second, first
    assert ratchet.classify(first).kind == "code_error"


def test_what_the_caller_knows_counts() -> None:
    assert ratchet.classify("no", status=503).kind == "overloaded"
    assert ratchet.classify(RuntimeError("no"), status=429).kind == "rate_limit"
    assert ratchet.classify("no", exit_code=124).kind == "timeout"


@pytest.mark.parametrize("wrong", [None, 3, b"bytes", {"error": "x"}, ValueError])
def test_another_type_is_refused_with_what_to_pass(wrong: object) -> None:
    with pytest.raises(ratchet.UsageError, match="takes an error text"):
        ratchet.classify(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", ["429", 4.29, True])
def test_a_status_or_exit_code_is_a_whole_number(wrong: object) -> None:
    with pytest.raises(ratchet.UsageError, match="whole number"):
        ratchet.classify("x", status=wrong)  # type: ignore[arg-type]


def test_an_exception_without_a_message_is_described_by_its_class() -> None:
    assert raised(ValueError("x")).text == "x"
    assert raised(TimeoutError()).text == "TimeoutError"
    assert raised(asyncio.QueueEmpty()).text == "asyncio.queues.QueueEmpty"


def test_an_exception_and_its_record_have_the_same_signature(home: Path) -> None:
    error = ValueError("no such colour: mauve")
    with ratchet.Ratchet(home=home) as store:
        store.record("painter", ok=False, error=error)
        (outcome,) = store.outcomes()
    assert outcome.failure is not None
    assert outcome.failure.signature == ratchet.classify(error).signature


def test_a_recorded_exception_without_a_message_has_the_kind_of_its_class(home: Path) -> None:
    with ratchet.Ratchet(home=home) as store:
        store.record("caller", ok=False, error=TimeoutError())
        (outcome,) = store.outcomes()
    assert outcome.failure is not None
    assert outcome.failure.kind == "timeout"


def test_a_recorded_exception_keeps_its_status_its_code_and_what_it_wraps(home: Path) -> None:
    wrapper = RuntimeError("the agent failed")
    wrapper.__cause__ = ProviderError("no", status_code=401)
    errors = [
        ProviderError("no", status_code=529),
        ProviderError("no", status_code=429, body={"error": {"code": "insufficient_quota"}}),
        wrapper,
    ]
    with ratchet.Ratchet(home=home) as store:
        for error in errors:
            store.record("caller", ok=False, error=error)
        kinds = [outcome.failure.kind for outcome in store.outcomes() if outcome.failure]
    assert sorted(kinds) == ["auth", "overloaded", "quota_exhausted"]
