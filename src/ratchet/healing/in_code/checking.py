"""A person's check of a value, as a judge asks it: why the value is wrong, or nothing."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from ratchet.failures.redaction.text import clean

if TYPE_CHECKING:
    from ratchet.healing.in_code.judge import Accept

_SHOWN = 200


def accept_of(check: Callable[..., object]) -> Accept:
    """The check as a judge asks it. It is called with the value, and with the call's arguments behind it if it takes
    more than one; it passes by answering with something true. Async checks are not for it."""
    takes_arguments = _takes_more(check)

    def accept(value: object, after: object) -> str:
        if takes_arguments and after is None:
            return "the call's arguments cannot be brought out of the sandbox for the check"
        args, kwargs = cast("tuple[tuple[object, ...], dict[str, object]]", after) if takes_arguments else ((), {})
        try:
            answer = check(value, *args, **kwargs)
            right = bool(answer)
        except Exception as error:  # noqa: BLE001  (a check that asserts says no like this; whatever else it raises does, too)
            return f"the check refuses {_shown(value)} ({clean(f'{type(error).__name__}: {error}', _SHOWN)})"
        if inspect.iscoroutine(answer):
            answer.close()
            return "the check is async, which it must not be"
        if answer is None:
            return f"the check answers None to {_shown(value)}; let it return True where the value is right"
        return "" if right else f"the check refuses {_shown(value)}"

    return accept


def _shown(value: object) -> str:
    try:
        return clean(reprlib.repr(value), _SHOWN)
    except Exception:  # noqa: BLE001  (a broken __repr__)
        return f"a {type(value).__name__}"


def _takes_more(check: Callable[..., object]) -> bool:
    try:
        parameters = list(inspect.signature(check).parameters.values())
    except (TypeError, ValueError):  # a builtin: `all`, `bool`
        return False
    many = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [each for each in parameters if each.kind not in many and each.default is each.empty]
    return len(needed) > 1 or any(each.kind in many for each in parameters)
