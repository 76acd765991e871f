"""Material of the demo and the tutorials: a history of sessions, and an agent with weaknesses to evolve."""
