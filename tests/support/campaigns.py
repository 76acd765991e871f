"""How much of a campaign a run has time for."""

from __future__ import annotations

from hypothesis import settings


def many(number: int) -> int:
    """As many of something: a quarter of them in `make check`, all of them in any other run."""
    return max(1, number // 4) if settings.get_current_profile_name() == "quick" else number
