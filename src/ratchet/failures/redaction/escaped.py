"""Redacts text in which lines are escaped (`\\n`, `\\"`), as in a JSON string or in a language's literal, as the text
that it is, and escapes it again where that hid something.

Lean: a hook process imports this, and only for a text that holds an escaped line end.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled

try:  # the C half of `json`: its Python half loads `re`, a quarter of the time that a hook has
    from _json import encode_basestring, encode_basestring_ascii, scanstring
except ImportError:  # another implementation of Python
    from json.decoder import scanstring  # type: ignore[no-redef,attr-defined]
    from json.encoder import encode_basestring, encode_basestring_ascii

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Between two bare quotes or ends of a line; so no quote need be matched with another, and a cut text is read, too.
_RUN = r"(?<![^\"\r\n])[^\"\\\r\n]*+(?:\\.[^\"\\\r\n]*+)++"
_NO_JSON = r"\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})|(\\)"
_LONG = 400
_JUDGED = 80  # characters of a value that its name judges
_LINE = r"(?<!\\)(?:\\\\){0,20}\\n"
_MARKED = r"\0(\d+)\0"  # no text that is kept holds it


def hide_escaped(text: str, hide: Callable[[str], str], hide_around: Callable[[str], str]) -> str:
    """The text with every run of escaped lines as `hide` leaves what it says, and all of it as `hide_around` does: that
    sees of a long run the first lines, which a name before it judges, since the rest has been read; it sees all where
    the text itself holds what marks a tail."""
    markable = "\0" not in text
    tails: list[str] = []
    out: list[str] = []
    done = 0
    for run in compiled(_RUN).finditer(text):
        written = run[0]
        if "\\n" not in written:
            continue
        written = _hidden(written, hide)
        end = compiled(_LINE).search(written, _JUDGED, _LONG) if markable and len(written) > _LONG else None
        if end is not None:
            tails.append(written[end.end() :])
            written = f"{written[: end.end()]}\0{len(tails) - 1}\0"
        out += (text[done : run.start()], written)
        done = run.end()
    text = hide_around("".join((*out, text[done:])))
    return compiled(_MARKED).sub(lambda mark: tails[int(mark[1])], text).replace("\0", "") if tails else text


def _hidden(written: str, hide: Callable[[str], str]) -> str:
    try:
        plain = _read(written)
    except ValueError:  # another language's escapes: a backslash that JSON does not know is one itself
        plain = _read(compiled(_NO_JSON).sub(r"\g<0>\1", written))
    found = hide(plain)
    if found == plain:
        return written
    encode = encode_basestring_ascii if written.isascii() or "\\u" in written else encode_basestring
    return str(encode(found)[1:-1])


def _read(written: str) -> str:
    """The text of an escaped one. Raises ValueError."""
    plain, end = scanstring(f'{written}"', 0, False)
    if end != len(written) + 1:
        raise ValueError(f"a quote is at character {end}")
    return str(plain)
