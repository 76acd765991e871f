"""Live settings: what can be turned, which values are in force, and what they do."""
