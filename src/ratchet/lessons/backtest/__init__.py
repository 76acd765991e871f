"""Replays a person's own histories: what lessons would have saved, had they been known when they were learnt."""
