"""Hides the credentials that command lines take without naming them: `curl -u bob:SECRET`, `mysql -pSECRET`,
`echo SECRET | docker login --password-stdin`, `openssl enc -k SECRET`, `sqlplus scott/SECRET@host`.

An option means a credential only behind the command that takes it so. Linear on any text: what is looked at behind a
command is bounded.

Lean: a hook process imports this, and only for a text that holds one of these commands.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled
from ratchet.failures.redaction.values import is_placeholder

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable

_HIDDEN = "[redacted:password]"
_REACH = 300  # characters behind a command within which its options stand
_VALUE = r"((?:[^\s\"'\\]|\\(?![\"'nrt\\]))+)"
_QUOTE = r"\\{0,7}[\"']?"
_ENDS_COMMAND = r"(\n(?<!\\\n)|;|\||&&|&\s)"  # each begins with a literal: the engine skips all else


def _option(before: str, bare: str = r"(?:[^\s\"'\\]|\\(?![\"'nrt\\]))+") -> str:
    """Match what stands before a value, and the value: between quotes with its spaces, else up to a space."""
    return (
        rf"({before})(?![\s\[$-])(?:(\\{{0,7}}[\"'])(?!\[redacted|[$%]|\*{{3}})[^\"'\\\r\n]{{1,200}}(?=\\{{0,7}}[\"'])"
        rf"|(?!\[redacted|[\"']|\\){bare})"
    )


_SET, _MAYBE = r"[\s=]{1,4}", r"[\s=]{0,4}"
_OWNER = (
    rf"(?:\s-[uaE]|\s--?(?:user|proxy-user|auth|cert|(?:src-|dest-)?creds)){_MAYBE}{_QUOTE}"
    r"(?:\[redacted:[\w-]{1,20}\]|(?!\[)[^\s:\"'\\]{1,100}+):"
)
# A command that is told a user is told the password by -p or -P; what begins with digits there is a port.
_BESIDE_USER = _option(
    rf"\s-{{1,2}}(?:[uU]|user(?:name)?){_SET}{_QUOTE}(?!-)[^\s-][^\s]{{0,80}}(?:\s{{1,4}}[^\s]{{1,100}}){{0,8}}?\s-(?:[pP]{_SET}|P(?=\S))",
    r"(?![0-9]{1,5}(?:[:\s]|$)|[0-9.]+:|[./~-])[^\s\"'\\]+",
)
_HTTP = r"(?:curl|(?<![\w.-])(?:https?|wget|xhs?)(?=\s))"
# (literals of which a text has one, in lower case; the command; its option or place up to the value, and the value)
# fmt: off
_OPTIONS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("curl", "http", "wget", "xh"), _HTTP, _option(_OWNER)),
    (("curl",), "curl", _option(rf"\s(?:-b|--cookie){_SET}{_QUOTE}[\w.-]{{1,80}}=", r"[^\"'\s\\]+(?:; [^\"'\s\\]+)*")),
    (("curl",), "curl", _option(rf"\s(?:-u|--user){_SET}{_QUOTE}", r"[A-Za-z0-9_-]{20,}(?=:[\s\"'])")),
    (("encrypt_string ",), "encrypt_string", _option(r"^\s{1,4}")),
    (("creds",), r"--(?:src-|dest-)?creds", _option(rf"^{_SET}[^\s:]{{1,100}}:")),
    (("mysql", "mariadb", "sshpass"), r"(?i)mysql|mariadb|sshpass", _option(r"\s-p")),
    (("sshpass",), "sshpass", _option(r"\s-p\s{1,4}")),
    (("redis-cli",), "redis-cli", _option(r"\s-a\s{1,4}")),
    (("openssl",), "openssl", _option(r"\s-[kK]\s{1,4}")),
    (("zip ", "rar ", "7z"), r"\b(?:un)?zip(?=\s)", _option(r"\s-\w{0,6}P\s{0,4}")),
    (("rar ", "7z"), r"\b(?:7z[a-z]{0,2}|(?:un)?rar)(?=\s)", _option(r"\s[\"']?-h?p")),
    (("keytool",), "keytool", _option(r"\s-new\s{1,4}")),
    (("ssh-keygen",), "ssh-keygen", _option(r"\s-[NP]\s{1,4}")),
    (("signtool",), "signtool", _option(r"\s/p\s{1,4}")),
    (("codecov", "uploader"), "codecov|uploader", _option(r"\s-t\s{1,4}", r"[A-Za-z0-9-]{24,}")),
    (("rabbitmqctl",), r"rabbitmqctl(?=\s)", _option(r"\s(?:add_user|change_password)\s{1,4}\S{1,60}\s{1,4}")),
    (("useradd", "usermod"), r"user(?:add|mod)(?=\s)", _option(r"\s-p\s{1,4}")),
    (("put-parameter",), "SecureString", _option(r"\s--value\s{1,4}")),
    (("config set --secret",), "config set --secret", _option(r"^\s{1,4}\S{1,80}\s{1,4}")),
    (("bundle ",), r"bundle\s{1,4}config(?:\sset)?", _option(r"^(?:\s--\w+){0,3}\s{1,4}\S{1,80}\s{1,4}[^\s:/]{1,60}:")),
    ((" -setcookie ",), "-setcookie", _option(r"^\s{1,4}")),
    ((" unseal ",), r"\bunseal(?=\s)", _option(r"^\s{1,4}", r"[A-Za-z0-9+/=]{40,}")),
    (("ldap",), r"\bldap[a-z]{3,10}(?=\s)", _option(r"\s-w\s{0,4}")),
    (("security ",), r"\bsecurity(?=\s[a-z-]{6,30}\s)", _option(r"\s-[wpP]\s{1,4}")),
    (("snmp",), r"\bsnmp[a-z]{3,10}(?=\s)", _option(r"\s-[AXc]\s{1,4}")),
    (("htpasswd ",), r"\bhtpasswd(?=\s)", _option(r"(?:\s-\w*){0,4}\s-\w*n\w*b?\w*\s[^\s-]\S{0,60}\s")),
    (("htpasswd ",), r"\bhtpasswd(?=\s)",
     _option(r"(?:\s-\w*){0,4}\s-\w*b\w*(?:\s\d{1,2}(?=\s))?\s[^\s-]\S{0,200}\s\S{1,60}\s")),
    (("wpa_passphrase ",), "wpa_passphrase", _option(r"^\s{1,4}\S{1,40}\s{1,4}")),
    ((" login ", " auth "), r"\b[a-z-]{2,20}\s{1,4}(?:login|auth)",
     _option(r"^\s{1,4}", r"(?=[A-Za-z._-]{0,40}[0-9])[A-Za-z0-9._-]{20,}")),
    (("etcdctl",), "etcdctl", _option(rf"\s--user{_SET}{_QUOTE}[^\s:]{{1,60}}:")),
    (("http-basic",), r"http-basic\.\S{1,80}", _option(r"^\s{1,4}\S{1,80}\s{1,4}")),
    (("user-secrets",), r"user-secrets\s{1,4}set", _option(r"^\s{1,4}\S{1,80}\s{1,4}")),
    (("impacket", "psexec", "wmiexec", "smbexec", "secretsdump", "mssqlclient"),
     r"impacket-\w+|(?:psexec|wmiexec|smbexec|secretsdump|mssqlclient)(?:\.py)?",
     _option(rf"\s{_QUOTE}(?:[\w.-]{{1,60}}/)?[\w.-]{{1,60}}:", r"[^\s@]+(?=@)")),
    (("smbclient", "%"), r"(?:smb|rpc)[a-z]{3,10}|\bnet(?=\s)|winexe",
     _option(rf"\s(?:-U|--user(?:name)?){_MAYBE}{_QUOTE}[^\s%]{{1,80}}%")),
    (("smbclient ",), "smbclient", _option(r"^\s{1,4}[\"']?(?:\\{2,8}|//)\S{1,200}\s{1,4}")),
    (("net use", "net user"), r"\bnet\s{1,4}use",
     _option(r"\s/user:\S{1,100}\s{1,4}|^r\s{1,4}[\w.]{1,60}\s{1,4}|\s\\{2,8}[\w.$\\-]{1,200}\s{1,4}",
             r"[^\s\"'/\\*]\S*")),
    (("freerdp", "rdesktop", "mstsc", "cmdkey"), "freerdp|rdesktop|mstsc|cmdkey",
     _option(r"\s/p(?:ass)?:|\s-p\s{1,4}")),
    (("ftp ",), r"\bl?ftp(?=\s)", _option(rf"\s-u{_SET}[^\s,]{{1,80}},")),
    (("from-literal",), "--from-literal", _option(r"^[\s=]{1,4}[\"']?[\w./-]{1,100}=")),
    (("secret",), r"\bsecrets?\s(?:set|put|create|add)(?=\s)",
     _option(r"\s[A-Z][A-Z0-9_]{1,60}=|\s(?:--body|--value|-b)[\s=]")),
    (("_pw ",), "pdftk", _option(r"\s(?:user|owner|input)_pw\s")),
    (("sqlplus",), "sqlplus",
     r"((?:\s{1,4}-\w{1,10}){0,4}\s{1,4}[A-Za-z]\w{0,60}/)()(?!\[redacted|[/$])[^\s/@\"'\\]{1,60}(?=[\s\"'\\]|$)"),
)
# fmt: on
# `scott/tiger@host` is a package or an action elsewhere than behind Oracle's tools, errors and drivers.
_ORACLE = (
    r"(?i)sqlplus|sqlldr|oracle|\b(?:exp|imp)dp\b|\buserid=|\bora-\d{3}|\brman\b|^\s*(?:sql>\s{0,4})?conn(?:ect)?(?=\s)"
)
_LOGIN = (
    r"((?<![\w/@.$-])[A-Za-z]\w{0,60}(?:\[\w{1,60}\])?/)()(?!\[redacted|[/$])[^\s/@\"'\\]{1,60}(?=@(?!v?\d)[\w./(-])"
)


def hide_in_commands(text: str) -> str:
    """The text without the credentials of the command lines in it, and of those that are lists of words."""
    if "'," in text or '",' in text:
        text = compiled(_LIST).sub(_hidden_list, text)
    low = text.lower()
    for literals, command, option in _OPTIONS:
        if any(literal in low for literal in literals) and compiled(command).search(text) is not None:
            text = _in_each(text, lambda piece, command=command, option=option: _hide_behind(piece, command, option))  # type: ignore[misc]
    if " -p" in low and (" -u" in low or " --user" in low):
        text = _in_each(text, _hide_beside_user)
    if "/" in text and "@" in text:
        text = "\n".join([_hide_behind(line, _ORACLE, _LOGIN) if "@" in line else line for line in text.split("\n")])
    if "expect" in low:
        text = compiled(_SENT).sub(rf"\1{_HIDDEN}", text)
    if "|" in text:
        text = _hide_piped(text)
    # What such a command is given as a here-string.
    return compiled(_HERE).sub(rf"\1{_HIDDEN}", text) if "<<<" in text else text


# What a language starts a process with: `["mysql", "-u", "root", "-pSECRET"]`. Its words hold no space.
_LIST = r"(\\{0,7}[\"'])(?:[^\s\"'\\]{1,200}+\1,\s{0,40}+\[?\1){1,60}[^\s\"'\\]{1,200}+(?=\1)"


def _hidden_list(found: re.Match[str]) -> str:
    parts = compiled(r"(\\{0,7}[\"'](?:,\s{0,40}\[?\\{0,7}[\"'])?)").split(found[0])
    line = " ".join(parts[2::2])
    hidden = hide_in_commands(line)
    if hidden == line or hidden.count(" ") != line.count(" "):
        return found[0]
    parts[2::2] = hidden.split(" ")
    return "".join(parts)


def _in_each(text: str, hide: Callable[[str], str]) -> str:
    """The text with each of its commands as `hide` leaves it."""
    pieces = compiled(_ENDS_COMMAND).split(text)
    pieces[::2] = map(hide, pieces[::2])
    return "".join(pieces)


def _hide_behind(line: str, command: str, option: str) -> str:
    """A command line without the values of an option within reach of the command."""
    first = last = -1
    for found in compiled(command).finditer(line):
        last = found.end()
        first = last if first < 0 else first
    if first < 0:
        return line
    stop = last + _REACH
    return line[:first] + compiled(option).sub(_hidden_value, line[first:stop]) + line[stop:]


def _hidden_value(found: re.Match[str]) -> str:
    before = found[1] + (found[2] or "")
    return found[0] if is_placeholder(found[0][len(before) :]) else before + _HIDDEN


def _hide_beside_user(line: str) -> str:
    """A command line without the password that is given beside a user; mysql's -p only asks for one."""
    return line if "mysql" in line else compiled(_BESIDE_USER).sub(rf"\1\2{_HIDDEN}", line)


# Expect's answer to a question for a password, which ends by the key that a person would press.
_SENT = (
    r"(?i)(expect[^\r\n]{0,20}ass(?:word|phrase)[^\r\n]{0,20}(?:\r?\n|;|\\{1,7}n)\s{0,8}send\s{1,4}(?:--\s)?\\{0,7}[\"'])"
    r"[^\"'\\$]{3,}(?=\\{1,8}[rn])"
)


# --- standard input ------------------------------------------------------------------------------------------------
_READER = (
    r"--(?:password|passphrase|pass|token|secret|api-?key)s?-stdin|--with-token|--passphrase-fd|passwd\s{1,4}--stdin"
    r"|\bsudo\s{1,4}(?:-[A-Za-z]{1,4}\s{1,4}){0,3}-[A-Za-z]{0,3}S\b|\bchpasswd\b"
    r"|\b(?:kinit|cryptsetup|ssh-add|\w{0,20}passwd|\w{1,20}password)\b(?=\s|$)|\bread\s{1,4}-s|\bsecrets?\s{1,4}(?:create|set|put|add)\b"
)
_NOT_LITERAL = r"(?![$`<{%*]|\[redacted:)"
_PIPED = (
    rf"((?:echo|printf|\byes)(?:\s{{1,4}}(?:-[neE]{{1,3}}|{_QUOTE}%s(?:\\{{1,4}}n)?{_QUOTE})(?=\s)){{0,3}}\s{{1,4}})"
    rf"(?:(\\{{0,7}}([\"'])){_NOT_LITERAL}[^\r\n|]{{1,200}}?(\\{{0,7}}\3)|{_NOT_LITERAL}[^\s|\"'<>;&]{{1,200}})(?=\s{{0,4}}\|)"
)
_HERE = rf"((?:{_READER})[^\n;|<]{{0,100}}<<<\s{{0,4}}{_QUOTE}){_NOT_LITERAL}{_VALUE}"


def _hide_piped(text: str) -> str:
    """Hide what is piped into a command that reads a secret from its standard input."""
    out: list[str] = []
    done = 0
    for fed in compiled(_PIPED).finditer(text):
        start = text.index("|", fed.end()) + 1
        end = compiled(_ENDS_COMMAND).search(text, start, start + _REACH)
        if compiled(_READER).search(text, start, end.start() if end is not None else start + _REACH):
            out += (text[done : fed.start()], fed[1], fed[2] or "", _HIDDEN, fed[4] or "")
            done = fed.end()
    return "".join((*out, text[done:])) if out else text
