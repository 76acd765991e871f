"""Run the examples that a program's own texts show (`>>>`): what came out as told before has to after an edit, too."""

from __future__ import annotations

import ast
import doctest
import importlib
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType, ModuleType
from typing import Any

from .server import ForkServer
from .spectrum import Place

_CPU_S = 4.0  # for all examples of a file, with a trace
_EACH_CPU_S = 0.5  # for those of one text
_WIDE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
Example = tuple[int, int]
"""A text of the file, and the example in it, by their places in the order."""


@dataclass(frozen=True, slots=True)
class RightExamples:
    """Examples of one file: those that come out as told, and the lines of the file that those of each text run."""

    right: frozenset[Example] = frozenset()
    lines: Mapping[int, frozenset[int]] = field(default_factory=dict)

    def of(self, lines: Collection[int]) -> list[int]:
        """Texts of which the examples run one of some lines."""
        return [text for text, ran in self.lines.items() if not ran.isdisjoint(lines)]


class Examples:
    """The examples of the files that patches change, each file's run once as it was."""

    def __init__(self, server: ForkServer, module_of: Callable[[str], str]) -> None:
        self._server = server
        self._module_of = module_of
        self._before: dict[str, RightExamples] = {}

    def told(self, places: Sequence[Place], files: Mapping[str, bytes]) -> tuple[int, int, int]:
        """Count examples that run what a patch changes: still right, right only now, and wrong only now."""
        kept = mended = broken = 0
        for path in sorted({path for path, _ in places}):
            before = self._of(path)
            texts = before.of({line for file, line in places if file == path})
            after = self._run(path, texts, files) if texts else RightExamples()
            # Of those for which there was no time now, nothing is known.
            was = {each for each in before.right if each[0] in after.lines}
            kept, mended = kept + len(was & after.right), mended + len(after.right - was)
            broken += len(was - after.right)
        return kept, mended, broken

    def _of(self, path: str) -> RightExamples:
        if path not in self._before:
            self._before[path] = self._run(path, None, {})
        return self._before[path]

    def _run(self, path: str, texts: Collection[int] | None, files: Mapping[str, bytes]) -> RightExamples:
        said = self._server.call(files, outcomes(path, self._module_of(path), texts), seconds=_CPU_S + 1.0)
        rows = [each for each in said if isinstance(each, list) and len(each) == 3] if isinstance(said, list) else []
        return RightExamples(
            frozenset((text, at) for text, right, _ in rows for at in right),
            {text: frozenset(lines) for text, _, lines in rows},
        )


def outcomes(path: str, name: str, texts: Collection[int] | None) -> Callable[[], object]:
    """A function for a child: of each text with examples, or of some of them, its place, the examples that come out as
    told, and the lines of the file that were run."""

    def run() -> object:
        module = _module(path, name)
        if module is None:
            return []
        signal.signal(signal.SIGVTALRM, _late)
        ends_s = time.process_time() + _CPU_S
        found = [each for each in _texts(path, module) if texts is None or each[0] in texts]
        return [_outcome(path, text, test) for text, test in found if time.process_time() < ends_s]

    return run


def _outcome(path: str, text: int, test: doctest.DocTest) -> list[object]:
    lines: set[int] = set()

    def seen(frame: FrameType, _event: str, _argument: Any) -> Any:
        held = os.path.realpath(frame.f_code.co_filename) == path
        if held:
            lines.add(frame.f_lineno)
        return seen if held else None

    runner = _Runner()
    signal.setitimer(signal.ITIMER_VIRTUAL, _EACH_CPU_S, _EACH_CPU_S / 10)  # a runner catches what a signal raises
    sys.settrace(seen)
    try:
        runner.run(test, out=lambda _text: None)
    except _LateError:  # just when it had ended
        pass
    finally:
        sys.settrace(None)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return [text, runner.right, sorted(lines)]


class _Runner(doctest.DocTestRunner):
    """Keeps which examples came out as told."""

    def __init__(self) -> None:
        super().__init__(verbose=False, optionflags=_WIDE)
        self.right: list[int] = []

    def report_success(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        del out, got
        if example.want:  # else it only makes something ready
            self.right.append(test.examples.index(example))


class _LateError(BaseException):
    pass


def _late(_number: int, _frame: FrameType | None) -> None:
    raise _LateError


def _module(path: str, name: str) -> ModuleType | None:
    """The file as it is imported; None where that gives another one."""
    folder, parts = os.path.dirname(path), [os.path.basename(path).removesuffix(".py")]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, parts = os.path.dirname(folder), [os.path.basename(folder), *parts]
    sys.path.append(folder)
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    try:
        module = importlib.import_module(name or ".".join(parts))
    except BaseException:  # noqa: BLE001  (whatever a patch raises at import: no example comes out as told)
        return None
    return module if os.path.realpath(getattr(module, "__file__", None) or "") == path else None


def _texts(path: str, module: ModuleType) -> Iterator[tuple[int, doctest.DocTest]]:
    """Texts that stand as statements and hold examples: of a function, a class, a file or none of them."""
    parser = doctest.DocTestParser()
    with open(path, "rb") as file:
        tree = ast.parse(file.read())
    held = (each.value for each in ast.walk(tree) if isinstance(each, ast.Expr))
    texts = [each for each in held if isinstance(each, ast.Constant)]
    for at, each in enumerate(texts):
        if isinstance(each.value, str) and ">>>" in each.value:
            try:
                test = parser.get_doctest(each.value, {**vars(module)}, f"text {at}", path, each.lineno)
            except ValueError:  # it only looks like examples
                continue
            if test.examples:
                yield at, test
