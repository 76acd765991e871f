"""Names what reloop's users implement: memory, sandbox, model."""
