"""Knobs: what can be turned, and how far: every value that reaches an agent has passed its knob's `check`."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor

from ratchet.arguments import finite
from ratchet.errors import UsageError
from ratchet.improving.targets import edit as edits
from ratchet.records import Row


class Knob:
    """Something that can be set. Subclass it for a kind of your own: `check` decides which values there are.

    `default` counts until something is set.
    """

    def __init__(self, default: object) -> None:
        self.default = default

    def check(self, value: object) -> object:
        """The value as the agent gets it. Raises UsageError saying which values there are."""
        return value

    def described(self) -> Row:
        """Describe the knob beside its values, for people and for whoever proposes a change."""
        default = edits.plain_values({"default": self.default}, "a knob's default")
        return {"type": type(self).__name__.lower(), **default}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


class Choice(Knob):
    """One of several values of any JSON kind: models, prompts, a list of models to fall back on, True and False.

    `default` is the first unless given. Raises UsageError without options or for a default that is none of them.
    """

    def __init__(self, *options: object, default: object = None) -> None:
        if not options:
            raise UsageError('Choice needs its options: Choice("large", "small")')
        self.options = options
        self._plain = [edits.plain_values({"option": option}, "Choice")["option"] for option in options]
        super().__init__(options[0])
        if default is not None:
            self.default = self.check(default)

    def check(self, value: object) -> object:
        plain = edits.plain_values({"value": value}, "Choice")["value"]
        for option, held in zip(self.options, self._plain, strict=True):
            if edits.same(held, plain):
                return option
        raise UsageError(f"{_shown(value)} is none of {', '.join(_shown(option) for option in self.options)}")

    def described(self) -> Row:
        return {**super().described(), "options": list(self._plain)}


class Range(Knob):
    """A number from `low` to `high`, both included; with `integer` a whole one.

    `default` is `low` unless given. Raises UsageError for bounds that are no finite numbers in order.
    """

    def __init__(self, low: float, high: float, *, default: float | None = None, integer: bool = False) -> None:
        for name, bound in (("low", low), ("high", high)):
            if not _is_number(bound):
                raise UsageError(f"Range: {name} is {bound!r}; use a finite number")
        if low > high:
            raise UsageError(f"Range({low!r}, {high!r}): low is above high; exchange them")
        self.low, self.high, self.integer = low, high, integer
        super().__init__(low if default is None else default)
        self.default = self.check(self.default)

    def check(self, value: object) -> object:
        if not _is_number(value):
            raise UsageError(f"{_shown(value)} is no number; use one from {self.low:g} to {self.high:g}")
        assert isinstance(value, int | float)
        if not self.low <= value <= self.high:
            raise UsageError(f"{value!r} is out of range; use a number from {self.low:g} to {self.high:g}")
        if not self.integer:
            return value
        if value != int(value):
            raise UsageError(f"{value!r} is not whole; use a whole number from {self.low:g} to {self.high:g}")
        return int(value)

    def nearest(self, value: float) -> float:
        """The allowed number nearest to `value`. Raises UsageError for NaN."""
        if value != value:
            raise UsageError("NaN is nearest to nothing; use a number")
        bounded = min(max(value, self.low), self.high)
        if not self.integer:
            return bounded
        whole = round(bounded)
        return next((each for each in (whole, floor(bounded)) if self.low <= each <= self.high), ceil(bounded))

    def described(self) -> Row:
        return {**super().described(), "low": self.low, "high": self.high, "integer": self.integer}


def declared(knobs: Mapping[str, Knob]) -> dict[str, Knob]:
    """The knobs of an agent, checked. Raises UsageError for something that is no knob or a name that cannot be one."""
    if not knobs:
        raise UsageError('settings need at least one knob: settings("agent", max_retries=Range(0, 5, default=2))')
    checked: dict[str, Knob] = {}
    for name, knob in knobs.items():
        if not isinstance(knob, Knob):
            raise UsageError(f"{name} is {knob!r}; declare it as a knob: {name}=Choice(...) or {name}=Range(low, high)")
        if not name.isidentifier() or name.startswith("_"):
            raise UsageError(f"{name!r} cannot name a knob; use a name like max_retries")
        try:
            knob.check(knob.default)
        except Exception as error:  # a user's own `check` may raise whatever it likes
            raise UsageError(f"the default of {name}: {error}") from error
        checked[name] = knob
    return checked


def described_knob(row: Row) -> Knob:
    """The knob that `described` told of; of a kind made by a user only the default is known here, and anything may be
    set: the agent's own process checks it."""
    kind, default = row.get("type"), row.get("default")
    options, low, high = row.get("options"), row.get("low"), row.get("high")
    if kind == "choice" and isinstance(options, list) and options:
        return Choice(*options, default=default)
    if kind == "range" and isinstance(low, int | float) and isinstance(high, int | float):
        number = default if isinstance(default, int | float) else None
        return Range(low, high, default=number, integer=row.get("integer") is True)
    return Knob(default)


def _is_number(value: object) -> bool:
    return finite(value) is not None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
