"""Solvers: they change the files so that a check passes."""
