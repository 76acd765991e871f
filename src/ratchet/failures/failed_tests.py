"""Names the tests that an output says fail, and the places where the program broke: what was healed there before is
found by these names. Lean: hook processes import it. Linear in the text.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 40
_CHARS = 200  # of one name
_SIGNS = ("::", "FAIL: ", "ERROR: ", "--- FAIL", "Error", "Exception")

# Strings, compiled by `re` when first met. A report names each test once: pytest, unittest, Go.
_REPORTED = (
    r"(?m)^(?:FAILED|ERROR) (?P<pytest>[^\s:]{1,200}\.py::\S{1,300})"
    r"|^(?:FAIL|ERROR): (?P<method>\w{1,100}) \((?P<case>[\w.]{1,200})(?: \(.{0,200}\))?\)"
    r"|^ {0,16}--- FAIL: (?P<go>\S{1,200})"
)
# Where Python broke: the last frame of a traceback, with its function, and below it the exception; or, as pytest has
# it, the function that is printed whole, with the place and the exception under it.
_BROKE = (
    r'(?m)^ {2,8}File "(?P<file>[^"\n]{1,400})", line \d{1,6}, in (?P<frame>[\w.<>]{1,100})\n(?:    .{0,400}\n){0,3}'
    r"(?P<error>[A-Z]\w{0,60}(?:Error|Exception))\b"
    r"|^(?P<path>[^\s:]{1,300}\.py):\d{1,6}: (?P<said>[A-Z]\w{0,60}(?:Error|Exception))$"
)
_FUNCTION = r"(?m)^ {4}(?: {4})?(?:async )?def (\w{1,100})\("


def names_of(text: str) -> list[str]:
    """`test:` and the name of each failing test, `at:` and file, function and exception of each place; in the order of
    the text, tests first, at most 40."""
    if not any(sign in text for sign in _SIGNS):
        return []
    found = [*_tests(text), *_places(text)]
    return list(dict.fromkeys(found))[:MOST]


def name_of(test: str) -> str:
    """The name of a test: without the arguments that a parametrised one is called with, and without the folders of its
    file, which depend on where a runner is started."""
    file, colons, rest = test.partition("[")[0].partition("::")
    return f"test:{file.rpartition('/')[2] if colons else file}{colons}{rest}"[:_CHARS]


def _tests(text: str) -> Iterable[str]:
    for found in compiled(_REPORTED).finditer(text):
        if found["pytest"]:
            yield name_of(found["pytest"])
        elif found["go"]:
            yield name_of(found["go"])
        else:
            case = found["case"]
            yield name_of(case if case.endswith(f".{found['method']}") else f"{case}.{found['method']}")


def _places(text: str) -> Iterable[str]:
    for found in compiled(_BROKE).finditer(text):
        if found["file"]:
            path, function, error = found["file"], found["frame"], found["error"]
        else:
            path, error = found["path"], found["said"]
            above = compiled(_FUNCTION).findall(text[max(0, found.start() - 6_000) : found.start()])
            function = above[-1] if above else ""
        file = path.replace("\\", "/").rpartition("/")[2]
        if function and error != "AssertionError":  # it says where a test looked, not what broke
            yield f"at:{file}::{function} {error}"[:_CHARS]
