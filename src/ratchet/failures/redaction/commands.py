"""Hides the credentials that command lines take without naming them: `curl -u bob:SECRET`, `mysql -pSECRET`,
`echo SECRET | docker login --password-stdin`, `openssl enc -k SECRET`, `sqlplus scott/SECRET@host`.

An option means a credential only behind the command that takes it so. Linear on any text: what is looked at behind a
command is bounded.

Lean: a hook process imports this, and only for a text that holds one of these commands.
"""

from __future__ import annotations

from ratchet.failures.redaction.forms import compiled

_HIDDEN = "[redacted:password]"
_REACH = 300  # characters behind a command within which its options stand
_VALUE = r"((?:[^\s\"'\\]|\\(?![\"'nrt\\]))+)"
_QUOTE = r"\\{0,7}[\"']?"
_ENDS_COMMAND = r"((?<!\\)\n|[;|]|&&|&\s)"

_HTTP = r"curl|(?<![\w.-])(?:https?|wget|xhs?)(?=\s)"
_USER = (
    rf"((?:\s-u|\s-a(?=\s)|--user|--proxy-user|--auth)[\s=]{{0,4}}{_QUOTE}[^\s:\"'\\]{{1,100}}+:)"
    rf"(?!\[redacted|\$){_VALUE}"
)
_ATTACHED = rf"(\s-p[\"']?)(?![\s\[$\"'-]){_VALUE}"
_APART = rf"(\s-(?:%s)\s{{1,4}}{_QUOTE})(?![\s\[$\"'-]){_VALUE}"
_LOGIN_ALONE = (
    r"((?:\s{1,4}-\w{1,10}){0,4}\s{1,4}[A-Za-z]\w{0,60}/)(?!\[redacted|[/$])([^\s/@\"'\\]{1,60})(?=[\s\"'\\]|$)"
)
# (literals of which a text has one, in lower case; the command; its option up to the value, and the value)
_OPTIONS = (
    (("curl", "http", "wget", "xh"), _HTTP, _USER),
    (("mysql", "mariadb", "sshpass"), r"(?i)mysql|mariadb|sshpass", _ATTACHED),
    (("sshpass",), "sshpass", _APART % "p"),
    (("redis-cli",), "redis-cli", _APART % "a"),
    (("openssl",), "openssl", _APART % "[kK]"),
    (("sqlplus",), "sqlplus", _LOGIN_ALONE),
)
# `scott/tiger@host` is a package or an action elsewhere than behind Oracle's tools, errors and drivers.
_ORACLE = (
    r"(?i)sqlplus|sqlldr|oracle|\b(?:exp|imp)dp\b|\buserid=|\bora-\d{3}|\brman\b|^\s*(?:sql>\s{0,4})?conn(?:ect)?(?=\s)"
)
_LOGIN = (
    r"((?<![\w/@.$-])[A-Za-z]\w{0,60}(?:\[\w{1,60}\])?/)(?!\[redacted|[/$])([^\s/@\"'\\]{1,60})(?=@(?!v?\d)[\w./(-])"
)


def hide_in_commands(text: str) -> str:
    """The text without the credentials of the command lines in it."""
    low = text.lower()
    for literals, command, option in _OPTIONS:
        if any(literal in low for literal in literals):
            pieces = compiled(_ENDS_COMMAND).split(text)
            pieces[::2] = [_hide_behind(piece, command, option) for piece in pieces[::2]]
            text = "".join(pieces)
    if "/" in text and "@" in text:
        text = "\n".join([_hide_behind(line, _ORACLE, _LOGIN) if "@" in line else line for line in text.split("\n")])
    if "|" in text:
        text = _hide_piped(text)
    return _hide_here(text) if "<<<" in text else text


def _hide_behind(line: str, command: str, option: str) -> str:
    """A command line without the values of an option within reach of the command."""
    first = last = -1
    for found in compiled(command).finditer(line):
        last = found.end()
        first = last if first < 0 else first
    if first < 0:
        return line
    stop = last + _REACH
    return line[:first] + compiled(option).sub(rf"\1{_HIDDEN}", line[first:stop]) + line[stop:]


# --- standard input ------------------------------------------------------------------------------------------------
_READER = (
    r"--(?:password|passphrase|pass|token|secret|api-?key)s?-stdin|--with-token|--passphrase-fd|passwd\s{1,4}--stdin"
    r"|\bsudo\s{1,4}(?:-[A-Za-z]{1,4}\s{1,4}){0,3}-[A-Za-z]{0,3}S\b|\bchpasswd\b"
)
_NOT_LITERAL = r"(?![$`<{%*]|\[redacted:)"
_PIPED = (
    rf"((?:echo|printf)(?:\s{{1,4}}(?:-[neE]{{1,3}}|{_QUOTE}%s(?:\\{{1,4}}n)?{_QUOTE})(?=\s)){{0,3}}\s{{1,4}})"
    rf"(?:(\\{{0,7}}([\"'])){_NOT_LITERAL}[^\r\n|]{{1,200}}?(\\{{0,7}}\3)|{_NOT_LITERAL}[^\s|\"'<>;&]{{1,200}})(?=\s{{0,4}}\|)"
)
_HERE = rf"((?:{_READER})[^\n;|<]{{0,100}}<<<\s{{0,4}}{_QUOTE}){_NOT_LITERAL}{_VALUE}"


def _hide_piped(text: str) -> str:
    """What is piped into a command that reads a secret from its standard input."""
    out: list[str] = []
    done = 0
    for fed in compiled(_PIPED).finditer(text):
        start = text.index("|", fed.end()) + 1
        end = compiled(_ENDS_COMMAND).search(text, start, start + _REACH)
        if compiled(_READER).search(text, start, end.start() if end is not None else start + _REACH):
            out += (text[done : fed.start()], fed[1], fed[2] or "", _HIDDEN, fed[4] or "")
            done = fed.end()
    return "".join((*out, text[done:])) if out else text


def _hide_here(text: str) -> str:
    """What such a command is given as a here-string."""
    return compiled(_HERE).sub(rf"\1{_HIDDEN}", text)
