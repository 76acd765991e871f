"""`AsyncRatchet` offers what `Ratchet` offers, and blocks no loop."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import subprocess
import sys
from pathlib import Path

from ratchet.aio import AsyncRatchet
from ratchet.aio.books import (
    AsyncCureBook,
    AsyncDistillery,
    AsyncLessonBook,
    AsyncProposalBook,
    AsyncPulses,
    AsyncTrialBook,
)
from ratchet.client import Ratchet
from ratchet.healing.distilling.book import Distillery
from ratchet.improving.book import ProposalBook, Pulses, TrialBook
from ratchet.improving.cures.book import CureBook
from ratchet.lessons.book import LessonBook

ROOT = Path(__file__).resolve().parents[2]


def test_the_module_is_what_the_generator_writes() -> None:
    subprocess.run([sys.executable, str(ROOT / "scripts/generate_aio.py"), "--check"], check=True, cwd=ROOT)


def test_every_public_operation_has_a_twin_with_the_same_parameters() -> None:
    pairs = (
        (Ratchet, AsyncRatchet),
        (LessonBook, AsyncLessonBook),
        (TrialBook, AsyncTrialBook),
        (CureBook, AsyncCureBook),
        (Distillery, AsyncDistillery),
        (ProposalBook, AsyncProposalBook),
        (Pulses, AsyncPulses),
    )
    for sync, twin in pairs:
        for name, member in vars(sync).items():
            if name.startswith("_"):
                continue
            other = inspect.getattr_static(twin, name)
            if isinstance(member, property):
                assert isinstance(other, property)
            else:
                assert inspect.signature(member).parameters == inspect.signature(other).parameters, name


def test_what_is_recorded_is_read_back(home: Path) -> None:
    async def session() -> tuple[str, list[str], list[bool]]:
        async with AsyncRatchet(home) as ratchet:
            first = await ratchet.record("a", ok=True)

            @ratchet.watch("a")
            async def fails() -> None:
                raise ValueError("no")

            with contextlib.suppress(ValueError):
                await fails()
            outcomes = [outcome async for outcome in ratchet.outcomes()]
            await ratchet.patterns()
            await ratchet.lessons.list()
            return first, [outcome.id for outcome in outcomes], [outcome.ok for outcome in outcomes]

    first, ids, ok = asyncio.run(session())
    assert first in ids
    assert sorted(ok) == [False, True]


def test_reading_leaves_the_loop_free(home: Path) -> None:
    async def session() -> int:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async with AsyncRatchet(home) as ratchet:
            await ratchet.record("a", ok=True)
            counting = asyncio.create_task(count())
            await asyncio.gather(*(ratchet.health() for _ in range(4)))
            counting.cancel()
        return turns

    assert asyncio.run(session()) > 2
