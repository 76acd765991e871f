"""Prices of tokens: the person's own, else the table of `genai-prices`; nobody's where neither knows the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

from ratchet.registry import adding

_MILLION = 1_000_000
_HOUR_TIMES = 2
"""Who offers caches for an hour takes twice the price of a token given (Anthropic, "Prompt caching: pricing"), which
the table does not know."""
_PROBE = 1_000  # tokens of a question: below every threshold from which a provider takes more


def remedy() -> str:
    """Say what brings the price of a model that has none here."""
    own = "set model_prices in ratchet.toml"
    return own if find_spec("genai_prices") else f"for prices: {adding('prices')}, or {own}"


class Rates(NamedTuple):
    """USD for one token, by what it is: given, stored in a cache (for an hour), read from one, made."""

    given: float
    stored: float
    stored_hour: float
    cached: float
    made: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Tokens by what they cost; `stored_hour` are among the stored ones, `unsplit` ones are of outcomes whose source
    does not say which they are. Of `begun` answers the history counts what was made only as it began."""

    given: int = 0
    stored: int = 0
    stored_hour: int = 0
    cached: int = 0
    made: int = 0
    unsplit: int = 0
    begun: int = 0

    @property
    def total(self) -> int:
        return self.given + self.stored + self.cached + self.made + self.unsplit

    @property
    def mark(self) -> str:
        """A sign before a cost that is at least so much."""
        return "≥ " if self.begun else ""

    @property
    def caveat(self) -> str:
        """Say that what was made is more than is known, and how often; "" where all is."""
        if not self.begun:
            return ""
        answers = "an answer" if self.begun == 1 else f"{self.begun:,} answers"
        return f"at least: the output of {answers} is known only in part"

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            given=self.given + other.given,
            stored=self.stored + other.stored,
            stored_hour=self.stored_hour + other.stored_hour,
            cached=self.cached + other.cached,
            made=self.made + other.made,
            unsplit=self.unsplit + other.unsplit,
            begun=self.begun + other.begun,
        )


class Prices:
    """Prices by the name of a model. `own` are a person's, in USD for a million tokens sent and received."""

    def __init__(self, own: Mapping[str, tuple[float, float]]) -> None:
        self._own = own

    def of(self, model: str, tokens: Tokens) -> float | None:
        """USD for these tokens; None where nobody knows the model's price, or the tokens are not told apart."""
        t = tokens
        return self.priced(model, t.given, t.stored, t.cached, t.made, t.unsplit, t.stored_hour)

    def priced(
        self, model: str, given: float, stored: float, cached: float, made: float, unsplit: float, hour: float
    ) -> float | None:
        """USD for so many tokens of each class, as `of` says it; `hour` of the stored ones are kept for an hour."""
        if not (given or stored or cached or made or unsplit):
            return 0.0
        rates = self._rates(model)
        if rates is None or unsplit:
            return None
        kept = (stored - hour) * rates.stored + hour * rates.stored_hour
        return given * rates.given + kept + cached * rates.cached + made * rates.made

    def _rates(self, model: str) -> Rates | None:
        if model in self._own:
            sent, received = self._own[model]
            given = sent / _MILLION
            return Rates(given, given, given, given, received / _MILLION)
        return _listed(model) if model else None


@cache
def _listed(model: str) -> Rates | None:
    """A model's listed rates; None where it is in no list, or `genai-prices` is not installed."""
    try:
        import genai_prices
    except ImportError:
        return None

    def rate(**used: int) -> float:
        return float(genai_prices.calc_price(genai_prices.Usage(**used), model).total_price) / _PROBE

    try:
        given = rate(input_tokens=_PROBE)
        return Rates(
            given=given,
            stored=rate(input_tokens=_PROBE, cache_write_tokens=_PROBE),
            stored_hour=_HOUR_TIMES * given,
            cached=rate(input_tokens=_PROBE, cache_read_tokens=_PROBE),
            made=rate(output_tokens=_PROBE),
        )
    except LookupError:
        return None
