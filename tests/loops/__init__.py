"""Trials and the improve loop, on a simulated agent and on live processes."""
