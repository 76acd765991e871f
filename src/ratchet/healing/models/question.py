"""The port of language models: a question, an answer of a given shape, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    from ratchet.healing.job import Purse

Role = Literal["reasoning", "fast"]
"""Which model is asked: the one that plans, or the one that summarises."""

Mode = Literal["session", "loop"]
"""When it is asked: while a person waits, or in unattended work."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Generic[T]):
    """Question to a model. Its texts leave this machine: secrets are taken out on the way."""

    shape: type[T]
    """A dataclass of plain fields (texts, numbers, switches, tuples of such, further dataclasses), or `str` for free
    text: the answer is one of these, or none."""
    text: str
    rules: str = ""
    """What it is and how it shall answer; ahead of the text, and of more weight to the model."""
    role: Role = "reasoning"
    temperature: float = 0.0
    seed: int | None = None
    """Where the model takes one."""
    output_tokens: int = 8_192
    """At most, thoughts included."""
    timeout_s: float | None = None
    """For one call, from sending to the last character; None for half of the time that is left, or 300 s where that is
    more: a local model may think longer, and one that hangs must not take all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer(Generic[T]):
    """Answer of a model. A bad answer is data: `value` is None, and `kind` and `problem` say why."""

    value: T | None
    kind: str = ""
    """A kind of `kinds.KINDS`: malformed_output, empty_response, refusal, content_filter, context_overflow (ask with
    less); "" with a value."""
    problem: str = ""
    """One line on what was wrong with the last answer."""
    text: str = ""
    """The last answer as it came."""
    model: str = ""
    """Who answered, as `provider:name`."""
    calls: int = 0
    """Requests that were sent, those that failed included."""
    tokens: int = 0
    cost_usd: float = 0.0
    note: str = ""
    """What went on meanwhile: models that were passed over and why."""


class Model(Protocol):
    """Language models, by the role that they play."""

    def named(self, role: Role) -> str:
        """Name the model that would be asked first, as `provider:name`."""

    def ask(self, question: Question[T], purse: Purse) -> ModelAnswer[T]:
        """One answer, malformed ones asked for again once, failing models waited for or passed over.

        Every request is paid from the purse: its most is reserved before, its cost settled after. Raises Refused where
        the purse does not reach, or nobody knows the price; ModelError where no model can be reached, or all fail;
        returns soon after the purse says that it was cancelled (as a ModelError).
        """
