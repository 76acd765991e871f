"""Serves MCP where clients are configured to run reloop's server: `python -m ratchet.compat.reloop.mcp_server`."""

from __future__ import annotations

import sys

from ratchet.cli import main

if __name__ == "__main__":
    sys.argv[1:] = ["mcp"]
    main()
