"""Examples that words give, such as "total([200], 10) should be 180", as programs that assert them. Pure.

What a call is to come to stands behind it: a literal, or the name of an exception. Few forms of a sentence say so
beyond doubt; all others are told back, since a value read against its sense would be the wrong goal.
"""

from __future__ import annotations

import ast
import builtins
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ratchet.failures.redaction.text import redact

MOST_EXAMPLES, _MOST_WORDS, _MOST_CALL, _MOST_SAID = 6, 20_000, 400, 160
_CALL = re.compile(r"(?<![\w.])[A-Za-z_]\w{0,80}(?:\.\w{1,80}){0,3}\(")
_LITERAL = re.compile(
    r"'[^'\n]*'|\"[^\"\n]*\"|(?<![\w.-])-?\d[\d_]*(?:\.\d+)?(?![\w])|\b(?:True|False|None|[A-Z]\w{2,60})\b|[\[({]"
)
_SENTENCE_ENDS = re.compile(r"[.;!?](?=\s)|\n")
_AND = re.compile(r"[\s,;`]*\b(?:and|but)\s*$")  # it joins what follows
_VALUE = "\0"  # stands for a value in the form of what is said
_WANTED = (
    r"(?:(?:should|must|shall|has to|needs to|ought to|is to) (?:be|equal|return|give|yield|come to|raise)|==|[-=]>)"
)
_SEEN = r"(?:is|gives|returns|yields|comes to|raises)"
_WANTS = re.compile(
    rf"[`'\")]*,? *(?:{_SEEN} \0,? instead of|(?:{_SEEN} \0,? (?:but|and) (?:it )?)?{_WANTED})"
    r" ?(?:an? )?`?(?P<wanted>\0)`?"
    rf"(?:,? (?:not|instead of|rather than) \0|,? but (?:it )?{_SEEN} \0)?(?: now)?[\"')]*(?:[.!,;]| and|, and)?",
    re.IGNORECASE,
)
"""The forms of a wish, from the end of the call to the end of the sentence."""
_TURNS = re.compile(
    r"\b(?:no|not|never|nor|neither|nobody|none|cannot|without|unless|if|when|wrong(?:ly)?)\b|n't\b", re.IGNORECASE
)
"""Before the call, this may turn the sense of the sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordExample:
    """One call that words name, and the check that it stands for: () where the words leave open what it is to be.
    `missing` is the name in it that the project does not have."""

    said: str
    call: str
    check: tuple[str, ...] = ()
    missing: str = ""


def examples(words: str, modules: Mapping[str, ast.Module]) -> Sequence[WordExample]:
    """The examples in words, of what these modules (dotted name -> tree) define."""
    homes: dict[str, str] = {}
    for module, tree in modules.items():
        for each in tree.body:
            if isinstance(each, ast.FunctionDef | ast.ClassDef):
                homes.setdefault(each.name, f"from {module} import {each.name}")
        homes.setdefault(module.partition(".")[0], f"import {module}")
    return [*_examples(words[:_MOST_WORDS], homes)][:MOST_EXAMPLES]


def asks_otherwise(one: str, other: str) -> bool:
    """Tell whether two checks, as a person writes them, are examples of the same call that want different values."""
    call = _call_of(one)
    return bool(call) and call == _call_of(other) and one != other


def _call_of(check: str) -> str:
    """The call that an example's program tries, "" for any other command."""
    try:
        words = shlex.split(check)
        last = ast.parse(words[2]).body[-1] if len(words) == 3 and words[1] == "-c" else None
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError):
        return ""
    if isinstance(last, ast.Assert) and isinstance(last.msg, ast.Call):
        return ast.unparse(last.msg)
    tried = last.body[0] if isinstance(last, ast.Try) else None
    return ast.unparse(tried.value) if isinstance(tried, ast.Assign) else ""


def _examples(words: str, homes: Mapping[str, str]) -> Iterator[WordExample]:
    calls: list[tuple[int, int]] = []
    for begun in _CALL.finditer(words):
        end = _call_end(words, begun.start())
        if end and (not calls or begun.start() >= calls[-1][1]):
            calls.append((begun.start(), end))
    for n, (start, end) in enumerate(calls):
        following = calls[n + 1][0] if n + 1 < len(calls) else len(words)
        stop = _SENTENCE_ENDS.search(words, end)
        whole = words[end : min(following, stop.start() if stop else len(words))]
        call, needed = words[start:end], _imports(words[start:end], homes)
        before = [each.end() for each in _SENTENCE_ENDS.finditer(words, 0, start)]
        value = "" if _TURNS.search(words, before[-1] if before else 0, start) else _wanted(whole)
        said = f"{call}{_AND.sub('', whole)[:_MOST_SAID]}".strip(" ,`")
        if not needed:
            if value and (missing := _missing(call, homes)):
                yield WordExample(said=said, call=call, missing=missing)
            continue
        check = _program(call, value, needed) if value else ()
        hidden = redact(shlex.join(check)) != shlex.join(check)  # it would be shown and kept with the plan
        yield WordExample(said=said, call=call, check=() if hidden else check)


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
    return () if _missing(call, homes) else sorted({homes[each] for each in _names(call) if each in homes})


def _names(call: str) -> Sequence[str]:
    node = _parsed(call)
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name)] if node else []


def _missing(call: str, homes: Mapping[str, str]) -> str:
    """The first name in a call that neither the project nor the language has."""
    return next((each for each in _names(call) if each not in homes and not hasattr(builtins, each)), "")


def _wanted(said: str) -> str:
    """The value that is wanted, by what stands behind a call; "" where that is not beyond doubt."""
    values: list[str] = []
    form, at = "", 0
    while found := _LITERAL.search(said, at):
        text, start, end = found[0], found.start(), found.end()
        if text in "[({":
            ends = (start + each.end() for each in re.finditer(r"[\])}]", said[start:]))
            end = next((each for each in ends if _is_literal(said[start:each])), end)
            text = said[start:end]
        known = _is_literal(text) or _is_exception(text)
        form += said[at:start] + (_VALUE if known else text)
        values += [text] if known else []
        at = end
    form = " ".join((form + said[at:]).split())
    wants = _WANTS.fullmatch(form)
    if wants is None:
        return ""
    value = values[form.count(_VALUE, 0, wants.start("wanted"))]
    raises = re.search(r"raises?\W+(?:an? )?\W*$", form[: wants.start("wanted")], re.IGNORECASE) is not None
    return value if raises == _is_exception(value) else ""


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
