"""Models as people look at them: which is asked when, what it costs, and whether it answers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ratchet.config import Config
from ratchet.errors import ModelError, RatchetError, Refused
from ratchet.healing.models import local
from ratchet.healing.models.choice import ModelChoice, installed
from ratchet.healing.models.names import ModelName
from ratchet.healing.models.question import Question
from ratchet.registry import adding

if TYPE_CHECKING:
    from ratchet.healing.distilling.speakers import SpendingPurse

_PLACES = ("session", "loop", "fast")
_MILLION = 1_000_000
_TEST_USD, _TEST_S = 0.05, 60.0
_TEST_TOKENS = 1_024  # thoughts included: a model that reasons before it says a word needs some
_ASKED = "Answer with the word ready."


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """One model in its place. Prices are USD for a million tokens, None where nobody knows."""

    asked_for: str
    """Which work it is asked for: session, loop, fast; nearby for a server that no setting names."""
    rank: int
    """Its place in the chain, from 1."""
    name: str
    address: str
    """Where a server of one's own is; "" for a provider's."""
    reach: Literal["answers", "silent", "no key", "not asked"]
    note: str = ""
    usd_sent: float | None = None
    usd_received: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedModel:
    """Answer of one model to one short question."""

    __test__ = False  # (its name is no test's)

    name: str
    ok: bool
    duration_s: float
    tokens: int = 0
    cost_usd: float = 0.0
    said: str = ""
    problem: str = ""


class ModelBook:
    """The models of one configuration."""

    def __init__(self, config: Config, choice: ModelChoice) -> None:
        self._config = config
        self._choice = choice

    @property
    def choice(self) -> ModelChoice:
        """The settings' models, to be asked."""
        return self._choice

    def list(self) -> Sequence[KnownModel]:
        """The models of each kind of work in the order in which they are asked, then servers on this machine that no
        setting names. Only servers on this machine are asked, for their list, in a third of a second."""
        near = local.find()
        served = {(each.url, model) for each in near for model in each.models}
        found = [
            self._known(place, rank, model, served)
            for place in _PLACES
            for rank, model in enumerate(self._named(place), 1)
        ]
        named = {each.address for each in found}
        for each in near:
            if each.url not in named:
                found += [_nearby(f"{each.name}:{model}", each.url) for model in each.models]
        return found

    def test(self, names: Sequence[str] = (), *, unpriced: bool = False) -> Sequence[TestedModel]:
        """Ask each model, the named ones or all that `list` has in a chain, one short question, for at most 0.05 USD
        together. Raises Refused where none is named, or the extra is not installed."""
        if not installed():
            raise Refused(f"models are asked through the extra `model`, which is not installed: {adding('model')}")
        from ratchet.healing.distilling.speakers import SpendingPurse

        asked = [*names] or [*dict.fromkeys(self._spelled())]
        if not asked:
            raise Refused("no model is named: set RATCHET_MODEL, or say `ratchet models test provider:name`")
        purse = SpendingPurse(_TEST_USD, _TEST_S * len(asked))
        return [self._tested(name, purse, unpriced) for name in asked]

    def _spelled(self) -> Sequence[str]:
        """The names of all chains as the person spelled them."""
        config = self._config
        texts = (config.session_model or config.model, config.loop_model or config.model, config.fast_model)
        return [part.strip() for text in texts for part in text.split(",") if part.strip()]

    def _named(self, place: str) -> tuple[ModelName, ...]:
        if place == "fast":
            return self._choice.named(self._config.fast_model) if self._config.fast_model else ()
        return self._choice.named(mode="loop" if place == "loop" else "session")

    def _known(self, place: str, rank: int, model: ModelName, served: set[tuple[str, str]]) -> KnownModel:
        sent, received = self._prices(model)
        reach: Literal["answers", "silent", "no key", "not asked"] = "not asked"
        note = "`ratchet models test` asks it"
        if model.on_this_machine:
            there = (model.base_url, model.name) in served or model.name in local.models_at(model.base_url)
            reach = "answers" if there else "silent"
            note = "" if there else f"nothing at {model.base_url} lists {model.name}: start it, or name another"
        elif model.key_variable and not os.environ.get(model.key_variable):
            reach, note = "no key", f"set {model.key_variable}, where the server asks for a key"
        return KnownModel(
            asked_for=place,
            rank=rank,
            name=str(model),
            address=model.base_url,
            reach=reach,
            note=note,
            usd_sent=sent,
            usd_received=received,
        )

    def _prices(self, model: ModelName) -> tuple[float | None, float | None]:
        if not installed():
            return (0.0, 0.0) if model.on_this_machine else (None, None)
        from ratchet.healing.models.prices import Usage, own_prices, pricing_of

        pricing = pricing_of(model, own_prices(self._config.model_prices))
        if pricing is None:
            return None, None
        return _dear(lambda: pricing(Usage(_MILLION, 0))), _dear(lambda: pricing(Usage(0, _MILLION)))

    def _tested(self, name: str, purse: SpendingPurse, unpriced: bool) -> TestedModel:
        began = time.monotonic()
        question = Question(shape=str, text=_ASKED, output_tokens=_TEST_TOKENS, timeout_s=_TEST_S)
        try:
            answer = self._choice.chain(name, unpriced=unpriced).ask(question, purse)
        except (ModelError, RatchetError) as error:
            return TestedModel(name=name, ok=False, duration_s=time.monotonic() - began, problem=str(error))
        return TestedModel(
            name=answer.model,
            ok=answer.value is not None,
            duration_s=time.monotonic() - began,
            tokens=answer.tokens,
            cost_usd=answer.cost_usd,
            said=" ".join((answer.value or "").split())[:80],
            problem=answer.problem,
        )


def _nearby(name: str, address: str) -> KnownModel:
    return KnownModel(
        asked_for="nearby", rank=0, name=name, address=address, reach="answers", usd_sent=0.0, usd_received=0.0
    )


def _dear(price: Callable[[], float]) -> float | None:
    """A price of the table; None for a model that it knows and has no such price of."""
    try:
        return price()
    except LookupError:
        return None
