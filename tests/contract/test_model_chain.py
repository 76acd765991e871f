"""Models through the real adapter, against a server that speaks like the providers and fails like them."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import pytest

from ratchet.errors import ModelError, Refused
from ratchet.healing.models import calling
from ratchet.healing.models.bounding import bounded
from ratchet.healing.models.chain import Chain
from ratchet.healing.models.local import find
from ratchet.healing.models.names import ModelName
from ratchet.healing.models.question import ModelAnswer, Question
from ratchet.testing.model_server import Asked, ModelServer
from ratchet.testing.purses import PlainPurse
from ratchet.testing.wire import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Colour:
    name: str


RED = Reply(text='{"name": "red"}')
QUESTION = Question(shape=Colour, text="Which colour?", rules="Be brief.", timeout_s=120)
KEY = f"sk-ant-api03-{secrets.token_hex(40)}"
Making = Callable[[ModelServer], ModelName]


def openai(server: ModelServer) -> ModelName:
    return ModelName(provider="openai-chat", name="any", base_url=server.openai_url)


def anthropic(_server: ModelServer) -> ModelName:
    return ModelName(provider="anthropic", name="claude-haiku-4-5")


@pytest.fixture(params=[openai, anthropic])
def speaking(request: pytest.FixtureRequest) -> Making:
    return request.param  # type: ignore[no-any-return]


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch, *replies: Reply) -> Iterator[ModelServer]:
    with ModelServer(*replies) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        yield server


def ask(model: ModelName, purse: PlainPurse | None = None, *more: ModelName, **given: object) -> ModelAnswer[Colour]:
    chain = Chain((model, *more), pause=lambda _seconds, _purse: None, own_prices_text="any=1/1,other=1/1")
    return chain.ask(replace(QUESTION, **given), purse or PlainPurse())  # type: ignore[arg-type]


def test_a_streamed_answer_is_read_and_paid(speaking: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    purse = PlainPurse()
    with serving(monkeypatch, RED) as server:
        answer = ask(speaking(server), purse, temperature=0.5)
    assert answer.value == Colour(name="red")
    assert answer.tokens == purse.tokens == 150
    assert 0 < purse.settled[0] <= purse.reserved[0]
    assert answer.cost_usd == purse.settled[0]
    (asked,) = server.asked
    assert asked.streamed
    assert asked.temperature == 0.5
    assert "additionalProperties" in asked.text


@pytest.mark.parametrize(
    "bad",
    [
        Reply(text="The colour is red."),
        Reply(text='{"name": 7}'),
        Reply(text='{"colour": "red"}'),
        Reply(text='{"name": "re', ended="length"),
        Reply(text="   "),
        Reply(text="I can't help with that, sorry."),
    ],
)
def test_a_malformed_answer_is_asked_for_once_more(
    bad: Reply, speaking: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    purse = PlainPurse()
    with serving(monkeypatch, bad, RED) as server:
        answer = ask(speaking(server), purse)
        asked = server.asked
    if answer.kind == "refusal":
        assert len(asked) == 1
        return
    assert answer.value == Colour(name="red")
    assert answer.calls == len(asked) == len(purse.settled) == 2
    assert "cannot be used" in asked[1].text


def test_an_answer_that_stays_malformed_is_an_answer(speaking: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(monkeypatch, Reply(text="{'name': red")) as server:
        answer = ask(speaking(server))
    assert answer.value is None
    assert answer.kind == "malformed_output"
    assert answer.problem
    assert answer.text == "{'name': red"


@pytest.mark.parametrize(
    "endless", [Reply(text="x y z " * 1_000), Reply(raw=b"data: " + b"x" * 9_000)], ids=["events", "one line"]
)
def test_an_answer_without_end_is_not_taken_in(
    endless: Reply, speaking: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "bounded", partial(bounded, most_bytes=2_000))
    with (
        serving(monkeypatch, endless, endless, endless) as server,
        pytest.raises(ModelError, match="larger than 2,000 bytes"),
    ):
        ask(speaking(server))


def test_an_answer_that_goes_in_circles_is_broken_off(speaking: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = Reply(text='{"name": "' + "red and blue and " * 20_000)
    with serving(monkeypatch, endless, RED) as server:
        answer = ask(speaking(server))
    assert answer.value == Colour(name="red")
    assert "went in circles" in server.asked[1].text


@pytest.mark.parametrize(
    ("ended", "kinds"), [("refusal", {"refusal", "content_filter"}), ("content_filter", {"content_filter"})]
)
def test_a_refusal_is_not_asked_again(
    ended: str, kinds: set[str], speaking: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(monkeypatch, Reply(text="I will not.", ended=ended)) as server:  # type: ignore[arg-type]
        answer = ask(speaking(server))
    assert answer.value is None
    assert answer.kind in kinds
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "failing",
    [
        Reply(status=429, code="rate_limit_error", text="slow down", retry_after_s=0),
        Reply(status=500, code="api_error", text="internal error"),
        Reply(status=529, code="overloaded_error", text="Overloaded"),
        Reply(text='{"name": "green"}', cut_after=2),
        Reply(raw=b"<html>bad gateway</html>"),
        Reply(raw=b""),
    ],
)
def test_a_model_that_says_later_is_asked_again(
    failing: Reply, speaking: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    purse = PlainPurse()
    with serving(monkeypatch, failing, RED) as server:
        answer = ask(speaking(server), purse)
    assert answer.value == Colour(name="red")
    assert "asked again" in answer.note
    assert len(purse.settled) == len(purse.reserved) == 2
    if failing.status >= 400:
        assert purse.settled[0] == 0.0  # nobody worked on it


def test_an_answer_whose_end_nobody_saw_counts_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    purse = PlainPurse()
    with serving(monkeypatch, Reply(text='{"name": "green"}', cut_after=2), RED) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        ask(anthropic(server), purse)
    assert purse.settled[0] == purse.reserved[0] > 0


def test_the_pause_that_a_model_names_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    with serving(monkeypatch, Reply(status=429, code="rate_limit_exceeded", retry_after_s=7), RED) as server:
        chain = Chain((openai(server),), pause=lambda seconds, _purse: pauses.append(seconds))
        chain.ask(QUESTION, PlainPurse())
    assert pauses == [7.0]


@pytest.mark.parametrize(
    "failing",
    [
        Reply(status=429, code="rate_limit_exceeded", text="later", retry_after_s=600),
        Reply(status=429, code="insufficient_quota", text="You exceeded your current quota"),
        Reply(status=401, code="authentication_error", text="invalid key"),
        Reply(status=404, code="model_not_found", text="no such model"),
        Reply(status=500, code="server_error", text="oops"),
    ],
)
def test_the_next_model_of_the_chain_is_asked(failing: Reply, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(failing) as broken, serving(monkeypatch, RED) as server:
        other = ModelName(provider="openai-chat", name="other", base_url=server.openai_url)
        answer = ask(openai(broken), None, other)
    assert answer.value == Colour(name="red")
    assert answer.model == "openai-chat:other"
    assert "openai-chat:any" in answer.note


def test_no_model_at_all_is_an_error_that_says_whether_waiting_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = serving(monkeypatch, Reply(status=401, code="authentication_error", text=f"bad key {KEY}"))
    with refusing as server, pytest.raises(ModelError, match="auth") as caught:
        ask(anthropic(server))
    assert not caught.value.retryable
    assert KEY not in str(caught.value)
    with pytest.raises(ModelError, match="network") as gone:
        ask(ModelName(provider="openai-chat", name="any", base_url="http://127.0.0.1:9/v1"))
    assert gone.value.retryable


@pytest.mark.parametrize("hanging", [Reply(wait_s=60), Reply(text='{"name": "red"}' * 50, piece_wait_s=1)])
def test_a_call_ends_when_its_time_is_over(hanging: Reply, speaking: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    purse = PlainPurse()
    with serving(monkeypatch, hanging) as server, pytest.raises(ModelError, match="timeout"):
        ask(speaking(server), purse, timeout_s=0.5)
    assert len(server.asked) <= 1
    assert purse.settled == purse.reserved  # it may have been worked on


def test_a_call_ends_when_it_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    purse = PlainPurse()

    def stop(_asked: Asked) -> Reply:
        purse.stopped = True
        return Reply(wait_s=60)

    with ModelServer(stop) as server, pytest.raises(ModelError, match="not waited for"):
        ask(openai(server), purse)


def test_a_call_that_the_purse_cannot_pay_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(monkeypatch, RED) as server:
        with pytest.raises(Refused):
            ask(anthropic(server), PlainPurse(usd=0.000_1))
        assert server.asked == []


def test_an_answer_is_cut_to_what_the_purse_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    purse = PlainPurse(usd=0.02)
    with serving(monkeypatch, RED) as server:
        ask(anthropic(server), purse)
    most = server.asked[0].body["max_tokens"]
    assert isinstance(most, int)
    assert 1_024 <= most < QUESTION.output_tokens
    assert purse.reserved[0] <= 0.02


def test_a_model_without_a_known_price_is_refused_unless_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = ModelName(provider="openai-chat", name="x", base_url="https://models.invalid/v1")
    with pytest.raises(Refused, match="RATCHET_MODEL_PRICES"):
        Chain((unknown,)).ask(QUESTION, PlainPurse())
    allowed = Chain((unknown,), unpriced=True, pause=lambda _seconds, _purse: None)
    with pytest.raises(ModelError, match="no known price"):
        allowed.ask(QUESTION, PlainPurse())


def test_a_server_that_cannot_bind_answers_to_a_schema_is_asked_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def picky(asked: Asked) -> Reply:
        bound = "response_format" in asked.body
        return Reply(status=400, code="invalid_request_error", text="unknown field") if bound else RED

    with ModelServer(picky) as server:
        assert ask(openai(server)).value == Colour(name="red")
        assert [("response_format" in each.body) for each in server.asked] == [True, False]


def test_a_window_that_is_too_small_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "the request exceeds the available context size. try increasing the context size"
    with serving(monkeypatch, Reply(status=400, code="exceed_context_size_error", text=said)) as server:
        answer = ask(openai(server))
    assert answer.kind == "context_overflow"
    assert len(server.asked) == 1


def test_no_secret_leaves_in_a_prompt_or_reaches_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="ratchet")
    missing = serving(monkeypatch, Reply(status=404, code="x", text=f"no {KEY}"), RED)
    with missing as server, pytest.raises(ModelError) as caught:
        ask(openai(server), text=f"key = '{KEY}'")
    assert KEY not in server.asked[0].text
    assert "[redacted:" in server.asked[0].text
    assert KEY not in str(caught.value) + caplog.text


def test_a_key_of_any_form_that_a_server_repeats_is_not_told_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RATCHET_MODEL_API_KEY", "plain-as-words")
    refusing = Reply(status=401, code="authentication_error", text="nobody knows plain-as-words here")
    with serving(monkeypatch, refusing) as server, pytest.raises(ModelError) as caught:
        ask(replace(openai(server), key_variable="RATCHET_MODEL_API_KEY"))
    assert "plain-as-words" not in str(caught.value)
    assert "nobody knows [redacted:RATCHET_MODEL_API_KEY] here" in str(caught.value)


def test_a_server_elsewhere_never_gets_the_key_of_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(monkeypatch, RED) as server:
        ask(openai(server))
    assert KEY not in json.dumps(server.asked[0].headers)


def test_the_fast_role_has_its_own_models(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(monkeypatch, RED) as server:
        small = ModelName(provider="openai-chat", name="small", base_url=server.openai_url)
        chain = Chain((openai(server),), (small,))
        question = Question(shape=Colour, text="?", role="fast")
        assert chain.ask(question, PlainPurse()).model == "openai-chat:small"
    assert chain.named("reasoning") == "openai-chat:any"
    assert chain.named("fast") == "openai-chat:small"


def test_local_servers_are_found_on_their_ports() -> None:
    with ModelServer(RED, models=("qwen", "llama")) as server:
        found = find({"nobody": 9, "ollama": server.port})
        assert [(each.name, each.models, each.url) for each in found] == [
            ("ollama", ("qwen", "llama"), server.openai_url)
        ]
