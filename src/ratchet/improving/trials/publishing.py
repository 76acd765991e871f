"""Tells the processes of one home which trials are open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ratchet.improving.trials import arms
from ratchet.improving.trials.trials import OPEN, trials

if TYPE_CHECKING:
    from ratchet.ports import Store


def publish(store: Store, home: str) -> None:
    """Write down which trials are open, and forget what those that are not left. Raises OSError."""
    arms.publish(home, [each for each in trials(store, states=("open", "paused")) if not each.decision])
    arms.forget(home, lambda name: (store.get("trials", name) or {}).get("state") not in OPEN)
