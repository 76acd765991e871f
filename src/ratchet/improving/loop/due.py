"""Which agents are due for a look, and what keeps failing there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ratchet.failures.health import EXCUSED
from ratchet.improving.loop.pulse import HOUR_S, Pulse, pulse
from ratchet.improving.settings.versions import StoredSettings, target_of
from ratchet.improving.trials.trials import trials
from ratchet.ports import Problem, Store, Where
from ratchet.records import Json, Proposal, Row, number_in, whole_in

MOST_PROBLEMS = 5  # of one agent in one look, the most frequent first
_RECURS = 2  # failures that make a pattern; one where one is enough to look


def problems(store: Store, *, now: float) -> Iterator[Problem]:
    """Find what keeps failing, agent by agent, of those agents that are due. A look that found enough starts its
    cooldown."""
    for agent in (str(row["agent"]) for row in store.sum_by("activity", ("agent",), ())):
        held = pulse(store, agent, now=now)
        calls, failures = _activity(store, agent, now - held.window_s, now)
        if failures < held.failures or not _begin_look(store, agent, held, now):
            continue
        yield from _problems(store, agent, held, calls, now)


def subsided(store: Store, held: Proposal, *, now: float) -> str:
    """Why a proposal needs nothing any more: its pattern did not come back in a whole window, though the agent ran. ""
    while it does."""
    window_s = pulse(store, held.agent, now=now).window_s
    calls, _ = _activity(store, held.agent, now - window_s, now)
    if not calls or held.created_at > now - window_s:
        return ""
    if any(pattern == held.pattern for pattern, _, _, _ in _patterns(store, held.agent, now - window_s)):
        return ""
    return f"did not come back in {window_s / HOUR_S:g} hours and {calls} calls"


def _activity(store: Store, agent: str, since: float, now: float) -> tuple[int, int]:
    """(calls, own failures) of an agent by whole hours; what a clock ahead of ours recorded is left out."""
    rows = store.find("activity", {"agent": agent, "hour": (">=", int(since // HOUR_S))}, order=("agent", "hour")).rows
    seen = [row for row in rows if number_in(row, "hour") <= now // HOUR_S]
    return int(sum(number_in(row, "calls") for row in seen)), int(sum(number_in(row, "failures") for row in seen))


def _begin_look(store: Store, agent: str, held: Pulse, now: float) -> bool:
    """Tell whether this process is the one to look now: the cooldown is over, and nobody else was quicker."""
    name = f"look/{agent}"
    last: Row = store.get("meta", name) or {}
    # A look from the future is one before the clock was set back.
    if last.get("at") is not None and number_in(last, "at") <= now < number_in(last, "at") + held.cooldown_s:
        return False
    return store.swap("meta", name, whole_in(last, "revision"), {"at": now})


def _problems(store: Store, agent: str, held: Pulse, calls: int, now: float) -> Iterator[Problem]:
    values, knobs = _settings(store, agent)
    target = target_of(agent)
    tried = tuple((each.change.new, each.state) for each in trials(store, target=target))
    found = sorted(_patterns(store, agent, now - held.window_s), key=lambda each: (-each[3], each[0]))
    for pattern, kind, template, count in found[:MOST_PROBLEMS]:
        if count >= min(_RECURS, held.failures):
            yield Problem(
                agent=agent,
                kind=kind,
                pattern=pattern,
                template=template,
                count=count,
                calls=calls,
                window_s=held.window_s,
                values=values,
                knobs=knobs,
                tried=tried,
            )


def _patterns(store: Store, agent: str, since: float) -> list[tuple[str, str, str, int]]:
    """(pattern, kind, template, failures) of an agent since then."""
    where: Where = {"agent": agent, "hour": (">=", int(since // HOUR_S))}
    counts: dict[str, int] = defaultdict(int)
    about: dict[str, Row] = {}
    for row in store.sum_by("tallies", ("signature",), ("n",), where):
        signature = store.get("signatures", str(row["signature"])) or {}
        if signature and signature.get("kind") not in EXCUSED:
            pattern = str(signature["pattern"])
            counts[pattern] += whole_in(row, "n")
            about.setdefault(pattern, signature)
    return [
        (pattern, str(about[pattern]["kind"]), str(about[pattern].get("template") or ""), count)
        for pattern, count in counts.items()
    ]


def _settings(store: Store, agent: str) -> tuple[dict[str, Json], dict[str, dict[str, Json]]]:
    """(values in force, what the knobs may be); empty for an agent without live settings."""
    declared = (store.get("settings", target_of(agent)) or {}).get("knobs")
    if not isinstance(declared, dict):
        return {}, {}
    knobs = {name: knob for name, knob in declared.items() if isinstance(knob, dict)}
    return StoredSettings(store, agent).values(), knobs
