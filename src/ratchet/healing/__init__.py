"""Heal a task: it is tried in a sandbox until its check passes."""
