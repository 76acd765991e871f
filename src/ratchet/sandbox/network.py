"""The network that a command is given: `none`, `host`, or `domains:` with the only names that it may reach."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from ratchet.errors import UsageError

PREFIX = "domains:"
PORTS = (80, 443)
"""Ports of a name that is given without one: the web's."""
PROXY_PORT = 3128
_MOST_NAMES = 200
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
# What ends in a number is an address to some resolver (`2130706433`, `0x7f.1`, `127.1`; WHATWG URL, section 3.5).
_ENDS_IN_A_NUMBER = re.compile(r"(?:\A|\.)(?:[0-9]+|0x[0-9a-f]*)\Z")
_GRAMMAR = "NAME[:PORT][=ADDRESS]: example.org, *.example.com, api.example.org:8443, llm.test:11434=127.0.0.1"


@dataclass(frozen=True, slots=True)
class DomainRule:
    """One name that may be reached. `below`: every name below it, and not itself (`*.example.com`)."""

    name: str
    below: bool
    ports: tuple[int, ...]
    address: str
    """Where it is, as the person says; "" asks the host's resolver, and then only a public address is taken."""

    def covers(self, name: str, port: int) -> bool:
        return port in self.ports and (name.endswith(f".{self.name}") if self.below else name == self.name)


def checked(net: str) -> str:
    """The same text. Raises UsageError for one that names no network."""
    if net not in ("none", "host"):
        rules(net)
    return net


def rules(net: str) -> tuple[DomainRule, ...]:
    """The rules of a `domains:` network, none of the others. Raises UsageError."""
    if net in ("none", "host"):
        return ()
    if not net.startswith(PREFIX):
        raise UsageError(f"the network is {net!r}; use none, host, or domains:example.org,*.example.com")
    words = [word.strip() for word in net.removeprefix(PREFIX).split(",")]
    if len(words) > _MOST_NAMES:
        raise UsageError(f"{len(words)} domains are named; name {_MOST_NAMES} at most")
    return tuple(map(_rule, words))


def host_name(text: str) -> str | None:
    """A host's name as it is compared: small letters, no closing dot; None for anything that is no plain name, an
    address in any spelling included."""
    name = text.lower().removesuffix(".") if text.isascii() else ""
    return name if _NAME.fullmatch(name) and not _ENDS_IN_A_NUMBER.search(name) else None


def public(address: str) -> bool:
    """Tell whether an address is one of the open network, whatever other address it carries within: neither this
    machine nor its neighbours, nor a cloud's own services."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        if found in _TRANSLATED:
            return public(str(ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF)))
        carried = [found.sixtofour, *(found.teredo or ())]
        if found not in _UNICAST or not all(public(str(each)) for each in carried if each is not None):
            return False
    return found.is_global and not found.is_multicast and not any(found in each for each in _CLOSED)


def environ(net: str) -> dict[str, str]:
    """Variables by which programs find the only way out, the proxy inside; none for the other networks."""
    if not net.startswith(PREFIX):
        return {}
    way = f"http://127.0.0.1:{PROXY_PORT}"
    names = ("http_proxy", "https_proxy", "all_proxy")
    near = "localhost,127.0.0.1,::1"
    # Node asks for a word of its own before it looks at the others.
    made = {"NODE_USE_ENV_PROXY": "1", "no_proxy": near, "NO_PROXY": near}
    return made | {spelled: way for name in names for spelled in (name, name.upper())}


_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")  # NAT64, RFC 6052
# All that was ever given out (RFC 4291, section 2.4; IANA's registry of global unicast addresses). Outside of it lie
# this machine, links and sites (RFC 3879), and every form that carries an address of the other kind (RFC 2765, 8215).
_UNICAST = ipaddress.IPv6Network("2000::/3")
# Public by their numbers, to some version of Python at least: the host of each virtual machine of Azure (WireServer,
# which hands out keys), IETF protocol assignments (RFC 6890; 192.0.0.192 is Oracle Cloud's metadata), relays of 6to4
# (RFC 7526), documentation (RFC 9637).
_CLOSED = tuple(map(ipaddress.ip_network, ("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24", "3fff::/20")))


def _rule(word: str) -> DomainRule:
    left, pinned, address = word.partition("=")
    given, has_port, port = left.partition(":")
    below = given.startswith("*.")
    name = host_name(given.removeprefix("*."))
    if name is None or (below and "." not in name):
        raise UsageError(f"{word!r} names no domain; write {_GRAMMAR}")
    if has_port and not (port.isascii() and port.isdecimal() and 0 < int(port) < 65_536):
        raise UsageError(f"{word!r}: {port!r} is no port; write {_GRAMMAR}")
    if pinned:
        try:
            address = str(ipaddress.ip_address(address))
        except ValueError:
            raise UsageError(f"{word!r}: {address!r} is no address; write {_GRAMMAR}") from None
    return DomainRule(name, below, (int(port),) if has_port else PORTS, address)
