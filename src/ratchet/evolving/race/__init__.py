"""Paired runs of two versions, raced until the gate decides."""
