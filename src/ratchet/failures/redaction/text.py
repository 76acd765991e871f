"""Takes secrets out of text before anything reaches disk, and caps how much text is kept. Long, since the order of the
rules is part of them.

`redact` replaces provider keys, bearer tokens, cookies, JWTs, private keys, credentials in URLs and next to key-like
names, e-mail addresses and card numbers by `[redacted:KIND]`; everything else stays byte for byte. Each rule is gated
by a literal test, since a text without secrets is the rule, and takes linear time on any text.

Lean: a hook process imports this.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled
from ratchet.failures.redaction import forms, named
from ratchet.failures.redaction.values import looks_random

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ratchet.records import Json

LIMIT = 4000
"""Characters that are kept of one text."""


def redact(text: str) -> str:
    """The text without its secrets. Idempotent; linear in the length of the text. Raises UsageError for no text."""
    try:
        known = _known.get(text)
        if known is None:
            known = _redacted(text)
            if len(_known) >= _REMEMBERED:
                _known.clear()
            if len(text) <= LABEL:
                _known[text] = known
    except (AttributeError, TypeError):  # no look at the type of each text: this is the hot path
        from ratchet.arguments import need_text

        need_text("what redact takes", text)
        raise
    return known


_known: dict[str, str] = {}  # names of tools, programs and files come again with every step
_REMEMBERED = 2048
LABEL = 200
"""Characters that are kept of a name (an agent, a session, a model, a tool)."""


def _redacted(text: str) -> str:
    if "\\n" in text:
        from ratchet.failures.redaction.escaped import hide_escaped

        return hide_escaped(text, redact, _as_written)
    return _as_written(text)


def _as_written(text: str) -> str:
    if ("[" in text or "&" in text) and any(map(text.__contains__, _DRESSES)):
        bare = _undressed(text)
        hidden = _as_diff(bare)
        if hidden != bare:  # what held a secret is kept without its colours
            text = hidden
    return _as_diff(text)


def _as_diff(text: str) -> str:
    if _is_diff(text):
        from ratchet.failures.redaction.diffs import apart, new_side, together

        # A line of a diff is read without what the diff says of it, then without the lines it replaces, then as it is.
        signs, bare = apart(text)
        clean = _settled(bare)
        if clean != bare:
            text = together(signs, bare, clean)
            signs, bare = apart(text)
        fronts, kept = new_side(signs, bare)
        hidden = kept if kept == clean else _settled(kept)
        text = text if hidden == kept else together(fronts, kept, hidden)
    return _settled(text)


def _is_diff(text: str) -> bool:
    """Tell whether a line begins by a sign; most texts hold no sign in such a place at all."""
    if text.startswith(_CHANGES) and compiled(_CHANGE).fullmatch(text) is not None:
        return True
    return (text[:1] in _SIGN or any(map(text.__contains__, _SIGNS))) and compiled(_SIGNED).search(text) is not None


_CHANGES = ("+ ", "- ", "@@ ")
_SIGN = ("+", "-")
_SIGNS = tuple(before + sign for before in ("\n", "\\n", "m") for sign in _SIGN)
_SIGNED = r"[+-](?:(?<![^\n].)|(?<=\\n.)|(?<=[0-9;]m.))(?! \S|\\?[\r\n]|\Z)"  # begins with what is rare
_CHANGED = r"(?:[+-] [^\n]*+(?:\n|\Z)|@@ [^\n]*+\n)++"
_CHANGE = (
    rf"{_CHANGED}(?:\[\.\.\. [^\n]*+\n[^\n]*+\n?(?:{_CHANGED})?)?"  # what an edit did, as steps keep it, cut or not
)


def _undressed(text: str) -> str:
    """The text without colours, and with the quotes and signs that HTML writes as names."""
    text = compiled(_COLOUR).sub("", text)
    for written, sign in _WRITTEN:
        text = text.replace(written, sign)
    return text


_COLOUR = r"(?:\x1b|\\{1,7}(?:u001[bB]|x1[bB]|033|e))\[[0-9;:?]{0,64}[ -/]{0,2}[@-~]"
_WRITTEN = (("&quot;", '"'), ("&#34;", '"'), ("&#39;", "'"), ("&apos;", "'"), ("&#61;", "="))
_DRESSES = ("\x1b[", "1b[", "1B[", "033[", "\\e[", *(written for written, _ in _WRITTEN))


def _settled(text: str) -> str:
    for _ in range(_PASSES):
        found = _redacted_once(text)
        if found == text or _TOUCHED.search(found) is None:
            return found
        text = found
    return text


_PASSES = 8
# A secret that is hidden may lay open the one it touched; where none is touched, once is enough.
_TOUCHED = compiled(r"\](?=[^\s\"'@.,;&)\]}\\])|\[redacted:(?<=[^\s\"'=:,;&(\[{/\\]\[redacted:)(?<!\s-p\[redacted:)")


def _redacted_once(text: str) -> str:
    low = named.lowered(text)
    words = set(text.split())
    stands = forms.LITERALS.found(words, low)
    found, is_drawn = forms.hide_known(text, low, words, stands)
    if named.may_hold(low, stands):
        found = _without_lines(found, low, stands)
        found = named.hide_named(found, low if found is text else named.lowered(found))
        if "\n" in found:
            found = _without_entries(found, low)
    if not stands.isdisjoint(_SPEAKS):
        from ratchet.failures.redaction.looks import hide_spoken

        if not stands.isdisjoint(forms.CODES):
            from ratchet.failures.redaction.lines import hide_codes

            found = hide_codes(found)
        found = hide_spoken(found, words if found is text else set(found.split()))
    if is_drawn:
        from ratchet.failures.redaction.keys import hide_encoded, hide_middle
        from ratchet.failures.redaction.looks import hide_lone

        found = hide_lone(hide_middle(hide_encoded(found, redact)))
    return forms.hide_personal(found)


_NAMES = (*named.NEEDLES[-4:], *named.FOREIGN)  # of passwords in other languages
_SPEAKS = ("pass", "pw", "secret", "token", "cred", "auth", "key", *forms.SPOKEN, *_NAMES)


def _without_lines(text: str, low: str, stands: set[str]) -> str:
    """The text without what only its lines tell: passphrases and columns. `low` is the text in lower case."""
    has_lines = ("\n" in low or "\\n" in low) and not stands.isdisjoint(_COLUMNS)
    steps = (
        ("hide_phrases", "pass" in stands and (": " in low or " = " in low)),
        ("hide_yaml_pass", "pass" in stands and ": " in low),
        ("hide_blocks", (": |" in low or ": >" in low) and compiled(forms.BLOCK).search(low)),
        ("hide_bracketed", compiled(_BRACKET).search(low)),
        ("hide_inserted", "insert " in low and "values" in low),
        ("hide_columns", has_lines and compiled(forms.COLUMN).search(low)),
    )
    if "secret" in stands and "kind" in low:
        from ratchet.failures.redaction.manifests import hide_manifests

        text = hide_manifests(text)
    for name in [name for name, is_due in steps if is_due]:
        from ratchet.failures.redaction import lines

        text = getattr(lines, name)(text)
    return text


def _without_entries(text: str, low: str) -> str:
    """The text without what stands on another line than its name."""
    if ("value" in low or "default" in low) and compiled(_ENTRY).search(low) is not None:
        from ratchet.failures.redaction.entries import hide_entries

        text = hide_entries(text)
    if ">\n" in low or ">\r\n" in low:
        from ratchet.failures.redaction.entries import hide_elements

        text = hide_elements(text)
    return text


_ENTRY = r"(?:value|default)[\"']?[ \t]{0,20}[:=]"  # begins with what is rare
_COLUMNS = ("pass", "pw", "secret", "token", "key")  # one of which stands in each heading of `forms.COLUMN`
_BRACKET = (  # begins with what is rare
    r"\((?:(?<=[=:]\()|(?<=[=:][ \t]\()|(?<=[=:][ \t]{2}\()|(?<=[=:][ \t]{3}\()|(?<=[=:][ \t]{4}\())"
    r"(?:\s|\\{1,7}[nrt]){0,80}+(?:#|[bfru]{0,2}\\{0,7}[\"'])"
)


# --- caps ----------------------------------------------------------------------------------------------------------
_MARGIN = 1000  # characters read beyond a cut, so that a secret lying across it is seen whole
_LONGEST_KEY = 4000  # a private key of 4096 bits is 3,300 characters
_WORD = 120  # characters within which a word is expected to end
_SPACE = compiled(r"\s")
_MARKER = "\n[... {} characters left out ...]\n"


def cap(text: str, limit: int = LIMIT) -> str:
    """At most `limit` characters: three parts of the head, one of the tail, cut between words where one ends nearby."""
    if len(text) <= limit:
        return text
    head, tail = _shares(limit, len(text))
    return _joined(text[:head], text[len(text) - tail :], len(text))


def clean(text: str, limit: int = LIMIT) -> str:
    """The text without secrets and within `limit`: what may be written to disk.

    Only what is kept is read, and a margin beyond each cut, so that no part of a secret that lies across one survives;
    a text of any length costs the same, but for one with a manifest of secrets, which is read whole.
    """
    if len(text) > limit:
        text = _without_manifests(text)
        head, tail = _shares(limit, len(text))
        end, start = head + _MARGIN, _tail_start(text, len(text) - tail)
        if end < start:
            end = _last_space(text, end, _MARGIN // 2)
            head_text = redact(_well_formed(text[:end]))[:head]
            tail_text = redact(_well_formed(text[start:]))[-tail:]
            return _joined(head_text, tail_text, len(text))
    text = redact(_well_formed(text))
    return text if len(text) <= limit else cap(text, limit)


def _without_manifests(text: str) -> str:
    """The text without the data of Kubernetes secrets: what a document is may be said behind a cut."""
    if "Secret" not in text or "kind" not in text:
        return text
    from ratchet.failures.redaction.diffs import apart, together
    from ratchet.failures.redaction.manifests import hide_manifests

    signs, bare = apart(text)
    hidden = hide_manifests(bare)
    return text if hidden == bare else together(signs, bare, hidden)


def nothing_to_hide(texts: Iterable[str]) -> bool:
    """Tell whether `clean` would leave every one of these texts as it is, none of them longer than its limit: one
    search for many, of at most `_JOINED` characters. A line end between two texts is an end for every rule; one that it
    makes a rule see is a false alarm, and only costs the answer False."""
    joined: list[str] = []
    size = 0
    for text in texts:
        if joined and size + len(text) > _JOINED:
            if not _holds_nothing("\n".join(joined)):
                return False
            joined, size = [], 0
        joined.append(text)
        size += len(text)
    return _holds_nothing("\n".join(joined))


_JOINED = 16 * LIMIT  # what costs more than one search for a few texts does not gain from more of them


def _holds_nothing(text: str) -> bool:
    return redact(_well_formed(text)) == text


FOLDER = 1000
"""Characters that are kept of a folder."""
_labels: dict[tuple[str, int], str] = {}


def label(text: str, limit: int = LABEL) -> str:
    """`clean` for a name that comes again and again."""
    found = _labels.get((text, limit))
    if found is None:
        if len(_labels) >= _REMEMBERED:
            _labels.clear()
        found = _labels[text, limit] = clean(text, limit)
    return found


def _well_formed(text: str) -> str:
    """Lone surrogates and NUL replaced: no database and no other program takes them."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _shares(limit: int, length: int) -> tuple[int, int]:
    room = max(0, limit - len(_MARKER.format(length)))
    return room - room // 4, room // 4


def _joined(head: str, tail: str, length: int) -> str:
    head = _cut_back(head)
    tail = _cut_back(tail[::-1])[::-1]
    return head + _MARKER.format(length - len(head) - len(tail)) + tail


def _cut_back(text: str) -> str:
    """The text up to its last word boundary, if there is one nearby."""
    return text[: _last_space(text, len(text), _WORD)]


def _last_space(text: str, end: int, reach: int) -> int:
    """Find where the last white space before `end` stands, when within `reach`; else `end`."""
    first = max(0, end - reach)
    found = _SPACE.search(text[first:end][::-1])
    return end - found.end() if found is not None else end


def _tail_start(text: str, tail: int) -> int:
    """Find where to begin reading so that the tail's secrets are seen whole: at a line's, else a word's beginning."""
    key = text.rfind("-----BEGIN ", max(0, tail - _LONGEST_KEY), tail)
    if key >= 0 and text.find("-----END ", key, tail) < 0:
        return key
    first = max(0, tail - 2 * _MARGIN)
    line = text.find("\n", first, tail)
    if line >= 0:
        return line + 1
    found = _SPACE.search(text, first)
    space = found.start() if found is not None else len(text)
    if space >= tail:
        # The tail begins inside one long word: a part of a secret if it looks random, else harmless.
        return space if looks_random(text[tail : min(space, tail + _MARGIN)], 20) else tail
    return space + 1


# --- nested values -------------------------------------------------------------------------------------------------
_DEEPEST = 8
_MOST_NODES = 500
_MOST_CHARACTERS = 16_000
_MOST_BITS = 63  # what every database holds


def redact_json(value: object, problems: list[str] | None = None, name: str = "") -> Json:
    """Any value as clean JSON: texts and keys without secrets, values under key-like names hidden, no cycle, no NaN.

    What cannot be kept becomes None or text; where it stood is appended to `problems` (`name`, `name.key`, ...).
    """
    return _Walk(problems if problems is not None else []).of(value, name, _DEEPEST)


def kept_how(whole: object, kept: object) -> tuple[bool, bool]:
    """(masked, clipped): whether what `redact_json` kept of a value lacks a secret, and whether it lacks more, since
    that was too long."""
    if isinstance(whole, str):
        plain = redact(_well_formed(whole))
        named = isinstance(kept, str) and kept.startswith("[redacted:")
        return plain != whole or (named and kept != whole), kept != plain and not named
    if not isinstance(whole, dict | list | tuple):
        return False, kept is None and whole is not None
    inner = list(kept.values()) if isinstance(kept, dict) else kept if isinstance(kept, list) else []
    found = [kept_how(*pair) for pair in zip(whole.values() if isinstance(whole, dict) else whole, inner, strict=False)]
    return any(masked for masked, _ in found), len(inner) < len(whole) or any(clipped for _, clipped in found)


class _Walk:
    """One pass over a nested value, with a budget that a cycle or a giant cannot exceed."""

    __slots__ = ("characters", "nodes", "problems")

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        self.nodes = _MOST_NODES
        self.characters = _MOST_CHARACTERS

    def of(self, value: object, name: str, depth: int, under: str = "") -> Json:
        self.nodes -= 1
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):
            return self._text(str.__str__(value))
        if isinstance(value, int):
            return self._kept(int(value), value.bit_length() <= _MOST_BITS, name)
        if isinstance(value, float):
            return self._kept(float(value), value - value == 0, name)
        if not isinstance(value, dict | list | tuple | set | frozenset):
            return self._text(text_of(value))
        if depth == 0 or self.nodes <= 0:
            self.problems.append(name)
            return None
        if isinstance(value, dict):
            return self._mapping(value, name, depth - 1, under)
        return self._items(value, name, depth - 1, under)

    def _kept(self, value: float, fits: bool, name: str) -> Json:
        if fits:
            return value
        self.problems.append(name)
        return None

    def _text(self, text: str) -> str:
        text = clean(text, max(200, min(LIMIT, self.characters)))
        self.characters -= len(text)
        return text

    def _mapping(self, value: dict[object, object], name: str, depth: int, under: str) -> Json:
        kept: dict[str, Json] = {}
        for key, item in list(value.items()):
            if self.nodes <= 0 or self.characters <= 0:
                self.problems.append(name)
                break
            label = self._text(text_of(key))[:200]
            named = under if label == "value" else label
            kept[label] = self._named(named, item, f"{name}.{label}" if name else label, depth)
        return kept

    def _named(self, label: str, item: object, name: str, depth: int) -> Json:
        """A value under a name; the items of a list stand under the list's."""
        if isinstance(item, str | int) and not isinstance(item, bool) and named.is_secret_value(label, str(item)):
            return "[redacted:secret]"
        return self.of(item, name, depth, label)

    def _items(self, value: Iterable[object], name: str, depth: int, under: str) -> Json:
        kept: list[Json] = []
        option = under
        for index, item in enumerate(list(value)):
            if self.nodes <= 0 or self.characters <= 0:
                self.problems.append(name)
                break
            kept.append(self._named(option, item, f"{name}[{index}]", depth))
            option = item if isinstance(item, str) and item.startswith("-") and len(item) < _WORD else under
        return kept


def text_of(value: object) -> str:
    """A value as text, whatever its own `__str__` does."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes):
        return value[: 4 * LIMIT].decode("utf-8", "replace")
    try:
        return str.__str__(str(value))
    except Exception:  # noqa: BLE001  (a host's own __str__, which must not take its call down)
        return f"<{type(value).__name__}>"
