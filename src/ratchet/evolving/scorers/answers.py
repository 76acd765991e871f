"""Reads the `answer.json` that an agent left. It is a stranger's file: it may be a pipe, a link, huge, or no JSON."""

from __future__ import annotations

import json
import math

from ratchet.errors import NotFound, Refused
from ratchet.ports import Workspace
from ratchet.records import Json

NAME = "answer.json"
MOST_BYTES = 262_144
"""A plan of 10,000 steps fits; what is larger is no answer."""
MOST_DEPTH = 32
MOST_DIGITS = 18


class BadAnswer(Exception):  # noqa: N818  (no fault of ours: it becomes a score)
    """An answer that is none. The message says why; `kind` names the class of the failure."""

    def __init__(self, reason: str, kind: str = "malformed_output") -> None:
        super().__init__(reason)
        self.kind = kind


def read(workspace: Workspace) -> Json:
    """The answer as JSON. Raises BadAnswer: no file, no plain file, too large, no JSON, NaN, a name twice, too deep."""
    try:
        content = workspace.read(NAME, limit_bytes=MOST_BYTES)
    except NotFound as error:
        raise BadAnswer(f"there is no {NAME}", "empty_response") from error
    except (Refused, IsADirectoryError) as error:
        raise BadAnswer(f"{NAME} is no plain file of at most {MOST_BYTES // 1024} kB") from error
    try:
        held: Json = json.loads(
            content.decode("utf-8-sig"),
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=_bounded,
            object_pairs_hook=_once_each,
        )
    except UnicodeDecodeError as error:
        raise BadAnswer(f"{NAME} is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise BadAnswer(f"{NAME} is no JSON: {error.msg} (line {error.lineno})") from error
    except RecursionError as error:
        raise BadAnswer(f"{NAME} is nested more than {MOST_DEPTH} deep") from error
    if _is_deep(held):
        raise BadAnswer(f"{NAME} is nested more than {MOST_DEPTH} deep")
    return held


def shown(value: Json) -> str:
    """A value as a reason names it, on one line, short."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= 60 else text[:59] + "…"


def _no_number(text: str) -> Json:
    raise BadAnswer(f"{NAME} holds {text}, which is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise BadAnswer(f"{NAME} holds a number that is too large")
    return number


def _bounded(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise BadAnswer(f"{NAME} holds a number that is too large")
    return int(text)


def _once_each(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    held = dict(pairs)
    if len(held) != len(pairs):
        raise BadAnswer(f"{NAME} says a name twice in one object")
    return held


def _is_deep(value: Json) -> bool:
    level = [value]
    for _ in range(MOST_DEPTH):
        level = [
            below
            for each in level
            if isinstance(each, list | dict)
            for below in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True
