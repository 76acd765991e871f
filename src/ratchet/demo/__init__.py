"""What the demo and the tutorials play with: a history of sessions, and an agent with weaknesses to evolve."""
