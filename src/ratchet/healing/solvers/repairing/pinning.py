"""Tell how far tests pin down what a patch does: other forms of its lines are to fail them.

DeMillo, Lipton, Sayward, "Hints on Test Data Selection: Help for the Practicing Programmer", Computer 1978. A patch
fits few tests by chance where many other forms of the same lines fit them, too.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import zip_longest

from .grounds import CASES
from .program import Program, SourceEdit
from .recollection import common
from .templates import edits_at, sites

_FORMS = 40  # of all lines of a patch
_NO_FORMS = CASES | {"called", "handed", "trimmed", "configured"}  # these depend on the rest of the file, or the test


def other_forms(before: Mapping[str, bytes], after: Mapping[str, bytes], seed: int) -> Iterator[Mapping[str, bytes]]:
    """The files of a patch with one expression that it brings, or one that such is made of, in another form, of each
    family in turn. A further case is no other form of what is there: what is out of the ordinary, few tests try. Nor is
    another message of an exception: its type is its answer."""
    found: dict[str, list[SourceEdit]] = {}
    programs: dict[str, Program] = {}
    for path, content in after.items():
        program = programs[path] = Program(path, content)
        said = _said(program)
        for node in _brought(before[path], program, changed_lines(before[path], content)):
            for edit in edits_at(program, node, (node.lineno, node.end_lineno or node.lineno), set()):
                if edit.family not in _NO_FORMS and not any(at <= edit.start and edit.end <= to for at, to in said):
                    found.setdefault(edit.family, []).append(edit)
    # An order by what each says: whatever is written elsewhere in the file, the same forms are taken.
    drawn = (sorted(each, key=lambda edit: _drawn(edit, seed)) for each in found.values())
    turns = (edit for turn in zip_longest(*drawn) for edit in turn if edit is not None)
    seen: set[bytes] = set()
    for edit in turns:
        content = programs[edit.path].encoded((edit,))
        if content not in seen and len(seen) < _FORMS:
            seen.add(content)
            yield {**after, edit.path: content}


def _drawn(edit: SourceEdit, seed: int) -> bytes:
    return hashlib.blake2b(repr((seed, edit.before, edit.text)).encode(), digest_size=8).digest()


def _brought(before: bytes, program: Program, lines: Collection[int]) -> list[ast.expr]:
    """The expressions on changed lines that were not there before, and those that one of them is made of; all of them
    where none is new."""
    every = [node for node, _ in sites(program) if isinstance(node, ast.expr) and {*_lines(node)} <= {*lines}]
    gone = changed_lines(program.text.encode(), before)
    old = (node for node in ast.walk(ast.parse(before)) if isinstance(node, ast.expr))
    known = {ast.dump(node) for node in old if not gone.isdisjoint(_lines(node))}
    new = {node for node in every if ast.dump(node) not in known}
    return [node for node in every if node in new or program.parents.get(node) in new] or every


def _said(program: Program) -> list[tuple[int, int]]:
    """The places of what exceptions say."""
    made = (each.exc for each in program.nodes if isinstance(each, ast.Raise))
    calls = (each for each in made if isinstance(each, ast.Call))
    return [(program.span(each.func)[1], program.span(each)[1]) for each in calls]


def _lines(node: ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def other_constants(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[Mapping[str, bytes]]:
    """The files of a patch with another constant in the place of one that it brings."""
    for path, program, node in _constants(before, after):
        for edit in edits_at(program, node, (node.lineno, node.lineno), set()):
            if edit.family in ("constant", "off_by_one"):
                yield {**after, path: program.encoded((edit,))}


def shortened(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[Mapping[str, bytes]]:
    """The files of a patch with a part of a text that it brings, but for what exceptions say."""
    for path, program, node in _constants(before, after):
        start, end = program.span(node)
        if not any(at <= start and end <= to for at, to in _said(program)):
            for part in _pieces(node.value):
                text = f"{program.text[:start]}{part!r}{program.text[end:]}"
                yield {**after, path: text.encode(program.encoding)}


def _constants(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[tuple[str, Program, ast.Constant]]:
    """The constants that a patch brings: what the lines that it changes held already was there for another reason."""
    for path, content in after.items():
        program = Program(path, content)
        gone = changed_lines(content, before[path])
        nodes = ast.walk(ast.parse(before[path]))
        there = Counter(ast.dump(node) for node in nodes if isinstance(node, ast.Constant) and node.lineno in gone)
        old, new = (each.decode(errors="replace") for each in (before[path], content))
        first = common(old, new)
        last = len(new) - common(old[first:][::-1], new[first:][::-1])
        lines = changed_lines(before[path], content)
        held = [node for node in program.nodes if isinstance(node, ast.Constant) and node.lineno in lines]
        # Those beside what is new stay what they were; of the others, as many as there were before.
        for node in sorted(held, key=lambda node: program.span(node)[0] < last and program.span(node)[1] > first):
            there[ast.dump(node)] -= 1
            if there[ast.dump(node)] < 0:
                yield path, program, node


def _pieces(value: object) -> Iterator[str]:
    """A text's halves, and what is left of it without each of its quarters: where one of them does, not all of it was
    asked for."""
    if not isinstance(value, str) or len(value) < _LEAST_HALVED:
        return
    middle, quarter = len(value) // 2, -(-len(value) // 4)
    yield from (value[:middle], value[middle:])
    if quarter > 1:
        yield from (value[:at] + value[at + quarter :] for at in range(0, len(value), quarter))


_LEAST_HALVED = 4  # characters


def literals_brought(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[object]:
    """The different numbers and texts that a patch writes oftener than they were there, but for those that any code
    holds: 0, 1, and what is empty."""
    old, new = (Counter(key for text in files.values() for key in _literals(text)) for files in (before, after))
    return [value for _, value in new - old]


def _literals(text: bytes) -> Iterator[tuple[type, object]]:
    for node in ast.walk(ast.parse(text)):
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, str | bytes | int | float) and value and value != 1:
            yield type(value), value


def by_heart(spelt: Sequence[Collection[int]]) -> int:
    """Count the calls that a patch spells out, where it does so for most of those that it mends: it has as many
    literals of theirs (by number, for each call) as there are such calls, or the input and the answer of the only one.
    A rule that is mended needs fewer."""
    named = [each for each in spelt if each]
    most = 2 * len(named) > len(spelt)
    return len(named) if most and len({at for each in named for at in each}) >= max(2, len(named)) else 0


def changed_lines(before: bytes, after: bytes) -> set[int]:
    """Lines of the new text that are not in the old one."""
    old, new = (each.decode(errors="replace").splitlines() for each in (before, after))
    parts = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return {line + 1 for kind, _, _, first, last in parts if kind != "equal" for line in range(first, last)}


def counted(
    forms: Iterator[Mapping[str, bytes]],
    passes: Callable[[Mapping[str, bytes]], bool | None],
    differs: Callable[[Mapping[str, bytes]], bool],
    goes_on: Callable[[], bool],
) -> tuple[int, int]:
    """Count the other forms that were run, and those that pass and answer some input otherwise. `passes` says None of
    what is no program, or was tried."""
    tried = alive = 0
    for files in forms:
        if not goes_on():
            break
        passed = passes(files)
        if passed is None:
            continue
        if not passed or differs(files):
            tried += 1
            alive += passed
    return tried, alive
