"""Finds the answer in what a model wrote (JSON alone, in a fence, between sentences) and holds it against its shape."""

from __future__ import annotations

from typing import TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from ratchet.healing.models.prose import objects_within
from ratchet.records import Json

T = TypeVar("T")
MOST_CHARACTERS = 400_000  # four times what the longest answer that is asked for can hold
_TIGHTER: dict[str, dict[str, Json]] = {"string": {"maxLength": 600}, "array": {"minItems": 1}}
_PROBLEMS = 4  # complaints that are told back: a model mends a few at a time


class Malformed(Exception):  # noqa: N818  (data about an answer, not a fault of this program)
    """The text holds no answer of the shape; the message tells the model why."""


def schema_of(shape: type[object]) -> dict[str, Json]:
    """The JSON schema of a dataclass, closed, and every field asked for: `value_of` takes less, but a model that is
    bound to say the cause first finds better edits."""
    schema: dict[str, Json] = TypeAdapter(shape).json_schema()
    _close(schema)
    return schema


def tightened(schema: dict[str, Json]) -> dict[str, Json]:
    """The schema with its own texts, which are sentences, held to a length, and its lists to hold something: what keeps
    a small model that is bound to a grammar from filling its whole answer with the first text, or giving none."""
    held = cast("dict[str, dict[str, Json]]", schema.get("properties", {}))
    return {
        **schema,
        "properties": {name: {**each, **_TIGHTER.get(str(each.get("type")), {})} for name, each in held.items()},
    }


def value_of(text: str, shape: type[T]) -> T:
    """The answer in a text. Raises Malformed."""
    if shape is str and text.strip():
        return cast("T", text)
    adapter: TypeAdapter[T] = TypeAdapter(shape)
    complaint = ""
    for found in objects_within(text[:MOST_CHARACTERS]):
        try:
            return adapter.validate_python(_tuples(found))
        except ValidationError as error:
            complaint = complaint or _told(error)
        except RecursionError:
            complaint = complaint or "it is nested too deeply"
    raise Malformed(complaint or _no_object(text))


def _tuples(value: Json) -> Json:
    """Fields that a model left empty with null are left out: the shape's default stands for them."""
    if isinstance(value, dict):
        return {key: _tuples(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_tuples(each) for each in value]
    return value


def _close(schema: Json) -> None:
    if isinstance(schema, list):
        for each in schema:
            _close(each)
    elif isinstance(schema, dict):
        if isinstance(schema.get("title"), str):  # (a dict: a field of that name)
            del schema["title"]
        if schema.get("type") == "object":
            schema["additionalProperties"] = False
            schema["required"] = list(cast("dict[str, Json]", schema.get("properties", {})))
        if not isinstance(schema.get("default"), dict):
            schema.pop("default", None)
        for each in schema.values():
            _close(each)


def _told(error: ValidationError) -> str:
    complaints = error.errors(include_url=False, include_input=False)
    said = [f"{'.'.join(map(str, each['loc'])) or 'the object'}: {each['msg']}" for each in complaints[:_PROBLEMS]]
    return "; ".join(said)


def _no_object(text: str) -> str:
    if not text.strip():
        return "it was empty"
    return "its JSON does not parse, or is cut off" if "{" in text else "it holds no JSON object"
