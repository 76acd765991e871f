"""Tells what differs between two runs of a benchmark: the agent's line, settings and files, and how it was run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress

from ratchet.errors import RatchetError
from ratchet.evolving.archive import Archive
from ratchet.evolving.bench.rows import BenchRun
from ratchet.failures.redaction.text import redact

_FILES = 5  # changed files that are named
_ASKED = ("split", "tasks", "repeats", "seed", "unsafe")  # of a run, and of its agent; what makes another score
_AGENT = ("net", "pass_env", "readable")


def unlike(first: BenchRun, second: BenchRun, archive: Archive) -> tuple[str, ...]:
    """Each difference in a few words, as `effort 1 -> 5`; none where the two ran the same."""
    said = [_moved("agent", first.agent_name, second.agent_name)]
    names = sorted({*first.agent.settings, *second.agent.settings})
    said += [_moved(name, first.agent.settings.get(name), second.agent.settings.get(name)) for name in names]
    said.append(_files(first.tree, second.tree, archive))
    said += [_moved(name, getattr(first.agent, name), getattr(second.agent, name)) for name in _AGENT]
    said += [_moved(name, getattr(first, name), getattr(second, name)) for name in _ASKED]
    return tuple(filter(None, said))


def before(run: BenchRun, older: Sequence[BenchRun]) -> BenchRun | None:
    """The newest of the `older` runs (newest first) of the same agent's line on the same benchmark."""
    same = (each for each in older if (each.benchmark, each.agent_name) == (run.benchmark, run.agent_name))
    return next(same, None)


def _files(old: str, new: str, archive: Archive) -> str:
    if old == new:
        return ""
    with suppress(RatchetError):  # the archive is another machine's, or was tidied: that they differ is known
        paths = [each.path for each in archive.changes(old, new)] if old and new else []
        named = ", ".join(paths[:_FILES])
        more = f" and {len(paths) - _FILES} more" if len(paths) > _FILES else ""
        if paths:
            return redact(f"files changed: {named}{more}")
    return "other files"


def _moved(name: str, old: object, new: object) -> str:
    return "" if old == new else redact(f"{name} {_value(old)} -> {_value(new)}")


def _value(value: object) -> str:
    if value is None or value in ("", ()):
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
