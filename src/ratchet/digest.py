"""SHA-256 from the interpreter's own C code: `hashlib` loads OpenSSL first, 3 ms of a hook that takes 20.

Lean: hook processes import this.
"""

from __future__ import annotations

TYPE_CHECKING = False
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


def hex_of(text: str) -> str:
    """The 64 hex digits of a text, the same everywhere; half a character (a lone surrogate) counts as itself."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


__all__ = ["hex_of", "sha256"]
