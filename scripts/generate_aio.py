"""Write `src/ratchet/aio/client.py` and `aio/books.py`: the asyncio twin of every public method of `Ratchet`.

usage: python scripts/generate_aio.py [--check]

A method becomes a coroutine that runs in a thread (each has its own connection to the store), an iterator an async
iterator, a property that holds operations a twin of its own. `record` and what makes decorators run where they are
called: they take microseconds and wait for nothing.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET, BOOKS = ROOT / "src/ratchet/aio/client.py", ROOT / "src/ratchet/aio/books.py"
TWINS = {
    "Ratchet": "ratchet/client.py",
    "LessonBook": "ratchet/lessons/book.py",
    "TrialBook": "ratchet/improving/book.py",
    "ProposalBook": "ratchet/improving/book.py",
    "Pulses": "ratchet/improving/book.py",
    "CureBook": "ratchet/improving/cures/book.py",
    "Distillery": "ratchet/healing/distilling/book.py",
}
HERE = ("heal", "record", "retry", "settings", "watch")

HEAD = '''\
"""`AsyncRatchet`: what `Ratchet` does, for asyncio, in one file since it is generated.

What may take time runs in threads; no call blocks the loop.

Written by scripts/generate_aio.py from `Ratchet`; change that, then run `python scripts/generate_aio.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Self, TypeVar

from ratchet.aio.books import {books}
from ratchet.client import Ratchet

if TYPE_CHECKING:
{imports}

Item = TypeVar("Item")
_CHUNK = 200  # items fetched a trip to a thread


async def _streamed(begin: Callable[[], Iterator[Item]]) -> AsyncIterator[Item]:
    items = await asyncio.to_thread(begin)
    while chunk := await asyncio.to_thread(lambda: list(islice(items, _CHUNK))):
        for item in chunk:
            yield item
'''

BOOKS_HEAD = '''\
"""Operations of `AsyncRatchet` by noun, for asyncio, in one file since it is generated.

Written by scripts/generate_aio.py; change what they stand for, then run `python scripts/generate_aio.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
{imports}
'''

INIT = '''
class Async{name}:
    """{doc}"""

    def __init__(self, held: Callable[[], {name}]) -> None:
        self._held = held
'''

OUTER = '''
class AsyncRatchet:
    """`Ratchet` for asyncio: the same operations, settings and errors; iterate `outcomes` with `async for`.

    Use it as an async context manager or `await close()`.
    """

    def __init__({arguments}) -> None:
        self._sync = Ratchet({forwarded})

    def _held(self) -> Ratchet:
        return self._sync

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_raised: object) -> None:
        await self.close()
'''


def generated() -> dict[Path, str]:
    """The text of each module, formatted."""
    books = [name for name in TWINS if name != "Ratchet"]
    head = HEAD.replace("{books}", ", ".join(f"Async{name}" for name in books))
    return {TARGET: _written(TARGET, head, ["Ratchet"]), BOOKS: _written(BOOKS, BOOKS_HEAD, books)}


def _written(target: Path, head: str, names: Sequence[str]) -> str:
    trees = {name: ast.parse((ROOT / "src" / TWINS[name]).read_text()) for name in names}
    classes = {name: _class(tree, name) for name, tree in trees.items()}
    parts: list[str] = []
    for name in reversed(names):
        parts.append(_opening(classes[name]))
        parts += [_twin(node) for node in classes[name].body if isinstance(node, ast.FunctionDef)]
    body = "\n".join(part for part in parts if part)
    imports = sorted(line for name, tree in trees.items() for line in _imports(tree, body, _module(TWINS[name])))
    imports += [f"from {_module(TWINS[name])} import {name}" for name in names if name != "Ratchet"]
    text = head.replace("{imports}", "\n".join(f"    {line}" for line in dict.fromkeys(imports))) + body
    for command in (["check", "--fix", "--quiet", "--select", "I,F401"], ["format"]):
        text = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(target), "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        ).stdout
    return text


def _module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def _class(tree: ast.Module, name: str) -> ast.ClassDef:
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)


def _opening(node: ast.ClassDef) -> str:
    init = next(each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
    if node.name == "Ratchet":
        return OUTER.format(arguments=ast.unparse(init.args), forwarded=_forwarded(init.args))
    return INIT.format(name=node.name, doc=(ast.get_docstring(node) or "").splitlines()[0])


def _twin(node: ast.FunctionDef) -> str:
    if node.name.startswith("_"):
        return ""
    returns = ast.unparse(node.returns) if node.returns is not None else "None"
    doc = _indented(ast.get_docstring(node) or "")
    call = f"self._held().{node.name}({_forwarded(node.args)})"
    signature = f"{node.name}({ast.unparse(node.args)})"
    if any(isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list):
        held = f"return Async{returns}(lambda: self._held().{node.name})"
        return f"    @property\n    def {node.name}(self) -> Async{returns}:\n{doc}\n        {held}\n"
    if node.name in HERE:
        prefix = "async " if node.name == "record" else ""
        return f"    {prefix}def {signature} -> {returns}:\n{doc}\n        return {call}\n"
    if returns.startswith("Iterator["):
        yields = f"async for item in _streamed(lambda: {call}):\n            yield item"
        return f"    async def {signature} -> Async{returns}:\n{doc}\n        {yields}\n"
    waiting = f"await asyncio.to_thread(lambda: {call})"
    given = "" if returns == "None" else "return "
    return f"    async def {signature} -> {returns}:\n{doc}\n        {given}{waiting}\n"


def _indented(doc: str) -> str:
    lines = f'"""{doc}"""'.splitlines() if "\n" not in doc else [*f'"""{doc}'.splitlines(), '"""']
    return "\n".join(f"        {line}" if line else "" for line in lines)


def _forwarded(arguments: ast.arguments) -> str:
    named = [arg.arg for arg in arguments.args if arg.arg != "self"]
    if arguments.vararg is not None:
        named.append(f"*{arguments.vararg.arg}")
    named += [f"{arg.arg}={arg.arg}" for arg in arguments.kwonlyargs]
    if arguments.kwarg is not None:
        named.append(f"**{arguments.kwarg.arg}")
    return ", ".join(named)


def _imports(tree: ast.Module, body: str, module: str) -> list[str]:
    """Imports of names that the twin's signatures use: those of the source, and classes that it defines."""
    used = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    lines: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module not in ("__future__", "collections.abc"):
            lines += [
                f"from {node.module} import {alias.name}"
                for alias in node.names
                if alias.name in used and alias.name not in ("TYPE_CHECKING", "Self")
            ]
    lines += [
        f"from {module} import {node.name}"
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name in used and node.name not in TWINS
    ]
    return lines


def main(arguments: list[str]) -> int:
    for path, text in generated().items():
        if "--check" not in arguments:
            path.write_text(text)
        elif not path.is_file() or path.read_text() != text:
            named = path.relative_to(ROOT)
            print(f"{named} is not what Ratchet says: run python scripts/generate_aio.py", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
