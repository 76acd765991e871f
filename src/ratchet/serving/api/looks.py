"""Long lists that are computed whole, looked at once for all who page through them."""

from __future__ import annotations

from ratchet.records import Pattern
from ratchet.serving.api.serving import Served


def patterns(
    held: Served, *, agent: str | None = None, kind: str | None = None, excused: bool = False
) -> list[Pattern]:
    """Return what keeps failing, as of the last outcome or event. For reading only: others read the same list."""
    runtime = held.runtime
    runtime.drain()
    return held.glance.at(
        runtime.store,
        lambda: runtime.patterns(agent=agent, kind=kind, include_excused=excused, drained=False),
        ("patterns", agent, kind, excused),
    )
