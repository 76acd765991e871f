"""Offers reloop's parts: memory, retry engine, timeline, agent."""
