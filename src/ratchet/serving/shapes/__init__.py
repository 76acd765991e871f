"""JSON shapes of what Ratchet answers, shared by command line, API and MCP."""
