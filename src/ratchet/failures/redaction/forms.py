"""What secrets look like by themselves: provider keys, private keys, JWTs, headers, credentials in URLs, cards.

Every expression takes linear time on any text: repetitions are bounded, possessive or start only where a run begins.

Lean: a hook process imports this.
"""

from __future__ import annotations

import re

from ratchet.failures.redaction import named as credentials

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_cache: dict[str, re.Pattern[str]] = {}


def compiled(source: str) -> re.Pattern[str]:
    """Compiled at first use: most processes never meet most kinds of secrets."""
    found = _cache.get(source)
    if found is None:
        found = _cache[source] = re.compile(source)
    return found


def hide_known(text: str, low: str) -> str:
    """The text without secrets that show by their own form. `low` is the text in lower case, made once."""
    for needle, rule in _RULES:
        if needle in low:
            text = rule(text)
    if " -" in low or "/" in low or "|" in low:
        for needle in _COMMANDS:
            if needle in low:
                from ratchet.failures.redaction.commands import hide_in_commands

                text = hide_in_commands(text)
                break
    words = " ".join([word for word in text.split() if len(word) >= _SHORTEST_KEY])
    if not words:
        return text
    for needle, source, kind in _PROVIDERS:
        if needle in words:
            text = compiled(source).sub(f"[redacted:{kind}]", text)
    return text


def hide_personal(text: str) -> str:
    """The text without e-mail addresses and card numbers."""
    if "@" in text or "%40" in text:
        text = compiled(_EMAIL).sub(_hidden_email, text)
    if _FOUR_DIGITS.search(text) is not None:
        text = compiled(_CARD).sub(_hidden_card, text)
    return text


# --- providers -----------------------------------------------------------------------------------------------------
# (literal, expression, kind). Forms from the providers' own documentation and secret-scanning pattern lists; lengths
# are lower bounds, since a key cut short is still most of a key. Word-like prefixes demand a digit further on.
_SHORTEST_KEY = 12  # characters; every expression below asks for more
_BODY = r"[A-Za-z0-9_-]"
_DIGIT_SOON = r"(?=[A-Za-z_-]{0,200}[0-9])"
_OPENAI = (
    rf"(?<![A-Za-z0-9-])sk-(?:(?:proj|svcacct|admin|or-v1|None)-{_BODY}{{8,}}|{_DIGIT_SOON}{_BODY}{{12,}}"
    r"|(?:[a-z]{2,8}-){0,2}[A-Za-z]{16,})"
)
_PROVIDERS: tuple[tuple[str, str, str], ...] = (
    ("sk-ant-", rf"sk-ant-{_BODY}{{6,}}", "anthropic"),
    (
        "sk-",
        _OPENAI,
        "openai",
    ),
    ("AIza", rf"AIza{_BODY}{{20,}}", "google"),
    ("ya29.", r"ya29\.[A-Za-z0-9_-]{16,}", "google"),
    ("GOCSPX-", rf"GOCSPX-{_BODY}{{16,}}", "google"),
    ("AKIA", r"(?<![A-Za-z0-9])AKIA[A-Z0-9]{12,}", "aws"),
    ("ASIA", r"(?<![A-Za-z0-9])ASIA(?=[A-Z]{0,12}[0-9])[A-Z0-9]{12,}", "aws"),
    ("ABIA", r"(?<![A-Za-z0-9])ABIA(?=[A-Z]{0,12}[0-9])[A-Z0-9]{12,}", "aws"),
    ("gh", r"gh[opusr]_[A-Za-z0-9]{16,}", "github"),
    ("github_pat_", r"github_pat_[A-Za-z0-9_]{16,}", "github"),
    ("glpat-", r"gl(?:pat)-[A-Za-z0-9_.-]{12,}", "gitlab"),
    ("gl", rf"(?<![A-Za-z0-9])gl(?:ptt|rt|dt|cbt|soat|ft|imt|agent)-{_DIGIT_SOON}{_BODY}{{16,}}", "gitlab"),
    ("xox", r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{8,}", "slack"),
    ("xapp-", r"xapp-[A-Za-z0-9-]{8,}", "slack"),
    ("hooks.slack.com", r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[A-Za-z0-9/_-]{8,}", "slack"),
    ("/api/webhooks/", rf"(?<=/api/webhooks/)[0-9]{{8,}}/{_BODY}{{16,}}", "discord"),
    ("sk_", r"(?<![A-Za-z0-9])sk_(?:live|test|org)_[A-Za-z0-9_]{8,}", "stripe"),
    ("rk_", r"(?<![A-Za-z0-9])rk_(?:live|test)_[A-Za-z0-9]{8,}", "stripe"),
    ("whsec_", r"whsec_[A-Za-z0-9+/=]{16,}", "stripe"),
    ("hf_", r"(?<![A-Za-z0-9_])hf_[A-Za-z0-9]{16,}", "huggingface"),
    ("npm_", rf"(?<![A-Za-z0-9_])npm_{_DIGIT_SOON}[A-Za-z0-9]{{16,}}", "npm"),
    ("pypi-", rf"pypi-AgE{_BODY}{{16,}}|pypi-{_DIGIT_SOON}{_BODY}{{40,}}", "pypi"),
    ("SG.", rf"SG\.{_BODY}{{10,}}\.{_BODY}{{10,}}", "sendgrid"),
    ("SK", r"(?<![A-Za-z0-9])SK[0-9a-f]{32}(?![0-9A-Za-z])", "twilio"),
    ("AC", r"(?<![A-Za-z0-9])AC[0-9a-f]{32}(?![0-9A-Za-z])", "twilio"),
    (":AA", rf"(?<![A-Za-z0-9])(?:bot)?[0-9]{{6,12}}:AA{_BODY}{{30,}}", "telegram"),
    ("gsk_", r"(?<![A-Za-z0-9])gsk_[A-Za-z0-9]{16,}", "groq"),
    ("dapi", r"(?<![A-Za-z0-9])(?:dapi[0-9a-f]{32}(?:-[0-9])?)+", "databricks"),
    ("xai-", rf"(?<![A-Za-z0-9])xai-{_DIGIT_SOON}{_BODY}{{20,}}", "xai"),
    ("pplx-", rf"pplx-{_BODY}{{20,}}", "perplexity"),
    ("nvapi-", rf"nvapi-{_BODY}{{16,}}", "nvidia"),
    ("r8_", r"(?<![A-Za-z0-9])r8_[A-Za-z0-9]{20,}", "replicate"),
    ("tvly-", rf"tvly-{_BODY}{{12,}}", "tavily"),
    ("lsv2_", r"lsv2_(?:pt|sk)_[A-Za-z0-9_]{16,}", "langsmith"),
    ("pcsk_", r"pcsk_[A-Za-z0-9_]{16,}", "pinecone"),
    ("shp", r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{16,}", "shopify"),
    ("sq0", rf"sq0[a-z]{{3}}-{_BODY}{{16,}}", "square"),
    ("_v1_", r"(?<![A-Za-z0-9])do[opr]_v1_[A-Fa-f0-9]{16,}", "digitalocean"),
    ("lin_api_", r"lin_api_[A-Za-z0-9]{16,}", "linear"),
    ("secret_", r"(?<![A-Za-z0-9])secret_(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{32,}", "notion"),
    ("ntn_", r"(?<![A-Za-z0-9])ntn_[A-Za-z0-9]{30,}", "notion"),
    ("figd_", rf"figd_{_BODY}{{16,}}", "figma"),
    ("hv", rf"(?<![A-Za-z0-9])hv[sbr]\.{_BODY}{{20,}}", "vault"),
    ("gl", rf"gl(?:sa|c)_{_BODY}{{20,}}", "grafana"),
    ("NRAK-", r"NRAK-[A-Z0-9]{16,}", "newrelic"),
    ("PMAK-", r"PMAK-[A-Fa-f0-9-]{20,}", "postman"),
    ("ATATT3", r"ATATT3[A-Za-z0-9_=-]{20,}", "atlassian"),
    ("dckr_pat_", rf"dckr_pat_{_BODY}{{16,}}", "docker"),
    ("sntry", r"sntry[su]_[A-Za-z0-9+/=_-]{20,}", "sentry"),
    ("sbp_", r"(?<![A-Za-z0-9])sbp_[a-f0-9]{20,}", "supabase"),
    ("key-", r"(?<![A-Za-z0-9])key-[0-9a-f]{32}(?![0-9A-Za-z])", "mailgun"),
    ("AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{20,}", "age"),
    ("pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{20,}", "planetscale"),
    ("dp.", r"(?<![A-Za-z0-9])dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{30,}", "doppler"),
    ("HRKU-", r"HRKU-[A-Za-z0-9_-]{30,}", "heroku"),
    (".atlasv1.", rf"[A-Za-z0-9]{{0,40}}\.atlasv1\.{_BODY}{{40,}}", "terraform"),
    ("pul-", r"(?<![A-Za-z0-9])pul-[a-f0-9]{40}(?![A-Za-z0-9])", "pulumi"),
    ("fm", r"(?<![A-Za-z0-9])fm[12][ar]?_[A-Za-z0-9+/=_-]{30,}", "fly"),
    ("ops_", rf"(?<![A-Za-z0-9])ops_{_DIGIT_SOON}{_BODY}{{60,}}", "1password"),
    ("e2b_", r"(?<![A-Za-z0-9])e2b_[a-f0-9]{30,}", "e2b"),
)

# --- other forms -----------------------------------------------------------------------------------------------
_KEY_MARK = r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_LINE = r"[A-Za-z0-9+/=]{1,80}|(?:Proc-Type|DEK-Info|Version|Comment): .{0,80}|"


def _hide_private_keys(text: str) -> str:
    """Whole blocks; a block whose end is missing up to the end of the text, one whose beginning is missing upwards."""
    out: list[str] = []
    kept_from = 0
    inside = False
    for mark in compiled(_KEY_MARK).finditer(text):
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
    end = len(text)
    is_key_line = compiled(_KEY_LINE).fullmatch
    while end > 0:
        start = max(text.rfind("\n", 0, end) + 1, text.rfind("\\n", 0, end) + 2 if "\\n" in text else 0)
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


_NOT_A_USER = frozenset("[/?#@")
_TOKEN = 20  # characters from which on a user without a password may be a token


def _hide_url_credentials(text: str) -> str:
    """`scheme://user:password@host` keeps its scheme, user and host; a lone user that is a token goes."""
    if "@" not in text:
        return text
    before, *authorities = text.split("://")
    return "://".join((before, *map(_without_password, authorities)))


def _without_password(rest: str) -> str:
    """What follows a scheme, without its credentials.

    A password may hold `@` and `/`: all up to the last `@` is taken, unless a query lies between.
    """
    run = compiled(r"[^\s\"'<>?]{0,400}").match(rest)
    at = rest.rfind("@", 0, run.end() if run is not None else 0)
    if at < 0:
        run = compiled(r"[^\s\"'<>@]{0,400}@").match(rest)
        at = run.end() - 1 if run is not None else -1
    user, colon, password = rest[: max(at, 0)].partition(":")
    if at <= 0 or not _NOT_A_USER.isdisjoint(user) or password.startswith("[redacted"):
        return rest
    if len(user) >= _TOKEN and credentials.looks_random(user, _TOKEN):
        user = "[redacted:secret]"
    return f"{user}{':[redacted:password]' if password else colon}{rest[at:]}"


_JWT = r"(?<![A-Za-z0-9+/])eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]++)*"


def _hide_jwt(text: str) -> str:
    return compiled(_JWT).sub("[redacted:jwt]", text) if "eyJ" in text else text


_AUTHORIZATION = (
    r"(?i)(authorization[\\\"'\])]{0,20}\s{0,4}[:=,]\s{0,4}[\\\"']{0,20}(?:aws4-hmac-sha256|digest|negotiate|ntlm|hawk)\s{1,4})"
    # A digest's parts are quoted one by one: `username="bob", qop=auth, response="..."`.
    r"(?!\[redacted)(?=[^\r\n]{4})(?:[^\"'\r\n\\]++(?<==)\\{0,15}\"[^\"\r\n\\]*+\\{0,15}\")*[^\"'\r\n\\]*+"
)
_SCHEME = (
    r"(?i)(authorization[\\\"'\])]{0,20}\s{0,4}[:=,]\s{0,4}[\\\"']{0,20})?"
    r"(?<![A-Za-z0-9])(bearer|basic|token|apikey)((?:\s|%20){1,4})([A-Za-z0-9._~+/=:-]{6,}+)"
)


def _hide_authorization(text: str) -> str:
    text = compiled(_AUTHORIZATION).sub(r"\1[redacted:authorization]", text)
    return compiled(_SCHEME).sub(_hidden_scheme, text)


def _hidden_scheme(match: re.Match[str]) -> str:
    header, scheme, gap, value = match.groups()
    if header:
        secret = not value.isalpha() or len(value) >= _TOKEN  # `Authorization: Bearer required` is prose
    elif scheme.lower() == "bearer":
        secret = value.count(".") == 2 or credentials.looks_random(value, 8)
    else:
        secret = credentials.looks_random(value, 16)
    if not (secret or (scheme.lower() == "basic" and _is_user_password(value))):
        return match[0]
    return f"{header or ''}{scheme}{gap}[redacted:authorization]"


def _is_user_password(value: str) -> bool:
    """Whether it is `user:password` in base64."""
    import binascii

    try:
        return b":" in binascii.a2b_base64(value + "=" * (-len(value) % 4), strict_mode=True)
    except binascii.Error:
        return False


_COOKIE = (
    r"(?i)((?:set-)?cookies?[\\\"'\])]{0,20}\s{0,4}[:=]\s{0,4}[\\\"']{0,20})"
    r"([\w.!#$%&*+^`|~-]{1,80}=(?!\[redacted)[^\"'\r\n\\]{1,}+)"
)


def _hide_cookies(text: str) -> str:
    return compiled(_COOKIE).sub(r"\1[redacted:cookie]", text)


_BESIDE_AWS = (
    r"(?<![A-Za-z0-9/+=])(?=[^\s]{0,39}[0-9])(?=[^\s]{0,39}[A-Z])(?=[^\s]{0,39}[a-z])"
    r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"
)


def _hide_aws_secret(text: str) -> str:
    """Where an access key id stands, its secret is not far: 40 characters of base64."""
    return compiled(_BESIDE_AWS).sub("[redacted:aws]", text) if "AKIA" in text or "ASIA" in text else text


# SQL, pydantic's wrapper, a query inside a query, openssl: the name and its value stand as nowhere else.
_WRAPPED = (
    r"(?i)(identified\s{1,4}(?:with\s{1,4}\w{1,40}\s{1,4})?by\s{1,4}\\{0,4}['\"]|\bsecret(?:str|bytes)\(b?\\{0,4}['\"]"
    r"|(?:token|secret|password|passwd|api_?key|signature|sig)%3d|\s-pass(?:in|out)?\s{1,4}pass:)"
    r"(?!\[redacted|\*{3})[^'\"\\\s%&<>]{3,}+"
)


def _hide_wrapped(text: str) -> str:
    return compiled(_WRAPPED).sub(r"\1[redacted:password]", text)


_EMAIL = r"(?<![\w.+-])([\w.+-]++)(?:@|%40)((?:[\w-]+\.)+([^\W\d_]{2,24}))(?![\w])"
# Endings of files, which a reference like `icon@2x.png` or `pkg@next.js` has.
_NOT_A_DOMAIN = frozenset(
    ("png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "js", "mjs", "ts", "tsx", "jsx", "css", "json", "yml", "yaml")
)


def _hidden_email(match: re.Match[str]) -> str:
    # `git@github.com:` is an address of a repository; `icon@2x.png` is a file.
    if match[1] == "git" or match[3].lower() in _NOT_A_DOMAIN:
        return match[0]
    return "[redacted:email]"


_FOUR_DIGITS = re.compile(r"[0-9]{4}[ \u00a0.-]?[0-9]{4}")
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


_RULES: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("private key", _hide_private_keys),
    ("://", _hide_url_credentials),
    ("eyj", _hide_jwt),
    ("cookie", _hide_cookies),
    ("authorization", _hide_authorization),
    ("bearer", _hide_authorization),
    ("basic ", _hide_authorization),
    ("akia", _hide_aws_secret),
    ("asia", _hide_aws_secret),
    ("identified", _hide_wrapped),
    ("secretstr(", _hide_wrapped),
    ("secretbytes(", _hide_wrapped),
    ("%3d", _hide_wrapped),
    (" pass:", _hide_wrapped),
)
# What a text holds where one of the commands of `secretcommands` stands in it; most texts hold none.
_COMMANDS = (
    *("curl", "http ", "https ", "wget ", "xh ", "xhs "),
    *("mysql", "mariadb", "sshpass", "redis-cli", "openssl"),
    *("-stdin", "--with-token", "--passphrase-fd", "sudo -", "chpasswd"),
    *("sqlplus", "sqlldr", "oracle", "expdp", "impdp", "userid=", "ora-", "rman ", "conn"),
)
COLUMN = r"(?:passw(?:or)?d|passphrase|passcode|pwd|secret|token|key)[\"' ]{0,3}(?:[,;|\t\\\r\n]|\Z)"
"""What a text in lower case holds where a line of headings names a column of credentials."""
