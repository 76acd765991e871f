"""Offers reloop's commands for failures that travel: export and import. All others are those of `ratchet`."""
