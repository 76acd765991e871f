"""Ratchet as tools of an agent: the operations of the command line over the Model Context Protocol (extra `mcp`)."""
