"""Settings of a server, and what all its routes share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from ratchet.improving.glance import Glance
from ratchet.runtime import Runtime
from ratchet.serving.api.access import Access
from ratchet.serving.api.feed import Feed
from ratchet.serving.api.meter import Meter
from ratchet.serving.workers import TaskWorkers

MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Settings of a server that a person decides."""

    host: str = "127.0.0.1"
    token: str = ""
    """A token of all scopes that counts for this run only, besides those of the store."""
    hosts: tuple[str, ...] = ()
    """Further names under which it is reached (a proxy's, say)."""
    origins: tuple[str, ...] = ()
    """Other sites whose pages may ask, as `https://name`."""
    body_bytes: int = 16 * MEGABYTE
    requests_per_s: float = 1_000.0
    """For each token, or each address where there are none; 0 is no limit."""
    workers: int = 0
    """Tasks that run at once here. 0: this server only queues them."""
    roots: tuple[Path, ...] = ()
    """Folders in which tasks may be started; everywhere when there are none."""
    drain_s: float = 0.0
    """How often a process beside this one moves what was recorded into the store; 0: only before each read."""
    heartbeat_s: float = 15.0
    """How often a silent stream says that it lives: proxies cut a connection that is silent for 30 to 60 seconds."""


@dataclass(slots=True)
class Served:
    """State shared by the routes of one app."""

    runtime: Runtime
    serving: Serving
    access: Access
    feed: Feed
    meter: Meter
    workers: TaskWorkers | None = None
    glance: Glance = field(default_factory=Glance)

    def wake_workers(self) -> None:
        """A task waits: begin with it at once, if it can be here."""
        if self.workers is not None:
            self.workers.wake()

    def cancel_here(self, task_id: str) -> None:
        """End a task at once, if it runs here."""
        if self.workers is not None:
            self.workers.cancel(task_id)

    def ending(self) -> None:
        """The server is about to end: no stream and no task holds it up. Call it in the loop's thread."""
        self.feed.close()
        if self.workers is not None:
            self.workers.ask_to_stop()


def served(request: Request) -> Served:
    """Return what the app of this request stands on."""
    found: Served = request.app.state.served
    return found


def runtime_of(request: Request) -> Runtime:
    """The operations behind the app of this request."""
    return served(request).runtime


Operations = Annotated[Runtime, Depends(runtime_of)]
Shared = Annotated[Served, Depends(served)]
