"""A candidate is put into the loaded program where only bodies of functions changed, as if it had been loaded."""

from __future__ import annotations

from types import ModuleType

import pytest

from ratchet.healing.solvers.repairing import waiting
from ratchet.healing.solvers.repairing.compiling import SourceFile
from ratchet.healing.solvers.repairing.program import Program
from ratchet.healing.solvers.repairing.swapping import exchange, live, swaps_of
from ratchet.healing.solvers.repairing.templates import edits

PLACE = "/somewhere/program.py"
SOURCE = """from __future__ import annotations

import functools

LIMIT = 3


def counted(function):
    @functools.wraps(function)
    def around(*given):
        return function(*given) + 1

    return around


@counted
def double(x):
    return x * 2


class Basket:
    size = LIMIT

    @property
    def room(self):
        return self.size - 1

    @staticmethod
    def each(items, more=1):
        def one(item):
            return item + more

        return [one(item) for item in items]
"""


def loaded(text: str) -> ModuleType:
    module = ModuleType("program")
    exec(compile(text, PLACE, "exec", dont_inherit=True), module.__dict__)
    return module


def answers(module: ModuleType) -> list[object]:
    return [module.double(4), module.Basket().room, module.Basket.each([1, 2])]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x * 2", "x * 3"),
        ("self.size - 1", "self.size + 1"),
        ("item + more", "item - more"),
        ("        return [one", "        more = 2\n        return [one"),
        ("    return x * 2\n", "    if x > 3:\n        return None or 7\n    return x * 2\n"),
    ],
)
def test_a_changed_body_does_in_the_loaded_program_what_the_changed_file_does(before: str, after: str) -> None:
    module = loaded(SOURCE)
    changed = SOURCE.replace(before, after)
    both = SourceFile(PLACE, SOURCE.encode()).against(changed.encode())
    assert both is not None
    swaps = swaps_of(*both, imported={9, 10, 13})
    assert swaps
    assert exchange(live(lambda path: path if path == PLACE else ""), swaps)
    assert answers(module) == answers(loaded(changed)) != answers(loaded(SOURCE))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("size = LIMIT", "size = 1"),
        ("more=1", "more=2"),
        ("@counted\n", ""),
        ("    def room", "    def space"),
        ("    return around", "    return function"),
    ],
)
def test_what_is_done_at_import_is_loaded_anew(before: str, after: str) -> None:
    changed = SOURCE.replace(before, after)
    both = SourceFile(PLACE, SOURCE.encode()).against(changed.encode())
    assert both is not None
    assert swaps_of(*both, imported={9, 10, 13}) is None


def test_a_function_that_does_not_exist_in_the_loaded_program_cannot_be_exchanged() -> None:
    changed = SOURCE.replace("x * 2", "x * 3")
    both = SourceFile("/other/place.py", SOURCE.encode()).against(changed.encode())
    assert both is not None
    swaps = swaps_of(*both, ())
    assert swaps
    assert not exchange(live(lambda path: path if path == "/other/place.py" else ""), swaps)


def test_the_part_that_differs_is_python_where_the_whole_file_is() -> None:
    program = Program("program.py", SOURCE.encode())
    file = SourceFile(PLACE, SOURCE.encode())
    for edit in edits(program, lambda _lines: True):
        content = program.encoded((edit,))
        try:
            compile(content, PLACE, "exec", dont_inherit=True)
        except SyntaxError:
            assert file.against(content) is None, edit.text
    assert file.against(SOURCE.replace("x * 2", "x is 2").encode()) is None  # a warning
    assert file.against(SOURCE.replace("x * 2", "x *").encode()) is None
    assert file.against(SOURCE.encode() + b"\nMORE = 1\n") is not None


def test_a_process_is_waited_for_where_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[int | OSError] = [BlockingIOError(11, "busy"), BlockingIOError(11, "busy"), 7]
    slept: list[float] = []

    def fork() -> int:
        said = answers.pop(0)
        if isinstance(said, OSError):
            raise said
        return said

    monkeypatch.setattr("os.fork", fork)
    monkeypatch.setattr("time.sleep", slept.append)
    assert waiting.forked() == 7
    assert len(slept) == 2
    answers[:] = [BlockingIOError(11, "busy")] * 9
    with pytest.raises(BlockingIOError):
        waiting.forked()
