"""Fixtures of several surfaces: a home that is open, and its pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ratchet.runtime import Runtime

if TYPE_CHECKING:
    from starlette.testclient import TestClient


@pytest.fixture
def runtime(home: Path) -> Iterator[Runtime]:
    with Runtime.open(home=home) as opened:
        yield opened


@pytest.fixture
def client(runtime: Runtime) -> TestClient:
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    from ratchet.serving.api.app import create
    from ratchet.serving.api.serving import Serving

    return TestClient(create(runtime, Serving(workers=0)), base_url="http://localhost")
