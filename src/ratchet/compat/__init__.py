"""Runs what was written for rsi-loop, self-improving-loop or reloop: one import line changed, over Ratchet's store."""
