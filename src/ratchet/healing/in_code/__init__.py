"""Heals a function of the process that is running: its call is recorded, mended in a sandbox, and made again."""

REPLAYING = "RATCHET_REPLAYING"
"""Set where a recorded call is made again: `ratchet.heal` then heals nothing."""
