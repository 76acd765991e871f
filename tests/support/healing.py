"""A small project to heal, and episodes over it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ratchet.healing.book import EpisodeBook, HealMeans, HealRequest
from ratchet.healing.episode import Budget, Episode
from ratchet.healing.landing.destination import Landing
from ratchet.healing.loop import HealMoment
from ratchet.ports import Store
from ratchet.runtime import Runtime
from ratchet.sandbox.choice import Sandboxes
from ratchet.testing.healing import Play, ScriptedSolver

WRONG = "# sums\ndef add(a, b):\n    return a - b\n"
RIGHT = WRONG.replace("a - b", "a + b")
CHECK_CODE = "import sys; sys.path.insert(0, '.'); import calc; assert calc.add(1, 2) == 3, calc.add(1, 2)"
CHECK = ("python", "-c", CHECK_CODE)
"""Quick, and named by no file."""


class Bench:
    """One home, one project, and a solver that plays a script."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.project.mkdir(parents=True)
        (self.project / "calc.py").write_text(WRONG)
        self.runtime = Runtime.open(home=self.home)
        self.store: Store = self.runtime.store
        self.moments: list[HealMoment] = []
        self.solver = ScriptedSolver([{}])

    @property
    def book(self) -> EpisodeBook:
        return self.runtime.episodes

    def heal(
        self,
        *script: Mapping[str, str] | Play,
        check: tuple[str, ...] = CHECK,
        cancelled: Callable[[], bool] = lambda: False,
        landing: Landing | None = None,
        check_s: float = 120.0,
        protected: tuple[str, ...] = (),
        held_check: tuple[str, ...] = (),
        instruction: str = "",
        **budget: float,
    ) -> Episode:
        self.solver = ScriptedSolver(script or [{}])
        asked = HealRequest(
            check=check,
            folder=self.project,
            instruction=instruction,
            budget=Budget(**budget),  # type: ignore[arg-type]
            protected=protected,
            held_check=held_check,
        )
        return self.book.run(asked, self.means(cancelled=cancelled, check_s=check_s), landing=landing)

    def means(self, *, cancelled: Callable[[], bool] = lambda: False, check_s: float = 120.0) -> HealMeans:
        return HealMeans(solver=self.solver, told=self.moments.append, cancelled=cancelled, check_s=check_s)

    def files(self) -> dict[str, bytes]:
        return {str(each.relative_to(self.project)): each.read_bytes() for each in self.project.rglob("*.*")}


def needs_sandbox(home: Path) -> None:
    """Skip where no sandbox holds."""
    from ratchet.errors import Refused

    try:
        Sandboxes(home).chosen()
    except Refused as error:
        pytest.skip(str(error))
