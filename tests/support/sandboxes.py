"""Sandboxes that tests need: a test is skipped where one does not work."""

from __future__ import annotations

import pytest

from ratchet.ports import Sandbox
from ratchet.sandbox.probe import probe


def working(sandbox: Sandbox) -> Sandbox:
    """The sandbox; skips the test where it does not work on this machine."""
    found = probe(sandbox, quick=True)
    if not found.works:
        pytest.skip(f"{sandbox.name} does not work on this machine: {found.note}")
    return sandbox
