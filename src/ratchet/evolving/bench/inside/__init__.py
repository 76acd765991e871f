"""Programs that run beside an agent in the sandbox, on its own Python, with nothing but the standard library."""
