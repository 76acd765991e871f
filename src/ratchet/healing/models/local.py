"""Finds servers of local models by asking the ports that they usually have, on this machine only."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import urlsplit

USUAL_PORTS: Mapping[str, int] = {"ollama": 11434, "vllm": 8000, "llamacpp": 8080, "lmstudio": 1234}
"""The ports that each of them has unless told otherwise (their documentation, 2026)."""
HOST = "127.0.0.1"
TIMEOUT_S = 0.3  # a server on the same machine lists its models in a few ms; a busy one is asked again next time
_MOST_BYTES = 262_144


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """A server that answered, and what it serves."""

    name: str
    url: str
    """Where its OpenAI-compatible interface is."""
    models: tuple[str, ...]


def base_url(name: str) -> str:
    """Return the address at which a local server of that name is expected."""
    return f"http://{HOST}:{USUAL_PORTS[name]}/v1"


def find(ports: Mapping[str, int] = USUAL_PORTS, *, timeout_s: float = TIMEOUT_S) -> tuple[Backend, ...]:
    """The servers that list models now, in the order of `ports`. Takes about `timeout_s`; never raises."""
    with ThreadPoolExecutor(len(ports) or 1, thread_name_prefix="ratchet-local") as pool:
        listed = pool.map(lambda port: _models(port, timeout_s), ports.values())
        return tuple(
            Backend(name=name, url=f"http://{HOST}:{ports[name]}/v1", models=models)
            for name, models in zip(ports, listed, strict=True)
            if models
        )


def models_at(url: str) -> tuple[str, ...]:
    """The models that a server on this machine lists, by its address; () where nobody answers."""
    port = urlsplit(url).port
    return _models(port, TIMEOUT_S) if port else ()


def _models(port: int, timeout_s: float) -> tuple[str, ...]:
    """Ask the server at a port what it serves; () where nobody answers, or something else does."""
    connection = http.client.HTTPConnection(HOST, port, timeout=timeout_s)
    try:
        connection.request("GET", "/v1/models", headers={"Accept": "application/json"})
        response = connection.getresponse()
        if response.status != http.HTTPStatus.OK:
            return ()
        listed = json.loads(response.read(_MOST_BYTES))
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return ()  # whatever is there, it is no server of models
    finally:
        connection.close()
    entries = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(entries, list):
        return ()
    names = (entry.get("id") for entry in entries if isinstance(entry, dict))
    return tuple(name for name in names if isinstance(name, str) and name)
