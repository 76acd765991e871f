"""Reads what a span says of its own result: why the model stopped, and what an evaluator found.

Source: the semantic conventions for generative AI (`gen_ai.response.finish_reasons`, `gen_ai.evaluation.result`). They
leave the scale of a score to the evaluator; where it gives a label, the label decides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ratchet.failures import tool_call
from ratchet.failures.kinds.kind import kind_of
from ratchet.recording.sources import fields
from ratchet.records import Failure, Json, Row

EVALUATION = "gen_ai.evaluation.result"
_NAME, _VALUE, _LABEL = "gen_ai.evaluation.name", "gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label"
_EXPLANATION = "gen_ai.evaluation.explanation"
_FINISHED = (
    *("gen_ai.response.finish_reasons", "gen_ai.response.finish_reason", "llm.response.finish_reason"),
    *("llm.finish_reason", "ai.response.finishReason", "llm.response.stop_reason", "gen_ai.completion.0.finish_reason"),
)
_STOPPED = frozenset(("content_filter", "refusal", "context_overflow", "malformed_output"))
_PASSING = 0.5  # as everywhere where a score alone says how it went
_BAD = re.compile(
    r"fail|no$|reject|den(?:y|ied)|violat|disapprov|error|issue|problem|bias|wrong|false|bad|poor|hallucinat|toxic|harmful|irrelevant|inc(?:orrect|omplete)|"
    r"ina(?:ccurate|dequate)|incoherent|invalid|un(?:safe|accept|grounded|faithful|supported|helpful|satisf|resolved)"
)
_NEGATED = re.compile(r"(?:not?|non|without)[-_ ]+(?=\w)")  # "not toxic" is good, "not relevant" bad
_GOOD = re.compile(
    r"pass|ok$|yes$|accept|approv|match|complian|true|correct|right|good|excellent|safe|relevant|grounded|faithful|accurate|helpful|coherent|complete|"
    r"resolved|satisf|supported"
)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Findings of evaluators: their mean score, where it lies in [0, 1], and the failure where one of them says so."""

    score: float | None
    failure: Failure | None


def stopped(attributes: Row, choices: Sequence[Row]) -> Failure | None:
    """The failure of a model's answer that a filter, a refusal or a limit ended; None where it came to its own end."""
    said = _listed(fields.first(attributes, _FINISHED))
    answers = _listed(attributes.get("gen_ai.output.messages")) if said is None else None
    choices = [*choices, *fields.rows(answers)]
    listed = list(said) if isinstance(said, list | tuple) else [said]
    reasons = [each for each in (*listed, *(each.get("finish_reason") for each in choices)) if isinstance(each, str)]
    kinds = [_kind_of(reason) for reason in reasons if reason]
    if not kinds or not all(kinds):
        return None
    return Failure(message=f"the model stopped with finish reason: {tool_call.safe(reasons[0], 80)}", kind=kinds[0])


def _listed(said: Json) -> Json:
    """A list that some write as JSON in a string."""
    if not isinstance(said, str) or said[:1] != "[":
        return said
    try:
        found: Json = json.loads(said)
    except (ValueError, RecursionError):
        return None
    return found


def finished(attributes: Row) -> bool:
    """Tell whether a span says why its model stopped: an exception that was met on the way there was handled."""
    return fields.first(attributes, _FINISHED) is not None


def _kind_of(reason: str) -> str:
    if reason.lower() in ("error", "failed"):
        return "other"
    kind = kind_of(f"finish reason: {reason}")
    return kind if kind in _STOPPED else ""


def evaluated(results: Sequence[Mapping[str, Json]]) -> Evaluated | None:
    """Sum up what these results of evaluators say; None where none says anything."""
    told = [each for each in results if fields.first(each, (_VALUE, _LABEL)) is not None]
    if not told:
        return None
    numbers = [fields.number(each.get(_VALUE)) for each in told]
    scores = [number for number in numbers if number is not None and 0 <= number <= 1]
    failed = next((each for each in told if not _passes(each)), None)
    return Evaluated(
        score=sum(scores) / len(scores) if scores else None, failure=_failure(failed) if failed is not None else None
    )


def name_of(result: Mapping[str, Json]) -> str:
    """The evaluator's name for what it looked at."""
    return fields.text(result.get(_NAME)) or "evaluation"


def _passes(result: Mapping[str, Json]) -> bool:
    label = fields.text(result.get(_LABEL)).strip().lower()
    negated = _NEGATED.match(label)
    named = label[negated.end() :] if negated else label
    if _BAD.match(named):
        return negated is not None
    if _GOOD.match(named):
        return negated is None
    number = fields.number(result.get(_VALUE))
    return number is None or not 0 <= number < _PASSING


def _failure(result: Mapping[str, Json]) -> Failure:
    said = fields.text(result.get(_LABEL)) or f"score {fields.number(result.get(_VALUE)):g}"
    why = fields.text(result.get(_EXPLANATION))
    text = f"evaluation {name_of(result)}: {said}" + (f": {why}" if why else "")
    return Failure(message=tool_call.message_text(text), kind="wrong_output")
