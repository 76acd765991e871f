"""Names the keys of one store in a Redis that several may share."""

NAME = "redis"
"""The row of `meta` that holds the store's name there, from the first copy on."""


def place_of_keys(name: str) -> str:
    """The beginning of all keys of the store with this name."""
    return f"ratchet:{name}"
