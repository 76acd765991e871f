"""A model offline: it makes a rule of evidence, and replay decides whether anybody sees it."""
