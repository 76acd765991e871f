"""Cheap screens of a proposal, before anything is measured: what it changed, whether it parses, whether it is new.

Pure. Each says why a proposal is refused in one line, or "".
"""

from __future__ import annotations

import ast
import json
import tomllib
import warnings
from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from ratchet.errors import UsageError
from ratchet.evolving.bench.agents import may_change
from ratchet.evolving.bench.benchmark import Agent, Evaluation
from ratchet.evolving.candidate import Candidate
from ratchet.failures.signature import mask
from ratchet.healing.judges.protection import MOST_BYTES
from ratchet.healing.patches import LINK_MODE
from ratchet.improving.settings.knob import described_knob
from ratchet.records import Json
from ratchet.sandbox.command import FileChange

_SHOWN = 5


def foreign(agent: Agent, changes: Sequence[FileChange]) -> str:
    """Files that it changed and must not, by name."""
    outside = [each.path for each in changes if not may_change(agent, each.path)]
    if outside:
        named = ", ".join(outside[:_SHOWN]) + (f" and {len(outside) - _SHOWN} more" if len(outside) > _SHOWN else "")
        allowed = ", ".join(agent.changes) or "none"
        return f"refused: it changed {named}; only these may change: {allowed}"
    links = [each.path for each in changes if LINK_MODE in (each.before_mode, each.after_mode)]
    if links:
        return f"refused: {links[0]} is a link, which may lead anywhere"
    if sum(len(each.after or b"") for each in changes) > MOST_BYTES:
        return f"refused: it changed more than {MOST_BYTES // 1_048_576} MB: no edit but data"
    return ""


def unknown_settings(agent: Agent, settings: Mapping[str, Json]) -> str:
    """Settings that are not declared, or whose value their knob does not take."""
    for name, value in settings.items():
        if name not in agent.knobs:
            return f"refused: it set {name}, which is no declared knob; known: {', '.join(agent.knobs) or 'none'}"
        try:
            described_knob(dict(agent.knobs[name])).check(value)
        except UsageError as error:
            return f"refused: {name}: {error}"
    return ""


def unparsable(changes: Iterable[FileChange]) -> str:
    """The first changed file that its own language does not take."""
    for each in changes:
        parse = _PARSERS.get(each.path.rpartition(".")[2])
        if each.after is None or parse is None:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a candidate's odd escapes are its own affair
                parse(each.after)
        except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
            said = " ".join(str(error).split())[:200]
            return f"{each.path} does not parse: {said or type(error).__name__}"
    return ""


_PARSERS: Mapping[str, Callable[[bytes], object]] = {
    "py": ast.parse,
    "json": json.loads,
    "toml": lambda content: tomllib.loads(content.decode()),
}


def known_already(version: str, parent: str, incumbent: str, tried: Iterable[Candidate]) -> str:
    """Why a version need not be measured: it is there already."""
    if version == parent:
        return "it changed nothing"
    if version == incumbent:
        return "it is the version that counts now"
    for each in tried:
        if each.id == version:
            return f"the same version as candidate {each.n}, which is {each.state.replace('_', ' ')}"
    return ""


def meddling(made: Evaluation, habits: Container[str] = ()) -> str:
    """Name what an evaluation's agent meddled with; not what the agent did before it was changed (`habits`, masked)."""
    news = [each for each in made.tampered if mask(each) not in habits]
    return f"refused: {'; '.join(news[:_SHOWN])}" if news else ""


def habits(runs: Iterable[Evaluation]) -> frozenset[str]:
    """Collect what a version tries by habit, masked: a cache that it cannot write, say."""
    return frozenset(mask(each) for made in runs for each in made.tampered)


def broken_smoke(runs: Sequence[Evaluation], incumbents: Sequence[Evaluation]) -> str:
    """Which cheap and easy task a candidate breaks: it fails all its runs of it, and the incumbent passes all of its
    own. Two runs each: where the incumbent is as good as a coin, one pass would screen out one idle change in five."""
    for task in dict.fromkeys(each.task for each in runs):
        mine = [each for each in runs if each.task == task and each.measured]
        theirs = [each for each in incumbents if each.task == task and each.measured]
        worked = bool(theirs) and all(each.result == "passed" for each in theirs)
        if worked and mine and all(each.result == "failed" for each in mine):
            return f"it breaks the smoke task {task}: {mine[-1].reason}"
    return ""
