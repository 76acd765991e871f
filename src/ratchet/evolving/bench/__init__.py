"""Measuring agents: the shipped benchmark, agents under test, and one evaluation of one version on one task."""
