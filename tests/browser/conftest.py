"""A served home with something on every page, and a real browser to look at it."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from ratchet.improving.settings.knob import Range
from ratchet.improving.settings.versions import StoredSettings
from ratchet.runtime import Runtime
from support.healing import RIGHT, WRONG, Bench, needs_sandbox

PUSH = "fatal: The current branch topic has no upstream branch."
PATIENCE_S = 120.0
"""How long a page may take on a machine that does much else."""
LIMIT = "429 Too Many Requests: rate limit reached, try again in 2s"


class Site:
    """A server over a home, in a thread."""

    def __init__(self, runtime: Runtime, **serving: Any) -> None:
        import uvicorn

        from ratchet.serving.api.app import create
        from ratchet.serving.api.serving import Serving

        self.runtime = runtime
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        app = create(runtime, Serving(**serving))
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        until = time.monotonic() + 30
        while not self._server.started and time.monotonic() < until:
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(30)
        self._socket.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Debian's Chromium under playwright; skipped loudly where either is missing. It ends with the module: as long as
    it runs, so does an event loop in this thread, and no other test can start one."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install '.[browser]'")
    path = os.environ.get("RATCHET_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium, or name it in RATCHET_TEST_CHROMIUM")
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
    quiet += ["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"]
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=quiet)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def screenshots() -> Path | None:
    """Where pictures of all pages go, if RATCHET_SCREENSHOTS says where: each takes as long as the page."""
    named = os.environ.get("RATCHET_SCREENSHOTS")
    if named:
        Path(named).mkdir(parents=True, exist_ok=True)
    return Path(named) if named else None


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A home with outcomes, lessons, a proposal, a trial and an episode that went red, red, green."""
    folder = tmp_path_factory.mktemp("furnished")
    needs_sandbox(folder)
    bench = Bench(folder)
    runtime = bench.runtime
    now = time.time()
    for number in range(60):
        failed = number % 3 == 0
        runtime.record(
            "support",
            task="answer",
            session=f"s{number}",
            started_at=now - 3600 * (60 - number),
            duration_s=2.0,
            cost_usd=0.01,
            **({"error": LIMIT} if failed else {"ok": True}),
        )
    for number in range(8):
        runtime.record("coder", task="Bash", session=f"c{number}", error=PUSH, started_at=now - 600 * number)
    runtime.lessons.add(when=PUSH, do="git push --set-upstream origin topic", scope="global", state="active")
    runtime.lessons.add(when=LIMIT, do="wait two seconds, then retry", scope="global")
    StoredSettings(runtime.store, "support", knobs={"max_retries": Range(0, 10, default=0)}).declare()
    runtime.trials.open("settings:support", {"max_retries": 3}, reason="it retries too little")
    bench.heal({"calc.py": WRONG + "x = 1\n"}, {"calc.py": WRONG + "y = 2\n"}, {"calc.py": RIGHT}, instruction="add")
    yield bench
    runtime.close()


@pytest.fixture
def site(furnished: Bench) -> Iterator[Site]:
    with Site(furnished.runtime, workers=0) as running:
        yield running


@pytest.fixture
def page(chromium: Any, site: Site) -> Iterator[Any]:
    """A page of a desktop's width; a message in its console, or a request that fails, fails the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE_S * 1_000)
    opened = context.new_page()
    faults: list[str] = []
    opened.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: faults.append(str(error)))
    yield opened
    context.close()
    assert faults == []
