"""Proposers: they change an agent so that it does better on a benchmark. Only the gate decides what stays."""
