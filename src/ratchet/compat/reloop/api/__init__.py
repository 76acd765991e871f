"""Serves reloop's routes from within a program; `ratchet serve` is the server to run."""
