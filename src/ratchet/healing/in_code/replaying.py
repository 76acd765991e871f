"""Makes a recorded call again, in the sandbox, on the project's files as they are there.

Ends like the call: with its traceback and exit code 1, or with 0. `--tell` also reports what came of it, behind a
one-time word that is read from standard input before anything else runs. Without it the person's check is asked here,
for solvers that try many changes; the judge asks it where the code under work has no hold of it.
"""

from __future__ import annotations

import ast
import asyncio
import hashlib
import importlib
import itertools
import os
import pickle
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import NamedTuple, TextIO, cast

from ratchet.healing.in_code import REPLAYING, versions
from ratchet.healing.in_code.checking import accept_of
from ratchet.healing.in_code.recorded import CALL, CLASS, ITSELF, MOST_ITEMS, RecordedCall, Told, told_line
from ratchet.healing.in_code.source import code_of

SCRIPT_TEXT = """\
# Makes the recorded call of recorded_call.bin again: exit code 0 if it no longer fails.
import sys

from ratchet.healing.in_code.replaying import main

main(__file__, sys.argv[1:])
"""


class Replayed(NamedTuple):
    """A decorated function as it is called, with the decorators below; and the check, where that is a function."""

    function: Callable[..., object]
    check: Callable[..., object] | None = None


replayed: dict[tuple[str, str, int], Replayed] = {}
"""What `ratchet.heal` decorates while a call is made again, by (module, qualified name, line)."""


def main(script: str, options: list[str]) -> None:
    """Make the call; raises what it raises."""
    nonce = sys.stdin.readline().strip() if "--tell" in options else ""
    folder = Path(script).resolve().parent
    call = RecordedCall.loaded((folder / CALL).read_bytes())
    out = os.fdopen(os.dup(1), "w", encoding="ascii") if nonce else None
    seen = _Seen(call.taken)
    try:
        told = _made(folder.parent, call, seen, checked=out is None)
    except BaseException as error:
        if out is not None:
            _tell(out, told_line(nonce, Told(raised=_name(error), handed_out=seen.digest)))
        raise
    if out is not None:
        _tell(out, told_line(nonce, told))


def _tell(out: TextIO, line: str) -> None:
    sys.stdout.flush()
    print(f"\n{line}", file=out, flush=True)


def _made(project: Path, call: RecordedCall, seen: _Seen, *, checked: bool) -> Told:
    os.environ[REPLAYING] = "1"
    sys.path[:0] = [str(project / path) for path in call.paths]
    importlib.invalidate_caches()
    module = _module(project, call)
    args, kwargs, defaults, kwdefaults, cells = pickle.loads(call.arguments)  # noqa: S301  (our own, of the host)
    found = replayed.get((module.__name__, call.qualname, call.line)) or Replayed(
        _built(project, call, module, (defaults, kwdefaults), cells)
    )
    value = _result(call, found.function(*args, **kwargs), seen)
    if checked and found.check is not None and (wrong := accept_of(found.check)(value, (args, kwargs))):
        raise AssertionError(wrong)
    try:
        sent, why = pickle.dumps(value, protocol=4), ""
    except Exception as error:  # noqa: BLE001  (any class may refuse, in any way)
        sent, why = None, f"{type(error).__name__}: {error}"
    try:
        after = pickle.dumps((args, kwargs), protocol=4)
    except Exception:  # noqa: BLE001  (the check may not ask for them)
        after = None
    return Told(value=sent, arguments=after, why=why, handed_out=seen.digest)


# -- the function ------------------------------------------------------------------------------------------------------


def _module(project: Path, call: RecordedCall) -> ModuleType:
    """The function's module. Of a program that was started, only what it defines: it is not run again."""
    file = project / call.path
    if call.module != "__main__":
        return importlib.import_module(call.module)
    module = ModuleType("__main__")
    module.__file__ = str(file)
    sys.modules["__main__"] = module  # pickles of its classes name it so
    tree = ast.parse(file.read_bytes())
    tree.body = [each for each in tree.body if _defines(each)]
    exec(compile(tree, str(file), "exec", dont_inherit=True), module.__dict__)  # noqa: S102  (what the sandbox is for)
    return module


def _defines(node: ast.stmt) -> bool:
    if isinstance(node, ast.If):
        return "__name__" not in ast.dump(node.test)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return not isinstance(node, ast.For | ast.While | ast.With | ast.AsyncFor | ast.AsyncWith | ast.Raise | ast.Assert)


def _built(
    project: Path, call: RecordedCall, module: ModuleType, defaults: tuple[object, object], cells: dict[str, object]
) -> FunctionType:
    """The function where nothing that is imported makes it: one within a function, or decorated elsewhere."""
    before, file = versions.read(call.before), project / call.path
    code = code_of(before.text, str(file), call.qualname, call.line, free=tuple(cells))
    assert code is not None
    plain = {name: None if value in (ITSELF, CLASS) else value for name, value in cells.items()}
    old = versions.CodeVersion(
        code, cast("tuple[object, ...] | None", defaults[0]), cast("dict[str, object]", defaults[1])
    )
    function = versions.made(old, module.__dict__, plain, call.qualname, itself="", class_=None)
    now = versions.read(file.read_bytes()).text
    version = versions.version_of(function, before, now, str(file), call.qualname, call.line)
    return versions.made(
        version, module.__dict__, cells, call.qualname, itself=ITSELF, class_=_class_around(module, call.qualname)
    )


def _class_around(module: ModuleType, qualname: str) -> type | None:
    found: object = module
    for part in qualname.split(".")[:-1]:
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None


# -- its value ---------------------------------------------------------------------------------------------------------


class _Seen:
    """Items of a stream as they come; `digest` names the first `taken` of them."""

    def __init__(self, taken: int | None) -> None:
        self._taken = taken
        self._hash = hashlib.sha256()
        self._count = 0
        self._known = taken is not None

    @property
    def digest(self) -> str:
        return self._hash.hexdigest() if self._known and self._count >= (self._taken or 0) else ""

    def item(self, item: object) -> object:
        if self._taken is not None and self._count < self._taken and self._known:
            try:
                part = pickle.dumps(item, protocol=4)
            except Exception:  # noqa: BLE001  (any class may refuse, in any way)
                self._known = False
            else:
                self._hash.update(b"%d:%s" % (len(part), part))
        self._count += 1
        return item


def _result(call: RecordedCall, value: object, seen: _Seen) -> object:
    """The value; of a stream the list of its items."""
    if call.form == "coroutine":
        return asyncio.run(_awaited(value))
    if call.form == "generator":
        return [seen.item(each) for each in itertools.islice(cast("Iterator[object]", value), MOST_ITEMS)]
    if call.form == "async generator":
        return asyncio.run(_collected(cast("AsyncIterator[object]", value), seen))
    return value


async def _awaited(value: object) -> object:
    return await value  # type: ignore[misc]


async def _collected(stream: AsyncIterator[object], seen: _Seen) -> list[object]:
    found: list[object] = []
    async for each in stream:
        found.append(seen.item(each))
        if len(found) >= MOST_ITEMS:
            break
    return found


def _name(error: BaseException) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}"
