"""Repeat safety of a failed call: proof that nothing happened, and the word of its caller and of the tool itself."""

from __future__ import annotations

import errno
import functools
from collections.abc import Callable

from ratchet.failures.classification import chain, raised

AMBIGUOUS = frozenset(("timeout", "network", "server_error"))
"""Kinds of failure after which the operation may have been carried out (design, section 5)."""
_UNANSWERED = frozenset((500, 502, 504))
_NEVER_CONNECTED = frozenset(
    (
        *("ConnectionRefusedError", "gaierror", "herror"),  # the standard library
        *("ConnectError", "ConnectTimeout", "PoolTimeout"),  # httpx, requests
        *("ConnectTimeoutError", "NewConnectionError", "NameResolutionError"),  # urllib3, botocore
        *("ClientConnectorError", "ConnectionTimeoutError", "EndpointConnectionError"),  # aiohttp, botocore
    )
)
_ERRNOS = frozenset((errno.ECONNREFUSED, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN))
_WORDS = (
    *("connection refused", "econnrefused", "failed to establish a new connection", "no route to host", "ehostunreach"),
    *("network is unreachable", "enetunreach", "getaddrinfo", "enotfound", "eai_again", "name or service not known"),
    *("name resolution", "nodename nor servname", "no address associated", "could not resolve", "couldn't resolve"),
    *("no such host", "connect timeout", "dns lookup failed"),
    *("failed to connect", "cannot connect", "could not connect", "couldn't connect"),
)
_SCANNED = 4_000  # characters of a message that are read


def may_repeat(error: BaseException, kind: str, *, idempotent: bool | None) -> bool:
    """Tell whether a call that failed may be made again. None: only if the failure proves it did nothing."""
    if idempotent is not None:
        return idempotent
    return kind not in AMBIGUOUS or (kind != "server_error" and never_sent(error))


def never_sent(error: BaseException) -> bool:
    """Tell whether a failure proves that nothing was sent: refused, unreachable, no such name, no connection."""
    if isinstance(error, BaseExceptionGroup):
        return all(never_sent(each) for each in error.exceptions)
    return any(_unconnected(one) for one in chain(error))


def _unconnected(error: BaseException) -> bool:
    facts = raised(error)
    if facts.status in _UNANSWERED or facts.exit_code is not None:  # a proxy's, or a program's that did more than this
        return False
    if not _NEVER_CONNECTED.isdisjoint(facts.classes) or getattr(error, "errno", None) in _ERRNOS:
        return True
    said = facts.text[:_SCANNED].lower()
    return any(word in said for word in _WORDS)


def marked(function: Callable[..., object], given: bool | None) -> bool | None:
    """Combine the caller's word with the tool's own: an attribute `idempotent` of the function, whose False wins."""
    found: list[bool] = []
    each: object = function
    for _ in range(20):  # layers of decorators; a ring of them ends here
        own = getattr(each, "idempotent", None)
        if isinstance(own, bool):
            found.append(own)
        inner = each.func if isinstance(each, functools.partial) else None
        each = inner or getattr(each, "__func__", None) or getattr(each, "__wrapped__", None)
        if each is None:
            break
    if False in found:
        return False
    return given if given is not None or not found else True
