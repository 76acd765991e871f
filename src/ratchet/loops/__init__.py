"""The loops that move outcomes, changes and lessons between a store and the world."""
