"""Says which API this is."""

from __future__ import annotations

from collections.abc import Sequence

from ratchet.compat.self_improving_loop import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Print the version."""
    del argv
    print(f"self-improving-loop {__version__}")
    return 0
