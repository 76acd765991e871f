"""The command line: each command translates to one operation of `Runtime`."""

from __future__ import annotations


def main() -> None:
    """Entry point of `ratchet`."""
    from ratchet.cli.app import run

    run()
