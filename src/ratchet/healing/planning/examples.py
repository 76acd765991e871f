"""Examples that words give, such as "total([200], 10) should be 180", as programs that assert them. Pure.

What a call is to come to stands behind it: a literal, or the name of an exception. Which of several is the wanted one
("gives 220 instead of 180") the words need not tell: it is one that does not hold now.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

MOST_EXAMPLES, _MOST_WORDS, _MOST_CALL, _MOST_SAID = 6, 20_000, 400, 160
_CALL = re.compile(r"(?<![\w.])[A-Za-z_]\w{0,80}(?:\.\w{1,80}){0,3}\(")
_LITERAL = re.compile(
    r"'[^'\n]*'|\"[^\"\n]*\"|(?<![\w.-])-?\d[\d_]*(?:\.\d+)?(?![\w])|\b(?:True|False|None|[A-Z]\w{2,60})\b|[\[({]"
)
_SENTENCE_ENDS = re.compile(r"[.;!?](?=\s)|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class WordExample:
    """One call that words name, and the checks that it may stand for, in the order of what is said."""

    said: str
    checks: tuple[tuple[str, ...], ...]


def examples(words: str, modules: Mapping[str, ast.Module]) -> Sequence[WordExample]:
    """The examples in words, of what these modules (dotted name -> tree) define."""
    homes: dict[str, str] = {}
    for module, tree in modules.items():
        for each in tree.body:
            if isinstance(each, ast.FunctionDef | ast.ClassDef):
                homes.setdefault(each.name, f"from {module} import {each.name}")
        homes.setdefault(module.partition(".")[0], f"import {module}")
    return [*_examples(words[:_MOST_WORDS], homes)][:MOST_EXAMPLES]


def _examples(words: str, homes: Mapping[str, str]) -> Iterator[WordExample]:
    calls: list[tuple[int, int]] = []
    for begun in _CALL.finditer(words):
        end = _call_end(words, begun.start())
        if end and (not calls or begun.start() >= calls[-1][1]):
            calls.append((begun.start(), end))
    for n, (start, end) in enumerate(calls):
        following = calls[n + 1][0] if n + 1 < len(calls) else len(words)
        stop = _SENTENCE_ENDS.search(words, end)
        said = words[end : min(following, stop.start() if stop else len(words), end + _MOST_SAID)]
        needed = _imports(words[start:end], homes)
        found = [_program(words[start:end], value, needed) for value in _values(said)] if needed else []
        if found:
            yield WordExample(said=f"{words[start:end]}{said}".strip(" ,`"), checks=tuple(found))


def _call_end(words: str, start: int) -> int:
    """The end of the call that begins there, with those of its results; 0 where none does."""
    end = 0
    for closed in re.finditer(r"\)", words[start : start + _MOST_CALL]):
        node = _parsed(words[start : start + closed.end()])
        if isinstance(node, ast.Call):
            end = start + closed.end()
            if not re.match(r"\.\w+\(", words[end:]):
                break
    return end


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _imports(call: str, homes: Mapping[str, str]) -> Sequence[str]:
    """The imports that a call needs; none where it names what the project does not have."""
    node = _parsed(call)
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} if node else set()
    own = {each for each in names if each in homes}
    return (
        sorted({homes[each] for each in own}) if all(each in own or hasattr(builtins, each) for each in names) else ()
    )


def _values(said: str) -> Iterator[str]:
    at = 0
    while found := _LITERAL.search(said, at):
        text, at = found[0], found.end()
        if text in "[({":
            ends = (found.start() + each.end() for each in re.finditer(r"[\])}]", said[found.start() :]))
            end = next((each for each in ends if _is_literal(said[found.start() : each])), 0)
            text, at = said[found.start() : end], end or at
        if text and (_is_literal(text) or _is_exception(text)):
            yield text


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        return False
    return True


def _is_exception(name: str) -> bool:
    known = getattr(builtins, name, None)
    return isinstance(known, type) and issubclass(known, Exception)


def _program(call: str, value: str, imports: Sequence[str]) -> tuple[str, ...]:
    """A fraction is asked for with the digits that it was said with."""
    head = "; ".join(imports)
    if _is_exception(value):
        code = f"{head}\ntry:\n    got = {call}\nexcept {value}:\n    pass\nelse:\n    assert False, got"
    else:
        digits = re.fullmatch(r"-?[\d_]+\.(\d+)", value)
        got = f"round({call}, {len(digits[1])})" if digits else call
        code = f"{head}; assert {got} == {value}, {call}"
    return ("python", "-c", code)
