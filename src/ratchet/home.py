"""Home: what every operation stands on: one home's configuration, store, journal and ways out, and their lifetimes."""

from __future__ import annotations

import logging
import os
import threading
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Self, Unpack

from ratchet import config as configuration
from ratchet.errors import NotFound, UsageError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from ratchet.config import Config, Settings
    from ratchet.improving.assembly import Targets
    from ratchet.improving.notifiers.outbox import Outbox
    from ratchet.improving.settings.book import SettingsBook
    from ratchet.lessons.mirror import Mirror
    from ratchet.ports import Store
    from ratchet.recording.drain import Drained
    from ratchet.recording.intake import Intake
    from ratchet.recording.recorder import Recorder
    from ratchet.recording.sources.homes import HistoryHome
    from ratchet.sandbox.choice import Sandboxes
    from ratchet.store.redis.beside import StoreBesideRedis
    from ratchet.store.retention import Retention
    from ratchet.store.timeline import Timeline
    from ratchet.store.tokens import TokenBook

log = logging.getLogger(__name__)


class Foundation:
    """One home, opened. Opening costs nothing: the store is opened by the first operation that needs it."""

    def __init__(self, config: Config, *, recorder: Recorder | None = None) -> None:
        self.config = config
        self._said = False
        self.home = config.home
        self._store: Store | None = None
        self._recorder = recorder
        self._outbox: Outbox | None = None
        self._lock = threading.Lock()
        self._draining = threading.Lock()  # two threads that drain at once would read the same lines
        self.patience_s: float | None = None
        """How long a reading operation moves what was recorded before it reads; None: to the end."""

    @classmethod
    def open(cls, **given: Unpack[Settings]) -> Self:
        """The runtime of these settings (see `config.load`). Raises UsageError for an unknown or bad one."""
        return cls(configuration.load(**given))

    def close(self) -> None:
        """Release the store and the journal. What was recorded is on disk already."""
        with self._lock:
            recorder, self._recorder = self._recorder, None
            store, self._store = self._store, None
            outbox, self._outbox = self._outbox, None
        if outbox is not None:
            outbox.close()
        if recorder is not None:
            recorder.close()
        if store is not None:
            store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def histories(self) -> list[HistoryHome]:
        """List the homes of agents' histories on this machine, with what is in them and what of that was read."""
        from ratchet.recording.sources.homes import listed

        return listed(self.store, os.environ)

    def follow(self) -> None:
        """Hear of the trials that anybody opened, moved or ended: calls of this home may meet them. Costs a query or
        two. Raises StoreError, OSError."""
        from ratchet.improving.trials.publishing import publish

        publish(self.store, str(self.home))

    def observe(self, until: float = inf) -> Drained:
        """Move what was journalled into the store (see `homes.observe`), nothing of it where that is read-only.
        Raises StoreError."""
        from ratchet.improving.trials.homes import observe

        with self._draining:
            if self.frozen:
                return self._left()
            return observe(self.store, str(self.home), until=until)

    @property
    def frozen(self) -> bool:
        """Tell whether the store can be read and not written, as on a disk that is mounted read-only, or full."""
        return bool(getattr(self.store, "readonly", False))

    def _left_by(self, error: Exception) -> Drained:
        """Go on with what is there where the disk is full, or another user wrote here; else raise the error."""
        if not (self.frozen or isinstance(error, PermissionError)):
            raise error
        return self._left()

    def _left(self) -> Drained:
        from ratchet.recording.drain import Drained
        from ratchet.recording.journal import segments

        why = f"{self.home} is read-only, or its disk is full"
        try:
            waiting = bool(segments(str(self.home)))
        except PermissionError as error:
            waiting, why = True, f"{error.filename} cannot be read; give it back to its user (chown)"
        if waiting and not self._said:
            self._said = True
            log.warning("what was recorded last is not counted yet: %s", why)
        return Drained(whole=not waiting)

    # -- what it stands on -----------------------------------------------------------------------------------------

    @property
    def store(self) -> Store:
        """The store, created where missing. Raises StoreError, Refused without the driver that it needs."""
        with self._lock:
            if self._store is None:
                from ratchet.store import opening as stores

                self._store = stores.opened(self.config)
            return self._store

    @property
    def redis(self) -> StoreBesideRedis:
        """The store with the Redis beside it. Raises UsageError where none is named."""
        from ratchet.store.redis.beside import StoreBesideRedis

        if isinstance(self.store, StoreBesideRedis):
            return self.store
        raise UsageError("no Redis stands beside this store: set RATCHET_REDIS_URL=redis://HOST:6379")

    def pass_on(self, *, every_s: float = 0.0) -> None:
        """Let what stands beside the store catch up with it: the hooks' copy of a shared one, looked at this seldom at
        least, and Redis where one is named. Raises StoreError, OSError."""
        self.mirror.refresh(self.store, every_s=every_s)
        if self.config.redis_url:
            self.redis.catch_up()

    @property
    def recorder(self) -> Recorder:
        with self._lock:
            if self._recorder is None:
                from ratchet.recording.recorder import Recorder

                self._recorder = Recorder(str(self.home))
            return self._recorder

    @property
    def _joins(self) -> bool:
        return not self.config.database_url  # of a shared store a home meets trials once an agent in it has settings

    @property
    def exists(self) -> bool:
        """Tell whether anything was ever recorded or learnt here."""
        from ratchet.store import opening as stores

        return stores.exist(self.config)

    def need(self) -> None:
        """Raise NotFound where there is no home yet."""
        if not self.exists and not self.home.is_dir():
            raise NotFound(
                f"there is no home at {self.home}: look at its path, or make one: ratchet --home {self.home} init"
            )

    def init(self) -> Path:
        """Create the home and an empty store; return the home."""
        _ = self.store
        return self.home

    @property
    def settings(self) -> SettingsBook:
        """Live settings of agents, as people see and set them."""
        from ratchet.improving.settings.book import SettingsBook

        return SettingsBook(lambda: self.store)

    @property
    def sandboxes(self) -> Sandboxes:
        """Sandboxes, in which machine-written code runs."""
        from ratchet.sandbox.choice import Sandboxes

        return Sandboxes(self.home)

    @cached_property
    def mirror(self) -> Mirror:
        """The lessons of a shared store, for this home's hooks."""
        from ratchet.lessons.mirror import Mirror

        return Mirror(self.config)

    @cached_property
    def retention(self) -> Retention:
        """Retention: how long things are kept."""
        from ratchet.store.retention import Retention

        return Retention(lambda: self.store, self.config.retention_days)

    @cached_property
    def targets(self) -> Targets:
        """Targets that trials may change in this process."""
        from ratchet.improving.assembly import Targets

        return Targets(lambda: self.store)

    @property
    def intake(self) -> Intake:
        """Intake of what other programs send by themselves."""
        from ratchet.recording.intake import Intake

        return Intake(self.recorder)

    @property
    def tokens(self) -> TokenBook:
        """Tokens of a server over this home."""
        from ratchet.store.tokens import TokenBook

        return TokenBook(lambda: self.store)

    @property
    def timeline(self) -> Timeline:
        """Timeline, for people to read."""
        from ratchet.store.timeline import Timeline

        return Timeline(lambda: self.store)

    @property
    def outbox(self) -> Outbox:
        """Outbox of notices: to the log, and to the notifiers that the environment names; none of them is waited
        for."""
        with self._lock:
            if self._outbox is None:
                from ratchet.improving.notifiers import from_environment  # mail and the web, which few commands need
                from ratchet.improving.notifiers.outbox import Outbox

                self._outbox = Outbox(from_environment(os.environ))
            return self._outbox
