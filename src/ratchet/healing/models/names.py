"""Read the names of models: a provider and a model, or a model at an address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from ratchet.errors import Refused, UsageError
from ratchet.healing.models import local

LOCAL = "local"
"""Stands for the first server that is found on the usual ports, with the first model that it serves."""
_KEY_VARIABLE = "RATCHET_MODEL_API_KEY"  # for the server at `model_base_url`, where it asks for one
_ADDRESS_VARIABLES = {"ollama": "OLLAMA_BASE_URL", "vllm": "VLLM_BASE_URL"}
_KEY_VARIABLES = {"ollama": "OLLAMA_API_KEY", "vllm": "VLLM_API_KEY"}

_COMPATIBLE = frozenset(("openai", "openai-chat"))
# Providers that a chain may name beside a server at `model_base_url`: another part ahead of a colon is the model's own.
_REACHED_BY_NAME = frozenset(
    (
        *("anthropic", "azure", "bedrock", "cerebras", "cohere", "deepseek", "fireworks", "google", "google-gla"),
        *("google-vertex", "groq", "huggingface", "lmstudio", "llamacpp", "mistral", "ollama", "openai-responses"),
        *("openrouter", "together", "vllm", "xai"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelName:
    """One model. With `base_url` it is asked there, by OpenAI's chat completions, which nearly every server speaks."""

    provider: str
    name: str
    base_url: str = ""
    key_variable: str = ""
    """The environment variable that holds the key for `base_url`. The key itself is read when it is sent."""

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"

    @property
    def on_this_machine(self) -> bool:
        return bool(self.base_url) and _is_loopback(self.base_url)


def chain_of(text: str, *, base_url: str = "", environ: Mapping[str, str]) -> tuple[ModelName, ...]:
    """The models of a list separated by commas, in the order in which they are asked.

    Each is `provider:name` as pydantic-ai spells them (`anthropic:claude-sonnet-4-5`, `google:gemini-2.5-pro`,
    `ollama:qwen3`), one of the local servers (`vllm:`, `llamacpp:`, `lmstudio:`), or `local`. With `base_url`, a name
    without a provider is asked there. Raises UsageError for one that is none of these, Refused where `local` finds
    nobody.
    """
    names = [part.strip() for part in text.split(",") if part.strip()]
    if base_url and urlsplit(base_url).scheme not in ("http", "https"):
        raise UsageError(f"model_base_url is {base_url!r}: use an address such as http://127.0.0.1:8000/v1")
    return tuple(_named(name, base_url, environ) for name in names)


def _named(text: str, base_url: str, environ: Mapping[str, str]) -> ModelName:
    if text == LOCAL:
        return _first_local()
    provider, colon, name = text.partition(":")
    if base_url and provider not in _REACHED_BY_NAME:  # the colon, if any, is the name's own: Ollama's `qwen3:8b`
        bare = name if provider in _COMPATIBLE and name else text
        return ModelName(provider="openai-chat", name=bare, base_url=base_url, key_variable=_KEY_VARIABLE)
    if not colon or not provider or not name:
        raise UsageError(f"model {text!r} names no provider: write provider:model, such as anthropic:{text}")
    if provider in local.USUAL_PORTS:
        given = environ.get(_ADDRESS_VARIABLES.get(provider, "")) or local.base_url(provider)
        return ModelName(provider=provider, name=name, base_url=given, key_variable=_KEY_VARIABLES.get(provider, ""))
    if provider in _COMPATIBLE and environ.get("OPENAI_BASE_URL"):
        given = environ["OPENAI_BASE_URL"]
        return ModelName(provider="openai-chat", name=name, base_url=given, key_variable="OPENAI_API_KEY")
    return ModelName(provider=provider, name=name)


def _first_local() -> ModelName:
    for found in local.find():
        return ModelName(provider=found.name, name=found.models[0], base_url=found.url)
    ports = ", ".join(f"{name} {port}" for name, port in local.USUAL_PORTS.items())
    raise Refused(f"no local model answers on the usual ports ({ports}); start one, or name another model")


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
