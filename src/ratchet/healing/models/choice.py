"""Which language models are asked here: the person's settings, brought to a chain of models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.config import Config
from ratchet.errors import Refused
from ratchet.healing.models.names import ModelName, chain_of
from ratchet.registry import adding

if TYPE_CHECKING:
    from ratchet.healing.models.question import Mode, Model

_REMEDY = "give --model anthropic:NAME, openai:NAME, ollama:NAME or local, or set RATCHET_MODEL"


class ModelChoice:
    """The models of one configuration. Nothing is imported or reached before one is asked for."""

    def __init__(self, config: Config, environ: Mapping[str, str]) -> None:
        self._config = config
        self._environ = environ

    @property
    def prompts(self) -> Path | None:
        """The folder of the person's own prompts."""
        return Path(self._config.prompts).expanduser() if self._config.prompts else None

    def named(self, text: str = "", mode: Mode = "session") -> tuple[ModelName, ...]:
        """The models of a text, else those of the settings for this mode, else for any; () where nothing names any.
        Raises UsageError, Refused."""
        own = self._config.session_model if mode == "session" else self._config.loop_model
        given = text or own or self._config.model
        return chain_of(given, base_url=self._config.model_base_url, environ=self._environ)

    def price(self, text: str = "", *, unpriced: bool = False) -> Callable[[int, int], float | None]:
        """Return the USD of (tokens in, tokens out) of the model that is asked first; None where nobody knows."""
        from ratchet.healing.models.prices import Usage, own_prices, pricing_of

        named = self.named(text)
        known = pricing_of(named[0], own_prices(self._config.model_prices)) if named and installed() else None
        free = (lambda _usage: 0.0) if unpriced else None
        pricing = known or free
        return lambda sent, received: None if pricing is None else pricing(Usage(sent, received))

    def chain(self, text: str = "", *, fast: str = "", mode: Mode = "session", unpriced: bool = False) -> Model:
        """Models to ask: `text` names those that plan, `fast` those that summarise, the settings where they are empty.

        Raises Refused where none is named, none is found, or the extra `model` is not installed; UsageError for a name
        that is none.
        """
        reasoning = self.named(text, mode)
        if not reasoning:
            raise Refused(f"no model is named: {_REMEDY}")
        if not installed():
            raise Refused(f"{reasoning[0]} needs the extra `model`, which is not installed: {adding('model')}")
        from ratchet.healing.models.chain import Chain

        quick = fast or self._config.fast_model
        return Chain(
            reasoning,
            self.named(quick) if quick else (),
            own_prices_text=self._config.model_prices,
            unpriced=unpriced,
        )


def installed() -> bool:
    """Tell whether the extra `model` is there."""
    return find_spec("pydantic_ai") is not None
