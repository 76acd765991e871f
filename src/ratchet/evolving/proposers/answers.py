"""Read a program's answer in JSON (a hypothesis, a gain, settings), held against what the agent declares."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ratchet.arguments import finite
from ratchet.errors import UsageError
from ratchet.evolving.job import ProposalJob, Proposed
from ratchet.evolving.proposers.evidence import values_of
from ratchet.failures.redaction.text import clean
from ratchet.healing.models.prose import objects_within
from ratchet.healing.solvers.coding_agent import objects_in
from ratchet.improving.settings.knob import described_knob
from ratchet.improving.targets.edit import same
from ratchet.records import Json

NAMES = ("hypothesis", "expected", "settings")
HYPOTHESIS_CHARS, _REASON_CHARS = 400, 1_000
MOST_SETTINGS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposerAccount:
    """An answer, as far as it is one."""

    hypothesis: str = ""
    expected: float = 0.0
    settings: Mapping[str, object] = field(default_factory=dict)


def said_in(text: str) -> ProposerAccount:
    """The last answer that a text holds: JSON on a line of its own, or within prose. All else is not read."""
    last = ProposerAccount()
    for found in _objects(text):
        if not any(name in found for name in NAMES):
            continue
        settings = found.get("settings")
        last = ProposerAccount(
            hypothesis=hypothesis_of(found.get("hypothesis")),
            expected=gain_of(found.get("expected")),
            settings=settings if isinstance(settings, dict) else {},
        )
    return last


def hypothesis_of(value: object) -> str:
    """A hypothesis as it is kept: one line, without secrets."""
    return clean(" ".join(value.split()), HYPOTHESIS_CHARS) if isinstance(value, str) else ""


def gain_of(value: object) -> float:
    """A promised gain in points of score, from -1 to 1; 0 for what is none. Above 1, it was meant in percent."""
    gain = finite(value) or 0.0
    share = gain / 100 if abs(gain) > 1 else gain
    return min(1.0, max(-1.0, share))


def settings_of(job: ProposalJob, given: Mapping[str, object]) -> tuple[dict[str, Json], tuple[str, ...]]:
    """Those values that are another than now and that their knobs allow; and what is wrong with the others."""
    now = values_of(job)
    good: dict[str, Json] = {}
    wrong: list[str] = []
    for name, value in list(given.items())[:MOST_SETTINGS]:
        described = job.agent.knobs.get(name)
        if described is None:
            known = ", ".join(job.agent.knobs) or "none"
            wrong.append(f"no setting {clean(name, 80)!r} is declared; there are: {known}")
            continue
        try:
            checked = plain(described_knob(dict(described)).check(value))
        except UsageError as error:
            wrong.append(clean(f"setting {name}: {error}", 300))
            continue
        if not same(checked, now.get(name)):
            good[name] = checked
    return good, tuple(wrong)


def plain(value: object) -> Json:
    """A knob's value as JSON. Raises UsageError for what is none."""
    try:
        made: Json = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"a value of type {type(value).__name__} is no JSON") from error
    return made


def outcome(job: ProposalJob, said: ProposerAccount, *, problem: str = "", told: str = "") -> Proposed:
    """Judge what a program did in the workspace: proposed where something changed and it ended well."""
    if problem:
        return nothing(problem)
    settings, wrong = settings_of(job, said.settings)
    if wrong:
        return nothing("; ".join(wrong))
    if not settings and not job.workspace.diff():
        return nothing(f"it changed nothing{f': {told}' if told else ''}")
    hypothesis = said.hypothesis or hypothesis_of(told)
    return Proposed(status="proposed", hypothesis=hypothesis, expected=said.expected, settings=settings)


def fixed(job: ProposalJob) -> Proposed | None:
    """The answer about an agent of which nothing may change; None about any other."""
    if job.agent.changes or job.agent.knobs:
        return None
    return refused("nothing of this agent may change: declare files (globs) or settings of it that may")


def nothing(reason: str) -> Proposed:
    return Proposed(status="nothing", reason=clean(reason, _REASON_CHARS))


def refused(reason: str) -> Proposed:
    return Proposed(status="refused", reason=clean(reason, _REASON_CHARS))


def _objects(text: str) -> Iterator[Mapping[str, object]]:
    """JSON objects of a text: whole, a line each, or somewhere in it."""
    lines = [*objects_in(text)]
    if any(name in each for each in lines for name in NAMES):
        yield from lines
    else:
        yield from objects_within(text)
