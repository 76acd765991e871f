"""Head of a request to the proxy, read strictly: whatever two readers could read in two ways is refused (RFC 9112)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ratchet.sandbox import network

if TYPE_CHECKING:
    import asyncio

MOST_BYTES = 65_536
_LINE = re.compile(rb"([A-Z]{1,20}) ([\x21-\x7e]{1,32768}) HTTP/1\.[01]")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)")
_AUTHORITY = re.compile(rb"([A-Za-z0-9._-]{1,254})(?::([0-9]{1,5}))?")
# Between two neighbours only (RFC 9110, section 7.6.1), and the name that is written anew.
_OURS = {b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"te", b"upgrade", b"host"}
# What says where the body ends is for everybody: without it, the body is the next request (RFC 9112, section 11.2).
_FRAMING = {b"content-length", b"transfer-encoding"}
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;[\t\x20-\x7e]*)?\r\n")


class BadRequestError(ValueError):
    """No request that this proxy takes; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRequest:
    """A request, and where it leads. `length`: bytes of its body, None for one in chunks."""

    tunnel: bool
    host: str
    port: int
    head: bytes
    """What is sent on: with the host's name in it as it was checked."""
    length: int | None = 0


def parsed(head: bytes) -> ProxyRequest:
    """Read a head up to its empty line. Raises BadRequestError."""
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    found = _LINE.fullmatch(first)
    if found is None:
        raise BadRequestError("this is no request to a proxy")
    method, target = found.groups()
    fields = [_field(line) for line in lines]
    if method == b"CONNECT":
        host, port = _place(target, None)
        return ProxyRequest(tunnel=True, host=host, port=port, head=b"")
    if not target[:7].lower() == b"http://":
        raise BadRequestError("only CONNECT, and http:// with a host, lead anywhere")
    authority, slash, path = target[7:].partition(b"/")
    if b"?" in authority or b"#" in target:
        raise BadRequestError("the address has no path, or a fragment")
    host, port = _place(authority, 80)
    return ProxyRequest(
        tunnel=False,
        host=host,
        port=port,
        head=_sent_on(method, slash + path or b"/", host, port, fields),
        length=_length(fields),
    )


async def body(request: ProxyRequest, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The body, exactly: what follows it is no part of this request. Raises BadRequestError, IncompleteReadError."""
    if request.length is not None:
        async for part in _exactly(reader, request.length):
            yield part
        return
    size = -1
    while size:
        line = await reader.readuntil(b"\r\n")
        found = _CHUNK.fullmatch(line)
        if found is None:
            raise BadRequestError("a chunk without a size")
        size = int(found[1], 16)
        yield found[1] + b"\r\n"
        async for part in _exactly(reader, size):
            yield part
        if await reader.readexactly(2) != b"\r\n":  # trailers, too: nobody needs them
            raise BadRequestError("a chunk without an end")
        yield b"\r\n"


async def _exactly(reader: asyncio.StreamReader, size: int) -> AsyncIterator[bytes]:
    while size:
        part = await reader.readexactly(min(size, MOST_BYTES))
        size -= len(part)
        yield part


def _field(line: bytes) -> tuple[bytes, bytes]:
    found = _FIELD.fullmatch(line)
    if found is None:
        raise BadRequestError("a field that can be read in two ways")
    return found[1], found[2].strip()


def _place(authority: bytes, port: int | None) -> tuple[str, int]:
    found = _AUTHORITY.fullmatch(authority)
    host = network.host_name(found[1].decode("ascii")) if found else None
    number = int(found[2]) if found and found[2] else port
    if host is None or number is None or not 0 < number < 65_536:
        raise BadRequestError(f"{authority[:80].decode('ascii', 'replace')!r} is no name with a port")
    return host, number


def _sent_on(method: bytes, path: bytes, host: str, port: int, fields: list[tuple[bytes, bytes]]) -> bytes:
    named = b",".join(value for name, value in fields if name.lower() == b"connection").lower()
    between = {word.strip() for word in named.split(b",")}
    if between & _FRAMING:
        raise BadRequestError("a body whose length would be dropped on the way")
    dropped = _OURS | between
    authority = host if port == 80 else f"{host}:{port}"
    kept = b"".join(b"%b: %b\r\n" % each for each in fields if each[0].lower() not in dropped)
    return b"%b %b HTTP/1.1\r\nHost: %b\r\n%bConnection: close\r\n\r\n" % (method, path, authority.encode(), kept)


def _length(fields: list[tuple[bytes, bytes]]) -> int | None:
    lengths = [value for name, value in fields if name.lower() == b"content-length"]
    codings = [value.lower() for name, value in fields if name.lower() == b"transfer-encoding"]
    if codings == [b"chunked"] and not lengths:
        return None
    if codings or len(lengths) > 1 or not all(re.fullmatch(rb"[0-9]{1,18}", each) for each in lengths):
        raise BadRequestError("a body whose end can be read in two ways")
    return int(lengths[0]) if lengths else 0
