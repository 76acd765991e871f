"""One call as it was made: written down so that it can be made again in a sandbox, and what came of it read back.

Arguments travel as pickles and only inwards. What comes out was written by code that nobody has read: of it, only plain
values and instances of the project's own classes are made.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import pickle
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CellType, FunctionType
from typing import Literal, TypeAlias, cast

from ratchet.errors import Refused
from ratchet.records import Json

Form: TypeAlias = Literal["function", "coroutine", "generator", "async generator"]

FOLDER, SCRIPT, CALL = ".ratchet", "recorded_call.py", "recorded_call.bin"
"""Where it lies in the workspace: a folder that no attempt may touch. The call is binary, so that no solver sends it
anywhere as text."""
MOST_BYTES = 8_388_608
MOST_ITEMS = 10_000  # of a stream, that are looked at
ITSELF, CLASS = "\0itself", "\0class"
"""Contents of a cell that are made anew: the function itself, the class around it."""
_VALUE_TYPES = {
    "builtins": "set frozenset complex bytearray range slice object",
    "collections": "OrderedDict defaultdict Counter deque",
    "datetime": "date datetime time timedelta timezone",
    "decimal": "Decimal",
    "fractions": "Fraction",
    "pathlib": "Path PosixPath PurePath PurePosixPath",
    "uuid": "UUID",
    "copyreg": "_reconstructor",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """Everything needed to make a call again. `module` is the name that it has on the host, `path` its file relative to
    the project, `paths` folders of the project that modules are imported from; `line` is where the function begins."""

    module: str
    path: str
    paths: tuple[str, ...]
    qualname: str
    line: int
    form: Form
    before: bytes
    """The file as the function was loaded from it."""
    arguments: bytes
    """A pickle of (args, kwargs, defaults, keyword defaults, cells)."""
    taken: int | None = None
    """Of a stream: how many items had been handed out."""

    def dumped(self) -> bytes:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return pickle.dumps(fields, protocol=4)

    @classmethod
    def loaded(cls, text: bytes) -> RecordedCall:
        """From our own file, written before anything else ran."""
        return cls(**pickle.loads(text))  # noqa: S301


def pickled(function: FunctionType, args: tuple[object, ...], kwargs: dict[str, object], wrapper: object) -> bytes:
    """Arguments, defaults and closure of a call. `wrapper` is what the function's own name stands for. Raises Refused
    for what cannot be written down."""
    cells: dict[str, object] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        value = _content(cell)
        itself = value is function or value is wrapper
        cells[name] = ITSELF if itself else CLASS if name == "__class__" else value
    for what, held in (
        ("its arguments", (args, kwargs)),
        ("its defaults", (function.__defaults__, function.__kwdefaults__)),
        ("the variables around it", cells),
    ):
        try:
            size = len(pickle.dumps(held, protocol=4))
        except Exception as error:  # any class may refuse, in any way
            raise Refused(f"{what} cannot be recorded ({type(error).__name__}: {error})") from error
        if size > MOST_BYTES:
            raise Refused(f"{what} are too large to record ({size:,} bytes, at most {MOST_BYTES:,})")
    return pickle.dumps((args, kwargs, function.__defaults__, function.__kwdefaults__, cells), protocol=4)


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError as error:
        raise Refused("a variable around it has no value yet") from error


# -- what came of it ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Result of a call in the sandbox: the class of the exception that it `raised` ("" for none), or a pickle of its
    value and of its arguments after it; `handed_out` is a digest of the items of a stream that had been taken."""

    raised: str = ""
    value: bytes | None = None
    arguments: bytes | None = None
    why: str = ""
    """Why the value could not be pickled."""
    handed_out: str = ""


def told_line(nonce: str, told: Told) -> str:
    fields = {"raised": told.raised, "why": told.why, "handed_out": told.handed_out}
    for name in ("value", "arguments"):
        held: bytes | None = getattr(told, name)
        fields[name] = "" if held is None else base64.b64encode(held).decode()
    return nonce + json.dumps(fields)


def told_in(output: str, nonce: str) -> tuple[Told | None, str]:
    """Split the output into what was told and the rest."""
    found: Told | None = None
    rest: list[str] = []
    for line in output.split("\n"):
        if not line.startswith(nonce):
            rest.append(line)
            continue
        try:
            held = cast("Mapping[str, Json]", json.loads(line[len(nonce) :]))
            sent = {name: base64.b64decode(str(held[name])) or None for name in ("value", "arguments")}
            words = {name: str(held[name]) for name in ("raised", "why", "handed_out")}
        except (ValueError, KeyError, TypeError, binascii.Error):
            continue  # cut off: nothing is told
        found = Told(raised=words["raised"], why=words["why"], handed_out=words["handed_out"], **sent)
    return found, "\n".join(rest)


def value_of(text: bytes, project: Path) -> object:
    """A value from the sandbox. Raises Refused for anything but plain values and classes of the project."""
    try:
        return _Careful(io.BytesIO(text), project).load()
    except Refused:
        raise
    except Exception as error:  # a pickle from a stranger breaks in any way
        raise Refused(f"the value cannot be read ({type(error).__name__}: {error})") from error


class _Careful(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, project: Path) -> None:
        super().__init__(file)
        self._project = project

    def find_class(self, module: str, name: str) -> object:
        if name in _VALUE_TYPES.get(module, "").split():
            return cast("object", super().find_class(module, name))
        held = sys.modules.get(module)  # loaded here, by the person's own program: nothing is imported for a stranger
        file = getattr(held, "__file__", None)
        if held is not None and isinstance(file, str) and Path(file).resolve().is_relative_to(self._project):
            found: object = held
            for part in name.split("."):
                found = vars(found).get(part) if hasattr(found, "__dict__") else None
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise Refused(f"its value holds {module}.{name}, which is not brought out of the sandbox")
