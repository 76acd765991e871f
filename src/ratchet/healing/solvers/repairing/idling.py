"""Tell what a patch leaves without effect: a parameter that nobody reads any more, a part of a condition that no longer
decides, lines that tests ran and none of them runs now. Tests cannot see that such a patch is wrong."""

from __future__ import annotations

import ast
import difflib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from .pinning import changed_lines
from .program import FUNCTIONS, Program, parameters_of
from .spectrum import Place

Lines = Mapping[str, Collection[int]]
"""File -> lines."""
Files = Mapping[str, bytes]


def unread(before: Files, after: Files) -> Iterator[str]:
    """The parameters that functions read before a patch, have still, and do not read with it."""
    for path, content in after.items():
        old, (given, read) = _parameters(before[path])[1], _parameters(content)
        for name in given:
            gone = (old.get(name, set()) & given[name]) - read[name]
            yield from (f"`{name}` reads `{each}` no more" for each in sorted(gone))


def _parameters(content: bytes) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """The parameters of functions by their names, of those with one name together (overloads), and what they read of
    them."""
    given: dict[str, set[str]] = {}
    read: dict[str, set[str]] = {}
    for name, function in _functions(content):
        own = {*parameters_of(function)}
        loaded = (node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
        given.setdefault(name, set()).update(own)
        read.setdefault(name, set()).update({node.id for node in loaded} & own)
    return given, read


def _functions(content: bytes) -> Iterator[tuple[str, ast.AST]]:
    program = Program("", content)
    return ((program.qualname(node), node) for node in program.nodes if isinstance(node, FUNCTIONS))


def without_a_part(before: Files, after: Files) -> Iterator[tuple[str, Files, Files]]:
    """The parts of conditions on changed lines that were there before (what it says, the old files without it, the new
    ones without it)."""
    for path, content in after.items():
        old, new = Program(path, before[path]), Program(path, content)
        gone = _parts(old, changed_lines(content, before[path]))
        for said, text in _parts(new, changed_lines(before[path], content)).items():
            if said in gone:
                yield said, {**before, path: gone[said]}, {**after, path: text}


def _parts(program: Program, lines: Collection[int]) -> dict[str, bytes]:
    """The parts of `and` and `or` on some lines, by their text, each with the file without it."""
    found: dict[str, bytes] = {}
    for node in program.nodes:
        if isinstance(node, ast.BoolOp) and node.lineno in lines:
            first, last = program.span(node)
            joined = " and " if isinstance(node.op, ast.And) else " or "
            for part in node.values:
                rest = joined.join(program.wrapped(each) for each in node.values if each is not part)
                text = f"{program.text[:first]}({rest}){program.text[last:]}"
                found.setdefault(program.seg(part), text.encode(program.encoding))
    return found


def idle_parts(
    before: Files,
    after: Files,
    decides: Callable[[Files], bool],
    decided: Callable[[Files], bool],
) -> Iterator[str]:
    """The parts of conditions that decided something before a patch (`decided`, of the old files without one) and
    nothing with it (`decides`, of the new files)."""
    for said, old, new in without_a_part(before, after):
        if not decides(new) and decided(old):
            yield f"`{' '.join(said.split())}` decides nothing any more"


def together(many: Iterable[Mapping[str, Collection[int]]]) -> dict[str, set[int]]:
    """All lines of several runs, by file."""
    found: dict[str, set[int]] = {}
    for path, lines in (each for one in many for each in one.items()):
        found.setdefault(path, set()).update(lines)
    return found


def stranded(root: str, before: Files, after: Files, places: Collection[Place], ran: Lines, runs: Lines) -> list[Place]:
    """The lines of functions with one of some places (of the old files) that were run before a patch, are there still,
    and are not run with it, as places of the new files. `ran` and `runs` are what tests run, before it and with it;
    their paths, and those of places, are whole."""
    found: list[Place] = []
    for name, content in after.items():
        path = os.path.join(root, name)
        old, new = (each.decode(errors="replace").splitlines() for each in (before[name], content))
        blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        kept = {block.a + at + 1: block.b + at + 1 for block in blocks for at in range(block.size)}
        bodies = [_body(function) for _, function in _functions(before[name])]
        touched = {line for body in bodies if any((path, line) in places for line in body) for line in body}
        idle = {kept[line] for line in touched & {*ran.get(path, ())} if line in kept} - {*runs.get(path, ())}
        found += [(path, line) for line in sorted(idle)]
    return found


def _body(function: ast.AST) -> range:
    assert isinstance(function, FUNCTIONS)
    return range(function.body[0].lineno, (function.body[-1].end_lineno or 0) + 1)
