"""Everything Ratchet raises, as one tree.

    RatchetError
    ├── UsageError      the call or the input is wrong; fix it and call again (exit code 2)
    ├── NotFound        no such record (exit code 3)
    ├── Conflict        somebody else changed it first; read again and retry (exit code 4)
    ├── Refused         not done on purpose; the message names the remedy (exit code 5)
    └── BackendError    a machine, file or service is broken (exit code 6)
        ├── StoreError
        ├── RedisError  (nothing is lost: the store has it all)
        ├── ModelError  (`retryable` says whether waiting helps)
        └── SandboxError

A message says what happened, to which id or path, and what to do next. It never holds a secret.
"""

from __future__ import annotations


class RatchetError(Exception):
    """Base of all errors that Ratchet raises on purpose."""

    exit_code = 1


class UsageError(RatchetError, ValueError):
    """The call or its input is wrong (a ValueError, too, for those who catch that)."""

    exit_code = 2


class NotFound(RatchetError):  # noqa: N818  (the design's noun)
    """No record has that id."""

    exit_code = 3


class Conflict(RatchetError):  # noqa: N818
    """The record changed since it was read."""

    exit_code = 4


class Refused(RatchetError):  # noqa: N818
    """Ratchet will not do this; the message says what to do instead."""

    exit_code = 5


class BackendError(RatchetError):
    """A machine, file or service that Ratchet stands on is broken."""

    exit_code = 6


class StoreError(BackendError):
    """The store cannot be read or written."""


class RedisError(BackendError):
    """The Redis beside the store does not answer. Nothing is lost: what it held is in the store."""


class ModelError(BackendError):
    """A language model could not answer. `retryable` tells whether waiting may help."""

    def __init__(self, message: str, *, retryable: bool) -> None:
        super().__init__(message)
        self.retryable = retryable


class SandboxError(BackendError):
    """The sandbox is broken (a failing command inside it is data, not this)."""
