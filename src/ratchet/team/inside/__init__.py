"""Code of a worker's own process."""
