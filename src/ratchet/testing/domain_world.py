"""World around a sandbox with named domains: welcome servers, and strangers that hear whatever gets through."""

from __future__ import annotations

import json
import re
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ratchet.sandbox import hello
from ratchet.sandbox.network import host_name

CIPHERS = "AECDH-AES256-SHA:@SECLEVEL=0"
"""TLS without certificates: the handshake is real, and nobody has to make a key."""
_HEAD = re.compile(rb"[A-Z]+ (\S+) HTTP/1\.[01]\r\n(?:.*\r\n)*?Host: ?(\S+)\r\n", re.IGNORECASE)
_QUIET_S = 0.3


@dataclass(slots=True)
class DomainWorld:
    """Ports of this machine, and what was heard at them that no honest program says."""

    welcome: int
    welcome_tls: int
    stranger: int
    stranger_tls: int
    udp: int
    folder: Path
    heard: list[str] = field(default_factory=list)

    @property
    def net(self) -> str:
        """The domains that are allowed: `welcome.test`, and all below `below.test`."""
        ports = (self.welcome, self.welcome_tls)
        return "domains:" + ",".join(
            f"{name}:{port}=127.0.0.1" for name in ("welcome.test", "*.below.test") for port in ports
        )

    @property
    def argument(self) -> str:
        """Tell an attack everything, as JSON."""
        told = {name: getattr(self, name) for name in ("welcome", "welcome_tls", "stranger", "stranger_tls", "udp")}
        return json.dumps({**told, "socket": str(self.folder / "socket"), "abstract": f"ratchet-{self.stranger}"})

    def settled(self) -> list[str]:
        """Take what was heard until now; what is on its way has a moment to arrive."""
        time.sleep(_QUIET_S)
        heard, self.heard[:] = list(self.heard), []
        return heard


@contextmanager
def domain_world() -> Iterator[DomainWorld]:
    """The world, as long as it is needed. All of it listens on this machine's loopback only."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="domains-")))
        folder.chmod(0o755)
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(4)]
        welcome, welcome_tls, stranger, stranger_tls = (each.getsockname()[1] for each in sockets)
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        world = DomainWorld(welcome, welcome_tls, stranger, stranger_tls, udp.getsockname()[1], folder)
        strangers = [*sockets[2:], *_more_strangers(stack, world)]
        for listening, serve in (
            (sockets[0], lambda client: _welcome(client, world)),
            (sockets[1], lambda client: _welcome_tls(client, world)),
            *((each, lambda client: _stranger(client, world)) for each in strangers),
        ):
            _serving(stack, listening, serve)
        _hearing(stack, udp, world)
        yield world


def _more_strangers(stack: ExitStack, world: DomainWorld) -> Iterator[socket.socket]:
    if socket.has_dualstack_ipv6():
        yield stack.enter_context(socket.create_server(("::1", world.stranger), family=socket.AF_INET6))
    for place in (str(world.folder / "socket"), f"\0ratchet-{world.stranger}"):
        made = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        made.bind(place)
        made.listen(8)
        yield made
    (world.folder / "socket").chmod(0o777)


def _serving(stack: ExitStack, listening: socket.socket, serve: Callable[[socket.socket], None]) -> None:
    def one(client: socket.socket) -> None:
        with client:
            client.settimeout(10)
            try:
                serve(client)
            except (OSError, ValueError):
                return  # it has gone, or speaks no language of ours

    def accepting() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(client,), daemon=True).start()

    thread = threading.Thread(target=accepting, daemon=True)
    thread.start()
    stack.callback(thread.join, 5)
    stack.callback(listening.shutdown, socket.SHUT_RDWR)


def _hearing(stack: ExitStack, udp: socket.socket, world: DomainWorld) -> None:
    def hear() -> None:
        while (said := udp.recvfrom(4096)[0]) != b"over":
            world.heard.append(f"datagram {said[:60]!r}")

    thread = threading.Thread(target=hear, daemon=True)
    thread.start()
    stack.callback(thread.join, 5)
    stack.callback(lambda: udp.sendto(b"over", udp.getsockname()))


def _stranger(client: socket.socket, world: DomainWorld) -> None:
    """Note who comes here: whoever does has got through."""
    client.settimeout(2)
    try:
        said = client.recv(4096)
    except OSError:
        said = b""
    world.heard.append(f"a stranger heard {said[:80]!r}")
    client.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\nESCAPED")


def _welcome(client: socket.socket, world: DomainWorld) -> None:
    """A web server that answers every request on a connection, so that one too many is heard, too."""
    received = b""
    while part := client.recv(65_536):
        received += part
        while b"\r\n\r\n" in received:
            head, _, received = received.partition(b"\r\n\r\n")
            head += b"\r\n\r\n"
            found = _HEAD.match(head)
            host = found[2].decode() if found else ""
            if not _is_welcome(host, world.welcome):
                world.heard.append(f"a request for {host or head[:80]!r} at the welcome server")
            path = found[1] if found else b"/"
            body, received = _body(head, received, client)
            _reply(client, path, body, world)
    if received:
        world.heard.append(f"no request at the welcome server: {received[:80]!r}")


def _body(head: bytes, received: bytes, client: socket.socket) -> tuple[bytes, bytes]:
    length = re.search(rb"\r\ncontent-length: ?(\d+)", head, re.IGNORECASE)
    if length is not None:
        while len(received) < int(length[1]):
            received += client.recv(65_536) or b"\0" * int(length[1])
        return received[: int(length[1])], received[int(length[1]) :]
    if re.search(rb"\r\ntransfer-encoding: ?chunked", head, re.IGNORECASE):
        while b"0\r\n\r\n" not in received and (part := client.recv(65_536)):
            received += part
        chunks, _, received = received.partition(b"0\r\n\r\n")
        return b"".join(re.findall(rb"[0-9a-fA-F]+\r\n(.*?)\r\n", chunks, re.DOTALL)), received
    return b"", received


def _reply(client: socket.socket, path: bytes, body: bytes, world: DomainWorld) -> None:
    if path == b"/to-stranger":
        place = f"http://stranger.test:{world.stranger}/"
        client.sendall(f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode())
        return
    said = b"welcome " + body
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said))


def _is_welcome(host: str, port: int) -> bool:
    name, _, number = host.partition(":")
    return number == str(port) and _may(name)


def _may(name: str) -> bool:
    return name == "welcome.test" or (name.endswith(".below.test") and host_name(name) == name)


def _welcome_tls(client: socket.socket, world: DomainWorld) -> None:
    """Looks at the first message before the handshake: for whom it is."""
    seen = b""
    message = None
    try:
        while message is None:
            more = client.recv(65_536, socket.MSG_PEEK)
            if len(more) == len(seen):
                time.sleep(0.02)
                if not more:
                    return
            seen = more
            message = hello.whole(seen)
        name = hello.server_name(message)
    except (hello.HelloError, OSError) as problem:
        world.heard.append(f"{problem} at the welcome TLS server: {seen[:60]!r}")
        return
    if not _may(name):
        world.heard.append(f"TLS for {name} at the welcome server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    with context.wrap_socket(client, server_side=True) as secured:
        secured.sendall(b"welcome " + secured.recv(100))
