"""Takes an edit apart: its hunks, how near one is to a finding, and what it added that fixes of a kind share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from ratchet.failures.diagnostics import Diagnostic
from ratchet.failures.missing_names import name_in
from ratchet.lessons.mining.calls import ToolCall
from ratchet.lessons.mining.silencing import claimed, suppressions, without_silencing

NEAR_LINES = 3  # a finding's line and the hunk that mends it: edits above it move it by a few
_ONE_HUNK_LINES = 2  # unchanged lines between two changes that are one thought
_DIFFED_LINES = 80  # longer texts without line numbers are one hunk: comparing them line by line is quadratic
_LINE_POINTS, _INSIDE_POINTS, _QUOTED_POINTS, _IMPORT_POINTS = 3, 2, 4, 5

_MARK = re.compile(r"@@ (\d+) (\d+)$")
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_DOTTED = re.compile(r"(?<![\w./\"'])[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)+")
_VERB = re.compile(r"%[wqxvdsT]")
_MODE = re.compile(r"\b0o?[0-7]{3}\b")
_KEYWORDS = re.compile(
    r"\b(?:switch|case|default|const|static|async|await|defer|match|try|except|catch|finally|raise|with|override"
    r"|readonly"
    r"|unsafe|clone|nonlocal|global|yield|void|let|mut|move|Optional|None|final)\b"
)
_PROSE = re.compile(r"(?:^|\s)(?://|#(?= )|--(?= )|\*(?= )).*", re.MULTILINE)  # prose has such words, too
TEXTS = (".md", ".mdx", ".rst", ".txt", ".adoc", ".html")  # in which a keyword is a word, and `a.b` a file
_CHECKS_ERROR = re.compile(
    r"\berr\w*\s*[!=]=\s*nil|\w[eE]rr\s*[!=]=\s*nil|\bcatch\s*\(|\bexcept\b|\brescue\b|\.catch\("
)
_IMPORT = re.compile(
    r"^\s*(?:import\s+(?P<py>[\w.]+)(?:\s+as\s+\w+)?|from\s+(?P<frm>[\w.]+)\s+import\s+(?P<what>[\w, ]+)"
    r"|(?:[\w.]+\s+)?\"(?P<go>[\w.@/-]+)\""
    r"|(?:pub )?use\s+(?P<rs>[\w:]+(?:::\{[^}]*\})?);|#include\s+[<\"](?P<c>[\w./]+)[>\"]"
    r"|import\s+.*\bfrom\s+['\"](?P<js>[^'\"]+)['\"];?"
    r"|(?:const|let|var)\s+.*=\s*require\(['\"](?P<cjs>[^'\"]+)['\"]\);?|import\s+(?:static\s+)?(?P<java>[\w.]+);"
    r"|require\s+['\"](?P<rb>[\w/.-]+)['\"]"
    r"|(?:alias|require|use)\s+(?P<ex>[A-Z][\w.]+))\s*$"
)
LITERAL = re.compile(r"\"(?:[^\"\\\n]|\\.){2,80}\"|'[^'\\\n]{2,80}'")
_DEFINES = re.compile(
    r"^\s*(?:export )?(?:async )?(?:func|def|defp|function|fn|pub fn)\s+(?:\([^)]*\)\s*)?([A-Za-z_]\w*)"
)
CONSTANT = re.compile(r"^\s*(?:const\s+)?([A-Za-z_]\w*)(?:\s+\w+)?\s*(?::=|=)\s*(?:\"[^\"]*\"|'[^']*'|\d+)$")


@dataclass(frozen=True)
class Hunk:
    """Lines that an edit put in the place of others. `line` counts in the file as it was before, 0 where unknown."""

    path: str
    line: int
    removed: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.replace("\\", "/").rpartition("/")[2]

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(word for line in (*self.removed, *self.added) for word in _WORD.findall(line))

    @property
    def size(self) -> int:
        return sum(map(len, self.removed)) + sum(map(len, self.added))


def hunks_of(call: ToolCall) -> list[Hunk]:
    """The hunks of a successful edit, in order."""
    found: list[Hunk] = []
    line, removed, added = 0, list[str](), list[str]()
    marked = "@@ " in call.change

    def close() -> None:
        if removed or added:
            found.append(Hunk(call.target, line, tuple(removed), tuple(added)))
        removed.clear()
        added.clear()

    for text in call.change.split("\n"):
        mark = _MARK.match(text) if marked and text[:1] == "@" else None
        if mark is not None:
            if int(mark[1]) > line + len(removed) + _ONE_HUNK_LINES:
                close()
            line = line if removed or added else int(mark[1])
        elif text[:1] == "-":
            removed.append(text[2:])
        elif text[:1] == "+":
            added.append(text[2:])
    if marked:
        close()
        return found
    return _differing(call.target, removed, added)


def _differing(path: str, old: list[str], new: list[str]) -> list[Hunk]:
    """The hunks between two texts that carry no line numbers."""
    while old and new and old[0] == new[0]:
        del old[0], new[0]
    while old and new and old[-1] == new[-1]:
        del old[-1], new[-1]
    if not old and not new:
        return []
    if not old or not new or len(old) > _DIFFED_LINES or len(new) > _DIFFED_LINES:
        return [Hunk(path, 0, tuple(old), tuple(new))]
    found = SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes()
    return [Hunk(path, 0, tuple(old[a:b]), tuple(new[c:d])) for tag, a, b, c, d in found if tag != "equal"]


def points(hunk: Hunk, found: Diagnostic, words: frozenset[str]) -> int:
    """Rate how much speaks for a hunk as the cause of a finding's end; 0 for nothing. `words` are the finding's own."""
    if found.path and hunk.name != found.name:
        return 0
    if not found.path:
        if len(found.source) > 8 and any(found.source.strip() in line for line in hunk.removed):
            return _LINE_POINTS
        literal = max(LITERAL.findall(found.message), key=len, default="")
        return 1 if len(literal) > 5 and any(literal[1:-1] in line for line in hunk.removed) else 0
    score = len(words & hunk.words)
    quoted = found.source.strip()
    if len(quoted) > 3 and any(quoted == line.strip() for line in hunk.removed):
        score += _QUOTED_POINTS
    if found.line and hunk.line and hunk.line <= found.line < hunk.line + max(1, len(hunk.removed)):
        score += _INSIDE_POINTS
    if found.line and hunk.line and -NEAR_LINES <= found.line - hunk.line <= len(hunk.removed) + NEAR_LINES:
        score += _LINE_POINTS
    missing = name_in(found.key)
    if missing and (_importing(hunk, missing) or _in_its_place(hunk, missing)):
        score += _IMPORT_POINTS
    return score


def words_of(found: Diagnostic) -> frozenset[str]:
    """The identifiers of a finding: of its sentence and of the code that it quotes."""
    return frozenset(_WORD.findall(f"{found.message} {found.source}"))


def _importing(hunk: Hunk, missing: str) -> str:
    """The module that a hunk imports a missing name from, "" for none."""
    name = re.compile(rf"(?<![A-Za-z\d_]){re.escape(_PARTS.split(missing)[-1])}(?![A-Za-z\d_])")
    was, now = (
        [module for line in lines if name.search(line) for module in imports([line])]
        for lines in (hunk.removed, hunk.added)
    )
    return next((module for module in now if module not in was), "")


def _in_its_place(hunk: Hunk, missing: str) -> str:
    """The name that a hunk puts where a missing one stood, with what it is asked of where that changed; "" for none."""
    last = _PARTS.split(missing)[-1]
    for old, new in zip(hunk.removed, hunk.added, strict=False):
        before, after = _NAMES_AND_SIGNS.findall(old.strip()), _NAMES_AND_SIGNS.findall(new.strip())
        at = next((at for at, (was, now) in enumerate(zip(before, after, strict=False)) if was != now), len(before))
        if at >= min(len(before), len(after)) or not after[at][:1].isalpha():
            continue
        was, now = (_PARTS.split(each[at]) for each in (before, after))
        if last in was and now != was and _KEYWORDS.fullmatch(after[at]) is None:
            return f".{now[-1]}" if was[:-1] and was[:-1] == now[:-1] else after[at]
    return ""


_PARTS = re.compile(r"::|->|[./:]")
_NAMES_AND_SIGNS = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->)[A-Za-z_$][\w$]*)*[!?]?|[^\sA-Za-z_$]")


def imports(lines: Sequence[str]) -> list[str]:
    """List what the lines import, each as the module's name."""
    found = []
    for line in lines:
        match = _IMPORT.match(line) if len(line) < 200 else None
        if match is not None:
            found.append(next(name for name in match.groups() if name))
    return found


# -- what a hunk added ----------------------------------------------------------------------------------------------


SHORTER = "shorten a name"
NAMED = "put a name for the literal"
SWAPS = ("swap ", "put in ", "leave out ")
"""Beginnings of features that name tokens."""


def features(hunk: Hunk, said: str, missing: str = "") -> frozenset[str]:
    """List what a hunk added, each as `kind name`: `add fmt.Errorf`, `suppress nolint:nilerr`, `import strconv`, ...
    `said` is the finding's sentence with the code that it quotes, `missing` the name that it says is not known."""
    source = _importing(hunk, missing) if missing else ""
    if source:
        return frozenset((f"import {source}",))
    old, new = "\n".join(hunk.removed), "\n".join(hunk.added)
    found = suppressions(hunk.removed, hunk.added)
    if not found and (mark := claimed(hunk.name, hunk.removed, hunk.added, said)):
        return frozenset((f"silence {mark}",))
    code = without_silencing(new)
    found |= {f"import {name}" for name in Counter(imports(hunk.added)) - Counter(imports(hunk.removed))}
    prose = hunk.name.endswith(TEXTS)
    dotted = () if prose else _gained(_DOTTED, old, code)
    gained = {name for name in dotted if not name.startswith(("t.", "self.", "this."))}
    short = {name for name in gained if f".{name}" in old}
    found |= {f"add {_called(name, old)}" for name in gained - short} | ({SHORTER} if short else set())
    found |= {f"add {name}" for name in _gained(_VERB, old, code) if name == "%w" or name == "%q"}
    found |= {f"mode {name}" for name in _gained(_MODE, old, code)}
    if not prose:
        found |= {f"use {name}" for name in _gained(_KEYWORDS, _PROSE.sub("", old), _PROSE.sub("", code))}
    if len(_CHECKS_ERROR.findall(code)) > len(_CHECKS_ERROR.findall(old)):
        found.add("check the error")
    found |= _reshaped(hunk, old, code, said)
    other = _in_its_place(hunk, missing) if missing else ""
    return frozenset(found | {f"instead {other}"} if other else found or _swapped(hunk))


def _called(name: str, old: str) -> str:
    """A gained name as fixes share it: of what stood there (`id` is now `id.String`) the new part."""
    asked, _, last = name.rpartition(".")
    stood = asked and re.search(rf"(?<![\w.]){re.escape(asked)}(?![\w.])", old)
    return f".{last}" if stood else name


def _gained(pattern: re.Pattern[str], old: str, new: str) -> list[str]:
    """List what a pattern finds more often in the new text than in the old one."""
    return list(Counter(pattern.findall(new)) - Counter(pattern.findall(old)))


def _reshaped(hunk: Hunk, old: str, new: str, said: str) -> set[str]:
    """Name what a hunk did to what stood there: a literal became a name, a name another one, code a function."""
    found: set[str] = set()
    gone = set(LITERAL.findall(old)) - set(LITERAL.findall(new))
    fewer = len(LITERAL.findall(new)) < len(LITERAL.findall(old))
    if fewer and any(literal[1:-1] in said for literal in gone):
        names = set(re.findall(r"\b[A-Za-z_]\w{3,}\b", new)) - set(re.findall(r"\b[A-Za-z_]\w{3,}\b", old))
        if names and len(hunk.added) <= len(hunk.removed):
            found.add(NAMED)
    if _named_literal(hunk, old):
        found.add(NAMED)
    if any(CONSTANT.match(line) for line in hunk.added) and "const" in new:
        found.add("define a const")
    if len(defined(hunk.added) - defined(hunk.removed)) > len(defined(hunk.removed) - defined(hunk.added)):
        found.add("extract a function")
    elif hunk.removed and len(hunk.removed) == len(hunk.added) <= 3 and _other_literal(old, new):
        found.add("change a literal")
    elif hunk.removed and len(hunk.removed) == len(hunk.added) <= 3 and _renamed(old, new, said):
        found.add("rename")
    elif _resigned(hunk):
        found.add("change the signature")
    return found


def _swapped(hunk: Hunk) -> set[str]:
    """Name the few tokens that took others' place within lines, were put in or were left out: whatever the language,
    `let` became `const`, ```` ``` ```` became ```` ```text ````, `as` became `as unknown as`."""
    if not len(hunk.removed) == len(hunk.added) <= _SWAPPED_LINES:
        return set()
    found = set()
    for old, new in zip(hunk.removed, hunk.added, strict=True):
        was, now = list(_TOKEN.finditer(old)), list(_TOKEN.finditer(new))
        start = _alike(was, now)
        end = _alike(was[start:][::-1], now[start:][::-1])
        gone, came = (_text(tokens[start : len(tokens) - end]) for tokens in (was, now))
        said = _WORDS.search(gone + came) if gone and came else _SAYS.search(gone + came)
        if gone != came and max(len(gone), len(came)) <= _SWAPPED_CHARS and said is not None:
            found.add(f"swap {gone} > {came}" if gone and came else f"put in {came}" if came else f"leave out {gone}")
    return found


def _alike(one: Sequence[re.Match[str]], other: Sequence[re.Match[str]]) -> int:
    """Count the tokens with which both begin."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a[0] != b[0]), min(len(one), len(other)))


def _text(tokens: Sequence[re.Match[str]]) -> str:
    """The text that tokens of one line stand in, as it is written."""
    return tokens[0].string[tokens[0].start() : tokens[-1].end()] if tokens else ""


_SWAPPED_LINES, _SWAPPED_CHARS = 4, 32
_TOKEN = re.compile(r"`+\w*|[\w$]+|[^\w\s`]+")
_SAYS = re.compile(r"\w|[^\w\s()\[\]{},;]{2}")  # more than a bracket or a comma
_WORDS = re.compile(r"[^\W\d]|[^\w\s()\[\]{},;.]{2}")  # another number in a number's place is of that place alone


def _resigned(hunk: Hunk) -> bool:
    """Tell whether a function that stood there takes or returns more or less now."""
    old, new = (
        {match[1]: line for line in lines if (match := _DEFINES.match(line))} for lines in (hunk.removed, hunk.added)
    )
    return any(
        name in new and len(re.findall(r"\w+", new[name])) != len(re.findall(r"\w+", line))
        for name, line in old.items()
    )


def _other_literal(old: str, new: str) -> bool:
    """Tell whether nothing but the texts in quotes changed."""
    return old != new and LITERAL.sub('""', old) == LITERAL.sub('""', new)


def _named_literal(hunk: Hunk, old: str) -> bool:
    """Tell whether a literal that stood there was given a name, which stands in its place now."""
    for line in hunk.added:
        made = CONSTANT.match(line)
        literal = LITERAL.search(line) if made is not None else None
        if made is not None and literal is not None and literal.group() in old:
            return any(re.search(rf"\b{made[1]}\b", each) for each in hunk.added if each != line)
    return False


def defined(lines: Sequence[str]) -> set[str]:
    """The functions that the lines define."""
    return {match[1] for match in map(_DEFINES.match, lines) if match}


def _renamed(old: str, new: str, said: str) -> bool:
    """Tell whether the identifier that a finding names became another one and nothing else changed."""
    before, after = re.findall(r"\w+|\W", old), re.findall(r"\w+|\W", new)
    changed = {pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]}
    if len(before) != len(after) or len(changed) != 1:
        return False
    was, now = next(iter(changed))
    named = was.isidentifier() and now.isidentifier() and not (_KEYWORDS.fullmatch(was) or _KEYWORDS.fullmatch(now))
    return named and re.search(rf"\b{was}\b", said) is not None


def strong(feature: str) -> bool:
    """Tell whether a feature by itself says what to do: a rule's own mark, a name of an interface, an import, another
    name in a missing one's place, a mode."""
    return feature == SHORTER or feature.startswith(
        ("suppress ", "silence ", "import ", "instead ", "add ", "mode ", *SWAPS)
    )


def shapes(feature: str) -> bool:
    """Tell whether a feature is how code was reshaped, whatever its names are: renamed, split, a keyword, a sign."""
    if feature.startswith(SWAPS):
        return re.search(r"[A-Za-z_]", feature.removeprefix(next(filter(feature.startswith, SWAPS)))) is None
    return not feature.startswith(("add ", "import ", "instead ", "suppress ", "silence "))
