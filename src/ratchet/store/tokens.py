"""Tokens: who may use a server, and for what: the operations behind `ratchet token`, and the check behind every
request."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal, get_args

from ratchet.errors import Conflict, NotFound, UsageError
from ratchet.ports import Store
from ratchet.records import Row, record_of, whole_in

Scope = Literal["read", "write", "run"]
"""`read` sees, `write` records and decides, `run` starts tasks. None of them includes another."""
SCOPES: tuple[Scope, ...] = get_args(Scope)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PREFIX = "rt_"
_BYTES = 32  # 256 bits: nobody guesses one, so one hash without salt is enough (NIST SP 800-63B, 5.1.2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One token as it is kept: its hash only, so that what reads the store cannot use it. `revoked_at` is 0 while it
    counts."""

    name: str
    scopes: tuple[Scope, ...]
    hash: str
    created_at: float = 0.0
    revoked_at: float = 0.0


def hash_of(secret: str) -> str:
    """SHA-256 of a token; only this is stored."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def scopes_of(names: Collection[str]) -> tuple[Scope, ...]:
    """The scopes of these names, in their order. Raises UsageError for none, and for one that does not exist."""
    unknown = sorted(set(names) - set(SCOPES))
    if unknown or not names:
        said = f"no scope {unknown[0]!r}" if unknown else "a token without a scope opens nothing"
        raise UsageError(f"{said}; the scopes are {', '.join(SCOPES)}")
    return tuple(scope for scope in SCOPES if scope in names)


class TokenBook:
    """The tokens of one store."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store

    def add(self, name: str, scopes: Collection[str]) -> str:
        """Make a token and return it: this is the only time that it can be seen.

        Raises UsageError for a bad name or scope, Conflict while a token of this name counts.
        """
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} cannot name a token: use up to 64 letters, digits, dots, dashes, underscores")
        given = scopes_of(scopes)
        secret = _PREFIX + secrets.token_urlsafe(_BYTES)
        store = self._store()
        held = store.get("access_tokens", name) or {}
        row: Row = {"hash": hash_of(secret), "scopes": [*given], "created_at": time.time(), "revoked_at": 0.0}
        if (held and not held.get("revoked_at")) or not store.swap(
            "access_tokens", name, whole_in(held, "revision"), row
        ):
            raise Conflict(f"there is a token {name} already; revoke it first: ratchet token revoke {name}")
        return secret

    def revoke(self, name: str) -> Token:
        """End a token: the next request with it is refused. Raises NotFound, Conflict."""
        store = self._store()
        held = store.get("access_tokens", name)
        if held is None:
            raise NotFound(f"no token {name}; `ratchet token list` names those that there are")
        if not held.get("revoked_at"):
            held = {**held, "revoked_at": time.time()}
            if not store.swap("access_tokens", name, whole_in(held, "revision"), held):
                raise Conflict(f"token {name} was changed by another process; try again")
        return record_of(Token, held)

    def counting(self) -> list[Token]:
        """The tokens that open something now."""
        return [record_of(Token, row) for row in self._store().find("access_tokens", {"revoked_at": 0.0}).rows]

    def list(self) -> list[Token]:
        """All tokens, by name, revoked ones included."""
        return [record_of(Token, row) for row in self._store().find("access_tokens", order=("name",)).rows]
