"""Hides what looks chosen or drawn to be kept secret. Near a word that means a credential, any word does that is no
name, fact or hash: in which language, protocol, option or sentence, before or behind the value, is not asked. Elsewhere
only what nothing but a key looks like goes.

In 62 million characters of histories of coding agents the first rule changed nothing that holds no secret.

Lean: a hook process imports this, and only for a text that speaks of a credential or holds drawn characters.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled
from ratchet.failures.redaction.literals import LONGEST, MOST
from ratchet.failures.redaction.named import FOREIGN
from ratchet.failures.redaction.values import is_announced, is_drawn, is_placeholder, is_unlikely

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

_PASSWORD = (
    r"passw(?!ork)|passphrase|passcode|pwd(?![a-z])|(?<![a-z0-9])(?:pw|pass|psk)(?![a-z])|pw(?=[\s:=])|identify(?=\s)"
    r"|log(?:ged)? ?in(?![\"\\])|credential|(?<![a-z])creds?(?![a-z])"
    rf"|(?:recovery|backup)[ _-]?code|kennwort|wachtwoord|senha(?![a-z])|contrasena|{'|'.join(FOREIGN)}"
)
_KEY = r"secret|token(?!s)|(?<![a-z])auth(?!or)|(?:api|access|private|auth|account|master|unseal)[ _-]?key|encrypt"
_SPOKEN = rf"(?<!redacted:)(?:(?P<password>{_PASSWORD})|{_KEY})"
# A question for a password, or the item before its value.
_ASKED = rf"{_SPOKEN}\w{{0,20}}[^a-z\n]{{0,12}}\n(?:[^a-z\n]{{0,12}}\n)?\Z"
_ALONE = r"[ \t>*\"'`-]*"  # what may stand beside a value that has a line of its own
_BEFORE, _BEHIND, _ABOVE = 100, 60, 60  # characters: of the line before and behind a value, and of the lines above
_HEADED = 300  # characters above a value alone within which the words stand that say what it is

_WORD = r"[^\s\x1b\"'`<>(){}\[\],;|\\→]{6,}"
_PART = r"[^:=/]{6,}(?:={1,2}$)?"
_BASE64 = r"[A-Za-z0-9+/_-]{20,}={0,2}"
_IS_PATH = r"[./~\\]|.*(?:/.*/|//|\.\w{1,5}(?:$|:))"
_dull: set[str] = set()  # words without a candidate, whatever stands beside them


def hide_spoken(text: str, words: set[str]) -> str:
    """The text without what looks like a credential near a word that means one. `words` are those of the text."""
    live = [word for word in words - _dull if _holds(word)]
    if not live:
        return text
    if len(live) > _FEW:
        return compiled(_WORD).sub(_without, text)
    out: list[str] = []
    done = 0
    for start, end in sorted(_places(text, live)):
        for found in compiled(_WORD).finditer(text, start, end):
            out += (text[done : found.start()], _without(found))
            done = found.end()
    return "".join((*out, text[done:]))


_FEW = 8  # words that are found faster one by one than with all others


def _places(text: str, words: list[str]) -> Iterator[tuple[int, int]]:
    """Find where these words stand, each between spaces."""
    for word in words:
        end = 0
        while (start := text.find(word, end)) >= 0:
            end = start + len(word)
            if not text[start - 1 : start].strip() and not text[end : end + 1].strip():
                yield start, end


def _holds(word: str) -> bool:
    """Tell whether a value may stand in a word; one that holds none is remembered."""
    if any(map(_candidates, compiled(_WORD).findall(word))):
        return True
    if len(_dull) > MOST:
        _dull.clear()
    if len(word) <= LONGEST:
        _dull.add(word)
    return False


def _candidates(word: str) -> list[tuple[int, int]]:
    """Find where in a word a value may stand: all of it, or what `:`, `=` or one `/` divide it into."""
    if word.isalpha() or compiled(r"[0-9]").search(word) is None:
        return []
    if compiled(r"[:=/]").search(word) is None or (compiled(_BASE64).fullmatch(word) and is_drawn(word, 0.4)):
        return [(0, len(word))] if is_unlikely(word) else []
    if compiled(_IS_PATH).match(word):
        return []
    return [found.span() for found in compiled(_PART).finditer(word) if is_unlikely(found[0])]


def _without(match: re.Match[str]) -> str:
    word = match[0]
    if word in _dull or match.string.startswith("(", match.end()) or not (places := _candidates(word)):
        return word
    if kind := _kind(match.string, match.start(), match.end()):
        for start, end in [place for place in reversed(places) if not is_placeholder(word[slice(*place)])]:
            word = f"{word[:start]}[redacted:{kind}]{word[end:]}"
    return word


def _kind(text: str, start: int, end: int) -> str:
    """Name what the surroundings of a word speak of; "" where they speak of no credential."""
    first = max(0, start - _BEFORE)
    above = text.rfind("\n", first, start) + 1
    line = above or first
    if is_announced(text[line:start]):
        return ""
    rest = text[end : end + _BEHIND].partition("\n")[0]
    around = f"{text[line:start]}\n{rest}".lower()
    asked = text[max(0, above - _ABOVE) : above].lower()
    spoken = [*compiled(_SPOKEN).finditer(around), *compiled(_ASKED).finditer(asked)]
    if not spoken and compiled(_ALONE).fullmatch(text, line, start) and compiled(_ALONE).fullmatch(rest):
        spoken = [*compiled(_SPOKEN).finditer(_heading(text[max(0, above - _HEADED) : above]))]
    return "password" if any(found["password"] for found in spoken) else "secret" if spoken else ""


def _heading(above: str) -> str:
    """The last line of more than a word, in lower case."""
    return next((line.lower() for line in reversed(above.split("\n")) if " " in line.strip()), "")


# --- alone -----------------------------------------------------------------------------------------------------------
_LEAST_LONE, _LONGEST_LONE = 28, 128  # below are ids of 128 bits, beyond is data
_LEAST_OF_ONE_CASE = 32
_LEAST_ODD_LONE = 0.4  # of its pairs
_RUN = (
    r"(?<![A-Za-z0-9_.~/+@%#-])(?!eyJ|AAAA|[a-z]{1,12}_|[a-z]{2,5}-[A-Za-z0-9]{8,29}(?![\w-]))[A-Za-z0-9](?=[A-Za-z0-9_-]{0,60}[0-9])"
    rf"[A-Za-z0-9_-]{{{_LEAST_LONE - 1},{_LONGEST_LONE}}}+={{0,2}}(?![\w./@(+-])"
)
_PUBLIC_FORM = (
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-|(?<![a-z0-9])(?:0x)?[0-9a-f]{16,}(?![a-z0-9])"
    r"|(?!nsec)[a-z]{2,5}1[ac-hj-np-z02-9]{38,}$|[xyzt]pub"
)
_NAME = r"\s*[\w.:@/#-]{1,300}\s*"
_PUBLIC = ("-----BEGIN ", '"kty"')  # in a text with one of these stands what everybody may read


def hide_lone(text: str) -> str:
    """The text without keys that only their characters show. In 506,000 lines of histories, logs and code, letters of
    both cases and digits, drawn and at least 28 long, were a key each time. A text of one word is left as it is: what
    names a session looks the same."""
    if compiled(_NAME).fullmatch(text) is not None or any(map(text.__contains__, _PUBLIC)):
        return text
    return compiled(_RUN).sub(_hidden, text)


def _hidden(match: re.Match[str]) -> str:
    run = match[0]
    if (
        (run.islower() and len(run.rstrip("=")) < _LEAST_OF_ONE_CASE)
        or run.isupper()
        or not is_drawn(run, _LEAST_ODD_LONE)
    ):
        return run
    before = match.string[max(0, match.start() - _BEFORE) : match.start()]
    is_fact = compiled(_PUBLIC_FORM).search(run) or is_announced(before)
    return run if is_fact else "[redacted:secret]"
