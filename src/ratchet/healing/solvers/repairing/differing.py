"""Tell patches apart that all pass the tests, by what they return for inputs near those that the tests use."""

from __future__ import annotations

import base64
import contextlib
import copy
import hashlib
import importlib
import inspect
import itertools
import pickle
import random
import re
import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

RAISED = "!"  # the first character of an answer that is an exception, or no answer in time
NOTHING = "NoneType"
_INPUTS = 120
_TOGETHER, _BESIDE = 40, 16  # calls that these are made of, and those of tests beside the check's among them
_EACH_S = 0.05
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # it says nothing: two runs have two of them
_DIGITS = re.compile(r"\d+")
_OBJECTS = 100
_LONG = 200  # items of an iterator, characters of a text that are compared


@dataclass(frozen=True, slots=True)
class Input:
    """One input to try: a call that was recorded, changed as the seed says. `healthy`: a test that passed made it."""

    module: str
    function: str
    arguments: str
    seed: int
    healthy: bool = False


def asked(
    calls: Sequence[Mapping[str, str]],
    seed: int,
    failing: Collection[str] = (),
    beside: Sequence[Mapping[str, str]] = (),
) -> list[Input]:
    """The inputs to try: the calls, each as it was and changed, with some of those that other tests make."""
    every = [*calls, *beside[:: max(1, len(beside) // _BESIDE)][: max(_BESIDE, _TOGETHER - len(calls))]]
    rounds = max(1, _INPUTS // max(1, len(every)))
    return [
        Input(call["module"], call["function"], call["arguments"], seed * 1000 + turn, call.get("test") not in failing)
        for turn in range(rounds)
        for call in every
    ][:_INPUTS]


def told_of(answered: object, noisy: Collection[int]) -> list[str]:
    """The answers of a run (`answers`): of the inputs that two runs of one program answer otherwise, the form without
    digits, which tells a stamp of the time from none."""
    pairs = answered if isinstance(answered, list) else []
    return [str(loose if at in noisy else exact) for at, (exact, loose) in enumerate(pairs)]


def noise(one: object, other: object) -> frozenset[int]:
    """The inputs that two runs of one program answer otherwise."""
    both = zip(told_of(one, ()), told_of(other, ()), strict=False)
    return frozenset(at for at, (first, second) in enumerate(both) if first != second)


def answers(inputs: Sequence[Input]) -> Callable[[], object]:
    """A function for a child: what the program, as it is there, answers to each input, as short hashes: the answer, and
    the same with every digit the same."""

    def run() -> object:
        signal.signal(signal.SIGALRM, _late)
        return [_answer(each) for each in inputs]

    return run


class _Late(BaseException):
    pass


def _late(_signal: int, _frame: FrameType | None) -> None:
    raise _Late


def _answer(one: Input) -> tuple[str, str]:
    try:
        called = _function(one.module, one.function)
        given = changed(pickle.loads(base64.b64decode(one.arguments)), one.seed)  # noqa: S301  (our own child's, in the sandbox)
    except Exception:  # noqa: BLE001  (then this input says nothing of any patch)
        return "", ""
    signal.setitimer(signal.ITIMER_REAL, _EACH_S)
    try:
        value = called(*given)
        if hasattr(value, "__next__"):
            value = list(itertools.islice(value, _LONG))
        said, after = (_ADDRESS.sub(" at 0x", _shown(each)) for each in (value, given))
        said, after = said[:10_000], after[:2_000]
    except _Late:
        return RAISED + "late", RAISED + "late"
    except BaseException as error:  # noqa: BLE001  (what a patch raises is its answer)
        return RAISED + type(error).__name__, RAISED + type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    kind = type(value).__name__
    loose = (_DIGITS.sub("0", each) for each in (said, after))
    return f"{kind}:{_hash(said)}.{_hash(after)}", f"{kind}:{'.'.join(map(_hash, loose))}"


def _function(module: str, qualname: str) -> Callable[..., Any]:
    """The function that was called, taking all that it was given as arguments: of a method, its object too."""
    *holders, name = qualname.split(".")
    holder: Any = importlib.import_module(module)
    for each in holders:
        holder = getattr(holder, each)
    found = inspect.getattr_static(holder, name)
    found = getattr(found, "fget", None) or getattr(found, "func", None) or getattr(found, "__func__", None) or found
    assert callable(found)
    return found  # type: ignore[no-any-return]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


def type_of(answer: str) -> str:
    """The name of the type of what was returned; "" where nothing came back."""
    return "" if answer.startswith(RAISED) else answer.partition(":")[0]


def value_of(answer: str) -> str:
    """The part of an answer that tells of what was returned; all of it where that was nothing: then it is the
    arguments, as they are afterwards, that tell."""
    return answer if answer.startswith((RAISED, NOTHING)) else answer.partition(".")[0]


def _shown(value: Any) -> str:
    """A value as text that two runs have in common: objects by their fields where they show their address."""
    text = repr(value)
    return repr(_plain(value, {})) if _ADDRESS.search(text) else text


def _plain(value: Any, seen: dict[int, int]) -> Any:
    """Objects as (type, fields) in lists, each once."""
    if isinstance(value, list | tuple | set):
        return [_plain(each, seen) for each in value]
    if isinstance(value, dict):
        return [(key, _plain(each, seen)) for key, each in value.items()]
    fields = getattr(value, "__dict__", None)
    if not isinstance(fields, dict) or isinstance(value, type):
        return value
    if id(value) in seen or len(seen) > _OBJECTS:
        return seen.get(id(value), "...")
    seen[id(value)] = len(seen)
    return [type(value).__name__, *((name, _plain(each, seen)) for name, each in fields.items())]


def changed(arguments: list[Any], seed: int) -> list[Any]:
    """Arguments near the given ones: changed a little once or twice, of the same types."""
    draw = random.Random(seed)  # noqa: S311
    if not arguments or seed % 1000 == 0:
        return arguments
    for _ in range(1 + seed % 2):
        at = draw.randrange(len(arguments))
        arguments[at] = _near(arguments[at], draw)
    return arguments


def _near(value: Any, draw: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draw.choice([value + 1, value - 1, value + 2, 0, value * 2])
    if isinstance(value, float):
        return value * draw.choice([0.5, 1.5, 2.0, 0.9])
    if isinstance(value, str):
        return "".join(_shuffled(list(value), draw, "a"))
    if isinstance(value, list):
        return _shuffled(list(value), draw, value[0] if value else 0)
    if isinstance(value, tuple):
        items = list(value)
        if items:
            at = draw.randrange(len(items))
            items[at] = _near(items[at], draw)
        return tuple(items)
    if isinstance(value, dict):
        return _near_mapping(value, draw)
    return _near_object(value, draw)


def _near_mapping(value: dict[Any, Any], draw: random.Random) -> dict[Any, Any]:
    """The dict with a value changed, a key left out, or one more."""
    how, near = draw.randrange(3), copy.copy(value)
    if not near or how == 0:
        return {**near, "a": 0}
    key = draw.choice(list(near))
    if how == 1:
        del near[key]
    else:
        near[key] = _near(near[key], draw)
    return near


def _near_object(value: Any, draw: random.Random) -> Any:
    """The object with one of its fields changed, or of the fields of an object that it holds."""
    fields = getattr(value, "__dict__", None)
    if isinstance(fields, dict) and fields and not callable(value):
        name = draw.choice(list(fields))
        with contextlib.suppress(Exception):  # a field that may not be set stays as it was
            setattr(value, name, _near(fields[name], draw))
    return value


def _shuffled(items: list[Any], draw: random.Random, extra: Any) -> list[Any]:
    how = draw.randrange(5)
    if not items or how == 0:
        return [*items, extra]
    at = draw.randrange(len(items))
    if how == 1:
        del items[at]
    elif how == 2:
        items.insert(at, items[at])
    elif how == 3:
        other = draw.randrange(len(items))
        items[at], items[other] = items[other], items[at]
    elif not isinstance(items[at], str):
        items[at] = _near(items[at], draw)
    else:
        items.reverse()
    return items
