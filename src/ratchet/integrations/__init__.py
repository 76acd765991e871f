"""Ratchet inside other programs: hooks, MCP entry, pytest plugin, OpenTelemetry."""
