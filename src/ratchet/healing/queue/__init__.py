"""Tasks that wait for a worker, as rows of the store."""
