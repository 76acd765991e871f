"""Tells the processes of one home which trials are open, once the store knows that the home may meet them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ratchet.improving.trials import arms, homes
from ratchet.improving.trials.trials import OPEN, trials

if TYPE_CHECKING:
    from ratchet.ports import Store
    from ratchet.records import Trial


def publish(store: Store, home: str, *, joins: bool = True) -> list[Trial]:
    """Write down which trials are open, forget what those that are not left, and return the open ones.

    A home without agents of its own must not be waited for by everybody: unless it `joins`, one that never did before
    is told of none. Raises StoreError, OSError.
    """
    found = [each for each in trials(store, states=("open", "paused")) if not each.decision and each.mode == "coin"]
    if not joins and not homes.has_joined(store, home):
        return found
    homes.join(store, home, [each.id for each in found])
    arms.publish(home, found)
    arms.forget(home, lambda name: (store.get("trials", name) or {}).get("state") not in OPEN)
    return found
