"""Ways to have work done: in this process, in one of its own, over HTTP, over MCP, by a framework's agent."""
