"""Hides secrets that show by their own form; long, since each rule stands beside its expression.

Keys of providers, private keys, JWTs, headers, URLs, cards. Every expression takes linear time on any text: repetitions
are bounded, possessive or start only where a run begins.

Lean: a hook process imports this.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled
from ratchet.failures.redaction import named
from ratchet.failures.redaction.literals import Literals
from ratchet.failures.redaction.providers import hide_provided
from ratchet.failures.redaction.values import is_drawn, is_placeholder, looks_random

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable


def hide_known(text: str, low: str, words: set[str], stands: set[str]) -> tuple[str, bool]:
    """The text without secrets that show by their own form, and whether what a machine drew may be left in it. `low` is
    the text in lower case, `words` are its words, `stands` those of LITERALS that it holds."""
    is_drawn = False
    if long := [word for word in words if len(word) >= _SHORTEST_KEY]:
        text, is_drawn = hide_provided(text, long)
    if "@@ " in low:  # a diff's marks are no sign of anything
        low = low.replace("@@ ", "")
        stands = LITERALS.found({word.replace("@@", "") for word in words}, low)
    if not stands:
        return text, is_drawn
    has_signs = _sign_in(low) is not None
    for needle in filter(stands.__contains__, _NEEDLES if has_signs else _NEEDLES[:_WITHOUT_SIGNS]):
        text = _RULES[needle](text)
    for sign in filter(stands.__contains__, _SIGNS if has_signs else _SIGNS[:_WITHOUT_SIGNS_COMMANDS]):
        if not _COMMANDS[sign] or any(map(low.__contains__, _COMMANDS[sign])):
            from ratchet.failures.redaction.commands import hide_in_commands

            text = hide_in_commands(text)
            break
    return text, is_drawn


_SHORTEST_KEY = 12  # characters; every form of a provider asks for more


def _names_host(text: str) -> bool:
    """Tell whether a word stands behind an `@`: the lines of a diff hold it otherwise."""
    return any([part[:1].isalnum() or part[:1] in "_-" for part in text.split("@")[1:] if part])  # noqa: C419


def hide_personal(text: str) -> str:
    """The text without e-mail addresses and card numbers."""
    if ("@" in text and _names_host(text)) or "%40" in text:
        text = compiled(_EMAIL).sub(_hidden_email, text)
    digits = text.encode("utf-8", "replace").translate(None, _NO_DIGITS)
    if len(digits) >= _FEWEST and _four_digits_in(text) is not None:
        text = compiled(_CARD).sub(_hidden_card, text)
    return text


# --- other forms -----------------------------------------------------------------------------------------------
# `bob:...@host` without a scheme, the password no plain word; names of packages and images look alike.
_BARE_USER = (
    r"((?<![\w./@:+-])(?!(?:npm|patch|link|file|workspace|mailto|acct|sip|docker|pkg):)[A-Za-z][\w.-]{0,40}:)"
    r"(?=[^\s@]{0,40}[0-9!#$%^&*~?])(?!\[redacted|[\d.]+@)[^\s@/:\"'\\<>{}()\[\],;]{4,80}(?=@(?!sha\d|v?\d)[A-Za-z][\w.-])"
)
_BARE_VALUE = r":[^\s@/:\"'\\<>{}()\[\],;]{4,80}@[A-Za-z]"  # what it ends with, found by its first character


def _hide_bare_user(text: str) -> str:
    if compiled(_BARE_VALUE).search(text) is None or not _names_host(text):
        return text
    return compiled(_BARE_USER).sub(r"\1[redacted:password]", text)


_NOT_A_USER = frozenset("[/?#@")
_TOKEN = 20  # characters from which on a user without a password may be a token


# A reset link, a webhook: what a machine drew behind a part of the path that says what it is for.
_PATH = (
    r"(?i)(://[^\s\"'<>?#]{0,200}?(?<!\[redacted:)(?:hook|pass(?:word|wd|code)|token|secret)[^\s\"'<>?#/]{0,60}/(?:[^\s\"'<>?#/]{1,40}/){0,4}?)"
    r"([A-Za-z0-9_-]{20,200})(?![\w.~/%-])"
)

_SAYS_FOR = r"(?<!\[redacted:)(?:hook|passw|passc|token|secret)[^\s\"'<>?#/]{0,60}/"


def hide_url_credentials(text: str) -> str:
    """`scheme://user:password@host` keeps its scheme, user and host; a lone user that is a token goes."""
    if compiled(_SAYS_FOR).search(text.lower()) is not None:
        text = compiled(_PATH).sub(_hidden_in_path, text)
    if "@" not in text:
        return text
    before, *authorities = text.split("://")
    return "://".join((before, *map(_without_password, authorities)))


def _hidden_in_path(match: re.Match[str]) -> str:
    is_secret = looks_random(match[2], _TOKEN) and "/commit/" not in match[1]
    return f"{match[1]}[redacted:secret]" if is_secret else match[0]


def _without_password(rest: str) -> str:
    """Return what follows a scheme, without its credentials.

    A password may hold `@` and `/`: all up to the last `@` is taken, unless a query lies between.
    """
    run = compiled(r"[^\s\"'<>?]{0,400}").match(rest)
    at = rest.rfind("@", 0, run.end() if run is not None else 0)
    if at < 0:
        run = compiled(r"[^\s\"'<>@]{0,400}@").match(rest)
        at = run.end() - 1 if run is not None else -1
    user, colon, password = rest[: max(at, 0)].partition(":")
    if user == password != "" or (user.lower() in ("user", "username") and password.lower() == "pass"):
        return rest  # as everybody knows it
    if at <= 0 or not _NOT_A_USER.isdisjoint(user) or (password and is_placeholder(password)):
        return rest
    if len(user) >= _TOKEN and looks_random(user, _TOKEN):
        user = "[redacted:secret]"
    return f"{user}{':[redacted:password]' if password else colon}{rest[at:]}"


# Behind a slash it is a part of an address where it has all its parts, else a part of some base64.
_JWT = (
    r"(?:(?<![A-Za-z0-9+/])|(?<=\\[nrt]))(?<!base64,)eyJ[A-Za-z0-9_-]{8,}+(?:\.{1,2}[A-Za-z0-9_-]++)*(?:[+/][A-Za-z0-9+/_-]*+)?=*"
    r"|(?<=/)eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*+"
)


def _hide_jwt(text: str) -> str:
    return compiled(_JWT).sub(_hidden_jwt, text) if "eyJ" in text else text


def _hidden_jwt(match: re.Match[str]) -> str:
    is_begun = match.string.startswith(("...", "…"), match.end()) and is_placeholder(f"{match[0]}...")
    return match[0] if is_begun else "[redacted:jwt]"


# What separates the name of a header from its value, in texts, mappings, tuples and HAR files.
_SAYS = (
    r"[\\\"'\])]{0,20}\s{0,4}(?:,\s{0,40}[\\\"']{1,16}value[\\\"']{1,16}\s{0,4}:|=>|->|[:=]|,(?=\s{0,4}[\\\"']))"
    r"\s{0,4}\[?[\\\"']{0,20}"
)
_HEADER = rf"(authorization{_SAYS})"
# The parts of a digest are quoted one by one: `username="bob", qop=auth, response="..."`.
_AUTHORIZATION = (
    rf"(?i){_HEADER}((?:[A-Za-z][\w-]{{1,40}}\s{{1,4}})?)(?=[\w-]{{1,60}}=)"
    r"(?!\[redacted)(?=[^\r\n]{4})(?:[^\"'\r\n\\]++(?<==)\\{0,15}\"[^\"\r\n\\]*+\\{0,15}\")*[^\"'\r\n\\]*+"
)
_SCHEME = r"(?i)(?<![A-Za-z0-9])(bearer|basic|token|apikey)((?:\s|%20){1,4})([A-Za-z0-9._~+/=:-]{6,}+)"
_ANY_SCHEME = (
    rf"(?i){_HEADER}((?:[A-Za-z][\w-]{{1,40}}(?:\s|%20){{1,4}})?(?:\[redacted:[\w-]{{1,20}}\][:.])?)"
    r"([A-Za-z0-9._~+/=:-]{6,}+)"
)


def _hide_authorization(text: str) -> str:
    text = compiled(_AUTHORIZATION).sub(r"\1\2[redacted:authorization]", text)
    text = compiled(_ANY_SCHEME).sub(_hidden_header, text)
    return compiled(_SCHEME).sub(_hidden_scheme, text)


def _hidden_header(match: re.Match[str]) -> str:
    """`Authorization: Bearer required` is prose."""
    header, scheme, value = match.groups()
    if compiled(r"(?i)(?:bearer|basic|token|apikey)\b").match(scheme):
        is_secret = not value.isalpha() or len(value) >= _TOKEN
    else:
        is_secret = looks_random(value, 8 if scheme else 16)
    return f"{header}{scheme}[redacted:authorization]" if is_secret and not is_placeholder(value) else match[0]


def _hidden_scheme(match: re.Match[str]) -> str:
    scheme, gap, value = match.groups()
    if scheme.lower() == "bearer":
        is_secret = value.count(".") == 2 or looks_random(value, 8)
    else:
        is_secret = looks_random(value, 16) or (scheme.lower() == "basic" and _is_user_password(value))
    return f"{scheme}{gap}[redacted:authorization]" if is_secret and not is_placeholder(value) else match[0]


def _is_user_password(value: str) -> bool:
    """Tell whether it is `user:password` in base64."""
    import binascii

    try:
        return b":" in binascii.a2b_base64(value + "=" * (-len(value) % 4), strict_mode=True)
    except binascii.Error:
        return False


_COOKIE = (
    rf"(?i)((?:set-)?cookies?{_SAYS})"
    r"([\w.!#$%&*+^`|~-]{1,80}=(?!\[redacted)[^\"'\r\n\\]{1,}+)"
)


# In reprs, mappings and HAR files each has a value of its own, behind a name and within reach of the word.
_COOKIE_NEAR = r"(?i)cookie[^\0]{0,400}"
_COOKIE_VALUE = r"((?<=\w)\\{0,7}[\"']\s{0,4}:\s{0,4}\\{0,7}[\"']|(?<=\w)=\\{0,7}[\"']?)([A-Za-z0-9_.%+/=-]{16,}+)"


def _hide_cookies(text: str) -> str:
    text = compiled(_COOKIE).sub(lambda found: found[1] + _without_cookies(found[2]), text)
    return compiled(_COOKIE_NEAR).sub(lambda near: compiled(_COOKIE_VALUE).sub(_hidden_cookie, near[0]), text)


def _without_cookies(said: str) -> str:
    """Nothing of cookies, but where each is a word or two: a language, a theme, a consent."""
    pairs = [pair.strip().partition("=") for pair in said.split(";")]
    is_plain = all(
        name.lower() in _ATTRIBUTES
        or (compiled(_WORDS_ONLY).fullmatch(value) and not is_drawn(value) and not named.is_secret_value(name, value))
        for name, _, value in pairs
    )
    return said if is_plain else "[redacted:cookie]"


_ATTRIBUTES = ("path", "domain", "expires", "max-age", "samesite", "secure", "httponly", "partitioned", "priority", "")
_WORDS_ONLY = r"[A-Za-z]{0,12}(?:[._/-][A-Za-z]{1,12}){0,2}"


def _hidden_cookie(match: re.Match[str]) -> str:
    return f"{match[1]}[redacted:cookie]" if looks_random(match[2], 20) else match[0]


def _hiding(expression: str, hidden: str = r"\1[redacted:password]") -> Callable[[str], str]:
    return lambda text: compiled(expression).sub(hidden, text)


# What passwords are kept as: crypt(5), Apache's, Argon2, Django's.
_CRYPT = (
    r"(?:\$(?:1|5|6|7|y|gy|2[abxy]|apr1|argon2(?:id|i|d)|scrypt)\$|p(?<!\w.)bkdf2_sha\d{1,3}\$)"
    r"[A-Za-z0-9./$=,+-]{16,}+"
)


# `-pSECRET`, as clients of databases take it, whatever program wraps them.
_GLUED = r"(?<=\s-p)(?=[A-Za-z]*[0-9][0-9]*[A-Za-z])[A-Za-z0-9]{8,64}(?=[\s\"'\\;&|)]|$)"


def _hide_glued(text: str) -> str:
    return compiled(_GLUED).sub(lambda found: "[redacted:password]" if is_drawn(found[0], _ODD) else found[0], text)


_ODD = 0.4  # of its pairs of characters: as a key that stands alone


# PostgreSQL's password file: host, port, database, user, password.
_PGPASS = (
    r"(?m)((?:^|[\s\"'])(?:\d{1,6}(?:→|:))?(?:[\w.-]{1,100}|\*):(?:\d{4,5}|\*):(?!\d+:)[\w.*-]{1,80}:[^\s:]{1,80}:)"
    r"(?!\[redacted)[^\s\"']{3,}"
)


def _hide_keys(text: str) -> str:
    from ratchet.failures.redaction import keys

    low = text.lower()
    if "private key" in low:
        text = keys.hide_blocks(text)
    if "private-" in low:
        text = keys.hide_putty(text)
    if "kty" in low:
        text = keys.hide_jwk(text)
    return keys.hide_xml(text) if "rsakeyvalue" in low else text


_BESIDE_AWS = (
    r"(?<![A-Za-z0-9/+=])(?=[^\s]{0,39}[0-9])(?=[^\s]{0,39}[A-Z])(?=[^\s]{0,39}[a-z])"
    r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"
)


def _hide_aws_secret(text: str) -> str:
    """Hide the secret near an access key id: 40 characters of base64."""
    return compiled(_BESIDE_AWS).sub("[redacted:aws]", text) if "[redacted:aws]" in text else text


# SQL, pydantic's wrapper, a query inside a query, openssl: the name and its value stand as nowhere else.
_WRAPPED = (
    r"(?i)(\b(?:user|role|grant|for)\b[^\r\n;]{0,120}?\b(?:encrypted\s|=\s{0,4})?password\s{0,4}\(?N?\\{0,4}'"
    r"|\b(?:user|role|grant|for)\b[^\r\n;]{0,120}?\bidentified\s{1,4}(?:with\s{1,4}\w{1,40}\s{1,4})?by\s{1,4}\\{0,4}['\"]|\bsecret(?:str|bytes)\(b?\\{0,4}['\"]"
    r"|(?:(?<=[a-z_])|\b)password\(\\{0,4}['\"](?=[^\s'\"]{0,40}[0-9!#$%^&*+~?])"
    r"|securestring\s{1,4}(?:-string\s{1,4})?\\{0,4}['\"]"
    r"|\bsnmp-server\s{1,4}community\s{1,4}|\bpassword\s{1,4}[057]\s{1,4}(?=[0-9a-f$])"
    r"|\bmachine\s{1,8}\S{1,100}\s{1,8}login\s{1,8}\S{1,100}\s{1,8}password\s{1,8}"
    r"|(?:token|secret|password|passwd|api_?key|signature|sig)%3d|(?:%26|%3f)(?:key|code|auth|sas)%3d(?=[\w-]{20})|\s-pass(?:in|out)?\s{1,4}pass:|::add-mask::)"
    r"(?!\[redacted|\*{3})((?<=['\"])[^'\"\\\s]{3,}+|(?<!['\"])[^'\"\\\s%&<>]{3,}+)"
)


# The same without what stands far before a value, in lower case: of the texts with a needle most have none.
_WRAPS = (
    r"password(?:\s{0,4}\(?n?\\{0,4}'|\(\\{0,4}['\"]|\s{1,4}[057]\s)|secret(?:str|bytes)\(|securestring\s|snmp-server\s|%3d"
    r"|identified\s{1,4}(?:with\s{1,4}\S{1,60}\s{1,4})?by\s{1,4}\\{0,4}['\"]|machine\s{1,8}\S{1,100}\s{1,8}login\s"
    r"|-pass(?:in|out)?\s|::add-mask::"
)


def _hide_wrapped(text: str) -> str:
    if compiled(_WRAPS).search(text.lower()) is None:
        return text
    return compiled(_WRAPPED).sub(
        lambda found: found[0] if is_placeholder(found[2]) else f"{found[1]}[redacted:password]", text
    )


# The words of a wallet (BIP 39: 12 to 24 of them).
_WORDS = (
    r"(?i)((?:mnemonic|(?:seed|recovery|secret) phrase)[\"'\\]{0,8}\s{0,4}[:=]\s{0,4}[\"'\\]{0,8})"
    r"(?:[a-z]{3,8}\s){11,23}[a-z]{3,8}"
)


# `login("bob", "..."`, `auth=("bob", "...")`, `connect(host, user, password)`, `basic_auth: bob:...`
_BESIDE_USER = (
    r"(?i)((?:login|auth|cred(?:ential)?s?)\s{0,2}(?:=\s{0,2}|:\s{0,2})?[(\[]\s{0,4}([\"'])[^\"'\r\n]{1,100}\2,\s{0,4}[\"']"
    r"|connect\(\s{0,4}([\"'])[^\"'\r\n]{0,100}\3,\s{0,4}\3[^\"'\r\n]{1,100}\3,\s{0,4}[\"']"
    r"|(?:basic_?auth|\bauth)[\"']?\s{0,2}[:=]\s{0,4}[\"']?[\w.@-]{1,60}:)"
    r"(?!\[redacted|https?:|/)(?=[^\"'\s]{0,40}[0-9!#$%*+^~?])([^\"'\s,)]{4,})"
)


_BESIDE = (
    r"(?:login|auth|cred(?:ential)?s?)\s{0,2}(?:[=:]\s{0,2})?[(\[]\s{0,4}[\"']|connect\(\s{0,4}[\"']"
    r"|auth[\"']?\s{0,2}[:=]\s{0,4}[\"']?[\w.@-]{1,60}:"
)


def _hide_beside_user(text: str) -> str:
    if compiled(_BESIDE).search(text.lower()) is None:
        return text
    return compiled(_BESIDE_USER).sub(r"\1[redacted:password]", text)


_EMAIL = r"(?<![\w.+-])([\w.+-]++)(?:@|%40)((?:[\w-]+\.)+([^\W\d_]{2,24}))(?![\w])"
# Endings of files, which a reference like `icon@2x.png` or `pkg@next.js` has.
_NOT_A_DOMAIN = frozenset(
    ("png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "js", "mjs", "ts", "tsx", "jsx", "css", "json", "yml", "yaml")
)


def _hidden_email(match: re.Match[str]) -> str:
    # `git@github.com:` is an address of a repository; `icon@2x.png` is a file; `https://bob@host/` is no mailbox.
    _, scheme, user = match.string[max(0, match.start() - 100) : match.start()].rpartition("://")
    is_user = bool(scheme) and compiled(r"[\s/\"'<>?]").search(user) is None and "%40" not in match[0]
    if is_user or match[1] == "git" or match[3].lower() in _NOT_A_DOMAIN:
        return match[0]
    return "[redacted:email]"


_NO_DIGITS = bytes(each for each in range(256) if not 48 <= each <= 57)
_FEWEST = 8  # digits that the expression asks for
_four_digits_in = compiled(r"[0-9][0-9]{3}[ \u00a0.-]?[0-9]{4}").search  # so written it is searched in half the time
_CARD = (
    r"(?<![0-9A-Za-z._])(?<![0-9a-f_]-)(?:[0-9]{13,19}|[0-9]{4}([ \u00a0.-])[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{3})?"
    r"|[0-9]{4}([ \u00a0.-])[0-9]{6}\2[0-9]{4,5})(?![0-9A-Za-z])"
)
# Issuer prefixes and lengths (ISO/IEC 7812, the networks' published ranges).
_ISSUER = (
    r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})|5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}"
    r"|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|35[0-9]{14}|6(?:011|5[0-9]{2}|4[4-9][0-9]|2[0-9]{2})[0-9]{12,15}"
)


def _hidden_card(match: re.Match[str]) -> str:
    written = match[0]
    for end in (len(written), len(written) - 4):  # a group of three behind it may be the security code
        digits = written[:end].translate(_UNSPACED)
        if compiled(_ISSUER).fullmatch(digits) and _passes_luhn(digits):
            return "[redacted:card]" + written[end:]
        if match[1] is None:
            break
    return written


_UNSPACED = str.maketrans("", "", " \u00a0.-")
_DOUBLED = str.maketrans("0123456789", "0246813579")  # twice a digit, its own digits added


def _passes_luhn(digits: str) -> bool:
    return sum(map(int, digits[-1::-2] + digits[-2::-2].translate(_DOUBLED))) % 10 == 0


_sign_in = compiled(r"[:=(@$%<'\"/-]").search
_IN_ORDER: tuple[tuple[Callable[[str], str], tuple[str, ...]], ...] = (
    # Also in a text without such a sign.
    (_hide_jwt, ("eyj",)),
    (_hide_authorization, ("bearer", "basic ")),
    (_hide_wrapped, ("password ", "machine ", "snmp-server")),
    (_hide_aws_secret, ("akia", "asia")),
    # Only where one stands.
    (_hide_keys, ("private", "kty", "rsakeyvalue")),
    (hide_url_credentials, ("://",)),
    (_hide_bare_user, ("@",)),
    (_hide_glued, (" -p",)),
    (_hide_cookies, ("cookie",)),
    (_hide_authorization, ("authorization",)),
    (_hiding(_CRYPT, "[redacted:password]"), ("$",)),
    (_hiding(_PGPASS), (":543", ":*:")),
    (_hide_wrapped, ("identified", "password(")),
    (_hiding(_WORDS), ("mnemonic", " phrase")),
    (_hide_beside_user, ("login(", "auth", "cred", "connect(")),
    (_hide_wrapped, ("secretstr(", "secretbytes(", "securestring", "%3d", " pass:", "add-mask")),
)
_RULES = {needle: rule for rule, needles in _IN_ORDER for needle in needles}
_NEEDLES = tuple(_RULES)
_WITHOUT_SIGNS = 8
# What a text holds where one of the commands of `commands` stands in it: a sign, and one of its words, if it has any.
# fmt: off
_COMMANDS = {
    " login ": (),
    " auth ": (),
    "net user ": (),
    "rabbitmqctl ": ("_user ", "_password "),
    "| passwd ": (),
    "_p": ("wpa_passphrase ", "_pw "),
    " -": (
        "mysql", "mariadb", "sshpass", "redis-cli", "openssl", "ldap", "smb", "htpasswd ", "zip ", "rar ", "7z",
        "ssh-keygen", "useradd", "usermod", "codecov", "uploader", "put-parameter", "config set --secret",
        " -setcookie ", " -u", "--user", "curl", "http ", "https ", "wget ", "xh ", "xhs ", "creds", "security ",
        "etcdctl", "-stdin", "from-literal", "--with-token", "--passphrase-fd", "sudo -", "secret set",
        "secrets set", "secret put", "snmp", "keytool",
    ),
    "@": ("sqlplus", "sqlldr", "oracle", "expdp", "impdp", "userid=", "ora-", "conn", "exec", "dump", "mssql"),
    "'-": ("mysql", "mariadb", "sshpass", "redis-cli", "openssl", "curl", "zip", "keytool", "ldap", "'-u", "'--user"),
    '"-': ("mysql", "mariadb", "sshpass", "redis-cli", "openssl", "curl", "zip", "keytool", "ldap", '"-u', '"--user'),
    "pass": ("chpasswd", "/pass:"),
    "/user:": ("net use",),
    "signtool ": (" /p ",),
    "bundle ": ("config ",),
    " unseal ": (),
    "<<<": ("kinit ", "cryptsetup ", "read -s", "passwd ", "password ", "ssh-add ", "secret"),
    "encrypt_string ": (),
    "freerdp": ("/p:",),
    "sqlplus": ("/",),
    "smbclient ": ("/", "\\"),
    "http-basic.": (),
    "expect ": ("send ",),
    "secret": (" secret set ", " secrets set ", "user-secrets set "),
}
_SIGNS = tuple(_COMMANDS)
# fmt: on
CODES = ("recovery", "backup")
SPOKEN = ("login", "log in", "identify", "encrypt", *CODES)
"""What speaks of a credential and is no name of one."""
_NAMED = (*named.NEEDLES, *named.ASSIGNED, *named.FOREIGN)
LITERALS = Literals((*_NEEDLES, *_SIGNS, *_NAMED, *SPOKEN))
"""What `hide_known` and `named.may_hold` ask of a text."""
_WITHOUT_SIGNS_COMMANDS = 6
COLUMN = r"(?:passw(?:or)?d|passphrase|passcode|pwd|secret|token|key)[\"' ]{0,40}(?:[,;|\t\\\r\n]|\Z)"
"""What a text in lower case holds where a line of headings names a column of credentials."""
BLOCK = r":[ \t]{1,8}[|>][-+0-9]{0,2}(?:[\r\n]|\\{1,7}[nr])"
"""What a text holds where a YAML value stands in the lines that follow its name."""
