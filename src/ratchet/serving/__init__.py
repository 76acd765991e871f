"""Ratchet over HTTP and MCP, with its pages and its workers."""
