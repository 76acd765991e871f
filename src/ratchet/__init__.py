"""Ratchet makes AI agents improve and never slip back."""
