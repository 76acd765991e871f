"""Asks models one after the other until one answers, each call paid before it is made."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from ratchet.errors import ModelError, Refused
from ratchet.failures.kinds.kind import kind_of
from ratchet.failures.redaction.text import redact
from ratchet.healing.job import Purse
from ratchet.healing.models.answers import Malformed, schema_of, tightened, value_of
from ratchet.healing.models.calling import CallFailed, Completion, Request, Speaker, call
from ratchet.healing.models.names import ModelName
from ratchet.healing.models.prices import Pricing, Usage, own_prices, pricing_of
from ratchet.healing.models.prose import until_it_circled
from ratchet.healing.models.question import ModelAnswer, Question, Role
from ratchet.records import Json

T = TypeVar("T")
log = logging.getLogger(__name__)

TRIES = 3  # of one model while it says "later": the second and third come after a pause each
LONGEST_WAIT_S = 60.0  # a model that asks for a longer pause is passed over
_PAUSES_S = (1.0, 4.0, 4.0)  # where the answer names no time; the last is not taken
_LEAST_OUTPUT = 1_024  # tokens; an answer cut shorter than this is money for nothing
_ENVELOPE = 512  # tokens that roles, separators and the schema's frame add to the texts, generously
_TOLD_BACK = 4_000  # characters of a bad answer that the model is shown again
_MOST_NOTE = 300
_LEAST_PATIENCE_S = 300.0
_LOOK_S = 0.1


class Chain:
    """The models of each role, in the order in which they are asked.

    `own` are the person's own prices; `unpriced` allows models whose price nobody knows, which then count as free of
    charge and say so in the answer's note.
    """

    def __init__(
        self,
        reasoning: Sequence[ModelName],
        fast: Sequence[ModelName] = (),
        *,
        own_prices_text: str = "",
        unpriced: bool = False,
        pause: Callable[[float, Purse], None] | None = None,
    ) -> None:
        if not reasoning:
            raise Refused("no model is named: set RATCHET_MODEL, or give --model provider:name")
        self._by_role: dict[Role, tuple[ModelName, ...]] = {
            "reasoning": tuple(reasoning),
            "fast": tuple(fast) or tuple(reasoning),
        }
        self._own = own_prices(own_prices_text)
        self._unpriced = unpriced
        self.pause = pause or waited

    def named(self, role: Role) -> str:
        return str(self._by_role[role][0])

    def ask(self, question: Question[T], purse: Purse) -> ModelAnswer[T]:
        """See `asking.Model.ask`."""
        return _Asking(question, purse, self).answer(self._by_role[question.role])

    def pricing(self, model: ModelName) -> tuple[Pricing, str]:
        """Return the prices of its calls, and a remark where nobody knows them. Raises Refused unless that is
        allowed."""
        found = pricing_of(model, self._own)
        if found is not None:
            return found, ""
        if not self._unpriced:
            raise Refused(
                f"nobody knows what {model} costs, so no budget can hold: name its price (RATCHET_MODEL_PRICES="
                f"'{model.name}=INPUT/OUTPUT', USD for a million tokens) or allow it with --allow-unknown-price"
            )
        return (lambda _usage: 0.0), f"{model} has no known price: it counts as free"


def waited(seconds: float, purse: Purse) -> None:
    """Wait, but not beyond a cancel or the end of the time."""
    ends = time.monotonic() + min(seconds, purse.seconds_left())
    while (left := ends - time.monotonic()) > 0 and not purse.cancelled():
        time.sleep(min(_LOOK_S, left))


class _Asking(Generic[T]):
    """One question on its way along a chain, and what it has cost so far."""

    def __init__(self, question: Question[T], purse: Purse, chain: Chain) -> None:
        self._question = question
        self._purse = purse
        self._chain = chain
        self._schema = None if question.shape is str else schema_of(question.shape)
        self._notes: list[str] = []
        self._calls = 0
        self._tokens = 0
        self._cost_usd = 0.0

    def answer(self, models: Sequence[ModelName]) -> ModelAnswer[T]:
        waiting_helps = False
        for model in models:
            try:
                return self._of(model)
            except CallFailed as failed:
                if failed.kind == "cancelled" or self._purse.cancelled():
                    raise ModelError(f"{model} was not waited for: {failed}", retryable=True) from failed
                if failed.kind == "context_overflow" and model is models[-1]:
                    return self._answered(model, None, failed.kind, str(failed), "")  # asked with less, it may answer
                waiting_helps = waiting_helps or failed.retry_safe
                self._notes.append(f"{model}: {failed.kind}: {failed}")
                log.info("model.passed_over", extra={"model": str(model), "kind": failed.kind})
        raise ModelError(f"no model answered ({'; '.join(self._notes)})", retryable=waiting_helps)

    def _of(self, model: ModelName) -> ModelAnswer[T]:
        """The answer of one model; a malformed one is asked for once more, with what is wrong with it."""
        rules, text = self._texts()
        turns: list[tuple[Speaker, str]] = [("person", text)]
        said = self._said(model, rules, turns)
        value, kind, problem = self._read(said)
        if kind in ("malformed_output", "empty_response"):
            if said.text.strip():
                turns.append(("model", redact(said.text[:_TOLD_BACK])))
            again = "" if self._schema is None else ", with one JSON object and no more"
            turns.append(("person", f"That cannot be used: {problem}. Answer again{again}."))
            said = self._said(model, rules, turns)
            value, kind, problem = self._read(said)
        return self._answered(model, value, kind, problem, said.text)

    def _answered(self, model: ModelName, value: T | None, kind: str, problem: str, text: str) -> ModelAnswer[T]:
        return ModelAnswer(
            value=value,
            kind=kind,
            problem=problem,
            text=text,
            model=str(model),
            calls=self._calls,
            tokens=self._tokens,
            cost_usd=self._cost_usd,
            note="; ".join(self._notes)[:_MOST_NOTE],
        )

    def _texts(self) -> tuple[str, str]:
        """Rules and text as they leave this machine. The schema stands in the rules, since a server that binds the
        answer to it only masks tokens: the model itself would not know it."""
        rules = self._question.rules
        if self._schema is not None:
            asked = json.dumps(self._schema, separators=(",", ":"))
            rules += f"\n\nAnswer with one JSON object and nothing else, by this schema:\n{asked}"
        return redact(rules.strip()), redact(self._question.text)

    def _read(self, said: Completion) -> tuple[T | None, str, str]:
        """The value of an answer, or the kind of its fault and one line about it."""
        if said.ended in ("refusal", "content_filter"):
            told = " ".join(said.text.split())[:_MOST_NOTE]
            return None, said.ended, f"the model declined: {told}" if told else "the provider withheld the answer"
        text = said.text
        if said.ended == "circles" and self._schema is not None:
            text = until_it_circled(text) or text
        try:
            return value_of(text, self._question.shape), "", ""
        except Malformed as fault:
            if said.ended == "circles":
                return None, "malformed_output", "it went in circles and was broken off; answer with short edits"
            if said.ended == "length":
                return None, "malformed_output", "it was longer than allowed and is cut off; answer shorter"
            if not said.text.strip():
                return None, "empty_response", "it was empty"
            kind = "refusal" if "{" not in said.text and kind_of(said.text) == "refusal" else "malformed_output"
            return None, kind, str(fault)

    def _said(self, model: ModelName, rules: str, turns: Sequence[tuple[Speaker, str]]) -> Completion:
        """One answer of one model, waited for as long as it says "later". Raises CallFailed."""
        # Servers that speak for others' models bind by grammar; the providers' own interfaces refuse a length.
        schema: Mapping[str, Json] | None = self._schema
        if model.base_url and self._schema is not None:
            schema = tightened(self._schema)
        for left in reversed(range(TRIES)):
            try:
                return self._paid(model, rules, turns, schema)
            except CallFailed as failed:
                if failed.kind == "invalid_request" and schema is not None and left:
                    schema = None  # a server that cannot bind the answer to a schema: the rules hold it, too
                    continue
                wait_s = failed.retry_after_s if failed.retry_after_s is not None else _PAUSES_S[TRIES - 1 - left]
                again = failed.retry_safe and failed.kind != "timeout" and left
                if not again or wait_s > min(LONGEST_WAIT_S, self._purse.seconds_left()):
                    raise
                self._notes.append(f"{model}: {failed.kind}, asked again")
                self._chain.pause(wait_s, self._purse)
        raise AssertionError("the last try returns or raises")

    def _paid(
        self, model: ModelName, rules: str, turns: Sequence[tuple[Speaker, str]], schema: Mapping[str, Json] | None
    ) -> Completion:
        """One request: its most is reserved, then its cost is settled."""
        pricing, remark = self._chain.pricing(model)
        if remark and remark not in self._notes:
            self._notes.append(remark)
        most, output_tokens = self._most(pricing, rules, turns)
        request = Request(
            model=model,
            rules=rules,
            turns=tuple(turns),
            schema=schema,
            temperature=self._question.temperature,
            output_tokens=output_tokens,
            seed=self._question.seed,
        )
        reservation = self._purse.reserve(pricing(most))
        cost_usd, tokens = pricing(most), 0  # unless the end is seen: then it may have cost all of it
        try:
            left = self._purse.seconds_left()
            timeout_s = min(self._question.timeout_s or max(_LEAST_PATIENCE_S, left / 2), left)
            self._calls += 1
            said = call(request, timeout_s=timeout_s, cancelled=self._purse.cancelled)
            if said.usage is not None:
                cost_usd, tokens = pricing(said.usage), said.usage.total
            return said
        except CallFailed as failed:
            if not failed.may_cost:
                cost_usd = 0.0
            raise
        finally:
            self._purse.settle(reservation, cost_usd, tokens=tokens)
            self._cost_usd += cost_usd
            self._tokens += tokens

    def _most(self, pricing: Pricing, rules: str, turns: Sequence[tuple[Speaker, str]]) -> tuple[Usage, int]:
        """The most tokens that a request can be charged for: no tokenizer makes more tokens than there are bytes. The
        answer is cut to what the purse holds where that leaves it useful."""
        sent = _ENVELOPE + len(rules.encode()) + sum(len(text.encode()) for _speaker, text in turns)
        output_tokens = self._question.output_tokens
        usd_left = self._purse.usd_left()
        while output_tokens > _LEAST_OUTPUT and pricing(Usage(sent, output_tokens)) > usd_left:
            output_tokens = max(_LEAST_OUTPUT, output_tokens // 2)
        return Usage(sent, output_tokens), output_tokens
