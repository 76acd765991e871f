"""Declares the JSON that Ratchet answers: a frozen dataclass for each shape, shared by command line, API and MCP.

A field is declared once, with its meaning and its place in the record that it is taken from. From that follow the JSON
of all surfaces, the schemas of OpenAPI and MCP (pydantic reads `metadata["description"]` of a stdlib dataclass by
itself, and nothing here imports pydantic) and docs/reference/json.md. More fields may come; none changes its meaning.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import isfinite
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

if TYPE_CHECKING:
    from ratchet.records import Json, Row

T = TypeVar("T")
Source = Callable[..., object]
_PLANS: dict[type[Shape], list[tuple[str, Source, Source]]] = {}


Foreign = Literal["", "words", "output", "name"]


def said(meaning: str, *, of: str | Source = "", digits: int | None = None, foreign: Foreign = "") -> Any:
    """A field of a shape. `of` leads to its value in the record: a path of names or a function, else the field's own
    name. Numbers are rounded to `digits`. Text of earlier runs is `foreign`, and goes to a model only in a fence:
    `words` without what reads as an instruction, `output` (a diff, what a command printed) byte for byte. A `name`
    (a session, a project) stays as it is where it is one word and no instruction."""
    return field(metadata={"description": meaning, "of": of, "digits": digits, "foreign": foreign})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(said,))
class Shape:
    """The base of all shapes, which makes each a frozen dataclass. What only a person at a prompt would need
    (comparison, repr) is left out, and slots, for which each class would be made twice: commands start sooner."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, kw_only=True, eq=False, repr=False, match_args=False)(cls)

    @classmethod
    def built(cls, record: object, **more: object) -> Self:
        """The shape of a record, shapes within it included. `more` holds the fields that the record does not."""
        if isinstance(record, cls):
            return record
        return cls(**{name: fit(more[name] if name in more else get(record)) for name, get, fit in _plan(cls)})

    def mapped(self, change: Callable[[Any], object]) -> Self:
        """The same shape with each field changed."""
        return type(self)(**{name: change(getattr(self, name)) for name, _, _ in _plan(type(self))})


@overload
def json_of(value: Shape) -> Row: ...
@overload
def json_of(value: object) -> Json: ...
def json_of(value: object) -> Json:
    """Shapes, and whatever holds them, as JSON. A number that JSON does not have is null."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Shape):
        return {name: json_of(getattr(value, name)) for name, _, _ in _plan(type(value))}
    if isinstance(value, Mapping):
        return {str(name): json_of(held) for name, held in value.items()}
    assert isinstance(value, list | tuple), f"{type(value).__name__} is no JSON"
    return [json_of(each) for each in value]


def _plan(kind: type[Shape]) -> list[tuple[str, Source, Source]]:
    """Name, source and fit of each field; worked out when first asked for."""
    if kind in _PLANS:
        return _PLANS[kind]
    hints = get_type_hints(kind)
    found = []
    for each in fields(cast("Any", kind)):
        of: str | Source = each.metadata["of"] or each.name
        source = functools.partial(_read, path=of.split(".")) if isinstance(of, str) else of
        found.append((each.name, source, _fit(hints[each.name], each.metadata["digits"])))
    return _PLANS.setdefault(kind, found)


def _read(record: Any, path: list[str]) -> object:
    for name in path:
        record = record.get(name) if isinstance(record, dict) else getattr(record, name)
    return cast("object", record)


def _fit(hint: Any, digits: int | None = None) -> Source:
    """Makes what a record holds the field's: a shape of a record, a list of a tuple, a number with fewer digits."""
    if isinstance(hint, type) and issubclass(hint, Shape):
        return hint.built
    if hint is float and digits is not None:
        return lambda found: round(float(found), digits)
    inner = [_fit(each, digits) for each in get_args(hint) if each is not NoneType]
    if get_origin(hint) in (list, Sequence):
        return lambda found: [inner[0](each) for each in found]
    if get_origin(hint) is dict:
        return lambda found: {name: inner[1](held) for name, held in found.items()}
    if NoneType in get_args(hint):
        return lambda found: None if found is None else inner[0](found)
    return _same


def _same(found: object) -> object:
    return found
