"""The app in this process, for tests that need no server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from ratchet.runtime import Runtime
from ratchet.serving.api.app import create
from ratchet.serving.api.serving import Serving

BASE = "http://127.0.0.1:8484"


@contextmanager
def client(home: Path, **serving: Any) -> Iterator[TestClient]:
    """A client of the app over `home`; `client.app.state.served.runtime` are its operations."""
    with Runtime.open(home=home) as runtime:
        app = create(runtime, Serving(**serving))
        with TestClient(app, base_url=BASE, raise_server_exceptions=False) as held:
            yield held


def runtime_of(held: TestClient) -> Runtime:
    runtime = held.app.state.served.runtime  # type: ignore[attr-defined]  # the app is FastAPI's
    assert isinstance(runtime, Runtime)
    return runtime


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}
