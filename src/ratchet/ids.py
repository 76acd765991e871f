"""Identity and chance, decided by hashing alone: the same answer in every process, on every machine, at any time.

Lean: a hook process imports this.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
# SHA-256 from the interpreter's own C code: `hashlib` loads OpenSSL first, 3 ms of a hook that takes 20.
if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256  # Python 3.12 and later
    except ImportError:
        try:
            from _sha256 import sha256  # Python 3.11
        except ImportError:  # an interpreter built without them
            from hashlib import sha256

CALL = "call:"
"""How the unit of a single call begins."""
_ID_HEX = 24  # 96 bits: a collision among a billion outcomes has probability 1e-11
_PROVIDERS = ("toolu", "srvtoolu", "call", "fc")
_OWN_KEY_RANDOM = 16  # random characters after a provider's prefix from which on a key is unique by itself


def uniform(salt: str, *parts: str) -> float:
    """A number in [0, 1) that depends on the salt and the parts only, uniform over salts.

    53 bits of the hash, all that a float holds. Parts are length-prefixed, so ("ab", "c") and ("a", "bc") differ.
    """
    framed = "".join(f"{len(part)}:{part}" for part in (salt, *parts))
    digest = sha256(framed.encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 9007199254740992  # 2 ** 53


def toss(salt: str, *parts: str, share: float) -> bool:
    """Tell whether this unit falls to the arm that has probability `share` (0: never, 1: always)."""
    return uniform(salt, *parts) < share


def outcome_id(source: str, session: str, key: str) -> str:
    """The id of an outcome that its source names by `key`: met live by a hook and again in a file, it is one outcome.

    `source` is the agent's family (`claude-code`), the same for hooks and files. A key that is unique by itself (the
    provider's tool call ids) leaves the session out, so that a session copied into another file counts once.
    """
    scope = "" if _is_unique(key) else session
    framed = f"{source}\0{scope}\0{key}"
    return "o" + hex_of(framed)[:_ID_HEX]


def address_of(url: str) -> str:
    """The address of a git remote without its protocol, user and ending: the same for each way to write it."""
    address = url.partition("://")[2] or url
    address = address.rpartition("@")[2] if "@" in address.partition("/")[0] else address
    return address.replace(":", "/", 1).removesuffix("/").removesuffix(".git").lower()


def _is_unique(key: str) -> bool:
    """Tell whether a key is a provider's own random one (`toolu_01A...`, `srvtoolu_...`, `call_...`), not a counter."""
    if not key.startswith(_PROVIDERS):
        return False
    prefix, _, random = key.rpartition("_")
    return prefix.startswith(_PROVIDERS) and len(random) >= _OWN_KEY_RANDOM and random.isascii() and random.isalnum()


_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))  # two bits of a digit are the variant's


def uuid7() -> str:
    """A new id that sorts by its time of birth (RFC 9562, version 7): 48 bits of milliseconds, 74 of chance."""
    born = f"{time.time_ns() // 1_000_000 & 0xFFFFFFFFFFFF:012x}"
    chance = os.urandom(10).hex()
    return f"{born[:8]}-{born[8:]}-7{chance[:3]}-{_VARIANT[chance[3]]}{chance[4:7]}-{chance[7:19]}"


def hex_of(text: str) -> str:
    """The 64 hex digits of a text, the same everywhere; half a character (a lone surrogate) counts as itself."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
