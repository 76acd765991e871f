"""Says of a name that is no kind which kinds there are."""

from __future__ import annotations

from ratchet.errors import UsageError
from ratchet.failures.kinds.table import KINDS


def need_known(kind: str) -> None:
    """Raise UsageError, with the kind that is meant or all of them, for a name that is none."""
    if kind in KINDS:
        return
    from difflib import get_close_matches

    near = get_close_matches(kind.lower().replace("-", "_"), KINDS, n=1)
    known = f": did you mean {near[0]}?" if near else f"; there are {', '.join(sorted(KINDS))}"
    raise UsageError(f"no kind {kind!r}{known}")
