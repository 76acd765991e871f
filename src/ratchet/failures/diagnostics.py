"""Takes the findings out of a failing output, one `Diagnostic` each; long, since all tools' outputs are read alike.

A step that fails with twelve lint findings is twelve facts, each with a key of its own: the name that is not known
(`tsc:undefined: cart`), else the rule that it breaks (`wrapcheck`, `gosec:G104`, `rustc:E0382`), else its message
masked (`c:` of a compiler, `t:` of a test, `py:` of an exception, `e:` of any other error line). Lean: hook processes
import this. Linear in the text.
"""

from __future__ import annotations

from ratchet.failures.diagnostic_forms import FORMS, PLACE, PLACES
from ratchet.failures.excerpt import error_lines as excerpt
from ratchet.failures.excerpt import plain
from ratchet.failures.expressions import compiled
from ratchet.failures.gated import Gated

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

LINES = 4_000  # of an output that are looked at: half from its head, half from its tail
FOUND = 200  # findings of one output; a broken header makes thousands of one
_KEY_CHARS = 90
_MESSAGE_CHARS = 300
_NEAR = 14  # lines within which a tool names the place of what it said
_ABOVE = 60  # findings that may stand below one file's name
_ERROR_LINES = 3

# Patterns are strings, compiled by `re` (and kept there) when first met: a hook is a process per event.
_TASK = r"^\[(?!ERROR|WARN|INFO|FATAL|DEBUG)[\w:./-]{1,40}\] (?!\$ )"
_LEVEL = Gated(r"\b(?:INFO|DEBUG|TRACE)\b")
_TEST_FILE = r"(?:^|[/._-])(?:test|spec)s?[._-]|[/._-](?:test|spec)s?(?:\.|/)|_test\.\w+$|^tests?/"
_CODE_LINE = r"^[\w./@-]+:\d+|^\s*(?:\d+ issues?:|\* \w+: \d+)|^(?:FAIL|ok|---|===|E  )\b"
_GO_LOG = r"^\s{4,}\S+\.go:\d+: "
_NOISE = (  # what a line begins with
    r"exit status \d|Exit code \d+$|(?:FAIL|ok)\s|\d+ issues?:|hint: |For more information|\S*too many err"
    r"|make(?:\[\d+\])?: \*\*\* (?:\[|Waiting)|(?:error|The) [Cc]ommand (?:is terminated|failed with exit)"
    r"|npm (?:ERR!|error)(?: (?:A complete|path|Exit|errno|command).*)?$|.*\[no test files\]|.*ERROR task failed"
    r"|error: (?:aborting due|could not compile|process didn't exit)|\* [\w-]+: \d+$|---? ?(?:Exit|exit)|=+> "
    r"|husky - [\w-]+ (?:script|hook) failed"
    r"|# [\w./@-]+(?: \[[^\]]*\])?$"  # Go names a package before what is wrong in it
    r"|[Ee]xit(?: (?:code|status))?:? ?\d*$|[\W_]*$|\[[\w:-]+\] \$ |0 issues|--- FAIL: |=== "
)
_ECHO = "\nString: "  # below it an editor repeats what it was to find
_SUMMED = r"^\* (?P<linter>[a-z][\w-]+): \d+$"
_USAGE = r"^\s*(?:usage|Usage|USAGE|Flags|Options|Available Commands):?\b"

_QUOTED = r"\"[^\"\n]{1,300}\"|'[^'\n]{1,300}'(?!\w)|`[^`\n]{1,300}`|`[^'`\n]{1,300}'|\u2018[^\u2019\n]{1,300}\u2019"
_NAMED = (
    r"(?<![\w<-])(?!\w+(?:Error|Exception|Warning)\b(?![./]))(?:[\w@~\u2026-]*[./\\_:][\w@~./\\_:*()-]*\w[)*]*"
    r"|\w*[a-z]\w*[A-Z]\w*|[A-Z]\w*[a-z]\w*\d\w*|[A-Z]+[A-Z][a-z]\w+)"
)
# What stands behind such a noun is a name, quoted or not.
_AFTER_NOUN = (
    r"\b((?:branch|module|package|requirement|remote|script|container|image|service|crate|gem|table|column"
    r"|relation|user|host|port)"
    r" )(?!(?:is|was|has|not|to|of|for|in|on|at|and|or|already|does|could|cannot|with|named?|from|that|found"
    r"|must)\b)[\w.@-]+"
)
_NUMBERS = r"(?<![\w-])(?:0x)?[0-9a-f]*\d[0-9a-f]*(?:\.\d+)*\w{0,3}(?![\w-])"
# Two types say how to mend a wrong one. Go: `cannot use id (variable of string type shop.ID) as string value`.
_WANTED = r"^cannot use .{1,200}[( ](?!constant\))([\w.*\[\]]+)(?: constant)?\) as ([\w.*\[\]]+) value\b"
# The folders of a type's package, quoted or not: vet writes them where the compiler does not.
_FOLDERS = r"\"?(?:[\w.@~\u2026-]{1,80}/){1,20}([\w-]{1,80})\"?\.(?=\w)"


class Diagnostic:
    """One finding. `message` is the sentence as it stood, `path` and `line` its place ("" and 0 where none is named),
    `source` the line of code that the tool quotes."""

    __slots__ = ("key", "line", "message", "path", "source", "tool")

    def __init__(self, key: str, message: str, path: str = "", line: int = 0, source: str = "", tool: str = "") -> None:
        self.key = key
        self.message = message
        self.path = path
        self.line = line
        self.source = source
        self.tool = tool

    @property
    def name(self) -> str:
        """The file's name without its folders."""
        return self.path.replace("\\", "/").rpartition("/")[2]

    @property
    def ruled(self) -> bool:
        """Tell whether its key is a rule's name, not a sentence."""
        from ratchet.failures.missing_names import names_rule

        return names_rule(self.key)

    @property
    def placed(self) -> bool:
        """Tell whether it is about code: it names a place, or a linter's rule."""
        return bool(self.path) or (self.ruled and self.tool == "golangci")

    def __repr__(self) -> str:
        return f"Diagnostic({self.key!r}, {self.message!r}, {self.path}:{self.line})"


class _Form:
    """A row of the table."""

    def __init__(self, row: tuple[str, str, str, str, str]) -> None:
        self.tool, self.mark, self._pattern, self.key, self._near = row

    @property
    def pattern(self) -> re.Pattern[str]:
        return compiled(self._pattern)

    @property
    def place(self) -> re.Pattern[str]:
        return compiled(self._near[1:])

    @property
    def below(self) -> bool:
        return self._near[:1] == ">"

    @property
    def above(self) -> bool:
        return self._near[:1] == "<" and self._near != "<^"

    @property
    def completes(self) -> bool:
        """Tell whether it names the rule of the finding before it, as clippy does."""
        return self._near == "<^"


_FORMS = tuple(_Form(row) for row in FORMS)


def diagnostics(text: str) -> list[Diagnostic]:
    """The findings in a failing output, in order, each once."""
    lines = _lines(text)
    whole = "\n".join(lines)
    forms = [form for form in _FORMS if form.mark in whole]
    found: list[Diagnostic] = []
    seen: set[tuple[str, str, str, int]] = set()
    for at, line in enumerate(lines):
        if len(found) >= FOUND:
            break
        if len(line) > 2_000 or not line or (_is_logged(line) and not line.startswith("E ")):
            continue
        for form in forms:
            if form.mark not in line:
                continue
            match = form.pattern.match(line)
            if match is None:
                continue
            one = _found(form, match, lines, at, found)
            if one is not None and (one.key, one.message, one.path, one.line) not in seen:
                seen.add((one.key, one.message, one.path, one.line))
                found.append(one)
            if one is not None or form.completes:
                break
    found = _without_echoes(found)
    found += _summed(lines, found)
    return found or [Diagnostic("e:" + masked(_plainly(line)), line) for line in error_lines(lines)]


# Each shell has its own words for a command that is not there: zsh, bash, dash, and what they say of `eval`.
_SHELL = r"(?:\(eval\)|[\w./+-]{0,80}sh)(?::? ?(?:line )?\d{1,6})?: "
_NAME = r"([\w.+/-]{1,80})"
_LACKS = (
    rf"^(?:(?:{_SHELL})?command not found: {_NAME}|(?:{_SHELL})?{_NAME}: command not found|{_SHELL}{_NAME}: not found)$"
)


def _plainly(line: str) -> str:
    """The line, or what every shell means by it."""
    match = compiled(_LACKS).match(line.strip())
    return f"command not found: {match[match.lastindex or 0]}" if match is not None else line


def keys_of(text: str) -> list[str]:
    """The keys of the findings in a failing output, each once, in order."""
    return [*_keys(text)[0]]


def bare_keys_of(text: str) -> list[str]:
    """The keys of findings that name their rule and stand without a place, as somebody quotes them: each line is read
    as if one stood before it, for every tool that writes so. Only of a short text: a tool's own output names places."""
    lines = [line.strip() for line in _lines(text) if line.strip()]
    forms = [form for form in _FORMS if ("{code}" in form.key or "{linter}" in form.key) and not form.completes]
    found: dict[str, None] = {}
    for line in lines if len(lines) <= _BARE_LINES else ():
        if len(line) > _MESSAGE_CHARS or compiled(PLACE).match(line):
            continue
        placed = [f"{place}{line}" for place in PLACES]
        for form in forms:
            match = next(filter(None, (form.pattern.match(each) for each in placed if form.mark in each)), None)
            if match is not None:
                groups = match.groupdict()
                found[_key(form, groups, (groups.get("msg") or "").strip(), "", ())] = None
    return [*found]


_BARE_LINES = 20


def import_keys_of(text: str) -> list[str]:
    """The keys under which it is known whence names are imported that the findings of an output miss, in order."""
    return [*_keys(text)[1]]


def _keys(text: str) -> tuple[list[str], list[str]]:
    global _last
    asked, keys, imports = _last
    if asked != text:
        found = diagnostics(text)
        keys = list(dict.fromkeys([each.key for each in found]))
        imports = []
        missing = [each for each in found if ":undefined: " in each.key]
        if missing:
            from ratchet.failures.missing_names import import_key, name_in

            asked_for = [import_key(name_in(each.key), each.path) for each in missing]
            imports = [key for key in dict.fromkeys(asked_for) if key]
        _last = text, keys, imports
    return keys, imports


# A failure is read twice in a row, for its lessons and for its features.
_last: tuple[str, list[str], list[str]] = ("", [], [])


def _summed(lines: Sequence[str], found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Linters of which a cut output shows the count alone (`* noctx: 2`), with the code that still stands above it."""
    known = {each.key.partition(":")[0] for each in found} | {"typecheck"}
    if not any(line.endswith(" issues:") for line in lines):
        return []
    matches = [match for line in lines if (match := compiled(_SUMMED).match(line)) is not None]
    summed = [match for match in matches if match["linter"] not in known]
    pointed = [lines[at - 1].strip() for at, line in enumerate(lines) if at and line.strip() == "^"]
    source = pointed[-1] if pointed and len(summed) == 1 else ""
    return [Diagnostic(each["linter"], each["linter"], source=source, tool="golangci") for each in summed]


def _lines(text: str) -> list[str]:
    if _ECHO in text:
        text = text[: text.index(_ECHO)]
    lines = plain(text).split("\n")
    if len(lines) > LINES:
        lines = lines[: LINES // 2] + lines[-LINES // 2 :]
    return [compiled(_TASK).sub("", line.rstrip()) if line[:1] == "[" else line.rstrip() for line in lines]


def _found(
    form: _Form, match: re.Match[str], lines: Sequence[str], at: int, before: list[Diagnostic]
) -> Diagnostic | None:
    """The finding that a matching line makes; None where the line is none after all."""
    groups = match.groupdict()
    message = _closed(groups.get("msg") or "")
    path, line = groups.get("path") or "", int(groups.get("line") or 0)
    code = groups.get("code") or ""
    if form.completes:
        last = before[-1] if before else None
        told = "rustc" if form.tool == "clippy" else form.tool
        if last is not None and last.tool == told and last.key.partition(":")[2] == masked(last.message):
            last.key = f"{form.tool}:{code}"  # it had no rule's name yet
        return None
    if form.tool == "go" and compiled(_GO_LOG).match(lines[at]) and not path.endswith("_test.go"):
        return None  # what a test logs, not what it says
    source = groups.get("source") or ""
    if form.below or form.above:
        place = _placed(form, lines, at)
        if place is not None:
            named = place.groupdict()
            path = path or named.get("path") or named.get("path2") or ""
            line = line or int(named.get("line") or named.get("line2") or 0)
        elif form.tool in ("rustc", "mix", "credo", "vitest", "eslint", "ruff", "python"):
            return None
    if form.tool == "pre-commit":
        message = lines[at].removeprefix("- ")
    elif form.tool == "bun":
        message = _said_above(lines, at)
    elif not message and form.tool in ("rspec", "npm", "jest", "dialyzer", "biome"):
        message = next((text.strip(" ×✖!ℹi") for text in lines[at + 1 : at + 4] if text.strip()), code)
    if (not message and not code) or message == "too many errors":
        return None
    source = source or _quoted(lines, at)
    key = _key(form, groups, message, path, lines[at + 1 : at + 8])
    return Diagnostic(key, message[:_MESSAGE_CHARS], path, line, source[:_MESSAGE_CHARS], form.tool)


def _said_above(lines: Sequence[str], at: int) -> str:
    """The error that bun prints above the name of the test that failed of it; those of other tests were caught."""
    for line in reversed(lines[max(0, at - _ABOVE) : at]):
        if line.startswith(("(fail) ", "(pass) ")):
            break
        if line.startswith("error: "):
            return line.removeprefix("error: ")
    return ""


def _closed(message: str) -> str:
    """The sentence without a bracket at its end that it does not open: it ends what another line began."""
    message = message.strip()
    return message[:-1].rstrip() if message[-1:] == ")" and message.count(")") > message.count("(") else message


def _placed(form: _Form, lines: Sequence[str], at: int) -> re.Match[str] | None:
    below, above = range(at + 1, min(at + 1 + _NEAR, len(lines))), range(at - 1, max(-1, at - 1 - _ABOVE), -1)
    near = below if form.below else above
    for other in near:
        match = form.place.search(lines[other]) if len(lines[other]) <= 2_000 else None
        if match is not None:
            return match
        if form.below and other > at and form.mark in lines[other] and form.pattern.match(lines[other]):
            return None
    return None


def _key(form: _Form, groups: dict[str, str | None], message: str, path: str, below: Sequence[str]) -> str:
    template, code, linter = form.key, groups.get("code") or "", groups.get("linter") or ""
    if not linter:
        from ratchet.failures.missing_names import MARK, missing_name  # most of who loads this asks for no findings

        missing = missing_name(message, below)
        if missing:
            return f"{template.partition(':')[0]}:{MARK}{missing}"
    if "{said}" not in template:
        return template.replace("{linter}", linter).replace("{code}", code).rstrip(":")
    kind = template.partition(":")[0]
    in_go_test = form.tool == "go" and path and compiled(_TEST_FILE).search(path)
    if kind == "c" and in_go_test and not compiled(_GO_COMPILES).match(message):
        kind = "t"
    return f"{kind}:{masked(message)}"


# The Go compiler's sentences begin so; a test's own message stands behind the same `file_test.go:12: `.
_GO_COMPILES = (
    r"undefined|cannot |declared and not used|\"|too many|not enough|missing |invalid |assignment mismatch"
    r"|unknown field"
    r"|syntax error|duplicate |non-|no new variables|impossible |import |method |multiple-value|\S+ (?:undefined"
    r"|redeclared|is not|declared)"
)


def _quoted(lines: Sequence[str], at: int) -> str:
    """The line of code that a tool quotes below what it said about it."""
    for other in range(at + 1, min(at + 7, len(lines))):
        line = lines[other]
        stripped = line.strip(" |\u2502\u2503>")
        if not stripped or line.lstrip()[:3] in ("-->", "╭▸"):
            continue
        numbered = compiled(r"\s*>?\s*\d+\s*[|\u2502](.*)").match(line)
        if numbered is not None and numbered[1].strip():
            return numbered[1].strip()
        is_place = compiled(_CODE_LINE).match(line) is not None
        if numbered is None and not is_place and line[:1] in " \t" and set(stripped) - set("^~-"):
            return stripped
        if is_place:
            return ""
        if other == at + 1 and line[:1] not in " \t|\u2502\u2503" and not line.startswith(("func", "type", "var")):
            return ""
        if line.startswith(("func", "type", "var")):
            return stripped
    return ""


def _without_echoes(found: list[Diagnostic]) -> list[Diagnostic]:
    """Without what only says again what another finding says: the summary of pytest, the last line of a trace."""
    told = {each.message for each in found if each.line and each.tool != "python"}
    kept = [each for each in found if each.message not in told or (each.line and each.tool != "python")]
    placed = [each for each in kept if each.path]
    return [each for each in kept if each.tool != "cargo"] if placed else kept  # `error: ` is what else was printed


def error_lines(lines: Sequence[str]) -> list[str]:
    """At most three lines that carry the error of an output that no form fits; nothing of the usage text behind it."""
    usage = next((at for at, line in enumerate(lines) if compiled(_USAGE).match(line)), None)
    told = [line for line in lines if not _is_logged(line) and not compiled(_NOISE).match(line)]
    if usage is not None:
        above = [line for line in lines[:usage] if line.strip() and not compiled(_NOISE).match(line)]
        below = [line for line in lines[usage:] if compiled(r"(?i)(?:error|fatal|failed|unknown)\b").match(line)]
        told = above + [line for line in below if not compiled(_NOISE).match(line)]
        if not above:
            usage_line = " ".join(
                " ".join(
                    lines[usage : usage + 2] if lines[usage].rstrip()[-1:] == ":" else lines[usage : usage + 1]
                ).split()
            )
            return [*[line.strip()[:_MESSAGE_CHARS] for line in told[: _ERROR_LINES - 1]], usage_line[:_MESSAGE_CHARS]]
    said = excerpt("\n".join(told), 2_000).split("\n")
    named = [line.strip() for line in said if line.strip() and not compiled(_NOISE).match(line)]
    return list(dict.fromkeys([line[:_MESSAGE_CHARS] for line in named]))[:_ERROR_LINES]


def _is_logged(line: str) -> bool:
    return _LEVEL.search(line) is not None or compiled(r"\s*\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d").match(line) is not None


def _package(match: re.Match[str]) -> str:
    return f"{match[1]}."


def _unnamed(match: re.Match[str]) -> str:
    return f"{match[1]}<>"  # by a template, `re` would be loaded for it


def masked(message: str) -> str:
    """Mask a message down to what it shares with others of its cause: quoted parts, identifiers and numbers are left
    out."""
    if message.startswith("undefined: "):
        from ratchet.failures.missing_names import MARK, missing_name

        missing = missing_name(message)
        if missing:
            return MARK + missing
    typed = message.startswith("cannot use ")
    wanted = compiled(_WANTED).match(compiled(_FOLDERS).sub(_package, message)) if typed else None
    if wanted is not None:
        return f"cannot use {wanted[1]} as {wanted[2]}"[:_KEY_CHARS]
    text = compiled(_AFTER_NOUN).sub(_unnamed, compiled(_QUOTED).sub("<>", message[:_MESSAGE_CHARS]))
    text = compiled(_NUMBERS).sub("#", compiled(_NAMED).sub("<>", text))
    return " ".join(text.split())[:_KEY_CHARS].rstrip(" .:")
