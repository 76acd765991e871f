"""Names, addresses, heads and hellos, as the proxy of a sandbox reads them."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ratchet.errors import UsageError
from ratchet.sandbox import hello, network, proxy, request
from ratchet.sandbox.proxy import Proxy


def covers(net: str, host: str, port: int) -> bool:
    return any(rule.covers(host, port) for rule in network.rules(net))


@pytest.mark.parametrize(
    ("net", "host", "port", "found"),
    [
        ("domains:example.org", "example.org", 443, True),
        ("domains:example.org", "example.org", 80, True),
        ("domains:example.org", "example.org", 22, False),
        ("domains:example.org", "www.example.org", 443, False),
        ("domains:*.example.com", "a.b.example.com", 443, True),
        ("domains:*.example.com", "example.com", 443, False),
        ("domains:*.example.com", "notexample.com", 443, False),
        ("domains:a.org, B.org.:8443", "b.org", 8443, True),
        ("domains:a.org,b.org:8443", "b.org", 443, False),
    ],
)
def test_a_name_is_covered_by_itself_and_a_wildcard_by_what_lies_below(
    net: str, host: str, port: int, found: bool
) -> None:
    assert covers(net, host, port) is found


@pytest.mark.parametrize(
    "word", ["", "*", "*.org", "http://a.org", "a.org/", "1.2.3.4", "[::1]", "a b", "a.org:0", "a.org:99999", "a.org=b"]
)
def test_what_names_no_domain_is_an_error_that_shows_how(word: str) -> None:
    with pytest.raises(UsageError, match="NAME"):
        network.rules(f"domains:{word}")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Example.ORG.", "example.org"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("x7.dev", "x7.dev"),
        *((text, None) for text in ("127.1", "2130706433", "0x7f.0", "a.0x7f", "::1", "a..b", "", ".", "b\u00fccher")),
    ],
)
def test_an_address_in_any_spelling_is_no_name(text: str, name: str | None) -> None:
    assert network.host_name(text) == name


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "::1", "fe80::1%eth0"),
        *("::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::7f00:1", "fd00::1", "no address"),
        *("168.63.129.16", "fec0::1", "64:ff9b:1::7f00:1", "::ffff:0:7f00:1", "64:ff9b::a83f:8110", "2002:a83f:8110::"),
        *("192.0.0.192", "192.88.99.1", "3fff::1", "64:ff9b::c000:c0"),
    ],
)
def test_an_address_of_this_machine_or_its_neighbours_is_not_public(address: str) -> None:
    assert not network.public(address)
    assert network.public("93.184.216.34")
    assert network.public("2606:4700::1111")


@example(b"\x16\x03\x01\x00\x05")
@given(st.binary(max_size=400))
def test_no_bytes_break_the_readers(content: bytes) -> None:
    for read in (hello.whole, hello.server_name):
        with suppress(hello.HelloError):
            read(content)
    with suppress(request.BadRequestError):
        request.parsed(content + b"\r\n\r\n")


@pytest.mark.slow
@given(st.integers(1, 600), st.from_regex(r"[a-z]{1,20}\.[a-z]{2,20}", fullmatch=True))
def test_the_name_of_a_real_hello_is_read_however_it_is_cut(cut: int, name: str) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    said = outgoing.read()
    assert hello.whole(said[: min(cut, len(said) - 1)]) is None
    message = hello.whole(said)
    assert message is not None
    assert hello.server_name(message) == name


def test_a_head_is_sent_on_with_the_name_that_was_checked() -> None:
    head = (
        b"GET http://Example.org/a?b HTTP/1.1\r\nHost: other.org\r\nConnection: X-Own\r\nX-Own: 1\r\n"
        b"Proxy-Authorization: x\r\nAccept: */*\r\n\r\n"
    )
    assert request.parsed(head).head == (
        b"GET /a?b HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    )


@pytest.mark.parametrize("is_public", [False, True])
def test_a_name_that_leads_to_this_machine_is_refused_and_no_connection_made(
    monkeypatch: pytest.MonkeyPatch, is_public: bool
) -> None:
    """Its own address may be a public one; then, too, what listens here is not for a sandbox."""
    monkeypatch.setattr(network, "public", lambda address: is_public and not address.startswith("::"))
    told: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)
        port = listening.getsockname()[1]

        async def resolved(host: str, port: int) -> list[str]:
            return ["127.0.0.1", "::ffff:127.0.0.1"]

        async def asked() -> bytes:
            served = Proxy(network.rules(f"domains:rebound.test:{port}"), told.append, resolved)
            server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
            async with server:
                reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
                writer.write(f"CONNECT rebound.test:{port} HTTP/1.1\r\n\r\n".encode())
                said = await reader.read()
                writer.close()
            return said

        assert asyncio.run(asked()).startswith(b"HTTP/1.1 403 ")
        with pytest.raises(TimeoutError):
            listening.accept()
    assert told == [f"rebound.test:{port}: its address is not public"]


def test_an_address_that_does_not_answer_leaves_time_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """One family of a name's addresses leads nowhere on many machines."""
    monkeypatch.setattr(proxy, "_CONNECT_S", 0.4)
    opened = asyncio.open_connection

    async def opening(address: str, port: int, *, limit: int) -> object:
        if address == "192.0.2.1":
            await asyncio.Event().wait()
        return await opened(address, port, limit=limit)

    async def asked(port: int) -> None:
        monkeypatch.setattr(asyncio, "open_connection", opening)
        _reader, writer = await proxy._first_of(["192.0.2.1", "127.0.0.1"], port)
        writer.close()
        with pytest.raises(TimeoutError):
            await proxy._first_of(["192.0.2.1"], port)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        asyncio.run(asked(listening.getsockname()[1]))


@pytest.mark.parametrize(
    "named", [b"content-length", b"close, Content-Length", b"Transfer-Encoding", b"x,transfer-encoding"]
)
def test_a_length_that_would_be_dropped_on_the_way_is_refused(named: bytes) -> None:
    """Without it, the body would be read as the next request by whoever is behind the proxy."""
    framing = b"Transfer-Encoding: chunked" if b"ncoding" in named else b"Content-Length: 5"
    head = b"POST http://example.org/ HTTP/1.1\r\n%b\r\nConnection: %b\r\n\r\n"
    with pytest.raises(request.BadRequestError, match="would be dropped"):
        request.parsed(head % (framing, named))
    assert framing in request.parsed(head % (framing, b"close, x-mine")).head


def test_a_hello_in_many_pieces_is_read_whole_and_one_in_endless_pieces_is_refused() -> None:
    def pieces(message: bytes, size: int) -> bytes:
        parts = (message[at : at + size] for at in range(0, len(message), size))
        return b"".join(b"\x16\x03\x01" + len(part).to_bytes(2) + part for part in parts)

    body = bytes(range(256)) * 2
    message = b"\x01" + len(body).to_bytes(3) + body
    for size in (10, 100, 1_000):
        said = pieces(message, size)
        assert all(hello.whole(said[:cut]) is None for cut in range(len(said)))
        assert hello.whole(bytearray(said) + b"more") == body
    assert hello.whole(pieces(message, 1)[: 6 * hello.MOST_RECORDS]) is None
    with pytest.raises(hello.HelloError, match="more than 64 pieces"):
        hello.whole(pieces(message, 1))


def test_a_hello_that_says_it_is_too_long_is_refused_at_once() -> None:
    with pytest.raises(hello.HelloError, match="more than 65,536 bytes"):
        hello.whole(b"\x16\x03\x01\x00\x04\x01\xff\xff\xff")
