"""Hides a key without a form of its own: what a machine drew, where the words before it speak of a secret or where
nothing says that it is something else.

Lean: a hook process imports this, and only for a text that holds drawn characters.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled
from ratchet.failures.redaction.drawn import is_drawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_REACH = 60  # characters before a run that are looked at
_LEAST_NAMED = 20  # characters where the line speaks of a secret
_LEAST_LONE, _LONGEST_LONE = 28, 128  # below are ids of 128 bits, beyond is data
_LEAST_OF_ONE_CASE = 32
_LEAST_ODD = 0.4  # of its pairs of characters
_RUN = (
    r"(?<![A-Za-z0-9_.~/+@%#-])(?!eyJ|AAAA|[a-z]{1,12}_)[A-Za-z0-9](?=[A-Za-z0-9+/_-]{0,60}[0-9])"
    rf"[A-Za-z0-9+/_-]{{{_LEAST_NAMED - 1},2000}}+={{0,2}}(?![\w./@(+-])"
)
_SPEAKS_OF_ONE = (
    r"(?i)(?:secret|token|passw(?:or)?d|passphrase|passwd|credential|encrypt"
    r"|(?:api|private|access|auth|account|master|unseal)[_ -]?key)(?!\[redacted)[^\r\n]{0,60}$"
)
# A checksum, an id, something public or encoded.
_IS_FACT = (
    r"(?i)(?:\bh1|sha-?\d{1,3}|md5|base64|hash|sum|digest|etag|integrity|fingerprint|public[ _-]?key|pubkey|nonce"
    r"|cursor|version(?:[ _-]?id)?|(?<![a-z])id|commit|rev(?:ision)?|tree|blob|trace|request|cache|boundary|count"
    r"|(?-i:[a-z]Id)|session|run|job|task|thread|message|call|response|event|object|document)"
    r"[\s\"'\\]{0,8}(?:[:=,(]|->)?[\s\"'\\(\[]{0,8}$"
)
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-|(?<![a-z0-9])[0-9a-f]{16,}(?![a-z0-9])"
_NAME = r"\s*[\w.:@/#-]{1,300}\s*"
_HEX = frozenset("0123456789abcdefABCDEF-")
_BASE64 = frozenset("+/")
_PUBLIC = ("-----BEGIN ", '"kty"')  # in a text with one of these stands what everybody may read


def hide_lone(text: str) -> str:
    """The text without keys that only their characters show. In 506,000 lines of histories, logs and code, letters of
    both cases and digits, drawn and at least 28 long, were a key each time. A text of one word is left as it is: what
    names a session looks the same."""
    if compiled(_NAME).fullmatch(text) is not None:
        return text
    may_be_public = any(map(text.__contains__, _PUBLIC))
    return compiled(_RUN).sub(lambda run: _hidden(run, may_be_public=may_be_public), text)


def _hidden(match: re.Match[str], *, may_be_public: bool) -> str:
    run = match[0]
    if _HEX.issuperset(run) or not is_drawn(run, _LEAST_ODD) or compiled(_UUID).search(run):
        return run
    before = match.string[max(0, match.start() - _REACH) : match.start()]
    if compiled(_IS_FACT).search(before):
        return run
    if compiled(_SPEAKS_OF_ONE).search(before) or (_is_key(run.rstrip("=")) and not may_be_public):
        return "[redacted:secret]"
    return run


def _is_key(run: str) -> bool:
    least = _LEAST_OF_ONE_CASE if run.islower() else _LEAST_LONE
    return least <= len(run) <= _LONGEST_LONE and not run.isupper() and _BASE64.isdisjoint(run)
