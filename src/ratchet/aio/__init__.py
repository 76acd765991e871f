"""`Ratchet` for asyncio: `AsyncRatchet`, and its operations by noun in `books`."""

from ratchet.aio.client import AsyncRatchet

__all__ = ["AsyncRatchet"]
