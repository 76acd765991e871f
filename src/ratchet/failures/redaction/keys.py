"""Hides private keys: blocks of PEM, PGP and SSH2 also without an end or a beginning, or lines out of their middle,
PuTTY's, JSON Web Keys, XML's; and secrets in base64.

Lean: a hook process imports this, and only for a text that may hold one.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable

_NUMBER = r"(?:[ \t]{0,8}[0-9]{1,6}(?:→|\\{1,7}u2192|\t|\\{1,7}t|[:|])[ \t]?)?"  # of a line in a listing
_KEY_MARK = r"-{4,5} ?(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
_PROSE = r"[\"'`\\]{1,4}[ ,.)]{1,3}[a-z]{1,12}[ .]"  # ... says a sentence about the mark
_LEFT_OUT = r"(?:\s|\\{1,7}[nr]){0,8}(?:\.{3}|…)(?:\s|\\{1,7}[nr]){0,8}-----END [A-Z ]{0,40}-----"  # the key itself
_KEY_LINE = rf"{_NUMBER}(?:[A-Za-z0-9+/=]{{1,80}}|(?:Proc-Type|DEK-Info|Version|Comment): .{{0,80}}|)"


def hide_blocks(text: str) -> str:
    """Whole blocks; a block whose end is missing up to the end of the text, one whose beginning is missing upwards."""
    out: list[str] = []
    kept_from = shown = 0
    inside = False
    for mark in compiled(_KEY_MARK).finditer(text):
        left_out = None if inside else compiled(_LEFT_OUT).match(text, mark.end())
        if left_out is not None:
            shown = left_out.end()
        if mark.end() <= shown or left_out is not None or compiled(_PROSE).match(text, mark.end()):
            continue
        if mark[1] == "BEGIN":
            if not inside:
                out += (text[kept_from : mark.start()], "[redacted:private-key]")
            inside = True
        else:
            if not inside:
                out += (_without_key_lines(text[kept_from : mark.start()]), "[redacted:private-key]")
            inside = False
            kept_from = mark.end()
    if not out:
        return text
    return "".join(out) if inside else "".join((*out, text[kept_from:]))


def _without_key_lines(text: str) -> str:
    """The text up to the lines of base64 at its end (line ends may be escaped, as inside JSON)."""
    starts = [0, *(found.end() for found in compiled(r"\n|\\n").finditer(text))]
    end = len(text)
    is_key_line = compiled(_KEY_LINE).fullmatch
    while end > 0:
        while starts[-1] > end:
            starts.pop()
        start = starts[-1]
        if is_key_line(text[start:end].strip(" \t\r\"',+")) is None:
            break
        end = start
        while end > 0 and (text[end - 1] in "\r\n" or text.startswith("\\n", end - 2)):
            end -= 1 if text[end - 1] in "\r\n" else 2
    return _without_last_line(text, end)


def _without_last_line(text: str, end: int) -> str:
    """The first line of a key may stand behind other text, as a JSON string does."""
    last = compiled(r"[A-Za-z0-9+/=]{16,80}").match(text[max(0, end - 80) : end][::-1])
    return text[: end - last.end()] if last is not None else text[:end]


# PEM and OpenSSH break base64 after 64 and 70 characters, MIME after 76 and pip's hashes have 64 of one case.
_MIDDLE = (
    r"(?<![A-Za-z0-9+/=_.-])(?=[A-Z0-9+/]{0,63}[a-z])(?=[a-z0-9+/]{0,63}[A-Z])(?=[A-Za-z+/]{0,63}[0-9])"
    r"[A-Za-z0-9+/]{64}(?:[A-Za-z0-9+/]{6})?(?![A-Za-z0-9+/=_.-])|\[redacted:private-key\]"  # a line hidden before
)
_BETWEEN = (  # with what a listing, a log or a program writes before and behind each line
    r"[^\n\\A-Za-z0-9]{0,20}(?:\\[rn]){0,2}[^\n\\A-Za-z0-9]{0,20}(?:\n(?:[^\n]{0,60}[^A-Za-z0-9/=_.])?)?"
)
_LEAST_LINES = 3


def hide_middle(text: str) -> str:
    """The text without lines out of the middle of a key, whose ends were cut. What is in a block that everybody may
    read stays."""
    if "-----BEGIN " in text or "-----END " in text:
        return text
    runs: list[list[tuple[int, int]]] = []
    for line in compiled(_MIDDLE).finditer(text):
        if runs and _is_next(text[runs[-1][-1][1] : line.start()]):
            runs[-1].append(line.span())
        else:
            runs.append([line.span()])
    out: list[str] = []
    done = 0
    for run in [each for each in runs if len(each) >= _LEAST_LINES]:
        for start, end in _with_cut_lines(text, run):
            if start >= done:
                out += (text[done:start], "[redacted:private-key]")
                done = end
    return "".join((*out, text[done:]))


def _is_next(between: str) -> bool:
    return compiled(_BETWEEN).fullmatch(between) is not None and ("\n" in between or "\\n" in between)


def _with_cut_lines(text: str, run: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The places of the lines, and of what is left of the ones before and behind them."""
    (first, _), (_, last) = run[0], run[-1]
    cut = compiled(_CUT_LINE)
    before = [each.span() for each in cut.finditer(text, max(0, first - _LOOKED), first)]
    behind = [each.span() for each in cut.finditer(text, last, last + _LOOKED)]
    before = [(start, end) for start, end in before if _is_next(text[end:first])]
    behind = [(start, end) for start, end in behind if _is_next(text[last:start])]
    longest = [max(part, key=lambda each: each[1] - each[0]) for part in (before, behind) if part]
    return sorted([*run, *longest])


_CUT_LINE = r"(?=[A-Za-z0-9+/]{0,60}[A-Z0-9+/])[A-Za-z0-9+/]{4,70}={0,2}"
_LOOKED = 200  # characters before and behind


_ENCODED = r"(?<![A-Za-z0-9+/=_-])(?=[A-Za-z0-9+/]{0,200}[0-9])[A-Za-z0-9+/]{40,20000}={0,2}(?![A-Za-z0-9+/=_-])"


def hide_encoded(text: str, redact: Callable[[str], str]) -> str:
    """The text without base64 of a text in which a secret stands."""

    def hidden(found: re.Match[str]) -> str:
        from binascii import Error, a2b_base64

        whole = found[0].rstrip("=")[: len(found[0].rstrip("=")) // 4 * 4]
        try:
            said = a2b_base64(whole).decode().rstrip("\n")
        except (Error, ValueError):
            return found[0]
        plain = said.replace("\n", "").replace("\t", "").replace("\r", "")
        return "[redacted:secret]" if plain.isprintable() and redact(said) != said else found[0]

    return compiled(_ENCODED).sub(hidden, text)


# --- keys in other formats -------------------------------------------------------------------------------------------
_END = r"(?:\r?\n|(?:\\{1,7}r)?\\{1,7}n)"
_PUTTY = rf"(Private-Lines: [0-9]{{1,4}}{_END})(?:{_NUMBER}[A-Za-z0-9+/=]{{1,100}}(?={_END}|$|[\"'\\]){_END}?)+"
_PUTTY_MAC = r"(Private-(?:MAC|Hash): )[0-9a-fA-F]{16,}"
_JWK = r"\{[^{}]*\bkty\b[^{}]*"
_JWK_PART = r"([\"'\\]{1,16}(?:d|p|q|dp|dq|qi|k)[\"'\\]{1,16}\s{0,8}:\s{0,8}[\"'\\]{1,16})[A-Za-z0-9_-]{16,}"
_XML_PART = r"(<(?:P|Q|DP|DQ|InverseQ|D)>)[^<\s]{16,}"
_HIDDEN = r"\1[redacted:private-key]"


def hide_putty(text: str) -> str:
    """The text without the private lines of PuTTY's keys."""
    return compiled(_PUTTY_MAC).sub(_HIDDEN, compiled(_PUTTY).sub(r"\1[redacted:private-key]\n", text))


def hide_jwk(text: str) -> str:
    """The text without the private parts of JSON Web Keys (RFC 7518, section 6)."""
    return compiled(_JWK).sub(lambda match: compiled(_JWK_PART).sub(_HIDDEN, match[0]), text)


def hide_xml(text: str) -> str:
    """The text without the private parts of .NET's XML of a key."""
    return compiled(_XML_PART).sub(_HIDDEN, text)
