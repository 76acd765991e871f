"""Price of a call: the person's own prices, nothing on this machine, else the table that comes with pydantic-ai."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ratchet.errors import UsageError
from ratchet.healing.models.names import ModelName

_MILLION = 1_000_000
# Names of pydantic-ai's providers that genai-prices knows by another one.
_PRICED_AS = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "google-gla": "google",
    "google-vertex": "google",
    "azure-responses": "azure",
}


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. `cached` and `written` are those of the input that a cache gave, or took."""

    sent: int
    received: int
    cached: int = 0
    written: int = 0

    @property
    def total(self) -> int:
        return self.sent + self.received


Pricing = Callable[[Usage], float]
"""USD for the tokens of one call."""


def own_prices(text: str) -> dict[str, tuple[float, float]]:
    """`name=INPUT/OUTPUT` in USD for a million tokens, separated by commas. Raises UsageError."""
    found = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, _, pair = part.rpartition("=")
        sent, _, received = pair.partition("/")
        try:
            prices = float(sent), float(received)
        except ValueError:
            prices = math.nan, math.nan
        if not name.strip() or not all(math.isfinite(price) and price >= 0 for price in prices):
            raise UsageError(
                f"model_prices holds {part!r}: write name=INPUT/OUTPUT in USD for a million tokens, such as "
                "my-model=0.5/1.5"
            )
        found[name.strip()] = prices
    return found


def pricing_of(model: ModelName, own: Mapping[str, tuple[float, float]]) -> Pricing | None:
    """Return the prices of a model; None where nobody knows."""
    given = own.get(str(model)) or own.get(model.name)
    if given is not None:
        sent, received = given
        return lambda usage: (usage.sent * sent + usage.received * received) / _MILLION
    if model.on_this_machine:
        return lambda _usage: 0.0
    if model.base_url:  # somebody else's server: a model of a known name may have any price there
        return None
    return _listed(model)


def _listed(model: ModelName) -> Pricing | None:
    import genai_prices

    provider = _PRICED_AS.get(model.provider, model.provider)

    def cost(usage: Usage) -> float:
        tokens = genai_prices.Usage(
            input_tokens=usage.sent,
            output_tokens=usage.received,
            cache_read_tokens=usage.cached,
            cache_write_tokens=usage.written,
        )
        return float(genai_prices.calc_price(tokens, model.name, provider_id=provider).total_price)

    try:
        cost(Usage(1_000, 1_000))
    except LookupError:
        return None
    return cost
