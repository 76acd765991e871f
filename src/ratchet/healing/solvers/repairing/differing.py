"""Tell patches apart that all pass the tests, by what they return for inputs near those that the tests use."""

from __future__ import annotations

import base64
import contextlib
import dis
import hashlib
import importlib
import inspect
import itertools
import os
import pickle
import re
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import CellType, FrameType, FunctionType, MethodType
from typing import Any

from .tracing import naming
from .varying import Arguments, Vocabulary, varied

RAISED = "!"  # the first character of an answer that is an exception, or no answer in time
REFUSED = "!!"  # of one that the program raises on purpose
NOTHING = "NoneType"
_INPUTS, _POOL = 160, 800  # that are answered, and that these are taken from, by what they run
_TOGETHER, _BESIDE = 40, 16  # calls that these are made of, and those of tests beside the check's among them
CPU_S = 2.0  # for all of them
_EACH_CPU_S, _EACH_S = 0.05, 0.5
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # it says nothing: two runs have two of them
_DIGITS = re.compile(r"\d+")
_OBJECTS, _LEAVES = 100, 1_000
_LONG = 200  # items of an iterator, characters of a text that are compared

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Input:
    """One input to try: a call that was recorded, changed as the seed says. `other` are the arguments of another call
    of the same function; `healthy`: a test that passed made it; `exact`: it is as the test made it; `alien`: it gives
    an argument of a type that no test gives there."""

    module: str
    function: str
    arguments: str
    seed: int
    other: str = ""
    healthy: bool = False
    alien: bool = False

    @property
    def exact(self) -> bool:
        return self.seed % 1000 == 0


def asked(
    calls: Sequence[Mapping[str, str]],
    seed: int,
    failing: Collection[str] = (),
    beside: Sequence[Mapping[str, str]] = (),
) -> list[Input]:
    """The inputs that could be tried: the calls, each as it was and changed, with some that other tests make."""
    every = [*calls, *beside[:: max(1, len(beside) // _BESIDE)][: max(_BESIDE, _TOGETHER - len(calls))]]
    rounds = max(1, min(999, _POOL // max(1, len(every))))
    alike: dict[tuple[str, str], list[str]] = {}
    for call in every:
        alike.setdefault((call["module"], call["function"]), []).append(call["arguments"])
    found: list[Input] = []
    for turn in range(rounds):
        for at, call in enumerate(every):
            others = alike[call["module"], call["function"]]
            found.append(
                Input(call["module"], call["function"], call["arguments"], seed * 1000 + turn,
                      others[(at + turn) % len(others)], call.get("test") not in failing)
            )  # fmt: skip
    return found[:_POOL]


def telling(inputs: Sequence[Input], ran: object) -> list[Input]:
    """The inputs that tell most: those that run what is changed (`ran`, by `running`), each once, half of them near
    what failing tests give where there are so many; all alike where nothing is known of that."""
    once: dict[tuple[object, bool], Input] = {}
    for each, key in zip(inputs, ran if isinstance(ran, list) else (), strict=False):
        if key:
            once.setdefault((key, each.healthy), each)
    reached = [*once.values()] or [*inputs]
    failing = [each for each in reached if not each.healthy]
    healthy = [each for each in reached if each.healthy]
    half = _INPUTS // 2
    kept = {*failing[: max(half, _INPUTS - len(healthy))], *healthy[: max(half, _INPUTS - len(failing))]}
    return [each for each in reached if each in kept]


def running(inputs: Sequence[Input], known: Vocabulary, places: Collection[Place]) -> Callable[[], object]:
    """A function for a child: of each input that runs one of some lines, the file by its real path, a text that the
    same arguments have in common; else ""."""
    lines: dict[str, set[int]] = {}
    for path, line in places:
        lines.setdefault(path, set()).add(line)
    name_of = naming(lines)

    def ran(one: Input) -> str:
        hit = False

        def seen(frame: FrameType, _event: str, _argument: Any) -> Any:
            nonlocal hit
            held = lines.get(name_of(frame.f_code.co_filename), ())
            hit = hit or frame.f_lineno in held
            return seen if held and not hit else None

        sys.settrace(seen)
        try:
            _answer(one, known)
        finally:
            sys.settrace(None)
        return _named(one, known) if hit else ""

    return lambda: _each(ran, inputs, CPU_S, "")


def aliens(inputs: Sequence[Input], pool: Sequence[Input], known: Vocabulary) -> Callable[[], object]:
    """A function for a child: of each input, whether one of its arguments is of a type that no call of the pool gives
    there."""

    def types(call: Arguments) -> set[tuple[object, type]]:
        return {(at, type(each)) for at, each in [*enumerate(call.given), *call.named.items()]}

    def told() -> object:
        usual: dict[str, set[tuple[object, type]]] = {}
        for function, arguments in sorted({(each.function, each.arguments) for each in pool}):
            usual.setdefault(function, set()).update(types(_loaded(arguments)))
        return _each(lambda one: not types(_call(one, known)[1]) <= usual[one.function], inputs, CPU_S, False)

    return told


def marked(inputs: Sequence[Input], said: object) -> list[Input]:
    """The inputs with what `aliens` says of them."""
    flags = said if isinstance(said, list) else []
    return [replace(each, alien=bool(flag)) for each, flag in itertools.zip_longest(inputs, flags[: len(inputs)])]


def told_of(answered: object, noisy: Collection[int]) -> list[str]:
    """The answers of a run (`answers`): of the inputs that two runs of one program answer otherwise, the form without
    digits, which tells a stamp of the time from none."""
    pairs = answered if isinstance(answered, list) else []
    return [str(loose if at in noisy else exact) for at, (exact, loose) in enumerate(pairs)]


def noise(one: object, other: object) -> frozenset[int]:
    """The inputs that two runs of one program answer otherwise."""
    both = zip(told_of(one, ()), told_of(other, ()), strict=False)
    return frozenset(at for at, (first, second) in enumerate(both) if first != second)


def answers(inputs: Sequence[Input], known: Vocabulary) -> Callable[[], object]:
    """A function for a child: what the program, as it is there, answers to each input, as short hashes: the answer, and
    the same with every digit the same."""
    return lambda: _each(lambda one: _answer(one, known), inputs, CPU_S, ("", ""))


def spelling(inputs: Sequence[Input], literals: Sequence[object]) -> Callable[[], object]:
    """A function for a child: of each input, the numbers of the literals that it gives or that the answer holds."""

    def held(one: Input) -> list[int]:
        found: set[tuple[type, object]] = set()
        with contextlib.suppress(Exception, SystemExit):  # of what it raises, nothing is told
            called, call = _call(one, Vocabulary())
            found |= _leaves([call.given, call.named])
            with _in_time():
                found |= _leaves(_value(called, call))
        return [at for at, each in enumerate(literals) if (type(each), each) in found]

    return lambda: _each(held, inputs, CPU_S, [])


def _leaves(value: Any) -> set[tuple[type, object]]:
    """The numbers and texts in a value, each with its type."""
    found: set[tuple[type, object]] = set()
    stack, left = [value], _LEAVES
    while stack and left:
        each, left = stack.pop(), left - 1
        if isinstance(each, str | bytes | int | float):
            found.add((type(each), each))
        elif isinstance(each, list | tuple | set | frozenset):
            stack += each
        elif isinstance(each, dict):
            stack += [*each, *each.values()]
        elif not isinstance(each, type):
            stack += getattr(each, "__dict__", {}).values()
    return found


def _each(function: Callable[[Input], object], inputs: Sequence[Input], cpu_s: float, none: object) -> list[object]:
    """Call a function with each input as long as there is time; `none` stands for the others. One may not take long: by
    the CPU, and by the clock for what sleeps."""
    for late in (signal.SIGVTALRM, signal.SIGALRM):
        signal.signal(late, _late)
    ends_s = time.process_time() + cpu_s

    def given(one: Input) -> object:
        try:
            return function(one) if time.process_time() < ends_s else none
        except (_Late, _Slept):  # just when it had ended
            return none

    return [given(each) for each in inputs]


class _Late(BaseException):
    pass


class _Slept(BaseException):
    pass


def _late(number: int, _frame: FrameType | None) -> None:
    raise _Late if number == signal.SIGVTALRM else _Slept


def _answer(one: Input, known: Vocabulary) -> tuple[str, str]:
    try:
        called, call = _call(one, known)
    except Exception:  # noqa: BLE001  (then this input says nothing of any patch)
        return "", ""
    try:
        with _in_time():
            value = _value(called, call)
            said, after = (_ADDRESS.sub(" at 0x", _shown(each)) for each in (value, [call.given, call.named]))
            said, after = said[:10_000], after[:2_000]
    except _Late:
        return RAISED + "late", RAISED + "late"
    except _Slept:  # a busy machine does that, too
        return "", ""
    except BaseException as error:  # noqa: BLE001  (what a patch raises is its answer)
        raised = (REFUSED if _is_on_purpose(error) else RAISED) + type(error).__name__
        return raised, raised
    kind = type(value).__name__
    loose = (_DIGITS.sub("0", each) for each in (said, after))
    return f"{kind}:{_hash(said)}.{_hash(after)}", f"{kind}:{'.'.join(map(_hash, loose))}"


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    signal.setitimer(signal.ITIMER_VIRTUAL, _EACH_CPU_S)
    signal.setitimer(signal.ITIMER_REAL, _EACH_S)
    try:
        yield
    finally:
        for timer in (signal.ITIMER_VIRTUAL, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)


def _value(called: Callable[..., Any], call: Arguments) -> Any:
    value = called(*call.given, **call.named)
    return list(itertools.islice(value, _LONG)) if hasattr(value, "__next__") else value


def _is_on_purpose(error: BaseException) -> bool:
    """Tell whether an exception comes from a `raise` of the program's own: then it is an answer as any other."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return False
    code = last.tb_frame.f_code
    own = os.path.abspath(code.co_filename).startswith(os.getcwd() + os.sep) and "site-packages" not in code.co_filename
    return own and code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def _call(one: Input, known: Vocabulary) -> tuple[Callable[..., Any], Arguments]:
    found, bound = _function(one.module, one.function)
    other = _loaded(one.other) if one.other else None
    return found, varied(_loaded(one.arguments), one.seed, known, other, bound=bound)


def _named(one: Input, known: Vocabulary) -> str:
    _, call = _call(one, known)
    try:
        return f"{one.function} {_hash(repr(pickle.dumps((call.given, call.named))))}"
    except Exception:  # noqa: BLE001  (a changed object may be none that can be kept: it is told from all others)
        return f"{one.function} {one.arguments} {one.seed}"


def _loaded(arguments: str) -> Arguments:
    return Arguments(*pickle.loads(base64.b64decode(arguments)))  # noqa: S301  (our own child's, in the sandbox)


def _function(module: str, qualname: str) -> tuple[Callable[..., Any], bool]:
    """The function that was called, taking all that it was given as arguments; true for a method, whose first one is
    its object."""
    *holders, name = qualname.split(".")
    holder: Any = importlib.import_module(module)
    for each in holders:
        holder = getattr(holder, each)
    found = inspect.getattr_static(holder, name)
    bound = bool(holders) and not isinstance(found, staticmethod)
    found = getattr(found, "fget", None) or getattr(found, "func", None) or getattr(found, "__func__", None) or found
    assert callable(found)
    return found, bound


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
    if isinstance(value, FunctionType | MethodType):
        return _plain_function(value, seen)
    fields = getattr(value, "__dict__", None)
    if not isinstance(fields, dict) or isinstance(value, type):
        return value
    if id(value) in seen or len(seen) > _OBJECTS:
        return seen.get(id(value), "...")
    seen[id(value)] = len(seen)
    return [type(value).__name__, *((name, _plain(each, seen)) for name, each in fields.items())]


def _plain_function(value: FunctionType | MethodType, seen: dict[int, int]) -> Any:
    """A function by what it was made of: two that a program returns are alike where they close over the same."""
    if id(value) in seen or len(seen) > _OBJECTS:
        return seen.get(id(value), "...")
    seen[id(value)] = len(seen)
    if isinstance(value, MethodType):
        return [value.__qualname__, _plain(value.__self__, seen)]
    held = [_plain(each, seen) for cell in value.__closure__ or () for each in _content(cell)]
    return [value.__qualname__, held, _plain([value.__defaults__, value.__kwdefaults__, value.__dict__], seen)]


def _content(cell: CellType) -> list[Any]:
    try:
        return [cell.cell_contents]
    except ValueError:  # not set yet
        return []
