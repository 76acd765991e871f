"""Long lists that are computed whole, looked at once for all who page through them.

`late` is for pages: where a look takes long they are given the last one, and are told once there is a newer one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ratchet.lessons.failing import By, FailsBy, Window
from ratchet.serving.api.serving import Served

if TYPE_CHECKING:
    from ratchet.failures.patterns.patterns import PatternList
    from ratchet.sessions.cost import CostBy, Costs


def patterns(
    held: Served, *, agent: str | None = None, kind: str | None = None, excused: bool = False, late: bool = False
) -> PatternList:
    """Return what keeps failing, as of the last outcome or event. For reading only: others read the same list."""
    runtime = held.runtime
    runtime.drain()
    return held.glance.at(
        runtime.store,
        lambda: runtime.pattern_list(agent=agent, kind=kind, include_excused=excused, drained=False),
        ("patterns", agent, kind, excused),
        late=late,
    )


def fails(held: Served, by: By, within: Window, project: str = "") -> Sequence[FailsBy]:
    """Count what fails by one thing within a window that ends now."""
    runtime = held.runtime
    asked = ("fails", by, within.name, project)
    return held.glance.at(
        runtime.store, lambda: runtime.failing.by(by, span=within.name, project=project), asked, late=True
    )


def costs(held: Served, by: CostBy, within: Window, project: str = "") -> Costs:
    """Sum up what was used by one thing within a window that ends now."""
    runtime = held.runtime
    asked = ("costs", by, within.name, project)

    def look() -> Costs:
        return runtime.sessions.costs(by=by, project=project or None, since=within.since, until=within.until)

    return held.glance.at(runtime.store, look, asked, late=True)


def costs_daily(held: Served, within: Window, project: str = "") -> dict[str, dict[str, float]]:
    """Sum up USD by day and model within a window that ends now."""
    runtime = held.runtime
    asked = ("costs daily", within.name, project)

    def look() -> dict[str, dict[str, float]]:
        return runtime.sessions.costs_daily(project=project or None, since=within.since, until=within.until)

    return held.glance.at(runtime.store, look, asked, late=True)
