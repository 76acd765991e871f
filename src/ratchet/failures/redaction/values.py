"""Tells how a value was made: drawn by a machine, chosen to be kept secret, composed of words as a name, a fact about
something, or only standing for another. Every rule asks here.

Lean: a hook process imports this.
"""

from __future__ import annotations

from _operator import add  # `operator` and what it loads take a hook 0.2 ms

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
    if not _SHORTEST <= len(value) <= _LONGEST or compiled(_NAMED_SO).match(value):
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
    r"\w*\d(?:\.\d+)+$|\d+(?:\.\d+)+|.*\.[A-Za-z]{1,5}\d?$|0x|\d+[A-Za-z]{1,3}$|\d{4}-\d\d|[#$.+*&@~%-]|[A-Za-z]{1,12}_"
    r"|.*#L?\d+(?:-L?\d+)?$|[A-Z]{2,}\d+(?:-[A-Z\d]+)*$|[A-Za-z]+\d{2,}$|[0-9a-fA-F.-]+$|(?:sha|md)\d"
    r"|.*(?:a-z|A-Z|0-9|&&)|(?:[A-Z0-9]{1,3}-)+[A-Z0-9]{1,3}$"
    r"|(?i:.*(?:auth|token|pass|secret|key|cred|login|pbkdf))(?!.*\d\d)"
)
_HASH = (
    r"(?:[a-zA-Z0-9]{0,40}[-_:/.]){0,12}(?<![0-9a-f])(?:[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})$"
    r"|\w{1,40}-[0-9a-f]{32,}$|[0-9a-f]+(?:-[0-9a-f]+)+$|[0-9a-f]{32}$"
)
_UUID = r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"


def is_hash(value: str) -> bool:
    """Tell whether it is a checksum, whatever it is the checksum of."""
    return compiled(_HASH).match(value) is not None


def is_uuid(value: str) -> bool:
    """Tell whether a UUID stands in it."""
    return compiled(_UUID).search(value) is not None


# What announces a checksum, an id, something public or encoded, up to the value itself.
_ANNOUNCES = (
    r"(?i)(?:\bh1|sha-?\d{1,3}|md5|base64|hash|sum|digest|etag|integrity|fingerprint|thumbprint|nonce|challenge|\bcid"
    r"|(?:public|pub|verif(?:y|ying|ication)|site|partition|primary|sort|cache|object|idempotency|websocket)[ _-]?key"
    r"|using [a-z0-9]{2,8} key|(?:page|next|continuation|pagination|resume|sync)[ _-]?token|cursor|signature"
    r"|encrypted[ _-]?(?:content|data)|version(?:[ _-]?id)?|(?<![a-z])id(?:-\d)?|identifier|[?&]\w{1,20}id"
    r"|(?-i:[a-z]Id)|commit|rev(?:ision)?|tree|blob|trace|request|cache|boundary|session|run|job|task|thread|message"
    r"|call|response|event|object|document|count|address)"
    r"[\s\"'\\]{0,8}(?:[:=,(]|->)?[\s\"'\\(\[]{0,8}$|\bENC[\[(][^\])\s]{0,200}$"
)


def is_announced(before: str) -> bool:
    """Tell whether what stands before a value says that anybody may read it."""
    return compiled(_ANNOUNCES).search(before) is not None


# --- standing for another --------------------------------------------------------------------------------------------
PLAIN = frozenset(
    """
    a about above after again all also an and another any are as at await back basic be bearer because been before
    being below between bool both but by bytes can cannot changed characters check choose click contain containing
    contains could default denied did digest disabled do does done during each eight either else empty enabled enter
    entered error every expected expired failed failure false field flag for forgot forgotten found four from get
    give had has have he her here hidden hint his how i if in incorrect inherit input int into invalid is it it's
    its key keys least length less let letter letters line lines login long longer make mandatory match may minimum
    mismatch missing more most must my need needed needs never new nil no none not now null number numbers object of
    ok old on once one only onto option optional options or other our out over pass passphrase password per place
    please policy press prompt provided read redacted rejected repeat required reset retry retype revoked same see
    set seven shall she short should since six so some str string such symbols text than that the their them then
    there these they this three time times to todo too true try two type undefined under unknown unset until up
    upper use used user uses using value vault via want was we weak what when where which while who will with within
    without would wrong yes yet you your
    """.split()  # noqa: SIM905
)
"""Words that say something of a value, as sentences about passwords do, and are none."""
_HIDES = ("[redacted:", "ENC[", "ENC(", "***", "•••", ".*", "[^")
_MASK = frozenset("*x.•…-_#X?")
_FILLED_IN = ("${", "$(", "%{", "{{", "#{")  # by the program that reads it
_ALIKE, _ALIKE_IN_A_ROW = 0.6, 0.4  # of its pairs are twice one character
_MORE_THAN_A_PREFIX = r"[A-Za-z0-9]{9}"
_BEGUN = r"(?:(?:[A-Za-z0-9]{1,8}[-_:])*|[A-Z]{2,}\w{0,4}|eyJ\w{0,40})(?:\.{3}|…|<[\w .-]+>)$"  # a prefix, and so on
_SAYS_SO = ("your", "example", "placeholder", "changeme", "change-me", "change_me", "replace")


def is_placeholder(value: str) -> bool:
    """Tell whether a value only stands for another: none at all, a variable, a word about a value, a mask, a beginning,
    one character again and again, a hidden one, or one that says so."""
    if not value or (value[0] in "$<%{(" and not is_drawn(value, 0.4)):
        return True
    low = value.lower()
    return (
        low.strip("'\"[](){}/") in PLAIN
        or value.startswith(_HIDES)
        or any(map(value.__contains__, _FILLED_IN))
        or (any(map(low.__contains__, _SAYS_SO)) and ("EXAMPLE" in value or compiled(r"[0-9]").search(low) is None))
        or (value[-1] in ".…>" and compiled(_BEGUN).match(value) is not None)
        or (2 * len(set(low)) <= len(low) and _is_one_character(value))
        or _MASK.issuperset(value)
    )


def _is_one_character(value: str) -> bool:
    """Tell whether most of it is one character after another, but for a digit: people choose 111111."""
    value = value[:_JUDGED]
    alike = sum([one == other and one not in "123456789" for one, other in zip(value, value[1:], strict=False)])
    share = _ALIKE if compiled(r"([^1-9])\1{7}").search(value) is None else _ALIKE_IN_A_ROW
    is_alike = len(value) > 4 and alike >= share * (len(value) - 1)
    return is_alike and compiled(_MORE_THAN_A_PREFIX).search(compiled(r"([^1-9])\1{3,}").sub(" ", value)) is None
