"""Evaluations on workers of a cluster, behind the standard library's `Executor`: Dask distributed and Ray."""
