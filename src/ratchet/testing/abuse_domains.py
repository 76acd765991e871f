"""Ways round a network of named domains, and honest work through it; what gets through is heard outside, never believed
from inside.

    from ratchet.testing.abuse_domains import HONEST, WAYS, broken, through

    with domain_world() as world:
        assert through(run, world, WAYS) == []
        assert broken(run, world) == []
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ratchet.testing.domain_world import CIPHERS, DomainWorld

Run = Callable[[str, str], str]
"""Runs Python code with one argument in the sandbox, its network `world.net`; returns what it printed."""

PREAMBLE = f"""
import http.client, json, os, re, signal, socket, ssl, struct, subprocess, sys, time, urllib.parse, urllib.request
at = json.loads(sys.argv[1])
way = urllib.parse.urlsplit(os.environ.get("http_proxy") or os.environ["HTTP_PROXY"])
W, T, S, ST = at["welcome"], at["welcome_tls"], at["stranger"], at["stranger_tls"]
ASK = b"GET / HTTP/1.1\\r\\nHost: stranger.test\\r\\n\\r\\n"
import base64
login = way.username and base64.b64encode((way.username + ":" + (way.password or "")).encode()).decode()
LOGIN = b"Proxy-Authorization: Basic " + login.encode() + b"\\r\\n" if login else b""
def proxy():
    made = socket.create_connection((way.hostname, way.port), 5); made.settimeout(1.5); return made
def heard(made):
    said = b""
    try:
        while len(said) < 65536 and (part := made.recv(65536)): said += part
    except OSError: pass
    return said
def ask(raw):
    with proxy() as made:
        first, end, rest = raw.partition(b"\\r\\n")
        made.sendall(first + end + LOGIN + rest if end else raw)
        return heard(made)
def get(url, host="", more=""):
    host = host or "x"
    return ask(("GET %s HTTP/1.1\\r\\nHost: %s\\r\\n%s\\r\\n" % (url, host, more)).encode("utf-8"))
def tunnel(place, *parts):
    with proxy() as made:
        made.sendall(("CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n" % (place, place)).encode("utf-8") + LOGIN + b"\\r\\n")
        said = made.recv(4096)
        if b" 200 " not in said.split(b"\\r\\n")[0]: return said
        for part in parts or (ASK,):
            made.sendall(part); time.sleep(0.02)
        return heard(made)
def direct(family, place, said=ASK):
    with socket.socket(family, socket.SOCK_STREAM) as made:
        made.settimeout(2); made.connect(place); made.sendall(said); return heard(made)
def extension(kind, content): return struct.pack(">HH", kind, len(content)) + content
def sni(*names):
    listed = b"".join(b"\\0" + struct.pack(">H", len(name)) + name for name in names)
    return extension(0, struct.pack(">H", len(listed)) + listed)
def hello(*extensions, cut=0):
    rest = b"".join(extensions)
    body = b"\\3\\3" + bytes(32) + b"\\0" + b"\\0\\2\\x13\\1" + b"\\1\\0" + struct.pack(">H", len(rest)) + rest
    message = b"\\1" + len(body).to_bytes(3) + body
    parts = [message[:cut], message[cut:]] if cut else [message]
    return b"".join(b"\\x16\\3\\1" + struct.pack(">H", len(part)) + part for part in parts)
def secured(name, place):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers({CIPHERS!r})
    made = proxy()
    made.sendall(("CONNECT %s HTTP/1.1\\r\\n" % place).encode() + LOGIN + b"\\r\\n")
    assert b" 200 " in made.recv(4096)
    with context.wrap_socket(made, server_hostname=name) as over:
        over.sendall(b"hello"); return over.recv(100)
"""


@dataclass(frozen=True, slots=True)
class WayRound:
    """One way round, as Python on top of the preamble."""

    name: str
    code: str


_LITERALS = {
    "an address": "127.0.0.1",
    "an address as one number": "2130706433",
    "an address in hexadecimal": "0x7f000001",
    "an address in octal": "0177.0.0.1",
    "an address in short": "127.1",
    "no address": "0.0.0.0",  # noqa: S104  (the attack's)
    "an IPv6 address": "[::1]",
    "an IPv4 address in IPv6": "[::ffff:127.0.0.1]",
    "an IPv6 address with a zone": "[::1%25lo]",
    "the machine's own name for itself": "localhost",
    "the same with a closing dot": "localhost.",
    "a stranger's name": "stranger.test",
    "a welcome name with another's port": "welcome.test",
}
_NAMES = {
    "a name that ends like a welcome one": "notwelcome.test",
    "a welcome name below a stranger's": "welcome.test.stranger.test",
    "a name that ends like a wildcard": "evilbelow.test",
    "the name above a wildcard": "below.test",
    "a wildcard below a stranger's": "a.below.test.stranger.test",
    "an escaped name": "%77elcome.test",
    "a name in full-width letters": "\\uff57elcome.test",
    "a name with a zero byte": "stranger.test\\0.below.test",
    "a name with a space": "stranger.test .below.test",
    "a name with an empty label": "stranger.test..below.test",
    "a name with a stranger's before an at": "stranger.test@welcome.test",
}

DIRECT = (
    WayRound("a direct connection", "direct(socket.AF_INET, ('127.0.0.1', S))"),
    WayRound("a direct connection by IPv6", "direct(socket.AF_INET6, ('::1', S))"),
    WayRound("a direct connection by IPv4 in IPv6", "direct(socket.AF_INET6, ('::ffff:127.0.0.1', S))"),
    WayRound("a direct connection to no address", "direct(socket.AF_INET, ('0.0.0.0', S))"),
    WayRound("a direct connection to a welcome server's address", "direct(socket.AF_INET, ('127.0.0.1', W))"),
    WayRound("a datagram", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'out', ('127.0.0.1', at['udp']))"),
    WayRound(
        "a question to a name server of one's own",
        "question = b'\\1\\1\\1\\0\\0\\1' + bytes(6) + b'\\6secret\\4test\\0\\0\\1\\0\\1'\n"
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(question, ('127.0.0.1', at['udp']))",
    ),
    WayRound("a socket in the file system", "direct(socket.AF_UNIX, at['socket'])"),
    WayRound(
        "a link to a socket",
        "os.symlink(at['socket'], 'link')\ntry: direct(socket.AF_UNIX, 'link')\nfinally: os.unlink('link')",
    ),
    WayRound("a socket with an abstract name", "direct(socket.AF_UNIX, '\\0' + at['abstract'])"),
    WayRound(
        "NO_PROXY for everything",
        "os.environ.update(NO_PROXY='*', no_proxy='*')\n"
        "urllib.request.urlopen('http://127.0.0.1:%d/' % S, timeout=3).read()",
    ),
    WayRound(
        "without the proxy's variables",
        "env = {name: value for name, value in os.environ.items() if 'proxy' not in name.lower()}\n"
        "code = 'import urllib.request as u; u.urlopen(\"http://localhost:%d/\", timeout=3).read()' % S\n"
        "subprocess.run([sys.executable, '-c', code], env=env, stderr=subprocess.DEVNULL)",
    ),
    WayRound(
        "curl, told to take no proxy",
        "subprocess.run(['curl', '-sm3', '--noproxy', '*', 'http://127.0.0.1:%d/' % S], stdout=subprocess.DEVNULL)",
    ),
    WayRound(
        "a socket bound to a device",
        "made = socket.socket(); made.settimeout(2)\n"
        "try: made.setsockopt(socket.SOL_SOCKET, 25, b'eth0')\nexcept OSError: pass\n"
        "made.connect(('127.0.0.1', S)); made.sendall(ASK)",
    ),
    WayRound(
        "a process that stays when the command has ended",
        "if os.fork() == 0:\n    os.setsid()\n    for _ in range(20):\n        time.sleep(0.05)\n"
        "        try: direct(socket.AF_INET, ('127.0.0.1', S))\n        except OSError: pass\n    os._exit(0)",
    ),
    WayRound(
        "ending every process that it can reach, the proxy too",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nfor pid in range(2, 400):\n    if pid != os.getpid():\n"
        "        try: os.kill(pid, 15)\n        except OSError: pass\ndirect(socket.AF_INET, ('127.0.0.1', S))",
    ),
)
PROXIED = (
    *(WayRound(f"GET with {name}", f"get('http://{host}:%d/' % S)") for name, host in _LITERALS.items()),
    *(WayRound(f"a tunnel to {name}", f"tunnel('{host}:%d' % S)") for name, host in _LITERALS.items()),
    *(WayRound(f"GET with {name}", f"get('http://{host}:%d/' % W)") for name, host in _NAMES.items()),
    *(
        WayRound(f"a tunnel to {name}", f"tunnel('{host}:%d' % T, hello(sni(b'x.test')))")
        for name, host in _NAMES.items()
    ),
)
CONFUSED = (
    WayRound("a stranger behind a welcome user", "get('http://welcome.test:%d@stranger.test:%d/' % (W, S))"),
    WayRound("a stranger behind a backslash", "get('http://stranger.test:%d\\\\@welcome.test:%d/' % (S, W))"),
    WayRound("a stranger before a fragment", "get('http://stranger.test:%d#@welcome.test:%d/' % (S, W))"),
    WayRound("a stranger before a question", "get('http://stranger.test:%d?@welcome.test:%d/' % (S, W))"),
    WayRound("another Host than the address", "get('http://welcome.test:%d/' % W, host='stranger.test')"),
    WayRound(
        "two hosts", "get('http://welcome.test:%d/' % W, host='welcome.test:%d' % W, more='Host: stranger.test\\r\\n')"
    ),
    WayRound("a path and a host", "get('/', host='stranger.test:%d' % S)"),
    WayRound("a path and a stranger's address", "get('//stranger.test:%d/' % S, host='welcome.test:%d' % W)"),
    WayRound("https in plain", "get('https://stranger.test:%d/' % S)"),
    WayRound("ftp", "get('ftp://127.0.0.1:%d/' % S)"),
    WayRound("line ends within a place", "tunnel('welcome.test:%d HTTP/1.1\\r\\nHost: stranger.test:%d' % (T, S))"),
    WayRound("bare line feeds", "ask(b'GET http://welcome.test:%d/ HTTP/1.1\\nHost: stranger.test\\n\\n' % W)"),
    WayRound("a folded field", "get('http://welcome.test:%d/' % W, more='X: a\\r\\n Host: stranger.test\\r\\n')"),
    WayRound("a space before a colon", "get('http://welcome.test:%d/' % W, more='Host : stranger.test\\r\\n')"),
    WayRound("a second request", "ask(b'GET http://welcome.test:%d/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' % W + ASK)"),
    WayRound(
        "a second request behind a body",
        "ask(b'POST http://welcome.test:%d/ HTTP/1.1\\r\\nContent-Length: 2\\r\\n\\r\\nok' % W + ASK)",
    ),
    WayRound(
        "a request within a body of two lengths",
        "ask(b'POST http://welcome.test:%d/ HTTP/1.1\\r\\nContent-Length: 0\\r\\nContent-Length: %d\\r\\n\\r\\n'"
        " % (W, len(ASK)) + ASK)",
    ),
    WayRound(
        "a request within chunks and a length",
        "ask(b'POST http://welcome.test:%d/ HTTP/1.1\\r\\nContent-Length: 5\\r\\n' % W"
        " + b'Transfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n' + ASK)",
    ),
    WayRound(
        "a request behind chunks",
        "ask(b'POST http://welcome.test:%d/ HTTP/1.1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n' % W"
        " + b'0\\r\\n\\r\\n' + ASK)",
    ),
    WayRound(
        "another coding of the body",
        "ask(b'POST http://welcome.test:%d/ HTTP/1.1\\r\\nTransfer-Encoding: x, chunked\\r\\n\\r\\n' % W + ASK)",
    ),
    WayRound("a redirect", "urllib.request.urlopen('http://welcome.test:%d/to-stranger' % W, timeout=5).read()"),
    WayRound("HTTP/2 by prior knowledge", "ask(b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' + ASK)"),
    WayRound("a method in small letters", "ask(b'connect stranger.test:%d HTTP/1.1\\r\\n\\r\\n' % S)"),
    WayRound("SOCKS 4", "ask(b'\\4\\1' + struct.pack('>H', S) + socket.inet_aton('127.0.0.1') + b'\\0' + ASK)"),
    WayRound(
        "SOCKS 5 with an address",
        "with proxy() as made:\n    made.sendall(b'\\5\\1\\0'); heard(made)\n"
        "    made.sendall(b'\\5\\1\\0\\1' + socket.inet_aton('127.0.0.1') + struct.pack('>H', S)); heard(made)\n"
        "    made.sendall(ASK)",
    ),
)
TUNNELLED = (
    WayRound(
        "a relayed CONNECT", "tunnel('welcome.test:%d' % T, b'CONNECT stranger.test:%d HTTP/1.1\\r\\n\\r\\n' % S, ASK)"
    ),
    WayRound(
        "a relayed CONNECT in plain", "tunnel('welcome.test:%d' % W, b'CONNECT 127.0.0.1:%d HTTP/1.1\\r\\n\\r\\n' % S)"
    ),
    WayRound("another Host in a tunnel", "tunnel('welcome.test:%d' % W, ASK)"),
    WayRound("TLS for another name", "tunnel('welcome.test:%d' % T, hello(sni(b'stranger.test')))"),
    WayRound("TLS for another name, by a real client", "secured('stranger.test', 'welcome.test:%d' % T)"),
    WayRound("TLS for no name", "tunnel('welcome.test:%d' % T, hello(extension(10, b'\\0\\2\\0\\x1d')))"),
    WayRound("TLS without extensions", "tunnel('welcome.test:%d' % T, hello())"),
    WayRound("TLS for two names", "tunnel('welcome.test:%d' % T, hello(sni(b'welcome.test', b'stranger.test')))"),
    WayRound(
        "TLS with the name twice",
        "tunnel('welcome.test:%d' % T, hello(sni(b'welcome.test'), sni(b'stranger.test')))",
    ),
    WayRound(
        "an encrypted hello",
        "tunnel('welcome.test:%d' % T, hello(sni(b'welcome.test'), extension(0xfe0d, bytes(40))))",
    ),
    WayRound("TLS for another name in pieces", "tunnel('welcome.test:%d' % T, hello(sni(b'stranger.test'), cut=9))"),
    WayRound(
        "TLS for another name, byte by byte",
        "said = hello(sni(b'stranger.test'))\ntunnel('welcome.test:%d' % T, *(said[n:n+1] for n in range(len(said))))",
    ),
    WayRound(
        "TLS for a name with a zero byte", "tunnel('welcome.test:%d' % T, hello(sni(b'welcome.test\\0.stranger.test')))"
    ),
    WayRound("another sibling below a wildcard", "tunnel('a.below.test:%d' % T, hello(sni(b'stranger.test')))"),
    WayRound(
        "TLS 1.3 that does not begin with a hello", "tunnel('welcome.test:%d' % T, b'\\x17\\3\\3\\0\\4abcd', ASK)"
    ),
    WayRound("SSL 2", "tunnel('welcome.test:%d' % T, b'\\x80\\x2e\\1\\0\\2' + bytes(40))"),
    WayRound("a shell of one's own", "tunnel('welcome.test:%d' % T, b'SSH-2.0-OpenSSH_9.2\\r\\n')"),
)
WAYS: tuple[WayRound, ...] = (*DIRECT, *PROXIED, *CONFUSED, *TUNNELLED)

HONEST = (
    WayRound("GET", "assert urllib.request.urlopen('http://welcome.test:%d/' % W, timeout=9).read() == b'welcome '"),
    WayRound(
        "POST",
        "url = 'http://welcome.test:%d/' % W\n"
        "assert urllib.request.urlopen(url, data=b'x' * 99999, timeout=9).read()[-3:] == b'xxx'",
    ),
    WayRound(
        "POST in chunks",
        "made = http.client.HTTPConnection(way.hostname, way.port, timeout=9)\n"
        "more = {'Proxy-Authorization': 'Basic ' + login} if login else {}\n"
        "made.request('POST', 'http://welcome.test:%d/' % W, body=iter([b'ab', b'cd']), headers=more,"
        " encode_chunked=True)\n"
        "assert made.getresponse().read() == b'welcome abcd'",
    ),
    WayRound("below a wildcard", "assert urllib.request.urlopen('http://a.below.test:%d/' % W, timeout=9).read()"),
    WayRound("TLS", "assert secured('welcome.test', 'welcome.test:%d' % T) == b'welcome hello'"),
    WayRound("TLS below a wildcard", "assert secured('a.b.below.test', 'a.b.below.test:%d' % T) == b'welcome hello'"),
    WayRound(
        "curl",
        "import shutil\n"
        "if shutil.which('curl'):\n"
        "    done = subprocess.run(['curl', '-fsm9', 'http://welcome.test:%d/' % W], capture_output=True)\n"
        "    assert done.stdout == b'welcome ', done",
    ),
)


def through(run: Run, world: DomainWorld, ways: Iterable[WayRound] = WAYS) -> list[str]:
    """The ways on which a stranger, or a server in another's name, was reached: each with what was heard there."""
    found = []
    for way in ways:
        run(f"{PREAMBLE}\ntry:\n{_indented(way.code)}\nexcept Exception: pass\n", world.argument)
        found += [f"{way.name}: {what}" for what in world.settled()[:1]]
    return found


def all_through(run: Run, world: DomainWorld) -> list[str]:
    """The same in one command for all, which is quicker; only where something was heard are they tried one by one."""
    tried = "\n".join(f"try:\n{_indented(way.code)}\nexcept Exception: pass" for way in WAYS)
    run(f"{PREAMBLE}\n{tried}\nprint('tried')\n", world.argument)
    return [*(through(run, world) or heard)] if (heard := world.settled()) else []


def broken(run: Run, world: DomainWorld) -> list[str]:
    """The honest work that fails, with its last words."""
    found = []
    for way in HONEST:
        said = run(f"{PREAMBLE}\n{way.code}\nprint('done')\n", world.argument)
        if "done" not in said:
            found.append(f"{way.name}: {said.strip().rpartition(chr(10))[2][:200]}")
    return found + [f"honest work was heard as abuse: {what}" for what in world.settled()]


def _indented(code: str) -> str:
    return "\n".join(f"    {line}" for line in code.splitlines())
