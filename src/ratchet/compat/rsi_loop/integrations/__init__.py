"""Offers rsi-loop's adapters: for Claude Code and OpenClaw, for a watched folder, for HTTP."""
