"""Tells how a value was made: drawn by a machine, chosen to be kept secret, composed of words as a name, a fact about
something, or only standing for another. Every rule asks here.

Lean: a hook process imports this.
"""

from __future__ import annotations

from _operator import add  # `operator` and what it loads take a hook 0.2 ms
from itertools import pairwise

from ratchet.failures.expressions import compiled

# --- drawn -----------------------------------------------------------------------------------------------------------
# Second letters after each first that make at least 1 in 5,000 of the letter pairs of Python's standard library and of
# this project. Random letters miss this table every other time, words and identifiers 15 times in 1,000.
_COMMON = (
    "abcdfgiklmnprstuvwxy bacdeijloprsuy cacehiklmoprstuvy dabdefgilnorstuy eabcdefghiklmnopqrstuvwxy facdefilorstuy"
    " gaeghilmnorstu haeilmortu iabcdefgklmnoprstvxz jeou kadeilnsw labcdefilnopstuvy mabdeilmopstu"
    " nacdefgiklmnopstuvy oabcdefgiklmnoprstuvwx pacdehiloprstuwy qu rabcdefgiklmnoprstuvwy sacdefghiklmnopqrstuwy"
    " tacdefhilmnoprstuwy uabcdefgilmnoprst vaeio wadehinors xaceipt yeimnopst zei"
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = str.maketrans("123456789", "000000000")
_JUDGED = 64  # characters that decide
_LEAST_SHARE = 0.3  # of odd pairs; drawn letters and digits have .45 to .7, names at most .2
_odd: frozenset[str] = frozenset()
_HEX = frozenset("0123456789abcdefABCDEF")
_SIGNS = frozenset("!@#$%^&*?~;=+")
_MANY_SIGNS = 4  # different ones, in a value without a space
_LONG, _LONGEST_WORD = 20, 16  # characters; hardly a word of prose has so many letters


def _odd_ones() -> frozenset[str]:
    """Built at first use: letter pairs that words do not have, and each change between letters and digits."""
    global _odd
    if not _odd:
        common = {row[0]: row[1:] for row in _COMMON.split()}
        pairs = {a + b for a in _LETTERS for b in _LETTERS if a != b and b not in common[a]}
        _odd = frozenset(pairs.union(*((f"0{letter}", f"{letter}0") for letter in _LETTERS)))
    return _odd


def odd_pairs(text: str) -> int:
    """Neighbours in a text that no word has."""
    low = text.lower().translate(_DIGITS)
    return sum(map(_odd_ones().__contains__, map(add, low, low[1:])))


def is_drawn(piece: str, share: float = _LEAST_SHARE) -> bool:
    """Tell whether a machine drew these letters and digits: at least this share of their pairs is in no word."""
    piece = piece[:_JUDGED]
    return odd_pairs(piece) >= share * (len(piece) - 1)


def looks_random(value: str, shortest: int) -> bool:
    """Tell whether a machine made this: long enough, without spaces, and its characters change class as no word
    does."""
    if len(value) < shortest or " " in value or value.startswith(("./", "~/", "http")):
        return False
    if value[0] == "/" and value[-1] != "=" and not is_drawn(value, 0.4):  # a path; base64 begins so at times
        return False
    if compiled(r"[^\W\d_]").search(value) is None:
        return False
    if shortest < _LONG and compiled(r"[0-9]").search(value) is not None:
        return compiled(_FACT).match(value) is None
    if len(value) >= 32 and _HEX.issuperset(value) and len(compiled(r"[0-9]").findall(value)) >= 4:
        return True
    return len(value) >= _LONGEST_WORD and (is_drawn(value) or len(_SIGNS.intersection(value)) >= _MANY_SIGNS)


# --- chosen ----------------------------------------------------------------------------------------------------------
_SHORTEST, _LONGEST = 6, 2000
_SHORTEST_WORD = 8  # characters of a value that is a word with one number in it
_SHORTEST_JOINED = 20  # characters of a value with `_`, below which it is a name
_STRONG = frozenset("!@#^&?$")
_MIXED = r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[A-Za-z0-9].{0,60}[!@#^&?$].*"  # of all four kinds


def is_unlikely(value: str) -> bool:
    """Tell whether nobody would name anything so: letters among digits or signs."""
    value = value.rstrip(".,!?*_-=") + "!" * value.endswith("!")
    if not _SHORTEST <= len(value) <= _LONGEST or compiled(_NAMED_SO).match(value) or is_placeholder(value):
        return False
    if len(value) >= _SHORTEST_WORD and compiled(_MIXED).fullmatch(value) and "_" not in value:
        return True
    if "_" in value and (len(value) < _SHORTEST_JOINED or value.islower() or value.isupper()):
        return False
    signs = len(_STRONG.intersection(value))
    if len(value) < _SHORTEST_WORD and not signs and len(compiled(r"[0-9]+").findall(value)) == 1:
        return False
    return odd_pairs(value) + 2 * signs >= _LEAST_SHARE * (len(value) - 1)


# --- a fact, a name --------------------------------------------------------------------------------------------------
_FACT = (
    r"[\w./-]{0,200}\.(?:py|js|ts|json|txt|md|ya?ml|toml|cfg|ini|log|sh|html|csv|pem|key|crt|env)$"  # a file
    r"|v?\d+(?:\.\d+)+\w*$|\d+(?:\.\d+)?[a-z]{1,7}$"  # a version, a quantity
)
# A version, a date, a quantity, a word with its number, a file, a variable, an id with what it is the id of, a number
# of something, a hash, ranges of characters, codes of places, a name about a credential.
_NAMED_SO = (
    r"\w*\d(?:\.\d+)+$|\d+(?:\.\d+)+|.*\.[A-Za-z]{1,5}\d?$|0x|\d+[A-Za-z]{1,3}$|\d{4}-\d\d|[#$.+*&@~%-]|[A-Za-z]{1,12}_|[a-z]{2,5}-[a-zA-Z0-9]{8,}$"
    r"|.*#L?\d+(?:-L?\d+)?$|[A-Z]{2,}\d+(?:-[A-Z\d]+)*$|[A-Za-z]+\d{2,}$|[0-9a-fA-F.-]+$|(?:sha|md)\d"
    r"|.*(?:a-z|A-Z|0-9|&&)|(?:[A-Z0-9]{1,3}-)+[A-Z0-9]{1,3}$"
    r"|(?i:.*(?:auth|token|pass|secret|key|cred|login|pbkdf))(?!.*\d\d)"
)
_HASH = (
    r"(?i)(?:[a-z0-9]{0,40}[-_:/.]){0,12}(?<![0-9a-f])(?:[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})$"
    r"|\w{1,40}-[0-9a-f]{32,}$|[0-9a-f]+(?:-[0-9a-f]+)+$|[0-9a-f]{32}$"
)
_UUID = r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_OF_CREDENTIAL = (
    r"(?:[A-Za-z]+[/_.:-])*[A-Za-z]*?(?:(?<=[/_.:-])|(?<=[a-z])(?=[A-Z]))"
    r"(?i:password|passwd|token|key|secret|credential|cred|pat|auth)s?(?:[/_.:-][A-Za-z]+)*$"
)


def is_hash(value: str) -> bool:
    """Tell whether it is a checksum, whatever it is the checksum of."""
    return compiled(_HASH).match(value) is not None


def is_uuid(value: str) -> bool:
    """Tell whether a UUID stands in it."""
    return compiled(_UUID).search(value) is not None


def names_credential(value: str) -> bool:
    """Tell whether a value is the name of a credential: words, one of them saying so (`prod/payments/stripe-key`)."""
    return compiled(_OF_CREDENTIAL).match(value) is not None


# What announces a checksum, an id, something public or encoded, up to the value itself.
_ANNOUNCES = (
    r"(?i)(?:\bh1|sha-?\d{1,3}|md5|base64|hash|sum|digest|etag|integrity|fingerprint|thumbprint"
    r"|(?:public|pub|site|partition|primary|sort|cache|object|idempotency|websocket)[ _-]?key|nonce|challenge|\bcid"
    r"|cursor|version(?:[ _-]?id)?|(?<![a-z])id|identifier|commit|rev(?:ision)?|tree|blob|trace|request|cache|boundary"
    r"|(?-i:[a-z]Id)|session|run|job|task|thread|message|call|response|event|object|document|count|address"
    r"|using [a-z0-9]{2,8} key)"
    r"[\s\"'\\]{0,8}(?:[:=,(]|->)?[\s\"'\\(\[]{0,8}$"
)


def is_announced(before: str) -> bool:
    """Tell whether what stands before a value says that anybody may read it."""
    return compiled(_ANNOUNCES).search(before) is not None


# --- standing for another --------------------------------------------------------------------------------------------
PLAIN = frozenset(
    """
    a an and any are at be but by can cannot changed default denied disabled does empty enabled error
    expected expired failed failure false field flag for found from has hidden if in incorrect inherit input
    invalid is it may mandatory match mismatch missing must needed nil no none not null of ok on only pass password
    option optional options or prompt provided rejected required revoked set should str string text that the
    this to true type undefined unknown unset value was with wrong yes you your bytes int bool object
    number basic bearer digest await todo
    """.split()  # noqa: SIM905
)
"""Words that say something of a value and are none."""
_MASK = frozenset("*x.•…-_#X?")
_ALIKE = 0.6  # of its pairs are twice one character
_LEAST_ALIKE = 5  # characters
_BEGUN = r"(?:(?:[A-Za-z0-9]{1,8}[-_.:])*|[A-Z]{2,}\w{0,4}|eyJ\w{0,40})(?:\.{3}|…)$"  # a prefix, and so on
_SAYS_SO = r"your|example|placeholder|change[-_]?me|replace"


def is_placeholder(value: str) -> bool:
    """Tell whether a value only stands for another: none at all, a variable, a word about a value, a mask, a beginning,
    one character again and again, a hidden one, or one that says so."""
    return (
        not value
        or (value[0] in "$<%{(" and not is_drawn(value, 0.4))
        or "$(" in value
        or "${" in value
        or value.startswith("[redacted:")
        or value.lower().strip("'\"[](){}") in PLAIN
        or _MASK.issuperset(value)
        or "EXAMPLE" in value
        or (compiled(_SAYS_SO).search(value.lower()) is not None and compiled(r"[0-9]").search(value) is None)
        or compiled(_BEGUN).match(value) is not None
        or _is_one_character(value)
    )


def _is_one_character(value: str) -> bool:
    """Tell whether most of it is one character after another, but for a digit: people choose 111111."""
    alike = sum([one == other and one not in "123456789" for one, other in pairwise(value[:_JUDGED])])
    return len(value) >= _LEAST_ALIKE and alike >= _ALIKE * (min(len(value), _JUDGED) - 1)
