"""Which version of an agent's settings counts now, answered from memory: no call of an agent waits for a store."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from ratchet.errors import RatchetError
from ratchet.improving.calls.limits import CallLimits
from ratchet.improving.settings.versions import StoredSettings
from ratchet.ports import Arms
from ratchet.recording.background import Background
from ratchet.records import Version

REFRESH_S = 0.3
"""How often a running process asks for changes made elsewhere: they reach it within a second also where each of its
questions takes as long again."""

log = logging.getLogger(__name__)


class Live:
    """The versions in force of the agents that this process runs, read again three times a second in the background.

    `repeat` starts the background. A store that is down changes nothing: what was known last counts (at first the
    defaults), and the fault is logged once until it is over. `arms` is asked for each watched call while trials run;
    `follow` hears of trials that were opened elsewhere.
    """

    def __init__(
        self,
        repeat: Callable[[Callable[[], object], float], Background],
        *,
        arms: Arms | None = None,
        follow: Callable[[], object] = lambda: None,
    ) -> None:
        self.arms = arms
        self._follow = follow
        self._repeat = repeat
        self._repeated: Background | None = None
        self._stored: dict[str, Callable[[], StoredSettings]] = {}
        self._parents: dict[str, Version] = {}
        self._declared: set[str] = set()
        self._limits: dict[str, CallLimits] = {}
        self._lock = threading.Lock()
        self._faulty = False

    def parent(self, target: str, stored: Callable[[], StoredSettings]) -> Version:
        """The version in force. The first question about a target declares it and waits for the store."""
        found = self._parents.get(target)
        if found is None:
            with self._lock:
                self._stored[target] = stored
            self.refresh(target)
            found = self._parents.setdefault(target, Version(target=target, number=0))
        if self._repeated is None or not self._repeated.alive:
            self._begin()
        return found

    def arm(self, target: str, unit: Callable[[], str]) -> Version | None:
        """Return what an open trial gives this unit, if there is one. A trial that cannot say leaves the parent in
        force."""
        if self.arms is None:
            return None
        try:
            return self.arms.arm_of(target, unit())
        except Exception:  # the edge to the host, whose call must not fail for a trial
            log.exception("settings.arm_failed", extra={"target": target})
            return None

    def limits(self, target: str) -> CallLimits:
        """The limits that all handles of one agent share."""
        return self._limits.setdefault(target, CallLimits())

    def refresh(self, target: str | None = None) -> None:
        """Read again what is in force (of one target, or of all that were asked about). Never raises."""
        with self._lock:
            wanted = dict(self._stored) if target is None else {target: self._stored[target]}
        try:
            for name, stored in wanted.items():
                known = self._parents.get(name)
                settings = stored()
                if name not in self._declared:  # once: two releases of an agent would overwrite each other forever
                    settings.declare()
                    self._declared.add(name)
                found = settings.current()
                with self._lock:
                    if self._parents.get(name) is known:  # else this process changed it meanwhile, and knows better
                        self._parents[name] = found
            self._faulty = False
        except RatchetError:
            if not self._faulty:
                log.exception("settings.store_down", extra={"target": target or "all"})
            self._faulty = True

    def told(self, version: Version, stored: Callable[[], StoredSettings]) -> None:
        """This process has just put a version in force."""
        with self._lock:
            self._stored[version.target] = stored
            self._parents[version.target] = version

    def close(self) -> None:
        with self._lock:
            repeated, self._repeated = self._repeated, None
        if repeated is not None:
            repeated.stop()

    def after_fork(self) -> None:
        """A child has no background thread, and a lock that another thread of its parent may have held."""
        self._lock = threading.Lock()
        self._repeated = None

    def _begin(self) -> None:
        with self._lock:
            if self._repeated is None or not self._repeated.alive:
                self._repeated = self._repeat(self._turn, REFRESH_S)

    def _turn(self) -> None:
        self.refresh()
        try:
            self._follow()
        except (RatchetError, OSError):  # `refresh` tells that the store is down; calls go on as they are
            log.debug("trials.not_followed", exc_info=True)
