"""Hides what whole lines say is a credential: the cells below a heading `password` or `api_key` (in comma-, semicolon-
and tab-separated values and in tables drawn with bars), and the words of a passphrase. Lines may end by an escaped line
end, as inside JSON.

Lean: a hook process imports this, and only for a text that may hold such lines.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled
from ratchet.failures.redaction.forms import COLUMN
from ratchet.failures.redaction.named import is_secret_value
from ratchet.failures.redaction.values import PLAIN, is_placeholder, looks_random

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

_LINE_END = r"(\r?\n|(?:\\{1,4}r)?\\{1,4}n)"
_PASSWORDS = r"(?:[a-z]{1,20}[_ .-])?(?:password|passwd|passphrase|passcode|pwd)"
_TOKENS = (
    r"(?:[a-z]{1,20}[_ .-])?(?:secret|token|api[_ -]?key|(?:access|secret|private|auth|account)[_ -]?key)"
    r"|(?:client|api|access|refresh|auth)(?:secret|token)"
)
_HEADING = r"[\w .#()/-]{0,40}"
_DELIMITERS = "\t|;,"
_MOST_CELLS = 200  # of a line; more is no table that a person made
_SHORTEST_PASSWORD, _SHORTEST_RANDOM, _SHORTEST_TOKEN = 3, 6, 8  # characters
_RULER = frozenset("-+|=: ")  # what a line below the headings of a drawn table is made of


def hide_phrases(text: str) -> str:
    """The text without the unquoted passphrases of several words in it."""
    return compiled(_PHRASE).sub(_hidden_phrase, text)


def hide_columns(text: str) -> str:
    """The text without the cells of columns of credentials: in the lines that follow the headings and have as many."""
    pieces = compiled(_LINE_END).split(text)
    columns: dict[int, str] = {}
    delimiter, width, hidden = "", 0, False
    for at in range(0, len(pieces), 2):
        line = pieces[at]
        cells = _cells(line, delimiter) if columns else []
        if len(cells) != width or not columns:
            if columns and line and _RULER.issuperset(line):
                continue
            delimiter, width, columns = _headings(line)
            continue
        changed = [_shown(cell, columns.get(i, ""), delimiter) for i, cell in enumerate(cells)]
        if changed != cells:
            pieces[at] = delimiter.join(changed)
            hidden = True
    return "".join(pieces) if hidden else text


def _headings(line: str) -> tuple[str, int, dict[int, str]]:
    """(delimiter, cells, column -> what it holds) of a line of headings; no columns where it is none.

    Other text may stand before the first heading, as where the table is a JSON string.
    """
    if compiled(COLUMN).search(line.lower()) is None:
        return "", 0, {}
    for delimiter in _DELIMITERS:
        if delimiter not in line or line.count(delimiter) >= _MOST_CELLS:
            continue
        cells = _cells(line, delimiter)
        names = [cell.strip(" \"'\\") for cell in cells]
        # A list of names in code ends its lines by a comma; a drawn table has bars at both ends.
        whole = delimiter == "|" or all(names)
        if whole and all(compiled(_HEADING).fullmatch(name) for name in names[1:]):
            return delimiter, len(cells), dict(_secret_columns(names))
    return "", 0, {}


def _secret_columns(names: list[str]) -> Iterator[tuple[int, str]]:
    for position, name in enumerate(names):
        low = name.lower()
        if compiled(_PASSWORDS).fullmatch(low):
            yield position, "password"
        elif compiled(_TOKENS).fullmatch(low):
            yield position, "secret"


def _cells(line: str, delimiter: str) -> list[str]:
    """The cells of a line; a delimiter between double quotes is part of its cell."""
    cells = line.split(delimiter)
    if '"' not in line:
        return cells
    whole: list[str] = []
    is_open = False
    for cell in cells:
        if is_open:
            whole[-1] += delimiter + cell
        else:
            whole.append(cell)
        is_open ^= cell.count('"') % 2 == 1
    return cells if is_open else whole


def _shown(cell: str, column: str, delimiter: str) -> str:
    """A cell as it may be kept."""
    value = cell.strip(" \"'\\")
    if not column or is_placeholder(value):
        return cell
    is_quoted = '"' in cell or "'" in cell
    if delimiter == "," and cell.startswith(" "):  # prose and code: a word there is just a word
        is_secret = not is_quoted and looks_random(value, _SHORTEST_TOKEN)
    elif column == "password":
        is_bare = delimiter == "|" and not cell.startswith(" ")  # alternatives, more often than a table
        long = len(value) >= _SHORTEST_PASSWORD
        is_secret = looks_random(value, _SHORTEST_RANDOM) if is_bare else long and (is_quoted or " " not in value)
    else:
        is_secret = looks_random(value, _SHORTEST_TOKEN)
    return cell.replace(value, f"[redacted:{column}]") if is_secret else cell


# SQL names its columns once, and then gives the values of each row.
_INSERTED = (
    r"(?i)\binsert\s{1,4}(?:ignore\s{1,4})?into\s{1,4}[^\s(]{1,100}\s{0,4}\(([^()]{1,2000}+)\)\s{0,8}values\s{0,8}"
)
_TUPLE = r"\((?:[^'()]|'[^']{0,1000}+'){0,400}+\)(?:\s{0,8},\s{0,8})?"
_CELL = r"(\s*(?:[NE]?'))([^']{3,})(')|(?:[^',]|'[^']*')+"


def hide_inserted(text: str) -> str:
    """The text without what an INSERT of SQL puts into columns of credentials."""
    out: list[str] = []
    done = 0
    for match in compiled(_INSERTED).finditer(text):
        columns = dict(_secret_columns([name.strip(' \r\n\t"`[]\\') for name in match[1].split(",")]))
        at = match.end()
        while columns and (row := compiled(_TUPLE).match(text, at)) is not None:
            at = row.end()
            for number, cell in enumerate(compiled(_CELL).finditer(text, row.start() + 1, row.end())):
                if number in columns and cell[2] and not is_placeholder(cell[2]):
                    out += (text[done : cell.start(2)], f"[redacted:{columns[number]}]")
                    done = cell.end(2)
    return "".join((*out, text[done:])) if out else text


# --- passphrases ----------------------------------------------------------------------------------------------------
# Without quotes a passphrase is all that stands on a line behind the name that begins it.
_PHRASE = (
    r"(?i)pass(?:word|phrase|wd)(?: ?:| =)[ \t]{1,8}([^\s\"'`\\]{1,30}(?: [^\s\"'`\\]{1,30}){2,12})"
    r"(?=[ \t]{0,4}(?:$|[\r\n]|\\{1,7}[nr]|\\{0,7}[\"'`]))"
)
_BEFORE_NAME = 60  # characters before the name that are looked at
_BEGINS_LINE = (
    r"(?:^|[\n\"'`]|\\n)[ \t>*-]{0,20}(?:(?:enter|re-?type|repeat|new|old|current|your|the|my|vault|wallet|master|db"
    r"|database|root|admin|user|wi-?fi|gpg|ssh)[ _-]){0,4}$"
)
_WORD_OF_PHRASE = r"[\w!@#$%^&*+=~-]+"


def _hidden_phrase(match: re.Match[str]) -> str:
    """A passphrase is made of bare words, a sentence of others too."""
    words = match[1].lower().split()
    is_sentence = not PLAIN.isdisjoint(words)
    if is_sentence or not all(compiled(_WORD_OF_PHRASE).fullmatch(word) for word in words):
        return match[0]
    before = match.string[max(0, match.start() - _BEFORE_NAME) : match.start()].lower()
    if compiled(_BEGINS_LINE).search(before) is None:
        return match[0]
    return match[0].removesuffix(match[1]) + "[redacted:password]"


# --- codes -----------------------------------------------------------------------------------------------------------
_CODES = r"(?i)(?:recovery|backup)[ _-]codes?[^\n:0-9]{0,60}[:\n]"
_CODE = r"(?<![\w.-])[0-9A-Za-z]{4,12}(?:-[0-9A-Za-z]{4,12}){0,3}(?![\w.-])"
_CODES_LINE = rf"[\s\[\"'>*•-]*(?:\d{{1,2}}[.)][ \t]+)?(?:{_CODE}[\"',;\s\]]*)*"


def hide_codes(text: str) -> str:
    """The text without the codes that follow the words `recovery codes`: groups of one length, a digit among them."""
    out: list[str] = []
    done = 0
    for heading in compiled(_CODES).finditer(text):
        start = end = heading.end()
        for line in text[start : start + 600].split("\n"):
            if start < done or compiled(_CODES_LINE).fullmatch(line) is None:
                break
            end += len(line) + 1
        codes = compiled(_CODE).findall(said := text[start:end])
        if len(codes) > 1 and len({len(code) for code in codes}) == 1 and any(map(str.isdigit, "".join(codes))):
            out += (text[done:start], compiled(_CODE).sub("[redacted:password]", said))
            done = end
    return "".join((*out, text[done:]))


# --- YAML ------------------------------------------------------------------------------------------------------------
_NUMBERED = r"(?:(?<![^\r\n])|(?<=\\n))(?:[ \t]{0,8}\d{1,6}(?:→|\t|\\{1,7}t))?"
_INDENT = r"[ \t]{0,40}(?:- )?"
_START = _NUMBERED + _INDENT
_STOP = r"(?=[ \t]{0,8}(?:$|#|[\r\n]|\\{1,7}[nr]))"
_YAML_PASS = rf"({_START}[\"']?pass[\"']?:[ \t]{{1,8}})([^\s\"'\\,{{}}\[\]]{{4,80}}){_STOP}"
_OWNER = rf"{_START}[\"']?(?:user|username|login|host|hostname|server|email|auth)[\"']?[:=]"
_FACTS = r"[\d.,%/]+s?$|[\w./-]*[./][\w/-]+$|[\w.]+::"  # counts, files, tests


def hide_yaml_pass(text: str) -> str:
    """The text without the values of `pass:`, where they do not look like a word, or a user or a host stands beside."""
    if "pass:" not in text and 'pass":' not in text and "pass':" not in text:
        return text
    has_owner = compiled(_OWNER).search(text) is not None

    def hidden(match: re.Match[str]) -> str:
        value = match[2]
        is_plain = value.isalpha() and not has_owner
        if is_plain or is_placeholder(value) or compiled(_FACTS).match(value) is not None:
            return match[0]
        return f"{match[1]}[redacted:password]"

    return compiled(_YAML_PASS).sub(hidden, text)


_BLOCK = (
    rf"({_START}[\"']?([\w.-]{{0,40}}(?:password|passwd|passphrase|secret|token|credentials?|api[_-]?key|private[_-]?key)"
    rf"[\w-]{{0,20}})[\"']?:[ \t]{{1,8}}[|>][-+0-9]{{0,2}}[ \t]{{0,8}}(?:\r?\n|\\{{1,7}}n))"
)
_INDENTED = (
    r"(?:(?:[ \t]{0,80}(?:\r?\n|\\{1,7}n)){0,20}+(?:[ \t]{0,8}\d{1,6}(?:→|\t))?([ \t]{1,80})[^\r\n\\]{1,400}"
    r"(?:\r?\n|\\{1,7}n|$|(?=[\"'\\])))"
)


def hide_blocks(text: str) -> str:
    """The text without the lines of YAML's block scalars under a name that says so."""
    out: list[str] = []
    done = 0
    for match in compiled("(?i)" + _BLOCK).finditer(text):
        if match.start() < done or "redacted:" in text[match.end() : match.end() + 40]:
            continue
        line = match[1]
        margin = len(line) - len(line.lstrip(" \t"))
        end = match.end()
        while (found := compiled(_INDENTED).match(text, end)) is not None:
            if len(found[1]) <= margin or found.end() == end:
                break
            end = found.end()
        if end > match.end():
            out += (text[done : match.end()], " " * (margin + 2), "[redacted:secret]\n")
            done = end
    return "".join((*out, text[done:])) if out else text


# --- brackets --------------------------------------------------------------------------------------------------------
_BREAK = r"(?:\s|\\{1,7}[nrt]|#[^\r\n\\]{0,200}(?=[\r\n\\])){0,80}+"  # a remark may stand there
_PIECE = r"([bfru]{0,2}(\\{0,7}[\"']))([^\"'\r\n\\]{3,400}+)(?=\\{0,7}[\"'])"
_BRACKETED = rf"[=:][ \t]{{0,4}}\(({_BREAK}(?:{_PIECE}\\{{0,7}}[\"']{_BREAK}){{1,40}})\)"
_ASSIGNED = r"([A-Za-z_][\w.-]{0,60})[\"'\\\]]{0,9}[ \t]{0,4}(?::[ \t]{0,4}[\w .|\[\]]{1,30})?$"


def hide_bracketed(text: str) -> str:
    """The text without credentials whose quoted pieces stand in brackets behind their name, mostly on lines of their
    own: a language joins them."""

    def hidden(match: re.Match[str]) -> str:
        name = compiled(_ASSIGNED).search(text[max(0, match.start() - _BEFORE_NAME) : match.start()])
        value = "".join(piece[3] for piece in compiled(_PIECE).finditer(match[1]))
        if name is None or not is_secret_value(name[1], value):
            return match[0]
        return match[0].replace(match[1], compiled(_PIECE).sub(r"\1[redacted:secret]", match[1]))

    return compiled(_BRACKETED).sub(hidden, text)
