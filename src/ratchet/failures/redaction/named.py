"""Tells a credential from other text by the name next to it; long, since its rules lean on one another.

`password=...`, `"api_key": "..."`, `--token ...`. Three classes of names: whatever is assigned to a password is a
secret; what is called a token is one when it looks made by a machine; a mere `key` or `sig` only when its value is long
and plainly random.

Lean: a hook process imports this.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled
from ratchet.failures.redaction.values import (
    PLAIN,
    is_announced,
    is_drawn,
    is_hash,
    is_placeholder,
    is_uuid,
    looks_random,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

NEEDLES = (
    "pass", "pw", "secret", "token", "cred", "key", "auth", "sig", "session", "cvv", "cvc", "otp", "dsn",
    "kennwort", "wachtwoord", "senha", "contrasena",
)  # fmt: skip
"""A text without one of these, in lower case, holds no name that matters here, but for ASSIGNED and FOREIGN."""
ASSIGNED = ("_pat", "code=", "appid=", "login=", "psk")
"""What matters where it is assigned."""
FOREIGN = (
    "contraseña", "пароль", "пароля", "密码", "密碼", "パスワード", "暗証番号", "口令", "hasło", "lösenord", "şifre",
    "jelszó", "비밀번호", "암호", "κωδικός", "κωδικο", "mật khẩu", "รหัสผ่าน", "كلمة المرور", "كلمة السر", "סיסמה",
    "סיסמא", "पासवर्ड", "slaptažodis",
)  # fmt: skip
"""Passwords in other languages, none of them in ASCII."""

# Alternatives begin with a literal each, which lets the engine skip text that holds none; what must not stand before a
# word is asserted after it.
_PASSWORDS = (
    r"p(?:ass(?:word|wd|phrase|code|wort|ord)s?|asse(?<=mot[ _-]de[ _-]passe)|sk(?<![a-z]psk)(?![a-z])"
    r"|ass(?=[\"'\\\])]{0,20}\s{0,4}(?:=|:\s{0,4}\\{0,15}[\"']))(?<![a-z]pass)"
    r"|ass(?<=[_-]pass)(?![a-z])|ass(?<=(?:ey|re)pass)(?![a-z])|wd(?<![a-z]pwd)|wd(?<=dbpwd)"
    r"|w(?<=[_.-]pw)(?![a-z0-9])|w(?<![a-z0-9]pw)(?=[\"'\\\])]{0,20}\s{0,16}[:=]))"
    r"|kennworte?|wachtwoord|senha(?<![a-z]senha)(?![a-z])|contrasena"
    r"|secrets?|c(?:vv2?|vc)(?<![a-z]cvv)(?<![a-z]cvc)(?![a-z])|otp(?<![a-z]otp)(?![a-z]|_app)"
)
_TOKENS = (
    r"tokens?|salt(?<=[_-]salt)(?![a-z])|c(?:redentials?|reds(?<![a-z]creds)|lient[_.\s-]?key)|a(?:pi|ccess|ccount|uth|pp)[_.\s-]?keys?"
    r"|s(?:igning|hared|ervice|torage|sh|ubscription|ession|as)[_.\s-]?keys?|private[_.\s-]?keys?"
    r"|p(?:at(?<=_pat)(?![a-z])|ass(?<=[a-z]pass)(?==))|encryption[_.\s-]?keys?|master[_.\s-]?keys?|webhook[_.\s-]?keys?|license[_.\s-]?keys?|deploy[_.\s-]?keys?"
)
_WEAK = (
    r"key(?<![a-z]key)(?![a-z])|s(?:ignature|ig(?<![a-z]sig)(?![a-z])|ession(?:[_-]?id)?)"
    r"|a(?:uth(?<![a-z]auth)(?![a-z])|ppid(?<=[?&]appid)(?==))|dsn(?<![a-z]dsn)(?![a-z])|code(?<=[?&]code)(?==)|login(?<![a-z]login)(?==)"
)
_SHORTEST_PASSWORD = 3  # characters; below, it is a count or a flag
_NAMES = (
    ("password", _SHORTEST_PASSWORD, ("pass", "pw", "secret", "psk", "cvv", "cvc", "otp", *NEEDLES[-4:]), _PASSWORDS),
    ("secret", 8, ("token", "cred", "key", "_pat", "pass=", "salt"), _TOKENS),
    ("secret", 20, ("key", "sig", "session", "auth", "dsn", "code=", "login=", "appid="), _WEAK),
    ("password", 3, FOREIGN, "|".join(FOREIGN).replace(" ", r"\ ")),
)
"""What replaces it, the shortest value, literals of which one stands in each of the names, the names."""

# What may follow the word inside the same name (`secretAccessKey`, `token_v2`), the words of prose before a colon ("API
# key provided: ...") and every gap are bounded or possessive: that is what keeps this linear. `is` separates in prose,
# `>` in XML, `value:` in manifests, a comma between quoted arguments, whitespace behind an option. A line end may be
# escaped, and a file that an agent read has numbered lines (`17→`).
_REST = r"""
(?P<rest>[\w.-]{0,40}+)
(?P<spoken>(?:\ (?:[a-z([\x80-\uffff](?:[\w@.)\]\x80-\uffff]|-(?!>)){0,24}+|["'][^"'\s\\]{1,80}+["'])){1,7}(?=:|\ ?->
  |\ (?:to|is|ist|lautet|est|es|é|è|jest|är)\ |\ {1,8}=\ |\\{0,7}["'],))?
(?P<closer>[\\"'\])]{0,20}(?<!\\)|\}(?=\s{0,4}=\s{0,4}["']))
(?P<sep>\s{0,16}+(?:(?:as\ )?string\ (?==))?(?:\\{1,7}[nrt]\s{0,8}+){0,3}
  (?:[-=]>|<-|:=|={1,2}+@?|:(?!//|:)|：|::(?=\s)
   |(?:is(?:\ (?:now|still|currently))?|to|lautet|ist|est|es|é|è|jest|är)(?:\s:)?(?=\s)
   |[是为為は는은]
   |(?:\|\||\?\?|or\b)(?=\s{0,4}["'`]))
  (?:\ {9,20}+|\s{0,8}+)(?:[«“「『]\s?|[|>][+-]?(?=[\s\\])\s{0,8}+)?
  (?:(?:\\{1,7}[nrt]|\d{1,6}(?:→|\\{1,7}u2192))\s{0,8}+){0,4}
  (?:\{\s{0,8}[\\"']{1,16}value[\\"']{1,16}\s{0,4}:\s{0,4}+|[&'\w.?<>\[\]|\ ]{1,40}=\s{0,4}@?(?=\\{0,15}["'`]))?
  |>(?:(?:</[\w:]{1,20}>)?(?:\s|\\{1,7}[nrt]){0,40}+<[a-z]{4,6}>|<!\[cdata\[)?
  |</[\w:]{1,20}>(?:\s|\\{1,7}[nrt]){0,40}+<[a-z]{4,6}>|(?<=["'])(?:\r?\n|(?:\\{1,7}r)?\\{1,7}n){2}
  |(?:\s{1,8}+(?!value)[a-z-]{1,20}+=\\{0,7}["'][^"'<>\r\n]{0,60}+["']
    |,\s{0,40}+\\{0,7}["'](?![a-z]{0,20}value|text|input|received)\w{1,20}+\\{0,7}["']
     \s{0,4}:\s{0,4}\\{0,7}["'][^"'\r\n]{0,100}+["']){0,4}+
   (?:,\s{0,40}+|\s{1,40}+)[\\"']{0,16}(?:[a-z]{0,20}value|(?:text|input|received)(?=[\\"']))[\\"']{0,16}\s{0,4}[:=]\s{0,4}+
  |(?:\r?\n|\\{1,7}n)\ \ [^\r\n\\]{1,200}\[type=\w{1,60},\ input_value=
  |\s{0,4}\{\s{0,8}default\s{0,4}=\s{0,4}+
  |,(?:\ {9,40}+|\s{0,8}+)(?=\\{0,15}["'])|[ \t]{1,40}+[|│][ \t]{1,4}+|[ \t]{1,8}+)
(?:(?<=[:,]\ )[!&][\w!-]{1,20}+\ )?+
(?P<opener>(?:(?:\[\]byte|secret[a-z]{0,5}|bytes|string)\((?=[b"'`\\])|string\(\d{1,6}\)\ (?="))?
  (?:[bfrun@$]{1,2}(?=["']))?\\{0,15}+["'`])?
"""
_GAP = f"(?xa){_REST}(?=[^\\r\\n]{{{_SHORTEST_PASSWORD}}})"
_NOT_MARKED = r"(?<!redacted:password)(?<!redacted:secret)(?<!redacted:1password)(?<!redacted:private-key)"
_CLASSES = tuple(
    # what replaces it, the shortest value, literals of the names, the expression of the names, that of a value
    (
        label,
        shortest,
        needles,
        f"(?xa)(?:{names}){_NOT_MARKED}",
        f"[^\\s\"'`<>&]{{{shortest}}}" if shortest > _SHORTEST_PASSWORD else "",
    )
    for label, shortest, needles, names in _NAMES
)


# A plan or a diff of values says both: `password = "old" -> "new"`.
_BECOMES = r"\\{0,15}[\"']\s{1,4}->\s{1,4}\\{0,15}[\"']([^\"'\r\n\\]{3,200})(?=\\{0,15}[\"'])"
_UNQUOTED = r"(?:[^\s\"'`<>&|;\\]|\\(?![nrt\"'\\]))+"
_NEXT_FIELD = r",(?=[\w.-]{1,60}[=:])"
_QUOTED_LIMIT = 1000  # characters searched for the closing quote; beyond, the value is taken as unquoted
_JUDGED = 128  # characters of a value that decide: a name with a hash behind it is a fact
_SPOKEN = 6  # characters from which on a random-looking word after "password is" is one
_LONG = 20
_LONGEST_WORD = 16  # letters; hardly a word of prose is as long

# Names of facts about a credential: `token_count`, `secret_name`, `password_file`.
_ABOUT = (
    r"(?:count|limit|name|type|file|path|url|uri|length|len|size|ttl|expir\w*|required|field|version|usage|budget|stdin"
    r"|policy|hint|reset|label|format|arn|env|error|status|used|timeout|backend|ref|interval|hasher|encoder|iz(?:er|ed?|ation)|is(?:ed?|ation))s?$"
)
_GOES_ON = r"\.{3}|…|<[A-Za-z]"
_SENTENCE = r"(?:_[a-z]+)+"
_IN_FILE = r"\.[a-z]{1,5}$"  # `password_hasher.py:12: in verify`
# ... and of what says which credential is meant (`secret_id`, `SecretArn`, `existingSecret`); a key's is public.
_WHICH = r"(?:id|identifier|arn|ref|alias|secret)s?$|fingerprint$"
_ASKED_BEFORE = r"(?:existing|pull)[_-]?$"
# Words, one of them saying that it is the name of a credential (`prod/payments/stripe-key`).
_OF_CREDENTIAL = (
    r"(?:[A-Za-z]+[/_.:-])*[A-Za-z]*?(?:(?<=[/_.:-])|(?<=[a-z])(?=[A-Z]))"
    r"(?i:password|passwd|token|key|secret|credential|cred|pat|auth)s?(?:[/_.:-][A-Za-z]+)*$"
)
_GENERATED = r"[a-z]{3,}(?:-[a-z0-9]+)*-[a-z0-9]{5}"  # by Kubernetes, from a name
_ADDRESS = r"arn:[^\s\"']{0,80}$"
_IN_NAME = "abcdefghijklmnopqrstuvwxyz0123456789_.-$"  # with `$`, where it is assigned to, a bare word is code
_FIELDS = r"[A-Za-z_][\w.-]*=[^=]"  # `--secret id=npm,src=...`
_REFERENCE = (
    r"(?:[A-Za-z_]\w*(?:\.|::|->))+[A-Za-z_]\w*\(?\)?$|[A-Za-z_][\w.]*\(|[A-Za-z_][A-Za-z_.]*\[|\[[A-Za-z_]"
    r"|[A-Za-z_][\w.$]*(?:\{[\w}]|@[0-9a-f]{4,8}$)"  # an object as a runtime shows it
)
_NO_MEMBER = r"[a-z]+\.[A-Z][a-z]+\d+"  # nor a class in a module
_IDENTIFIER = r"[A-Za-z_]\w*$"
_DIGIT = r"[0-9]"
_MOST_NAMES = 16  # in one run without spaces; what follows goes unjudged, which bounds the cost of the worst
_VARIED = r"[0-9!@#$%^&*+=~?]|[^A-Z][A-Z]|[A-Z]{2}[a-z]"


def may_hold(low: str, stands: set[str]) -> bool:
    """Tell whether a text, in lower case, may hold a name that matters here; `stands` are the literals in it."""
    if not stands.isdisjoint(NEEDLES) or (("=" in low or ": " in low) and not stands.isdisjoint(ASSIGNED)):
        return True
    return not stands.isdisjoint(FOREIGN)


def hide_named(text: str, low: str) -> str:
    """The text with every credential that stands next to its name replaced by `[redacted:password|secret]`.

    `low` is the text in lower case, character by character. A text that is a dump of credentials (more than 100, and
    one in every 80 characters) is cut at the first one too many: that bounds the cost of the worst text.
    """
    most = 100 + len(text) // 80
    for label, shortest, needles, names, enough in _CLASSES[:-1] if text.isascii() else _CLASSES:
        if not any(map(low.__contains__, needles)) or (enough and compiled(enough).search(low) is None):
            continue
        find, gap_at = compiled(names).search, compiled(_GAP).match
        out: list[str] = []
        done = position = run_end = chained = 0
        while (name := find(low, position)) is not None:
            position = name.end()
            gap = gap_at(low, position)
            if gap is None or (start := gap.end()) < done:
                continue
            if gap["spoken"] and gap["sep"].startswith(" to"):
                gap = _nearest(low, name, gap)
                start = gap.end()
            repeated = low[name.start() : start]
            if low.startswith(repeated, start):
                position = _last_copy(low, repeated, start)
                continue
            if enough and compiled(enough).match(low, start) is None:
                continue
            chained = chained + 1 if start < run_end else 0
            end, run_end, quoted = _value_end(text, gap, run_end)
            if chained > _MOST_NAMES:
                end = run_end
            spans = _items(text, start, name, gap, _SPOKEN if shortest == _SHORTEST_PASSWORD else _LONG)
            is_one = chained > _MOST_NAMES or _is_credential(text, low, name, gap, shortest, quoted, end)
            spans = spans or [(start, end)] * is_one
            new = compiled(_BECOMES).match(text, end) if quoted else None
            if new is not None and (is_one or (not gap["rest"] and is_placeholder(text[start:end]))):
                spans.append(new.span(1))
            for at, till in spans:
                hidden = f"[redacted:{label if name[0][0] != 's' else 'secret'}]"
                out += (text[done:at], hidden)
                done = position = till if len(out) < 2 * most else len(text)
        if out:
            text = "".join((*out, text[done:]))
            low = lowered(text)
    return text


def _nearest(low: str, name: re.Match[str], gap: re.Match[str]) -> re.Match[str]:
    """The gap before a password that more words follow: of `with password hunter22 to reproduce it`, not up to `to`."""
    word = gap["spoken"][1:].partition(" ")[0]
    if not looks_random(word, _SPOKEN):
        return gap
    return compiled(_GAP).match(low, name.end(), gap.start("spoken") + 1 + len(word)) or gap


def _goes_on(text: str, gap: re.Match[str]) -> bool:
    """Tell whether the name is only a part of another word (`secretsmanager:`)."""
    rest = text[gap.start() : gap.end("rest")]
    if not text[max(0, gap.start() - _LONGEST_WORD) : gap.start()].isascii():  # languages that decline it
        return False
    return rest[:1].islower() and not rest.startswith(("key", "access", "value", "text"))


def _is_variable(text: str, name: re.Match[str], gap: re.Match[str]) -> bool:
    """Tell whether it is an assignment of the environment's (`API_KEY=...`): its value is meant literally."""
    written = text[name.start() : name.end()]
    return (
        gap["sep"] == "="
        and written.isupper()
        and not written.startswith("SESSION")
        and written not in ("KEY", "KEYS", "TOKENS", "SIG", "AUTH")
    )


def _last_copy(low: str, repeated: str, start: int) -> int:
    """Find where the last of the copies begins: of `password=password=x`, only the last has a value."""
    while low.startswith(repeated, start + len(repeated)):
        start += len(repeated)
    return start


def lowered(text: str) -> str:
    """The text in lower case, each character in its place; a space of any width is one."""
    low = text.lower()
    if low.isascii():
        return low
    low = low if len(low) == len(text) else "".join(c if len(c.lower()) != 1 else c.lower() for c in text)
    return compiled(_WIDE_SPACE).sub(" ", low)


_WIDE_SPACE = r"[^\S\x00-\x7f]"


def is_secret_value(name: str, value: str) -> bool:
    """Tell whether a value held under this name (a key of a mapping, an option) is a credential."""
    return bool(kind_under(name, value))


def kind_under(name: str, value: str) -> str:
    """Name the kind of credential that a value held under this name is (`password`, `secret`); "" when it is none."""
    low = lowered(f"{name}={value}")
    for label, shortest, _, names, _ in _CLASSES:
        for found in compiled(names).finditer(low, 0, len(name)):
            gap = compiled(_GAP).match(low, found.end())
            if gap is not None and gap.start("sep") == len(name):
                is_one = _is_credential(f"{name}={value}", low, found, gap, shortest, True, len(low))
                return (label if found[0][0] != "s" else "secret") if is_one else ""
    return ""


def _value_end(text: str, gap: re.Match[str], run_end: int) -> tuple[int, int, bool]:
    """Find where the value ends, where the run of characters without a break ends, and whether quotes enclose the
    value.

    `run_end` is what the last call said of the run: within it the end is known, which keeps a long chain linear.
    """
    start = gap.end()
    opener = gap["opener"]
    if opener:
        end = _closing_quote(text, start, opener[-1], opener.count("\\"))
        if end >= 0:
            return end, run_end, True
    if run_end <= start:
        found = compiled(_UNQUOTED).match(text, start)
        run_end = found.end() if found is not None else start
    end = run_end
    if text.find(",", start, min(end, start + _QUOTED_LIMIT)) >= 0:
        field = compiled(_NEXT_FIELD).search(text, start, min(end, start + _QUOTED_LIMIT))
        end = field.start() if field is not None else end
    while end > start and text[end - 1] in ",.:!?)}]" and text[start] != "[":
        end -= 1
    return end, run_end, False


def _items(text: str, start: int, name: re.Match[str], gap: re.Match[str], shortest: int) -> list[tuple[int, int]]:
    """Find the credentials in a list: `["one", "two"]`, or a dash and a word on each line."""
    spans: list[tuple[int, int]] = []
    if gap["opener"] or not text.startswith(("[", "- "), start):
        return spans
    for _ in range(20):
        found = compiled(_ITEM).match(text, start)
        if found is None:
            break
        value = found[found.lastindex or 0]
        if looks_random(value, shortest) and not _is_harmless(name[0], gap, value, is_literal=False):
            spans.append(found.span(found.lastindex or 0))
        start = found.end()
    return spans


_ITEM = r"\s{0,40}(?:[\[,]\s{0,40}([\"'])([^\"'\r\n\\]{3,200})\1|- ([^\s\"',\[\]{}]{3,200})(?=\s|$))"


def _closing_quote(text: str, start: int, quote: str, depth: int) -> int:
    """The quote that closes one written with `depth` backslashes before it; -1 when there is none nearby."""
    limit = min(len(text), start + _QUOTED_LIMIT)
    position = start
    while (position := text.find(quote, position, limit)) >= 0:
        slashes = 0
        while slashes <= depth + 1 and text[position - 1 - slashes : position - slashes] == "\\":
            slashes += 1
        closes = slashes <= depth if depth else slashes % 2 == 0
        if closes:
            return max(start, position - (slashes if depth else 0))
        position += 1
    return -1


def _is_credential(
    text: str, low: str, name: re.Match[str], gap: re.Match[str], shortest: int, quoted: bool, end: int
) -> bool:
    if end <= gap.end() or _goes_on(text, gap):
        return False
    value = text[gap.end() : min(end, gap.end() + _JUDGED)]
    shortest = _SHORTEST_PASSWORD if _is_variable(text, name, gap) else shortest
    return (
        _may_be_one(low, name, gap, value, shortest, quoted, end)
        and (quoted or compiled(_GOES_ON).match(text, end) is None or not is_placeholder(f"{value}..."))
        and not _is_name(low, name, gap, value, quoted)
    )


def _may_be_one(
    low: str, name: re.Match[str], gap: re.Match[str], value: str, shortest: int, quoted: bool, end: int
) -> bool:
    """Tell whether the value is made as a credential is, and stands behind its name as one does."""
    sep, spoken, is_option = gap["sep"], gap["spoken"], _is_option(low, name.start())
    if sep.isspace() and not is_option:  # "with password hunter2", in prose
        if quoted and low[name.start() - 1 : name.start()].isalpha():  # `keyPassword 'x'`, as build files have it
            return " " not in value
        if "." in gap["rest"] or compiled(_FIELD).match(value):
            return False
        spoken, shortest = sep, shortest if shortest == _SHORTEST_PASSWORD else _LONG
    is_literal = (
        compiled(_DIGIT).search(value) is not None
        and "[" not in value
        and (quoted or is_option or not name[0].isascii() or compiled(_NO_MEMBER).fullmatch(value) is not None)
    )
    if (
        _is_harmless(name[0], gap, value, is_literal=is_literal)
        or (sep.isspace() and value[0] == "-" and not quoted)  # the next option
        or ("->" in sep and not spoken and not is_drawn(value))  # the other name of a branch or a link
    ):
        return False
    if sep[0] == "," and "value" not in sep:
        return is_option or looks_random(value, max(8, shortest))
    if shortest >= _LONG:
        value = value.partition(",")[0]  # of a line of comma-separated values
    if shortest > _SHORTEST_PASSWORD:
        if not quoted and compiled(_IDENTIFIER).match(value) and not is_drawn(value, 0.2):
            return False  # a variable, a type
        return looks_random(value, shortest) and not (shortest >= _LONG and _is_fact(low, name, gap, value))
    if spoken or compiled(_SAID).fullmatch(sep.strip()) or "->" in sep:
        return looks_random(value, _SPOKEN) or (value.isdecimal() and len(value) >= _SPOKEN)
    if quoted:
        words = value.lower().split()
        return len(words) == 1 or 3 * len(PLAIN.intersection(words)) <= len(words)  # no sentence about a password
    return (
        not compiled(_COLON).match(sep)
        or compiled(_LINE_END).match(low, end) is not None
        or len(value) >= _LONG
        or compiled(_VARIED).search(value) is not None
    )


def _is_fact(low: str, name: re.Match[str], gap: re.Match[str], value: str) -> bool:
    """Tell whether what stands under a mere `key` is an id or a checksum, under a signature the proof of something,
    unless it is set as the environment and queries do (`ADMIN_KEY=`, `&signature=`)."""
    before = low[max(0, name.start() - 20) : name.start()]
    is_set = before[-1:] in ("_", "&", "?", "-") if gap["sep"] == "=" else before[-1:] == "-" and ":" in gap["sep"]
    is_proof = name[0] == "signature" or (
        name[0].startswith(("key", "session")) and is_hash(value.lower() if len(value) == 40 else value)
    )
    return is_uuid(value) or (is_proof and not is_set)


def _is_name(low: str, name: re.Match[str], gap: re.Match[str], value: str, quoted: bool) -> bool:
    """Tell whether the value only says which credential is meant, or is a word of a program."""
    before = low[max(0, name.start() - 100) : name.start()]
    begun = before[len(before.rstrip(_IN_NAME)) :]
    is_secret = name[0].startswith("secret")
    if (
        (begun.startswith("$") and not quoted and value.isidentifier())
        or (value.isalpha() and value.lower() in compiled(r"[a-z]+").findall(begun))  # `POSTGRES_PASSWORD=postgres`
        or compiled(_ADDRESS).search(before) is not None
        or (gap["sep"] == ">" and before.endswith(":<"))  # `redis://:<password>@host`
        or (name[0].endswith(("key", "token")) and is_announced(f"{before[-20:]}{name[0]}"))
        or (is_secret and _is_option(low, name.start()) and compiled(_FIELDS).match(value) is not None)
        or (is_secret and gap["sep"].isspace() and compiled(_GENERATED).fullmatch(value) is not None)
    ):
        return True
    said = gap["rest"] or (gap["spoken"] or " ")[1:].partition(" ")[0]
    if compiled(_WHICH).search(said) or (is_secret and compiled(_ASKED_BEFORE).search(before)):
        is_public = name[0].endswith("key") and not name[0].startswith("private")
        return ("finger" in said or is_hash(value.lower())) if is_public else not (is_uuid(value) or is_drawn(value))
    is_password = compiled("secret|token|key|cred|auth|s(?:ig|ession)").match(name[0]) is None
    return not is_password and compiled(_OF_CREDENTIAL).match(value) is not None


_BREAKS = str.maketrans("\t\n\"'=", "     ")


def _is_option(low: str, start: int) -> bool:
    """Tell whether a name is an option's or a setting's: its word begins with a dash, or `config set` stands before
    it."""
    if low.find("config set ", max(0, start - 60), start) >= 0:
        return True
    before = low[max(0, start - 40) : start].translate(_BREAKS)
    return before.startswith("-", before.rfind(" ") + 1) if " " in before else low.startswith("-")


_SAID = r"(?:(?:is|to)(?: \w+)?|lautet|ist|est|es|é|è|jest|är)(?:\s:)?|[|│是为為は는은]"
_FIELD = r"[A-Za-z_][\w.-]*="
_COLON, _LINE_END = r"(?:\s|\\{1,7}[nrt])*:(?!=)", r"$|[\r\n]|\\{1,7}[nr]"


def _is_harmless(name: str, gap: re.Match[str], value: str, *, is_literal: bool) -> bool:
    is_message = ":" in gap["sep"] and compiled(_SENTENCE).fullmatch(gap["rest"]) is not None
    if (
        is_placeholder(value)
        or compiled(r"[^\W_]").search(value) is None
        or (value.isdecimal() and len(value) < _SHORTEST_PASSWORD)
        or (" " in value and (is_message or "`" in (gap["opener"] or "")))  # or a command
        or (not name.isascii() and 2 * len(value.encode()) > 3 * len(value))  # goes on in that language
    ):
        return True
    word = (gap["spoken"] or "")[1:]
    rest = gap["rest"] or (word if ":" in gap["sep"] and " " not in word else "")
    if rest and (compiled(_ABOUT).search(rest) or (compiled(_IN_FILE).search(rest) and value[0].isdecimal())):
        return True
    low = value.lower()
    if value[0] == "/" and (name == "pwd" or value.count("/") > 1) and not is_drawn(value, 0.4):  # a path
        return True
    if compiled(_DIGIT).search(low) is None and name in low:
        return True
    last = value.rpartition(".")[2]
    return (
        not is_literal
        and compiled(_REFERENCE).match(value) is not None
        and not (len(last) >= _LONGEST_WORD and last.isalnum() and is_drawn(last))
    )
