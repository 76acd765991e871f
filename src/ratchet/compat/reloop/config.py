"""Reads reloop's environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields

from ratchet.errors import UsageError

_PARSED = {"int": int, "float": float, "str": str}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings by their variables' names in small letters.

    `max_retries`, `max_budget_usd` and `circuit_breaker_threshold` bound tasks and `retry`; `codex_model` and
    `fast_model` name the models of tasks, `openai_api_key` is the key of both; `api_host` and `api_port` say where to
    serve, `redis_url` which Redis stands beside the store. The others have no counterpart and are read for their users'
    sake: the store needs no embeddings, and the sandbox is Ratchet's own.
    """

    openai_api_key: str = ""
    redis_url: str = ""
    redis_memory_index: str = "reloop-failures"
    blaxel_api_key: str = ""
    blaxel_workspace: str = ""
    codex_model: str = "gpt-4o"
    reasoning_model: str = "o1"
    fast_model: str = "gpt-4o-mini"
    embedding_model: str = "text-embedding-3-small"
    api_port: int = 8000
    api_host: str = "127.0.0.1"
    next_public_api_url: str = "http://localhost:8000"
    max_retries: int = 5
    max_budget_usd: float = 1.0
    circuit_breaker_threshold: int = 3


def settings(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings as the environment has them now. Raises UsageError for a number that is none."""
    environ = os.environ if environ is None else environ
    given: dict[str, int | float | str] = {}
    for each in fields(Settings):
        text = environ.get(each.name.upper(), "")
        if text:
            try:
                given[each.name] = _PARSED[str(each.type)](text)
            except ValueError:
                raise UsageError(f"{each.name.upper()} is {text!r}: set it to a number") from None
    return Settings(**given)  # type: ignore[arg-type]
