"""The name that a TLS client asks for, read from its first message (RFC 8446, section 4.1.2; RFC 6066, section 3)."""

from __future__ import annotations

_HANDSHAKE, _CLIENT_HELLO = 22, 1
_SERVER_NAME, _ENCRYPTED_HELLO = 0, 0xFE0D
_HOST_NAME = 0
MOST_BYTES = 65_536
MOST_RECORDS = 64
"""Of one hello. Clients send one; those that cut it on purpose, against filters on the way, a few."""


class HelloError(ValueError):
    """These bytes are no client's first message, or do not say plainly for whom they are."""


class _Bytes:
    """Bytes that are taken from the front. Raises HelloError where there are too few."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __len__(self) -> int:
        return len(self._content)

    def take(self, size: int) -> bytes:
        if size > len(self._content):
            raise HelloError("a message that is cut short")
        taken, self._content = self._content[:size], self._content[size:]
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def vector(self, size_of_length: int) -> _Bytes:
        return _Bytes(self.take(self.number(size_of_length)))


def whole(received: bytes | bytearray) -> bytes | None:
    """The client's first handshake message once all of it has come; None as long as more is due. Raises HelloError for
    what cannot be the start of one. Nothing is copied before all is there: this is asked again with every part."""
    places: list[tuple[int, int]] = []
    start = b""  # what the message is, and its length
    length = offset = 0
    while len(received) - offset >= 5:
        size = int.from_bytes(received[offset + 3 : offset + 5])
        if received[offset] != _HANDSHAKE or received[offset + 1] != 3 or not 0 < size <= 16_384:
            raise HelloError("no TLS")
        begin, end = offset + 5, offset + 5 + size
        if len(places) == MOST_RECORDS:
            raise HelloError(f"a hello in more than {MOST_RECORDS} pieces")
        places.append((begin, end))
        length += min(end, len(received)) - begin
        start += received[begin : min(end, begin + 4 - len(start))]
        if start and start[0] != _CLIENT_HELLO:
            raise HelloError("TLS that does not begin with a client's hello")
        if len(start) == 4:
            due = int.from_bytes(start[1:])
            if due > MOST_BYTES:
                raise HelloError(f"a hello of more than {MOST_BYTES:,} bytes")
            if length - 4 >= due:
                return b"".join(received[begin:end] for begin, end in places)[4 : 4 + due]
        if len(received) < end:
            break
        offset = end
    if len(received) > MOST_BYTES + 5 * MOST_RECORDS or (received and received[0] != _HANDSHAKE):
        raise HelloError("no TLS")
    return None


def server_name(message: bytes) -> str:
    """The one name that the message asks for. Raises HelloError where it names none, several, or hides the true one."""
    hello = _Bytes(message)
    hello.take(2 + 32)  # version, random
    for size_of_length in (1, 2, 1):  # session, cipher suites, compression
        hello.vector(size_of_length)
    found: dict[int, _Bytes] = {}
    extensions = hello.vector(2) if hello else _Bytes(b"")
    while extensions:
        kind = extensions.number(2)
        if kind in found:
            raise HelloError("an extension that is there twice")
        found[kind] = extensions.vector(2)
    if _ENCRYPTED_HELLO in found:
        raise HelloError("an encrypted hello, which hides the name")
    if _SERVER_NAME not in found:
        raise HelloError("a hello without a server's name")
    names = found[_SERVER_NAME].vector(2)
    if names.number(1) != _HOST_NAME:
        raise HelloError("a hello without a server's name")
    name = names.vector(2)
    if names or found[_SERVER_NAME]:
        raise HelloError("a hello with several names")
    text = name.take(len(name))
    return text.decode("ascii", "replace")
