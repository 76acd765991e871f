"""Read what failing tests expect, in their own text: exceptions with their messages, and values that are compared."""

from __future__ import annotations

import ast
import difflib
import os
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

_RAISING = frozenset({"raises", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp"})
_COMPARING = frozenset({"assertEqual", "assertEquals", "assertListEqual", "assertDictEqual", "assertTupleEqual",
                        "assertIs", "eq_"})  # fmt: skip
_NAMED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_LONGEST, _SHORT, _ROWS, _PIECE = 400, 40, 12, 12
_TOLD = re.compile(r"^(?:E\s)?\s*(?:AssertionError: )?(?:assert )?")
_COMPARISON = re.compile(" [!=]= ")
_PLAIN = re.compile(r"[\w\s,:;'\"()\[\]{}<>=!/%@#&*+-]*")


@dataclass(frozen=True, slots=True)
class TestsExpect:
    """Expectations of tests. `raised` holds (type, message, "" for any); `values` are constants, as source."""

    raised: tuple[tuple[str, str], ...] = ()
    values: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    """Values that are text, as they are."""
    fields: tuple[str, ...] = ()
    """Keys of mappings and names of arguments in the tests' files that have a value other than a text."""
    given: tuple[str, ...] = ()
    """Short texts and numbers anywhere in the tests, as source."""
    changes: tuple[tuple[str, str], ...] = ()
    """Pieces in which texts came out otherwise than they are expected, as (one, the other)."""
    called: frozenset[str] = frozenset()
    """Names of what the tests call, without what these belong to."""
    compared: frozenset[str] = frozenset()
    """Names of the fields of objects that the tests compare with something."""


def expected_of(failing: Iterable[str], root: str, said: str = "") -> TestsExpect:
    """Read what these tests expect, by pytest's ids; nothing of those whose function cannot be found. `said` is what
    their check printed."""
    raised: dict[tuple[str, str], None] = {}
    values: dict[str, None] = {}
    texts: dict[str, None] = {}
    spoken: dict[str, None] = {}
    trees: dict[str, ast.Module | None] = {}
    called, compared = set[str](), set[str]()
    for function in _functions(failing, root, trees):
        for node in ast.walk(function):
            if isinstance(node, ast.Call):
                called.add(_name(node.func))
            if isinstance(node, ast.Call) and _name(node.func) in _RAISING and node.args:
                raised.setdefault((ast.unparse(node.args[0]), _message(node)))
            if isinstance(node, ast.Constant) and type(node.value) in (str, int, float):
                spoken.setdefault(ast.unparse(node))
            compared |= {each.attr for each in _compared(node) if isinstance(each, ast.Attribute)}
            for value in (*_compared(node), *_rows_end(node)):
                if isinstance(value, ast.Constant) and isinstance(value.value, str) and len(value.value) <= _LONGEST:
                    texts.setdefault(value.value)
                if len(source := ast.unparse(value)) <= _LONGEST and _is_constant(value):
                    values.setdefault(source)
    given = (each for tree in trees.values() if tree is not None for node in ast.walk(tree) for each in _fields(node))
    short = tuple(each for each in spoken if len(each) <= _SHORT)
    changes = dict.fromkeys(
        change for each in said.splitlines() for pair in _unequal(each) for change in _changed(*pair, texts)
    )
    known = tuple(dict.fromkeys(given))
    return TestsExpect(
        tuple(raised), tuple(values), tuple(texts), known, short, tuple(changes)[:_ROWS],
        frozenset(called - {""}), frozenset(compared),
    )  # fmt: skip


def _unequal(said: str) -> Iterator[tuple[str, str]]:
    """The texts that a failed comparison sets beside each other: `assert ['a_b'] == ['a-b']`, `'a_b' != 'a-b'`."""
    if len(said) > _LONGEST or not _COMPARISON.search(said):
        return
    try:
        compared = ast.parse(_TOLD.sub("", said), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # cut off, or in words
    if not isinstance(compared, ast.Compare) or not isinstance(compared.ops[0], ast.Eq | ast.NotEq):
        return
    sides = (ast.walk(compared.left), ast.walk(compared.comparators[0]))
    for one, other in zip(*sides, strict=False):
        if type(one) is not type(other):
            return
        texts = [each.value for each in (one, other) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        if len(texts) == 2 and texts[0] != texts[1]:
            yield texts[0], texts[1]


def _changed(one: str, other: str, expected: Container[str]) -> Iterator[tuple[str, str]]:
    """The pieces in which a text differs from the expected one; what lacks there, with a letter beside it."""
    came, wanted = (other, one) if one in expected and other not in expected else (one, other)
    if max(len(came), len(wanted)) > _LONGEST:
        return
    for what, i, to, j, last in difflib.SequenceMatcher(None, came, wanted, autojunk=False).get_opcodes():
        if what != "equal" and max(to - i, last - j) <= _PIECE:
            if what != "insert":
                yield came[i:to], wanted[j:last]
            else:
                yield from (
                    (came[i - n : i + 1 - n], wanted[j - n : last + 1 - n]) for n in (0, 1) if 0 <= i - n < len(came)
                )


def _fields(node: ast.AST) -> Iterator[str]:
    """The keys of a mapping, or the names of a call's arguments, without those of texts."""
    pairs: list[tuple[object, ast.expr]] = []
    if isinstance(node, ast.Dict):
        pairs = [(each.value, value) for each, value in zip(node.keys, node.values, strict=True)
                 if isinstance(each, ast.Constant)]  # fmt: skip
    elif isinstance(node, ast.Call):
        pairs = [(each.arg, each.value) for each in node.keywords]
    for name, value in pairs:
        if isinstance(name, str) and not (isinstance(value, ast.Constant) and isinstance(value.value, str)):
            yield name


def _functions(failing: Iterable[str], root: str, trees: dict[str, ast.Module | None]) -> Iterator[ast.AST]:
    """The functions of these tests; the files that were read for them are added to `trees`."""
    for name in failing:
        path, *parts = name.split("[")[0].split("::")
        if path not in trees:
            try:
                with open(os.path.join(root, path), "rb") as file:
                    trees[path] = ast.parse(file.read())
            except (OSError, SyntaxError, ValueError):
                trees[path] = None
        at: ast.AST | None = trees[path]
        for part in parts:
            body = getattr(at, "body", ())
            at = next((each for each in body if isinstance(each, _NAMED) and each.name == part), None)
        if parts and at is not None:
            yield at


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _message(call: ast.Call) -> str:
    """The message that is asked for; of a pattern, where it is a plain text."""
    asked = [each.value for each in call.keywords if each.arg in ("match", "expected_regex")]
    asked += call.args[1:2] if _name(call.func) == "assertRaisesRegex" else []
    for each in asked:
        if isinstance(each, ast.Call) and _name(each.func) == "escape" and each.args:
            each = each.args[0]
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            text = re.sub(r"\\(.)", r"\1", each.value.strip("^$"))
            return text if _PLAIN.fullmatch(each.value.strip("^$").replace("\\", "").replace(".", "")) else ""
    return ""


def _compared(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.Is):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Call) and _name(node.func) in _COMPARING:
        return node.args[:2]
    return []


def _rows_end(node: ast.AST) -> list[ast.expr]:
    """The last values of a parametrised test's rows: what is expected comes last."""
    rows = node.args[1] if isinstance(node, ast.Call) and _name(node.func) == "parametrize" and node.args[1:] else None
    held = rows.elts[:_ROWS] if isinstance(rows, ast.List | ast.Tuple) else []
    inner = (each.args if isinstance(each, ast.Call) else getattr(each, "elts", ()) for each in held)
    return [each[-1] for each in inner if each]


def _is_constant(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
