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
from difflib import get_close_matches

from ratchet.failures.redaction.text import redact
from ratchet.healing.solvers.repairing.expressions import expression, is_literal

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
_TOLD = re.compile(rf"[`'\")]*,? *{_SEEN} (?:an? )?`?(?P<wanted>\0)`?[\"')]*(?:[.!,;]| and|, and)?", re.IGNORECASE)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
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


def examples(words: str, modules: Mapping[str, ast.Module], *, may_make: bool = False) -> Sequence[WordExample]:
    """The examples in words, of what these modules (dotted name -> tree) define. With `may_make`, a call of what is not
    there is one of what is to be made, where the words leave no doubt in which file; its value may be said plainly
    ("is 3"), since nobody has seen it."""
    homes = _homes(modules)
    return [*_examples(words[:_MOST_WORDS], homes, _home_of_new(words, modules) if may_make else "")][:MOST_EXAMPLES]


def of_project(code: str, modules: Mapping[str, ast.Module], words: str) -> str:
    """A check's program that imports what it tries: what it defines itself, though the project has it or the words ask
    for it, is left out, since it would be judged by its own text. As it is where it does nothing of the kind."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    homes, home = _homes(modules), _home_of_new(words, modules)
    own = [each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef)]
    new = [name for name in own if home and name not in homes and re.search(rf"(?<!\w){name}(?!\w)", words)]
    found = {name: homes[name] for name in own if name in homes} | {name: _import(home, name) for name in new}
    if not found:
        return code
    kept = [each for each in tree.body if getattr(each, "name", "") not in found]
    return ast.unparse(ast.Module([*ast.parse("\n".join(found.values())).body, *kept], []))


def passed_by(code: str, modules: Mapping[str, ast.Module], wish: str, said: str = "") -> str:
    """The first definition of the project that a wish names, where a check's program uses nothing that the wish, or
    what is `said` of the step, names: it is about something else. "" where it is not, or nothing is named."""
    try:
        nodes = [*ast.walk(ast.parse(code))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    used = {each.id for each in nodes if isinstance(each, ast.Name)}
    used |= {each.attr for each in nodes if isinstance(each, ast.Attribute)}
    defined = (each.name for tree in modules.values() for each in ast.walk(tree) if isinstance(each, _DEFINITIONS))
    wanted, told = (re.findall(r"[A-Za-z_]\w*", text) for text in (wish, said))
    named = sorted(set(defined) & set(wanted), key=wanted.index)
    return named[0] if named and not used & {*wanted, *told} else ""


def _homes(modules: Mapping[str, ast.Module]) -> dict[str, str]:
    """The import that brings each name which these modules define, and each of them."""
    homes: dict[str, str] = {}
    for module, tree in modules.items():
        for each in tree.body:
            if isinstance(each, ast.FunctionDef | ast.ClassDef):
                homes.setdefault(each.name, _import(module, each.name))
        homes.setdefault(module.partition(".")[0], f"import {module}")
    return homes


def _import(module: str, name: str) -> str:
    return f"from {module} import {name}"


def _home_of_new(words: str, modules: Mapping[str, ast.Module]) -> str:
    """The module in which the words want what is new: the one whose file they name, or the only one."""
    named = [each for each in modules if f"{each.rpartition('.')[2]}.py" in words] or [*modules]
    return named[0] if len(named) == 1 else ""


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


def _examples(words: str, homes: Mapping[str, str], home: str) -> Iterator[WordExample]:
    calls: list[tuple[int, int]] = []
    for begun in _CALL.finditer(words):
        end = _call_end(words, begun.start())
        if end and (not calls or begun.start() >= calls[-1][1]):
            calls.append((begun.start(), end))
    for n, (start, end) in enumerate(calls):
        following = calls[n + 1][0] if n + 1 < len(calls) else len(words)
        stop = _SENTENCE_ENDS.search(words, end)
        whole = words[end : min(following, stop.start() if stop else len(words))]
        call = words[start:end]
        missing = _missing(call, homes)
        # A name that is nearly one of the project's is a slip.
        made = bool(home and call.startswith(f"{missing}(") and not get_close_matches(missing, homes))
        needed = _imports(call, {**homes, missing: _import(home, missing)} if made else homes)
        before = [each.end() for each in _SENTENCE_ENDS.finditer(words, 0, start)]
        value = "" if _TURNS.search(words, before[-1] if before else 0, start) else _wanted(whole, seen=not made)
        said = f"{call}{_AND.sub('', whole)[:_MOST_SAID]}".strip(" ,`")
        if not needed:
            if value and missing:
                yield WordExample(said=said, call=call, missing=missing)
            continue
        check = _program(call, value, needed) if value else ()
        hidden = redact(shlex.join(check)) != shlex.join(check)  # it would be shown and kept with the plan
        yield WordExample(said=said, call=call, check=() if hidden else check)


def _call_end(words: str, start: int) -> int:
    """The end of the call that begins there, with those of its results; 0 where none does."""
    end = 0
    for closed in re.finditer(r"\)", words[start : start + _MOST_CALL]):
        node = expression(words[start : start + closed.end()])
        if isinstance(node, ast.Call):
            end = start + closed.end()
            if not re.match(r"\.\w+\(", words[end:]):
                break
    return end


def _imports(call: str, homes: Mapping[str, str]) -> Sequence[str]:
    """The imports that a call needs; none where it names what the project does not have."""
    return () if _missing(call, homes) else sorted({homes[each] for each in _names(call) if each in homes})


def _names(call: str) -> Sequence[str]:
    node = expression(call)
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name)] if node else []


def _missing(call: str, homes: Mapping[str, str]) -> str:
    """The first name in a call that neither the project nor the language has."""
    return next((each for each in _names(call) if each not in homes and not hasattr(builtins, each)), "")


def _wanted(said: str, *, seen: bool) -> str:
    """The value that is wanted, by what stands behind a call; "" where that is not beyond doubt. `seen`: the call can
    be made, so that what it is or gives is how things are."""
    values: list[str] = []
    form, at = "", 0
    while found := _LITERAL.search(said, at):
        text, start, end = found[0], found.start(), found.end()
        if text in "[({":
            ends = (start + each.end() for each in re.finditer(r"[\])}]", said[start:]))
            end = next((each for each in ends if is_literal(said[start:each])), end)
            text = said[start:end]
        known = is_literal(text) or _is_exception(text)
        form += said[at:start] + (_VALUE if known else text)
        values += [text] if known else []
        at = end
    form = " ".join((form + said[at:]).split())
    wants = _WANTS.fullmatch(form) or (None if seen else _TOLD.fullmatch(form))
    if wants is None:
        return ""
    value = values[form.count(_VALUE, 0, wants.start("wanted"))]
    raises = re.search(r"raises?\W+(?:an? )?\W*$", form[: wants.start("wanted")], re.IGNORECASE) is not None
    return value if raises == _is_exception(value) else ""


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
