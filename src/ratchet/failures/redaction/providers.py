"""Hides the credentials of providers: the forms they publish, and any prefix, separator and drawn characters alike.

The expression of a form is made from its row in `provider_forms` when a text first holds its first characters.

Lean: a hook process imports this.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled
from ratchet.failures.redaction.literals import LONGEST, MOST
from ratchet.failures.redaction.provider_forms import CLASSES, TABLE
from ratchet.failures.redaction.values import is_announced, is_drawn, is_placeholder, odd_pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

# Forms that the table's language cannot say.
_OPENAI = (
    r"(?<![A-Za-z0-9-])sk-(?:(?:proj|svcacct|admin|or-v1|None)-[\w-]{8,}|(?=[A-Za-z_-]{0,200}[0-9])[\w-]{12,}"
    r"|(?:[a-z]{2,8}-){0,2}[A-Za-z]{16,})"
)
_IRREGULAR = (
    ("sk-", _OPENAI, "openai"),
    ("xox", r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9+/-]{8,}", "slack"),
    ("dapi", r"(?<![A-Za-z0-9])(?:dapi[0-9a-f]{32}(?:-[0-9])?)+", "databricks"),
)

_ESCAPES = ("\\n", "\\r", "\\t")
_ESCAPE = r"\x1b\[[0-9;]{0,8}m|%[0-9A-Fa-f]{2}"
_SPACES = {code: " " for code in range(128) if not chr(code).isalnum()}
# A form begins where a word does, or behind what a line end, a space or a colour is written as.
_BEGINS = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=[0-9;]m))"
_FIELD = r"\[([a-z])(\d+)\]"
_CUT = 16  # characters of a last field from which on a cut key counts
_LEAST_ODD = 2  # pairs that no word has, in the fields of a form
_ONE_FIELD = 4  # parts of a form that has only one
_ALNUM = frozenset("wludh")  # classes that hold letters and digits only
_Row = tuple[str, str, str]  # (kind, literal that a text with it holds, form)


class _Index:
    """The table by what is looked up for each piece of a text."""

    __slots__ = ("inner", "whole")

    def __init__(self) -> None:
        self.whole: dict[str, list[_Row]] = {}
        self.inner: list[_Row] = []
        for kind, *forms in map(str.split, TABLE):
            for form in forms:
                literals = [each for each in compiled(r"\[[a-z]\d+\]").split(form) if each]
                row = kind, max(literals, key=len), form
                pieces = [] if form.startswith("[") else literals[0].translate(_SPACES).split()
                if not pieces or literals[0].endswith(pieces[0]):
                    self.inner.append(row)
                else:
                    self.whole.setdefault(pieces[0], []).append(row)

    def rows(self, words: str, pieces: list[str]) -> list[_Row]:
        """Rows of which a text of these words may hold a value."""
        found = [row for row in self.inner if row[1] in words]
        if not self.whole.keys().isdisjoint(pieces):
            for head in self.whole.keys() & set(pieces):
                found += [row for row in self.whole[head] if row[1] in words]
        found = [row for row in found if _may_stand(row, pieces)]
        # `sb_secret_` before `secret_`
        return sorted(found, key=lambda row: -len(row[1])) if len(found) > 1 else found


def _may_stand(row: _Row, pieces: list[str]) -> bool:
    """Tell whether a piece is long enough to begin this form: `pat` stands in every `path`, and no path is its key."""
    begins, least = _beginning(row[2])
    return not least or any([len(piece) >= least and begins in piece for piece in pieces])  # noqa: C419


def _beginning(form: str) -> tuple[str, int]:
    """The literal that a form of several fields begins with, and how many letters and digits it makes with the field
    behind it; 0 where that is not one piece."""
    found = _beginnings.get(form)
    if found is None:
        parts = compiled(_FIELD).split(form)
        found = "", 0
        if len(parts) > _ONE_FIELD and parts[0].isalnum() and parts[1] in _ALNUM:
            found = parts[0], len(parts[0]) + int(parts[2]) // 2
        _beginnings[form] = found
    return found


_beginnings: dict[str, tuple[str, int]] = {}


_made: list[_Index] = []
_expressions: dict[str, re.Pattern[str]] = {}


def hide_provided(text: str, words: Sequence[str]) -> tuple[str, bool]:
    """The text without credentials of providers, and whether what a machine drew may be left in it. `words` are those
    of its words that are long enough. No form holds a space: a word that was none is not looked at again."""
    if not "".join(words).strip("0123456789abcdef-"):  # most records hold an id and no other long word
        return text, False
    rest = [word for word in words if word not in _plain]
    if not rest:
        return text, False
    joined = " ".join(rest)
    pieces = _pieces(joined)
    if not _made:
        _made.append(_Index())
    found: list[str] = []
    for kind, literal, form in _made[0].rows(joined, pieces):
        text = _expression(form).sub(lambda match, kind=kind: _hidden(kind, match), text)  # type: ignore[misc]
        found.append(literal)
    for needle, source, kind in _IRREGULAR:
        if needle in joined:
            text = compiled(source).sub(
                lambda found, kind=kind: found[0] if is_placeholder(found[0]) else f"[redacted:{kind}]",  # type: ignore[misc]
                text,
            )
            found.append(needle)
    is_drawn = _holds_key(pieces)
    _remember(rest, found, is_drawn)
    if is_drawn:
        text = compiled(_RUN).sub(_hidden_run, text)
        if any(map(_is_bare_key, compiled(_BARE).findall(text))):
            text = compiled(_BESIDE_KIND).sub(_hidden_beside_kind, text)
    return text, is_drawn


def _pieces(words: str) -> list[str]:
    """The runs of letters and digits in these words."""
    if "\\" in words or "%" in words or "\x1b" in words:
        for escape in _ESCAPES:
            words = words.replace(escape, " ")
        if "%" in words or "\x1b" in words:
            words = compiled(_ESCAPE).sub(" ", words)
    return words.translate(_SPACES).split()


def _holds_key(pieces: list[str]) -> bool:
    long = [piece for piece in pieces if len(piece) >= _GATE]
    return any(not piece.isdecimal() and _may_be_key(piece) for piece in long)


_plain: set[str] = set()  # words that are no credential of a provider, whatever stands beside them


def _remember(words: list[str], literals: list[str], is_drawn: bool) -> None:
    """Remember those of these words that hold no literal of the forms that were looked for, and no key."""
    if len(_plain) > MOST:
        _plain.clear()
    plain = [word for word in words if len(word) <= LONGEST]
    for literal in literals:
        plain = [word for word in plain if literal not in word]
    _plain.update([word for word in plain if not _holds_key(_pieces(word))] if is_drawn else plain)


def _may_be_key(piece: str) -> bool:
    if piece.isalpha():
        return len(piece) >= _LEAST_MARKED and not piece.islower() and is_drawn(piece)
    return len(piece) >= _HASH if _HEX.issuperset(piece) else is_drawn(piece)


def _hidden(kind: str, match: re.Match[str]) -> str:
    """A value of a form; words behind its first characters (`re_export_all_the_names`) are none."""
    body = "".join(match.groups())
    return f"[redacted:{kind}]" if odd_pairs(body) >= _LEAST_ODD and not is_placeholder(body) else match[0]


def _expression(form: str) -> re.Pattern[str]:
    """The expression that finds a form: a last field may be cut short, one in the middle may be of another length."""
    found = _expressions.get(form)
    if found is None:
        import re

        parts = compiled(_FIELD).split(form)
        source, last = re.escape(parts[0]), len(parts) - 3
        for at in range(1, len(parts), 3):
            each, length = CLASSES[parts[at]], int(parts[at + 1])
            if at != last:
                source += rf"([{each}]{{{length // 2},{2 * length}}})"
            elif parts[at] == "h" and parts[0][-1:].isalnum():
                source += rf"([{each}]{{{length}}})(?![A-Za-z0-9])"
            else:
                source += rf"([{each}]{{{min(length, _CUT)},}}+)=*"
            source += re.escape(parts[at + 2])
        begins = "" if form[0] == "/" else _BEGINS
        if parts[0].isalnum() and last == 1:  # so short a beginning stands in the middle of any base64
            whole = rf"{re.escape(parts[0])}[{CLASSES[parts[1]]}]{{{parts[2]}}}(?![A-Za-z0-9+=])"
            begins += rf"(?:(?<![+/])|(?<=/)(?={whole}))"  # but for the name of a file
        found = _expressions[form] = compiled(begins + source)
    return found


# --- any provider ------------------------------------------------------------------------------------------------
# Ids have at most 28 drawn characters (128 bits and a time), keys mostly 32 and more; a shorter one is taken for a key
# where its prefix says so or is an abbreviation that nobody can pronounce.
_GATE = 10  # characters of one piece at least of a text that is looked at
_SHORTEST_DRAWN = 5  # characters of each piece that counts
_LEAST_MARKED, _LEAST_ALONE, _LEAST_PARTS = 20, 30, 45  # drawn characters: prefix that says so, any, no prefix
_LEAST_ASSIGNED = 24
_ASSIGNED = r"(?<![A-Za-z0-9])([A-Z][A-Z0-9_]{2,40})=\\{0,3}[\"']?$"
_RUN = (
    r"(?!eyJ)(?<![A-Za-z0-9_.~/+@%-])[A-Za-z0-9](?=[A-Za-z0-9]{0,30}[_.~-]|[A-Za-z0-9]{20})[A-Za-z0-9_.~-]{19,}+"
    r"(?:[+/=][A-Za-z0-9_+/=-]{0,2000}+)?"
)
_MARK = (
    r"(?i)(?:.*[_.~-])?(?:sk|rk|pk|key|apikey|secret|token|tok|live|prod|test|pat|o?auth|api|access|priv(?:ate)?|pw)"
    r"(?=[_.~-])"
)
_PREFIX = r"[A-Za-z][A-Za-z0-9]{1,15}"
_VOWEL = r"(?i)[aeiouy]"
_IDS = frozenset(
    ("msg", "evt", "txn", "ch", "rs", "fc", "cs", "cmpl", "chatcmpl", "srvtoolu")
)  # abbreviations before ids
_FILE = r"\.[a-z][a-z0-9]{0,4}\d?$"
_HEX = frozenset("0123456789abcdefABCDEF")
_HASH = 32  # hexadecimal digits


def _hidden_run(match: re.Match[str]) -> str:
    run = match[0][:400]
    pieces = compiled(r"[^A-Za-z0-9]+").split(run)
    long = [piece for piece in pieces if len(piece) >= _SHORTEST_DRAWN]
    hexes = [piece for piece in long if _HEX.issuperset(piece)]
    others = [piece for piece in long if not _HEX.issuperset(piece) and is_drawn(piece)]
    drawn = sum(map(len, others))
    if drawn < _SHORTEST_DRAWN and sum(map(len, hexes)) < _HASH:
        return match[0]
    first = pieces[0]
    if compiled(_PREFIX).fullmatch(first) is None or (len(first) >= _SHORTEST_DRAWN and is_drawn(first)):
        is_whole = drawn >= _LEAST_PARTS and run.count(".") >= 2 and compiled(_FILE).search(run) is None
        is_secret = is_whole or (drawn >= _LEAST_ASSIGNED and _is_assigned(match))
    elif first in _IDS or first.lower().startswith(("sha", "md5")) or compiled(_FILE).search(run):
        is_secret = False
    else:
        mark = compiled(_MARK).match(run, 0, run.find((others or hexes)[0]) + 1)
        if mark is not None:
            rest = "".join(compiled(r"[^A-Za-z0-9]+").split(run[mark.end() :]))
            drawn = max(drawn, len(rest) if is_drawn(rest) else 0)
        strange = odd_pairs(first) > 0 or compiled(_VOWEL).search(first) is None
        is_secret = drawn >= (_LEAST_MARKED if mark or strange else _LEAST_ALONE) or (
            (mark is not None or odd_pairs(first) >= _LEAST_ODD)
            and any(len(piece) >= _HASH and f"_{piece}" in run for piece in hexes)
        )
    return "[redacted:secret]" if is_secret else match[0]


def _is_assigned(match: re.Match[str]) -> bool:
    """Tell whether it is the value of an environment variable (`ACME_LIVE=...`) that is no fact about something."""
    found = compiled(_ASSIGNED).search(match.string[max(0, match.start() - 50) : match.start()])
    return found is not None and not is_announced(found[1])


# A key without a form of its own, beside the name of its provider (`vercel: ...`).
_BESIDE_KIND = (
    rf"(?i)(\b(?:{'|'.join(sorted({row.partition(' ')[0] for row in TABLE}))}|netlify|okta|algolia|cohere|mistral)"
    r"(?:[\s_.-](?:api|access|auth|admin|secret|token|key|pat))*[\"']?[\s:=]{1,4}[\"']?)([A-Za-z0-9_+/-]{14,}+)(?![.(])"
)


_BARE = r"(?i)[\s:=\"']([A-Za-z0-9_+/-]{14,}+)(?![.(])"  # any value that it may find, far sooner


def _hidden_beside_kind(match: re.Match[str]) -> str:
    return f"{match[1]}[redacted:secret]" if _is_bare_key(match[2]) else match[0]


def _is_bare_key(value: str) -> bool:
    return is_drawn(value, 0.4) and not value.isalpha() and not _HEX.union("-").issuperset(value)
