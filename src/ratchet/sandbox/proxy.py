"""The only way out of a sandbox whose network is `domains:`: a process outside that connects to the named hosts only.

It listens in the sandbox's own network, which leads nowhere else. In a tunnel it passes TLS only, and only for the very
name that was asked for; it opens none of it. Names are resolved here, each address is checked before it is used, and
nothing is resolved twice.
"""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # noqa: F401  (asyncio imports it when it is too late: as the sandbox's user)
import contextlib
import os
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NoReturn

from ratchet.errors import SandboxError
from ratchet.sandbox import hello, kernel, netspace, network, request
from ratchet.sandbox.network import DomainRule
from ratchet.sandbox.request import BadRequestError, ProxyRequest

_HEAD_S, _CONNECT_S, _LINGER_S = 30.0, 20.0, 60.0
_MOST_CONNECTIONS = 256
_MOST_TOLD = 50
_CHUNK = 65_536
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Resolver = Callable[[str, int], Awaitable[list[str]]]


class _Turned(Exception):  # noqa: N818  (it is an answer, no fault)
    """A way that is closed, with the status that says so."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status


class Proxy:
    """Serves connections by rules. `tell` hears of each place that was refused, once."""

    def __init__(
        self, rules: tuple[DomainRule, ...], tell: Callable[[str], None], resolve: Resolver | None = None
    ) -> None:
        self._rules = rules
        self._tell = tell
        self._told: set[str] = set()
        self._resolve = resolve or _resolved
        self._open = 0

    async def serve(self, client: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
        """Serve one connection: one request, then it is closed."""
        self._open += 1
        try:
            if self._open > _MOST_CONNECTIONS:
                raise _Turned("503 Service Unavailable", f"{_MOST_CONNECTIONS} connections are open already")
            await self._served(client, out)
        except _Turned as turned:
            await _answer(out, turned)
        except BadRequestError as bad:
            await _answer(out, _Turned("400 Bad Request", str(bad)))
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # either side has gone, or says nothing: both ends are closed
        except Exception as fault:  # noqa: BLE001  (the edge of this process: the person hears of it with the command)
            self._refused(f"a request, by a fault of the proxy: {type(fault).__name__}: {fault}")
        finally:
            self._open -= 1
            out.close()

    async def _served(self, client: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_HEAD_S):
            head = await client.readuntil(b"\r\n\r\n")
        try:
            asked = request.parsed(head)
        except BadRequestError as bad:
            self._refused(f"a request: {bad}")
            raise
        async with self._connected(asked) as (server, to_server):
            if not asked.tunnel:
                to_server.write(asked.head)
                await _joined(request.body(asked, client), to_server, server, out)
                return
            out.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await out.drain()
            to_server.write(await self._hello(asked, client))
            await _joined(_parts(client, to_server), to_server, server, out)

    async def _hello(self, asked: ProxyRequest, client: asyncio.StreamReader) -> bytes:
        """The client's first message as it came, if it is TLS for the host that was asked for. Raises OSError."""
        received = bytearray()
        try:
            async with asyncio.timeout(_HEAD_S):
                while (message := hello.whole(received)) is None:
                    part = await client.read(_CHUNK)
                    if not part:
                        raise OSError("it was closed")
                    received += part
            name = hello.server_name(message)
            if network.host_name(name) != asked.host:
                raise hello.HelloError(f"TLS for another name, {name[:80]!r}")
        except hello.HelloError as problem:
            self._refused(f"{asked.host}:{asked.port}: {problem}")
            raise OSError("closed") from problem
        return bytes(received)

    @contextlib.asynccontextmanager
    async def _connected(self, asked: ProxyRequest) -> AsyncIterator[_Streams]:
        place = f"{asked.host}:{asked.port}"
        rule = next((each for each in self._rules if each.covers(asked.host, asked.port)), None)
        if rule is None:
            self._refused(f"{place}: not among the domains")
            raise _Turned("403 Forbidden", f"{place} is not among the domains that this sandbox may reach")
        try:
            async with asyncio.timeout(_CONNECT_S):
                found = [rule.address] if rule.address else await self._resolve(asked.host, asked.port)
                if not rule.address and not (found := [*filter(_elsewhere, found)]):
                    self._refused(f"{place}: its address is not public")
                    raise _Turned("403 Forbidden", f"{place} has no public address")
                server, to_server = await _first_of(found, asked.port)
        except (OSError, TimeoutError) as error:
            raise _Turned(
                "502 Bad Gateway", f"{place} cannot be reached: {str(error) or 'it does not answer'}"
            ) from error
        try:
            yield server, to_server
        finally:
            to_server.close()

    def _refused(self, what: str) -> None:
        if what not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(what)
            self._tell(what)


async def _resolved(host: str, port: int) -> list[str]:
    # As bytes: a text would have Python import a codec, which the sandbox's user may not be able to read.
    found = await asyncio.get_running_loop().getaddrinfo(host.encode(), port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def _elsewhere(address: str) -> bool:
    """Tell whether an address is public and another machine's: one's own may be public, too, and is answered by what
    listens here for neighbours only."""
    if not network.public(address):
        return False
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect((address, 9))  # sends nothing: the kernel says from which of its addresses it would
        except OSError:
            return True  # no way leads there
        return str(asked.getsockname()[0]) != address


async def _first_of(addresses: list[str], port: int) -> _Streams:
    """Connect to the first of these addresses that answers; none takes the time of those behind it. Raises OSError."""
    problem: OSError = OSError("it has no address")
    for address in addresses:
        try:
            async with asyncio.timeout(_CONNECT_S / len(addresses)):
                return await asyncio.open_connection(address, port, limit=_CHUNK)
        except OSError as error:  # (a time-out is one)
            problem = error
    raise problem


async def _parts(client: asyncio.StreamReader, to_server: asyncio.StreamWriter) -> AsyncIterator[bytes]:
    while part := await client.read(_CHUNK):
        yield part
    if to_server.can_write_eof():
        to_server.write_eof()


async def _joined(
    parts: AsyncIterator[bytes],
    to_server: asyncio.StreamWriter,
    server: asyncio.StreamReader,
    out: asyncio.StreamWriter,
) -> None:
    """Send the parts while the answer comes back; over when the server has said all, or a client that has sent all
    hears nothing for a while. Raises what ended the sending."""

    async def sent() -> None:
        async for part in parts:
            to_server.write(part)
            await to_server.drain()

    sending = asyncio.ensure_future(sent())
    try:
        while not (sending.done() and sending.exception()):
            try:
                async with asyncio.timeout(_LINGER_S):
                    part = await server.read(_CHUNK)
            except TimeoutError:
                if sending.done():
                    return
                continue
            if not part:
                return
            out.write(part)
            await out.drain()
        await sending
    finally:
        sending.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError, BadRequestError, asyncio.IncompleteReadError):
            await sending


async def _answer(out: asyncio.StreamWriter, turned: _Turned) -> None:
    text = f"Ratchet's sandbox: {turned}\n".encode("ascii", "replace")
    head = f"HTTP/1.1 {turned.status}\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\n"
    with contextlib.suppress(OSError):
        out.write(f"{head}Connection: close\r\n\r\n".encode() + text)
        await out.drain()


# -- its process -------------------------------------------------------------------------------------------------------


class ProxyProcess:
    """The proxy of one job: forked from its supervisor, ended by it, and gone with it."""

    def __init__(self, pid: int, told: int) -> None:
        self._pid = pid
        self._told = told

    @classmethod
    def start(cls, net: str, sandboxed: int, uid: int | None) -> ProxyProcess:
        """Start it in the network of a process. Raises SandboxError."""
        listening = netspace.listener(sandboxed, uid)
        told, tell = os.pipe()
        supervisor = os.getpid()
        pid = os.fork()
        if not pid:
            try:
                os.close(told)
                _live(listening, tell, network.rules(net), uid, supervisor)
            finally:
                os._exit(1)
        os.close(tell)
        listening.close()
        made = cls(pid, told)
        if os.read(told, 1) != b".":
            made.end()
            raise SandboxError("the sandbox's proxy does not start")
        return made

    def end(self) -> list[str]:
        """End it; the places that it refused."""
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.set_blocking(self._told, False)
        with open(self._told, "rb") as file:
            return [line.decode("utf-8", "replace") for line in (file.read() or b"").splitlines() if line]


def _live(
    listening: socket.socket, tell: int, rules: tuple[DomainRule, ...], uid: int | None, supervisor: int
) -> NoReturn:
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(1)
    # Nothing of the job's may stay open here: not its streams, nor what shows that it has ended.
    for held in set(map(int, os.listdir("/proc/self/fd"))) - {listening.fileno(), tell}:
        with contextlib.suppress(OSError):
            os.close(held)
    for stream in (0, 1, 2):
        if os.open(os.devnull, os.O_RDWR) != stream:
            break
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)  # another user forgets it
    asyncio.run(_serving(listening, tell, rules))
    os._exit(0)


async def _serving(listening: socket.socket, told: int, rules: tuple[DomainRule, ...]) -> None:
    def tell(what: str) -> None:
        with contextlib.suppress(OSError):
            os.write(told, what.encode("utf-8", "replace")[:300].replace(b"\n", b" ") + b"\n")

    server = await asyncio.start_server(Proxy(rules, tell).serve, sock=listening, limit=request.MOST_BYTES)
    os.set_blocking(told, False)
    os.write(told, b".")
    await server.serve_forever()
