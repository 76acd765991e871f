"""The command line: each command translates to one operation of `Runtime`."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """Entry point of `ratchet`."""
    try:
        from ratchet.cli.app import run
    except KeyboardInterrupt:  # a moment before `run` would have said so
        sys.stderr.write("ratchet: interrupted\n")
        sys.exit(INTERRUPTED)
    run()
