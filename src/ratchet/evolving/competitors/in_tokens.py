"""Features of JavaScript, TypeScript, Go and Rust files, by their tokens: which call declares what. Pure.

A declaration is told from a use by its shape: an option's spelling stands with its description, a flag's name with its
value and its usage, a route with its handler. Comments and texts are what the language takes them for.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

Found = tuple[str, str, int]
SUFFIXES: Mapping[str, str] = {
    ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascript",
    ".ts": "typescript", ".tsx": "typescript", ".go": "go", ".rs": "rust",
}  # fmt: skip
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_OPTION = re.compile(r"(?:-\w\s*[,|/ ]\s*)?--([a-z][\w-]*)")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_ENDING = re.compile(r"\.[a-z][a-z0-9]{1,7}")
_NAME = re.compile(r"[a-z][\w-]*")
_VERBS = frozenset(("get", "post", "put", "delete", "patch"))
_ROUTES = frozenset(("route", "handle", "handlefunc"))
_TOOLS = frozenset(("tool", "registertool", "addtool"))
_ENDS = frozenset(("endswith", "hassuffix", "ends_with"))
_FLAG_SETS = frozenset(("Flags", "PersistentFlags", "NewFlagSet"))
_USED = frozenset(("await", "return", "=", ":=", "(", ",", "=>"))
"""Stands before a call whose answer is wanted: a client's, which declares no route."""
_LONGEST_LINE = 5_000
"""Of a file that a person wrote; a longer one was packed by a program, and can keep a lexer busy for minutes."""
_MOST_CPU_S = 10.0
"""For one file's tokens: a megabyte that a person wrote takes two; one that reads to its end for each token, hours."""
_NEAR = 12  # tokens or attributes between what declares and what is declared


@dataclass(frozen=True, slots=True)
class _CodeToken:
    text: str
    line: int
    literal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _CodeCall:
    name: str
    receiver: str
    line: int
    start: int
    """Its first token, the chain before its name included."""
    opened: int
    closed: int
    arguments: tuple[tuple[int, int], ...]


def found(path: str, text: str) -> Iterator[Found]:
    """The features of one file: kind, name and line."""
    if max(map(len, text.split("\n"))) > _LONGEST_LINE:
        return
    file = _CodeFile(_tokens(SUFFIXES[PurePosixPath(path).suffix], text))
    calls = [*file.calls()]
    sets = file.flag_sets(calls)
    for call in calls:
        yield from file.of_call(call, sets)
    yield from file.of_keys()
    if path.endswith(".rs"):
        yield from file.of_attributes(calls)


def _tokens(language: str, text: str) -> list[_CodeToken]:
    """Tokens without blanks and comments, each text one token; none of a file that takes too long. Rust's attributes
    are a preprocessor's there."""
    from pygments.lexers import get_lexer_by_name
    from pygments.token import Comment, String, Whitespace

    found: list[_CodeToken] = []
    line, began = 1, 0
    ends_s = time.process_time() + _MOST_CPU_S
    parts: list[str] = []  # of a text that has not ended
    for kind, value in get_lexer_by_name(language).get_tokens(text):
        if time.process_time() > ends_s:
            return []
        if kind in String.Doc:
            kind = Comment
        is_text = kind in String
        if is_text and value:
            began = began if parts else line
            parts.append(value)
        if parts and (not is_text or _is_closed(parts)):
            found.append(_CodeToken("".join(parts), began, literal=True))
            parts = []
        if (
            not is_text
            and (kind not in Comment or kind in Comment.Preproc)
            and kind not in Whitespace
            and value.strip()
        ):
            words = re.findall(r"[\w$]+|::|:=|=>|[^\w\s]", value)
            found += [_CodeToken(each, line) for each in words]
        line += value.count("\n")
    return [*found, _CodeToken("".join(parts), began, literal=True)] if parts else found


def _is_closed(parts: Sequence[str]) -> bool:
    return (len(parts) > 1 or len(parts[0]) > 1) and parts[0][0] == parts[-1][-1]


class _CodeFile:
    """One file's tokens, with their brackets matched."""

    def __init__(self, tokens: Sequence[_CodeToken]) -> None:
        self._tokens = tokens
        self._closing: dict[int, int] = {}
        self._opening: dict[int, int] = {}
        self._around: list[int] = []
        self._commas: dict[int, list[int]] = {}
        self._starts: dict[int, int] = {}
        open_at: list[int] = []
        for n, token in enumerate(tokens):
            text = "" if token.literal else token.text
            if open_at and text == _CLOSING[tokens[open_at[-1]].text]:
                self._opening[n] = open_at[-1]
                self._closing[open_at.pop()] = n
            self._around.append(open_at[-1] if open_at else -1)
            if text == ",":
                self._commas.setdefault(self._around[n], []).append(n)
            if text in _CLOSING:
                open_at.append(n)

    def calls(self) -> Iterator[_CodeCall]:
        for n, token in enumerate(self._tokens[:-1]):
            opened = n + 1
            if token.literal or not _WORD.fullmatch(token.text) or self._text(opened) != "(":
                continue
            closed = self._closing.get(opened)
            if closed is not None:
                start = self._start(n)
                receiver = self._text(n - 2) if start < n else ""
                yield _CodeCall(
                    name=token.text, receiver=receiver, line=token.line, start=start, opened=opened, closed=closed,
                    arguments=self._arguments(opened, closed),
                )  # fmt: skip

    def _text(self, n: int) -> str:
        return self._tokens[n].text if 0 <= n < len(self._tokens) and not self._tokens[n].literal else ""

    def _start(self, n: int) -> int:
        """First token of the chain of names and calls that ends at `n`."""
        end = n
        while self._text(n - 1) in (".", "::"):
            n -= 2
            while self._text(n) in (")", "]") and n in self._opening:
                n = self._opening[n] - 1
            if n in self._starts or not _WORD.fullmatch(self._text(n)):
                break
        self._starts[end] = self._starts.get(n, max(0, n))
        return self._starts[end]

    def _arguments(self, opened: int, closed: int) -> tuple[tuple[int, int], ...]:
        """First and last token of each argument."""
        edges = [opened, *self._commas.get(opened, ()), closed]
        return tuple((a + 1, b - 1) for a, b in zip(edges, edges[1:], strict=False) if b - a > 1)

    def _said(self, span: tuple[int, int]) -> str:
        """The text of an argument that is one literal."""
        token = self._tokens[span[0]]
        return token.text.strip("\"'`") if span[0] == span[1] and token.literal else ""

    # -- calls ---------------------------------------------------------------------------------------------------------

    def flag_sets(self, calls: Sequence[_CodeCall]) -> frozenset[str]:
        """Names of flag sets: variables that hold one, parameters of that type, and the packages themselves."""
        found = {"flag", "pflag"}
        for call in calls:
            if call.name in _FLAG_SETS and self._text(call.start - 1) in ("=", ":="):
                found.add(self._text(call.start - 2))
        for n, token in enumerate(self._tokens):
            if token.text == "FlagSet" and self._text(n - 1) == "." and self._text(n - 3) == "*":
                found.add(self._text(n - 4))
        return frozenset(found)

    def of_call(self, call: _CodeCall, flag_sets: frozenset[str]) -> Iterator[Found]:
        if not call.arguments:
            return
        said = [self._said(each) for each in call.arguments]
        first, line, name = said[0], self._tokens[call.arguments[0][0]].line, call.name.lower()
        option = _OPTION.match(first)
        chained = self._text(call.opened - 3) == ")" and self._text(call.opened - 2) == "."
        if option and (name.endswith("option") or any(each and not each.startswith("-") for each in said[1:])):
            yield "option", f"--{option[1]}", line
        elif _NAME.fullmatch(first) and name == ("option" if len(said) > 1 else "long"):
            yield "option", f"--{first}", line
        elif call.receiver in flag_sets or (chained and self._called_before(call) in _FLAG_SETS):
            yield from self._flag(call, said)
        elif call.name == "command" and (word := _NAME.match(first)):
            yield "command", word[0], line
        elif name == "subcommand":
            yield from self._subcommand(call)
        elif name in _TOOLS and re.fullmatch(r"[\w.-]+", first) and len(said) > 1:
            yield "tool", first, line
        elif name in _ENDS:
            yield from (("format", each, line) for each in said if _ENDING.fullmatch(each))
        elif len(said) > 1 and (name in _ROUTES or (name in _VERBS and self._text(call.start - 1) not in _USED)):
            path = re.match(r"(?:[A-Z]+ )?(/\S*)$", first)
            if path:
                yield "endpoint", path[1], line

    def _called_before(self, call: _CodeCall) -> str:
        """`Flags` of `c.Flags().Bool(...)`."""
        return self._text(self._opening.get(call.opened - 3, 0) - 1)

    def _flag(self, call: _CodeCall, said: Sequence[str]) -> Iterator[Found]:
        """A flag's name comes with a value and a usage; what is asked by its name alone was declared elsewhere."""
        named = next((n for n, each in enumerate(said[:2]) if _NAME.fullmatch(each)), None)
        if len(said) >= 3 and named is not None:
            yield "option", f"--{said[named]}", self._tokens[call.arguments[named][0]].line

    def _subcommand(self, call: _CodeCall) -> Iterator[Found]:
        for n in range(call.opened + 1, min(call.closed, call.opened + _NEAR)):
            if self._tokens[n].literal and self._text(n - 1) == "(" and self._text(n - 2) == "new":
                yield "command", self._said((n, n)), self._tokens[n].line
                return

    # -- values with keys, attributes ----------------------------------------------------------------------------------

    def of_keys(self) -> Iterator[Found]:
        """Go's values: `cobra.Command{Use: "serve"}`, `cli.StringFlag{Name: "listen"}`."""
        for n, token in enumerate(self._tokens):
            if not token.literal or self._text(n - 1) != ":" or self._text(n - 2) not in ("Use", "Name"):
                continue
            of = self._text(self._around[n] - 1)
            word = _NAME.match(self._said((n, n)))
            if word and of == "Command":
                yield "command", word[0], token.line
            elif word and of.endswith("Flag"):
                yield "option", f"--{word[0]}", token.line

    def of_attributes(self, calls: Sequence[_CodeCall]) -> Iterator[Found]:
        """Rust's `#[arg(long)]` before a field, and the variants of an enum that derives `Subcommand`."""
        for call in calls:
            if self._text(call.opened - 2) != "[" or self._text(call.opened - 3) != "#":
                continue
            for first, last in call.arguments:
                if self._text(first) == "long":
                    given = self._tokens[last].text.strip('"') if last > first and self._tokens[last].literal else ""
                    field, line = self._field(call.closed + 2)
                    name = given or field.replace("_", "-")
                    if name:
                        yield "option", f"--{name}", self._tokens[first].line if given else line
                elif call.name == "derive" and self._text(last) == "Subcommand":
                    yield from self._variants(call.closed + 2)

    def _field(self, n: int) -> tuple[str, int]:
        """The field after the attribute that ends before `n`."""
        n = self._past_attributes(n)
        if self._text(n) == "pub":
            n += 1
            n = self._closing.get(n, n - 1) + 1 if self._text(n) == "(" else n
        return (self._text(n), self._tokens[n].line) if self._text(n + 1) == ":" else ("", 0)

    def _past_attributes(self, n: int) -> int:
        for _ in range(_NEAR):
            if self._text(n) != "#" or self._text(n + 1) != "[":
                break
            n = self._closing.get(n + 1, n + 1) + 1
        return n

    def _variants(self, n: int) -> Iterator[Found]:
        n = self._past_attributes(n)
        opened = next((each for each in range(n, min(n + _NEAR, len(self._tokens))) if self._text(each) == "{"), -1)
        closed = self._closing.get(opened, -1)
        for comma in (opened, *self._commas.get(opened, ())) if closed > 0 else ():
            at = self._past_attributes(comma + 1)
            if at < closed and _WORD.fullmatch(self._text(at)):
                yield "command", re.sub(r"(?<!^)(?=[A-Z])", "-", self._text(at)).lower(), self._tokens[at].line
