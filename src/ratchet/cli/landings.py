"""Destination of a result, as --apply, --branch and --patch say."""

from __future__ import annotations

from ratchet.errors import UsageError
from ratchet.healing.landing.destination import Landing


def landing_of(*, applies: bool, branch: str | None, patch: str | None, doubtful: bool = False) -> Landing:
    """The one that was asked for; nowhere, without any. Raises UsageError."""
    wanted = [
        Landing(to="apply", doubtful=doubtful) if applies else None,
        Landing(to="branch", name=branch) if branch is not None else None,
        Landing(to="patch", name=patch) if patch is not None else None,
    ]
    given = [each for each in wanted if each is not None]
    if len(given) > 1:
        raise UsageError("use one of --apply, --branch and --patch")
    if doubtful and not applies:
        raise UsageError("--doubtful goes with --apply: a branch and a patch are there to be looked at")
    return given[0] if given else Landing()
