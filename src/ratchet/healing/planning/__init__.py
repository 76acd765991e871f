"""A task in words becomes a plan: steps, each with a check that fails now."""
