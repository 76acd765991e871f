"""The JSON shapes, for commands: a module of them is loaded when it is first named, so that a command without `--json`
pays for none."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from ratchet.serving.shapes import (
        bench,
        comparison,
        evolving,
        failures,
        lessons,
        machine,
        prediction,
        scores,
        served,
        sessions,
        shape,
        skills,
        tasks,
        trials,
        used,
    )

__all__ = [
    "bench",
    "comparison",
    "evolving",
    "failures",
    "lessons",
    "machine",
    "prediction",
    "scores",
    "served",
    "sessions",
    "shape",
    "skills",
    "tasks",
    "trials",
    "used",
]


def __getattr__(name: str) -> ModuleType:
    try:
        return importlib.import_module(f"ratchet.serving.shapes.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
