"""Read the tallies of each pattern: counts, agents, sessions, times, costs. A handful of grouped reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from ratchet.failures.health import EXCUSED
from ratchet.failures.patterns.sums import ALL
from ratchet.records import Json, number_in, whole_in

if TYPE_CHECKING:
    from ratchet.ports import Store, Where


@dataclass(slots=True)
class Tallied:
    """The sums of one pattern. `resolved` counts its failures whose resolution is known, `shown` the failing runs that
    showed the rule of a finding, among others (0 of anything else); `agents` is filled by `name_agents`."""

    signatures: list[str] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)
    count: int = 0
    shown: int = 0
    sessions: int = 0
    tokens: float = 0
    duration_s: float = 0.0
    first_seen: float = float("inf")
    last_seen: float = float("-inf")
    resolved: int = 0
    resolved_s: float = 0.0
    resolved_tokens: float = 0.0

    @property
    def wasted_s(self) -> float:
        """Seconds from the failures to their resolutions; what is unresolved wasted the failing calls' own time."""
        return self.resolved_s + self.duration_s * self._unresolved

    @property
    def wasted_tokens(self) -> int:
        return round(self.resolved_tokens + self.tokens * self._unresolved)

    @property
    def _unresolved(self) -> float:
        return max(0.0, 1.0 - self.resolved / self.count) if self.count else 0.0


def tallied(
    store: Store,
    *,
    agent: str | None = None,
    kind: str | None = None,
    pattern: str | None = None,
    include_excused: bool = False,
) -> dict[str, Tallied]:
    """Pattern -> its sums, of one `pattern` alone where it is named. Excused kinds only when asked for, by
    `include_excused` or by name."""
    where: Where = {} if kind is None else {"kind": kind}
    if pattern is not None:
        where = {**where, "pattern": pattern}
    named = include_excused or kind is not None or pattern is not None
    pattern_of = {
        str(row["signature"]): str(row["pattern"])
        for row in store.sum_by("signatures", ("signature", "pattern", "kind"), (), where)
        if named or row["kind"] not in EXCUSED
    }
    summed: dict[str, Json | tuple[str, Json]] = {"agent": agent or ALL}
    if pattern is not None:
        summed["signature"] = ("in", [*pattern_of])
    found: dict[str, Tallied] = defaultdict(Tallied)
    _add_sums(store, found, pattern_of, summed)
    _add_sessions(store, found, agent)
    _add_resolutions(store, found, pattern_of)
    return dict(found)


def _add_sums(store: Store, found: dict[str, Tallied], pattern_of: Mapping[str, str], where: Where) -> None:
    names = ("n", "tokens", "duration_s", "sessions", "min:min_at", "max:max_at")
    for row in store.sum_by("signature_sums", ("signature",), names, where):
        pattern = pattern_of.get(str(row["signature"]))
        if pattern is None or not row["n"]:
            continue
        signature, n, tokens, duration_s, sessions, first, last = cast(
            "tuple[str, int, float, float, int, float, float]", row.values()
        )
        held = found[pattern]
        held.signatures.append(signature)
        held.count += n
        held.tokens += tokens
        held.duration_s += duration_s
        held.sessions += sessions
        held.first_seen = min(held.first_seen, first)
        held.last_seen = max(held.last_seen, last)


def _add_sessions(store: Store, found: dict[str, Tallied], agent: str | None) -> None:
    """A session that met two signatures of a pattern is one session."""
    several = {name: held for held in found.values() if len(held.signatures) > 1 for name in held.signatures}
    if not several:
        return
    met: dict[int, set[str]] = defaultdict(set)
    where: Where = {} if agent is None else {"agent": agent}
    where = {**where, "signature": ("in", [*several])}
    for row in store.sum_by("sightings", ("signature", "session"), (), where):
        met[id(several[str(row["signature"])])].add(str(row["session"]))
    for held in several.values():
        held.sessions = len(met[id(held)])


def name_agents(store: Store, found: Iterable[Tallied], agents: Sequence[str]) -> None:
    """Say of each pattern which of these agents' failures it counts."""
    of = {name: held for held in found for name in held.signatures}
    where: Where = {"agent": ("in", [*agents]), "signature": ("in", [*of])}
    for row in store.sum_by("signature_sums", ("agent", "signature"), (), where):
        of[str(row["signature"])].agents.add(str(row["agent"]))


def _add_resolutions(store: Store, found: dict[str, Tallied], pattern_of: Mapping[str, str]) -> None:
    for row in store.sum_by("resolutions", ("signature",), ("distinct:failed_id", "wasted_s", "wasted_tokens")):
        held = found.get(pattern_of.get(str(row["signature"]), ""))
        if held is not None:
            held.resolved += whole_in(row, "distinct:failed_id")
            held.resolved_s += number_in(row, "wasted_s")
            held.resolved_tokens += number_in(row, "wasted_tokens")
