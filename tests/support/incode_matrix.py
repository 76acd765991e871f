"""What `ratchet.heal` does with every kind of patch and every form of function: the cases, and the table of the docs.

usage: PYTHONPATH=tests python -m loops.incode_matrix    writes the table into docs/explanation/healing-in-code.md
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import sys
import tempfile
import textwrap
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "healing-in-code.md"
BEGIN, END = "<!-- The matrix begins: written by tests/loops/incode_matrix.py -->", "<!-- The matrix ends. -->"
SCRIPT = """\
import ratchet
from ratchet.testing.solving import ReplacingSolver

solver = ReplacingSolver({answers!r})
home = ratchet.Ratchet(home={home!r})


def heal(check, **options):
    return home.heal(**{{"check": check, "solver": solver, "budget_s": 600.0, **options}})
"""
MEAN = """\
import functools
from script import heal


def quoted(function):
    @functools.wraps(function)
    def around(*args):
        return function(*args)
    return around


@heal(lambda value: value == 0.0)
def mean(values, token="sk-0123456789abcdef"):
    \"\"\"The mean; 0.0 of nothing.\"\"\"
    # whole numbers are fine, too
    return sum(values) / len(values)  # the mean


def other():
    return 1
"""
LINE = "return sum(values) / len(values)"
RIGHT = f"{LINE} if values else 0.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row. `call` gets the module and returns what the caller sees; `old` becomes `new` in the module's file."""

    what: str
    old: str = LINE
    new: str = RIGHT
    module: str = MEAN
    call: Callable[[ModuleType], object] = lambda module: module.mean([])
    value: object = 0.0
    """What the caller gets where it is healed."""
    why: str = ""
    """What the log says where it is not; then the caller gets the exception that there was."""


def _body(text: str) -> str:
    """A module whose first function is decorated and fails on an empty list."""
    return "from script import heal\n\n\n" + textwrap.dedent(text).strip() + "\n"


def _awaited(call: Coroutine[object, object, object]) -> object:
    return asyncio.run(call)


async def _items(stream: AsyncGenerator[object, object]) -> list[object]:
    return [each async for each in stream]


CLASS = """
class Rows:
    def __init__(self, values):
        self.values = values

    {decorators}
    def mean({self}):
        return sum({values}) / len({values})
"""


def _class(decorators: str, *, self: str = "self", values: str = "self.values") -> str:
    return _body(CLASS.format(decorators=decorators.replace("\n", "\n    "), self=self, values=values))


HEAL = "@heal(lambda value: value == 0.0)"
OF_SELF = (
    "return sum(self.values) / len(self.values)",
    "return sum(self.values) / len(self.values) if self.values else 0.0",
)

PATCHES = (
    Case(what="correct"),
    Case(what="still raises", new="return sum(values) / (len(values) * 2)", why="ZeroDivisionError"),
    Case(what="returns a wrong value", new=f"{LINE} if values else -1.0", why="the check refuses -1.0"),
    Case(what="`return 0.0`", new="return 0.0", why="it no longer looks at its arguments"),
    Case(what="`return 0.0` in front of the old body", new=f"return 0.0\n    {LINE}", why="never runs"),
    Case(
        what="`except: pass`",
        new=f"try:\n        {LINE}\n    except:\n        pass\n    return 0.0",
        why="it swallows the exception",
    ),
    Case(
        what="`except ZeroDivisionError: return 0.0`",
        new=f"try:\n        {LINE}\n    except ZeroDivisionError:\n        return 0.0",
        why="it swallows the exception",
    ),
    Case(
        what="`contextlib.suppress`",
        new=f"import contextlib\n    with contextlib.suppress(Exception):\n        {LINE}\n    return 0.0",
        why="it swallows the exception",
    ),
    Case(
        what="`finally: return`",
        new=f"try:\n        value = {LINE[7:]}\n    finally:\n        return value if values else 0.0",
        why="it swallows the exception",
    ),
    Case(what="carries a payload", new=f'__import__("os").system("id")\n    {RIGHT}', why="it carries a payload"),
    Case(what="writes a file", new=f'open("kept", "w").write(token)\n    {RIGHT}', why="it carries a payload"),
    Case(
        what="ends the process",
        new=f"if not values:\n        raise SystemExit(0)\n    {LINE}",
        why="it carries a payload",
    ),
    Case(what="renamed", old="def mean(values,", new="def average(values,", why="it renames, moves or removes mean"),
    Case(
        what="a new required argument",
        old='def mean(values, token="sk-0123456789abcdef"):',
        new="def mean(values, token, empty):",
        why="required",
    ),
    Case(what="an argument less", old=', token="sk-0123456789abcdef"', new="", why="takes the argument 'token' away"),
    Case(
        what="prose around the code",
        old="",
        new=f"Here is the fix:\n```python\n{MEAN.replace(LINE, RIGHT)}```\n",
        why="it is not Python",
    ),
    Case(what="changes another function", old="return 1", new="return 2", why="it changes more than mean"),
    Case(what="changes the decorators", old="@heal(lambda value: value == 0.0)", new="@quoted", why="decorators"),
    Case(what="makes it a generator", new=f"yield {LINE[7:]}", why="another kind of function"),
)
FORMS = (
    Case(what="function"),
    Case(
        what="coroutine",
        module=_body(f"{HEAL}\nasync def mean(values):\n    {LINE}"),
        call=lambda module: _awaited(module.mean([])),
    ),
    Case(
        what="generator, before its first item",
        module=_body("@heal(lambda items: items == [0.0])\ndef mean(values):\n    yield sum(values) / len(values)"),
        old="yield sum(values) / len(values)",
        new="yield sum(values) / len(values) if values else 0.0",
        call=lambda module: list(module.mean([])),
        value=[0.0],
    ),
    Case(
        what="generator, after some items",
        module=_body(
            "@heal(lambda items: len(items) == 3)\ndef halves(values):\n    for each in values:\n"
            "        yield 10 / each"
        ),
        old="yield 10 / each",
        new="yield 10 / each if each else 0.0",
        call=lambda module: list(module.halves([1, 2, 0])),
        value=[10.0, 5.0, 0.0],
    ),
    Case(
        what="generator, whose patch changes items that are out",
        module=_body(
            "@heal(lambda items: len(items) == 3)\ndef halves(values):\n    for each in values:\n"
            "        yield 10 / each"
        ),
        old="yield 10 / each",
        new="yield 20 / each if each else 0.0",
        call=lambda module: list(module.halves([1, 2, 0])),
        why="it changes items of the stream that were handed out already",
    ),
    Case(
        what="async generator",
        module=_body(
            "@heal(lambda items: len(items) == 2)\nasync def halves(values):\n    for each in values:\n"
            "        yield 10 / each"
        ),
        old="yield 10 / each",
        new="yield 10 / each if each else 0.0",
        call=lambda module: asyncio.run(_items(module.halves([1, 0]))),
        value=[10.0, 0.0],
    ),
    Case(
        what="method", module=_class(HEAL), old=OF_SELF[0], new=OF_SELF[1], call=lambda module: module.Rows([]).mean()
    ),
    Case(
        what="property, above and below",
        module=_class(f"{HEAL}\n@property"),
        old=OF_SELF[0],
        new=OF_SELF[1],
        call=lambda module: module.Rows([]).mean,
    ),
    Case(
        what="static method",
        module=_class(f"@staticmethod\n{HEAL}", self="values", values="values"),
        call=lambda module: module.Rows.mean([]),
    ),
    Case(
        what="class method",
        module=_class(f"{HEAL}\n@classmethod", self="cls, values", values="values"),
        call=lambda module: module.Rows([1]).mean([]),
    ),
    Case(
        what="closure",
        module=_body(
            f"def make(empty):\n    {HEAL}\n    def mean(values):\n        return sum(values) / len(values) + empty\n"
            "    return mean"
        ),
        old="return sum(values) / len(values) + empty",
        new="return sum(values) / len(values) + empty if values else 0.0",
        call=lambda module: module.make(1.0)([]),
    ),
    Case(
        what="decorated, below other decorators and above them",
        module=MEAN.replace("@heal(lambda value: value == 0.0)\n", f"@quoted\n{HEAL}\n@quoted\n"),
    ),
    Case(
        what="recursive: the call that was asked for is healed",
        module=_body(
            "@heal(lambda value: value == 24)\ndef product(n):\n    if n < 0:\n        raise ValueError(n)\n"
            "    return n * product(n - 1)"
        ),
        old="if n < 0:",
        new="if n == 0:\n        return 1\n    if n < 0:",
        call=lambda module: module.product(4),
        value=24,
    ),
    Case(
        what="a parameter named `token` with a secret in it",
        call=lambda module: module.mean([], token="ghp_0123456789abcdefghijABCDEFGHIJ012345"),
    ),
    Case(what="a reference that somebody holds", call=lambda module: _held(module)),
    Case(
        what="a list that the call had emptied before it failed",
        module=_body(
            "@heal(lambda value, values: value == 3 and values == [])\ndef taken(values):\n    total = 0\n"
            "    while True:\n        total += values.pop()\n        if total > 9:\n            return total"
        ),
        old="if total > 9:",
        new="if not values:",
        call=lambda module: module.taken([1, 2]),
        value=3,
    ),
    Case(
        what="lambda",
        module=_body("mean = heal(lambda value: True)(lambda values: sum(values) / len(values))"),
        old="sum(values) / len(values)",
        new="0.0",
        why="a lambda",
    ),
    Case(
        what="arguments that cannot be recorded",
        call=lambda module: module.mean(each for each in list[int]()),
        why="its arguments cannot be recorded",
    ),
    Case(
        what="a failure that may pass by itself",
        module=_body("@heal(lambda value: True)\ndef mean(values):\n    raise ConnectionResetError('reset by peer')"),
        old="raise ConnectionResetError('reset by peer')",
        new="return values",
        why="may pass by itself",
    ),
)


def _held(module: ModuleType) -> object:
    """The second reference is not healed a second time."""
    held = module.mean
    first = held([])
    assert module.mean is held
    assert held([]) == first
    assert len(module.solver_of_script().jobs) == 1
    return first


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of a case: the value, or the exception that was raised; and what was logged."""

    value: object
    raised: BaseException | None
    told: list[str]


class _Told(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextlib.contextmanager
def loaded(folder: Path, case: Case) -> Iterator[ModuleType]:
    """The case's module, imported from a folder of its own."""
    folder.mkdir()
    answers = [("subject.py", case.old, case.new)]
    script = SCRIPT.format(answers=answers, home=str(folder.parent / f"home-{folder.name}"))
    (folder / "script.py").write_text(script, encoding="utf-8")
    (folder / "subject.py").write_text(case.module, encoding="utf-8")
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        module = importlib.import_module("subject")
        script_module = sys.modules["script"]
        vars(module)["solver_of_script"] = lambda: vars(script_module)["solver"]
        yield module
        vars(script_module)["home"].close()
    finally:
        sys.path.remove(str(folder))
        for name in ("subject", "script"):
            sys.modules.pop(name, None)


def seen(folder: Path, case: Case) -> Seen:
    """Run one case in an empty folder."""
    told = _Told()
    log = logging.getLogger("ratchet.heal")
    log.addHandler(told)
    try:
        with loaded(folder, case) as module:
            before = (folder / "subject.py").read_bytes()
            try:
                return Seen(case.call(module), None, told.lines)
            except Exception as error:  # noqa: BLE001  (what the caller sees is the question)
                return Seen(None, error, told.lines)
            finally:
                assert (folder / "subject.py").read_bytes() == before
    finally:
        log.removeHandler(told)


def row(case: Case, what: Seen) -> str:
    """The case's line of the table."""
    if what.raised is None:
        return f"| {case.what} | healed | the call returns `{what.value!r}` |"
    reason = what.told[0].partition(" is not healed: ")[2] if what.told else ""
    return f"| {case.what} | `{type(what.raised).__name__}`, as without | {shortened(reason)} |"


def shortened(reason: str) -> str:
    """The part of a reason that says why, the same in every run."""
    reason = reason.removeprefix("the script is at its end: ").removeprefix("refused: ").strip().rstrip(".")
    reason = reason.removeprefix("ZeroDivisionError: division by zero").strip() or "it still raises ZeroDivisionError"
    return reason.replace("|", "\\|")


def table(patches: list[str], forms: list[str], files: list[str]) -> str:
    head = "| {} | what the caller gets | why |\n|---|---|---|"
    of_files = '| file | what comes of it, with `mode="apply"` |\n|---|---|'
    parts = ((head.format("patch"), patches), (head.format("function"), forms), (of_files, files))
    return "\n".join([BEGIN, *(line for first, rows in parts for line in ("", first, *rows)), "", END])


def main() -> None:
    from support import incode_files

    found: list[list[str]] = []
    with tempfile.TemporaryDirectory() as place:
        for name, cases in (("patch", PATCHES), ("form", FORMS)):
            found.append([row(case, seen(Path(place) / f"{name}{n}", case)) for n, case in enumerate(cases)])
        scenes = ((what, scene(Path(place) / f"file{n}")) for n, (what, scene, _) in enumerate(incode_files.SCENES))
        found.append([incode_files.row(what, said) for what, said in scenes])
    text = PAGE.read_text(encoding="utf-8")
    start, end = text.index(BEGIN), text.index(END) + len(END)
    PAGE.write_text(text[:start] + table(*found) + text[end:], encoding="utf-8")


if __name__ == "__main__":
    main()
