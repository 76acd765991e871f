"""Price of a model's token as a cache gives it: what nearly all tokens of an agent's turn are."""

from __future__ import annotations

from functools import cache

_MILLION = 1_000_000


@cache
def usd_per_token(model: str) -> float | None:
    """USD for one token of cached input; None where the model's price is not known, or `genai-prices` not installed."""
    try:
        import genai_prices
    except ImportError:
        return None
    tokens = genai_prices.Usage(input_tokens=_MILLION, cache_read_tokens=_MILLION)
    try:
        return float(genai_prices.calc_price(tokens, model).total_price) / _MILLION
    except LookupError:
        return None
