"""Calls that are retried, guarded and bounded by live settings."""
