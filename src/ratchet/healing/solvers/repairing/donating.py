"""Edits after another implementation of the same function: its lines, in this function's own names and layout.

Where both say the same (names of variables aside) the program's own text stays; each run of lines that differs is an
edit of its own, and all of them together are the other implementation.
"""

from __future__ import annotations

import ast
import builtins
import copy
import difflib
import io
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .program import FUNCTIONS, Program, SourceEdit, masked, parameters_of

FAMILY = "donated"
_NEAREST = 6  # implementations that one function is held against
_MOST_LINES = 400
_TURNED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Donor:
    """Another implementation: a function of some other program, and the definitions at the top of that."""

    function: Function
    around: Mapping[str, ast.stmt]


@dataclass(frozen=True, slots=True)
class Donation:
    """Edits of one function that bring it nearer to a donor; `whole` brings all of it."""

    edits: tuple[SourceEdit, ...]
    whole: bool
    likeness: float
    """How much of both functions was alike before, in [0, 1]."""


def donors_of(texts: Mapping[str, str]) -> dict[str, list[Donor]]:
    """Functions and methods of other programs by qualified name; what is no Python is left out."""
    found: dict[str, list[Donor]] = {}
    for text in texts.values():
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        around = {name: statement for statement in tree.body for name in _defined(statement)}
        for name, function in _functions(tree.body, ""):
            found.setdefault(name, []).append(Donor(function, around))
    return found


def donations(program: Program, function: Function, donors: Sequence[Donor]) -> list[Donation]:
    """Edits after these donors, the nearest first: of each the single edits, the smallest first, then all."""
    own = _Own(program, function)
    if not own.lines or len(own.lines) > _MOST_LINES:
        return []
    held = [_Beside(own, donor) for donor in donors if _fits(function, donor.function)]
    held.sort(key=lambda each: -each.likeness)
    found: dict[tuple[tuple[int, int, str], ...], Donation] = {}
    for each in held[:_NEAREST]:
        for one in each.donations():
            found.setdefault(tuple((edit.start, edit.end, edit.text) for edit in one.edits), one)
    return list(found.values())


def appended(program: Program, around: Mapping[str, ast.stmt]) -> list[SourceEdit]:
    """The functions of another program that this one lacks, at its end."""
    known = {name for each in program.tree.body for name in _defined(each)}
    missing = [each for name, each in around.items() if isinstance(each, FUNCTIONS) and name not in known]
    end = len(program.text)
    opened = "" if program.text.endswith("\n") else "\n"
    text = opened + "".join(f"\n\n{ast.unparse(each)}\n" for each in missing)
    if not missing:
        return []
    return [
        SourceEdit(
            path=program.path, start=end, end=end, text=text.replace("\n", program.newline), family=FAMILY,
            lines=(1, 1), shape="=> def", function="", before="", site="module",
        )
    ]  # fmt: skip


def _functions(body: Sequence[ast.stmt], prefix: str) -> Iterator[tuple[str, Function]]:
    for each in body:
        if isinstance(each, FUNCTIONS):
            yield prefix + each.name, each
        elif isinstance(each, ast.ClassDef):
            yield from _functions(each.body, f"{prefix}{each.name}.")


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).partition(".")[0] for alias in statement.names)
    elif isinstance(statement, ast.Assign):
        yield from (each.id for each in statement.targets if isinstance(each, ast.Name))


def _fits(one: Function, other: Function) -> bool:
    same = len(parameters_of(one)) == len(parameters_of(other)) and type(one) is type(other)
    return same and ast.dump(one) != ast.dump(other)


def _bound(function: Function) -> set[str]:
    """Names that a function binds: its parameters and what it stores."""
    stored = {each.id for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    shared = {name for each in ast.walk(function) if isinstance(each, ast.Global) for name in each.names}
    return {*parameters_of(function), *stored} - shared


def _body(function: Function) -> list[ast.stmt]:
    """Its statements without the docstring."""
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return function.body[1:] if documented else function.body


def _lines(body: Sequence[ast.stmt]) -> list[str]:
    return [line for each in body for line in ast.unparse(each).split("\n")]


class _Own:
    """The function under repair: its lines in plain form, and where each stands in the file."""

    def __init__(self, program: Program, function: Function) -> None:
        self.program, self.function = program, function
        self.names = _bound(function)
        body = _body(function)
        self.lines = _lines(body)
        self.spans: list[tuple[int, int]] = []
        """Characters of each line, empty where the file has them otherwise (two statements on one line)."""
        self.indent = program.indent(body[0]) if body else None
        if self.indent is None or not all(map(program.alone, body)):
            self.lines = []
            return
        first, last = body[0].lineno, body[-1].end_lineno or body[-1].lineno
        spans = list(_logical(program, first, last))
        self.spans = spans if len(spans) == len(self.lines) else []
        self.whole = program.line_start(first), program.line_end(last)

    def placed(self, line: str) -> str:
        """A plain line as it stands in this file: indented as its function is."""
        assert self.indent is not None
        return self.indent + line + self.program.newline


def _logical(program: Program, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Characters of each logical line between two lines of a file, comment lines aside."""
    text = program.text[program.line_start(first) : program.line_end(last)]
    started = 0
    skipped = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    try:
        # Under a head of its own, so that the indentation is one.
        for token in tokenize.generate_tokens(io.StringIO("if 1:\n" + text).readline):
            if token.type == tokenize.NEWLINE and started:
                yield program.line_start(first + started - 2), program.line_end(first + token.start[0] - 2)
                started = 0
            elif token.type not in skipped and not started and token.start[0] > 1:
                started = token.start[0]
    except (tokenize.TokenError, SyntaxError):
        return


class _Beside:
    """A donor beside the function under repair, in the names of that."""

    def __init__(self, own: _Own, donor: Donor) -> None:
        self._own = own
        self._donor = donor
        self._names = _names(own, donor.function)
        given = _Renamed(self._names).visit(copy.deepcopy(donor.function))
        self._lines = _lines(_body(given))
        mine, theirs = ([_key(line) for line in lines] for lines in (own.lines, self._lines))
        matcher = difflib.SequenceMatcher(None, mine, theirs, autojunk=False)
        self.likeness = matcher.ratio()
        self._hunks = [each[1:] for each in matcher.get_opcodes() if each[0] != "equal"]

    def donations(self) -> Iterator[Donation]:
        if self._own.spans:
            parts = [*self._rows(), *(self._hunks if len(self._hunks) > 1 else ())]
            for hunk in sorted(parts, key=lambda each: each[1] - each[0] + each[3] - each[2]):
                yield Donation((*self._needed([hunk]), self._edit([hunk])), False, self.likeness)
            if self._hunks:
                yield Donation((*self._needed(self._hunks), self._edit(self._hunks)), True, self.likeness)
        elif self._hunks:
            everything = (0, 0, 0, len(self._lines))
            edit = self._made(*self._own.whole, self._text(0, len(self._lines)))
            yield Donation((*self._needed([everything]), edit), True, self.likeness)

    def _rows(self) -> Iterator[tuple[int, int, int, int]]:
        """Single lines of a difference that has as many on either side."""
        for i, to, j, last in self._hunks:
            if to - i == last - j > 1:
                yield from ((i + at, i + at + 1, j + at, j + at + 1) for at in range(to - i))

    def _edit(self, hunks: Sequence[tuple[int, int, int, int]]) -> SourceEdit:
        """One edit from the first line that changes to the last; lines between that stay are as they were."""
        start, end = self._start(hunks[0][0]), self._end(hunks[-1])
        text, at = "", start
        for i, to, j, last in hunks:
            text += self._own.program.text[at : self._start(i)] + self._text(j, last)
            at = self._end((i, to, j, last))
        return self._made(start, end, text)

    def _start(self, i: int) -> int:
        spans = self._own.spans
        return spans[i][0] if i < len(spans) else spans[-1][1]

    def _end(self, hunk: tuple[int, int, int, int]) -> int:
        i, to, *_ = hunk
        return self._own.spans[to - 1][1] if to > i else self._start(i)

    def _text(self, first: int, last: int) -> str:
        return "".join(map(self._own.placed, self._lines[first:last]))

    def _made(self, start: int, end: int, text: str) -> SourceEdit:
        program, function = self._own.program, self._own.function
        before = program.text[start:end]
        if start and not program.text[:start].endswith("\n"):
            text = program.newline + text
        last = _body(function)[-1].end_lineno or function.lineno
        return SourceEdit(
            path=program.path, start=start, end=end, text=text, family=FAMILY,
            lines=(min(program.text.count("\n", 0, start) + 1, last), last),
            shape=f"{masked(before[:200], program.known)} => {masked(text[:200], program.known)}",
            function=program.qualname(function), before=before, site="function",
        )  # fmt: skip

    def _needed(self, hunks: Sequence[tuple[int, int, int, int]]) -> list[SourceEdit]:
        """Define what these lines use of the donor's program and this one does not have, before the function."""
        program = self._own.program
        known = {name for each in program.tree.body for name in _defined(each)} | {*dir(builtins), *self._own.names}
        asked = [word for *_, j, last in hunks for line in self._lines[j:last] for word in _words(line)]
        found: dict[str, ast.stmt] = {}
        while asked:
            name = asked.pop()
            statement = self._donor.around.get(name)
            if statement is not None and name not in {*known, *found, self._own.function.name}:
                found[name] = statement
                asked += [each.id for each in ast.walk(statement) if isinstance(each, ast.Name)]
        if not found:
            return []
        text = "\n\n\n".join(ast.unparse(each) for each in dict.fromkeys(reversed(found.values())))
        holder = next(
            each for each in program.tree.body if each.lineno <= self._own.function.lineno <= (each.end_lineno or 0)
        )
        decorated = getattr(holder, "decorator_list", [])
        at_line = min([holder.lineno, *(each.lineno for each in decorated)])
        place = program.line_start(at_line)
        edit = self._made(place, place, (text + "\n\n\n").replace("\n", program.newline))
        return [edit]


def _names(own: _Own, donor: Function) -> dict[str, str]:
    """The donor's variables -> this function's: parameters by place, others by the lines that are alike."""
    found = dict(zip(parameters_of(donor), parameters_of(own.function), strict=True))
    theirs = _bound(donor)
    lines = _lines(_body(donor))
    plain = [masked(line, frozenset(own.names)) for line in own.lines]
    other = [masked(line, frozenset(theirs)) for line in lines]
    votes: Counter[tuple[str, str]] = Counter()
    for i, j, size in difflib.SequenceMatcher(None, plain, other, autojunk=False).get_matching_blocks():
        for at in range(size):
            votes.update(zip(_words(lines[j + at]), _words(own.lines[i + at]), strict=False))
    for (name, mine), _ in votes.most_common():
        if name in theirs and mine in own.names and name not in found and mine not in found.values():
            found[name] = mine
    for name in theirs - set(found):
        found[name] = name if name not in found.values() else f"{name}_"
    return found


def _key(line: str) -> str:
    """A line as it is compared: `b == a` says what `a == b` says, and `b > a` what `a < b` says."""
    indent, said = line[: len(line) - len(line.lstrip())], line.strip()
    head = "el" if said.startswith("elif ") else ""
    try:
        tree = ast.parse(said.removeprefix(head) + (" pass" if said.endswith(":") else ""))
    except SyntaxError:  # a part of a statement: an `else`, a line of a text
        return line
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = ast.dump(node.left), ast.dump(node.comparators[0])
            same = isinstance(node.ops[0], ast.Eq | ast.NotEq) and left > right
            if same or isinstance(node.ops[0], ast.Gt | ast.GtE):
                node.left, node.comparators = node.comparators[0], [node.left]
                node.ops = [_TURNED.get(type(node.ops[0]), type(node.ops[0]))()]
    return indent + head + ast.unparse(tree)


def _words(line: str) -> list[str]:
    try:
        return [each.string for each in tokenize.generate_tokens(io.StringIO(line.strip() + "\n").readline)
                if each.type == tokenize.NAME]  # fmt: skip
    except (tokenize.TokenError, SyntaxError):
        return []


class _Renamed(ast.NodeTransformer):
    """A tree with other names of variables."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self._names.get(node.id, node.id), node.ctx), node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self._names.get(node.arg, node.arg)
        return node
