"""Speakers of a run: a model of the model port, or a person's own command (`command:WORDS`), and the money for them."""

from __future__ import annotations

import shlex
import subprocess
import time
from typing import TypeVar

from ratchet.errors import ModelError, Refused, UsageError
from ratchet.failures.redaction.text import redact
from ratchet.healing.job import Purse
from ratchet.healing.models.answers import Malformed, schema_of, value_of
from ratchet.healing.models.choice import ModelChoice
from ratchet.healing.models.question import Model, ModelAnswer, Question, Role
from ratchet.recording import wire

T = TypeVar("T")
COMMAND = "command:"
"""How the name of a command begins."""
_TIMEOUT_S = 120.0


class CommandModel:
    """Port `Model` over a command of the person's own: the question on its standard input, one JSON object on its
    standard output. It runs as the person, with what it costs in the person's own hands."""

    def __init__(self, line: str) -> None:
        try:
            self._words = shlex.split(line)
        except ValueError as error:
            raise UsageError(f"{COMMAND}{line} is no command line ({error}); mend its quotes") from error
        if not self._words:
            raise UsageError(f"{COMMAND} names no command; write {COMMAND}WORDS")

    def named(self, role: Role) -> str:  # noqa: ARG002
        return f"{COMMAND}{self._words[0]}"

    def ask(self, question: Question[T], purse: Purse) -> ModelAnswer[T]:
        """See `question.Model.ask`."""
        schema = wire.written(schema_of(question.shape))
        text = redact(f"{question.rules}\n\nAnswer with one JSON object by this schema:\n{schema}\n\n{question.text}")
        try:
            ran = subprocess.run(  # noqa: S603
                self._words,
                input=text.encode("utf-8", "replace"),
                capture_output=True,
                timeout=min(_TIMEOUT_S, purse.seconds_left()),
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ModelError(f"{self.named('reasoning')} did not answer: {error}", retryable=False) from error
        if ran.returncode:
            said = ran.stderr.decode("utf-8", "replace").strip()[-200:]
            raise ModelError(f"{self.named('reasoning')} ended with {ran.returncode}: {said}", retryable=False)
        said = ran.stdout.decode("utf-8", "replace")
        try:
            value = value_of(said, question.shape)
        except Malformed as bad:
            return ModelAnswer(value=None, kind="malformed_output", problem=str(bad), text=said, calls=1)
        return ModelAnswer(value=value, text=said, model=self.named("reasoning"), calls=1)


def speaker_of(models: ModelChoice, name: str, *, unpriced: bool) -> Model:
    """The speaker of a name: a person's own command, or models by the settings. Raises UsageError, Refused."""
    if name.startswith(COMMAND):
        return CommandModel(name.removeprefix(COMMAND))
    return models.chain(name, mode="loop", unpriced=unpriced)


class SpendingPurse:
    """Port `Purse` for one run: `usd` in all, `seconds` at most."""

    def __init__(self, usd: float, seconds: float) -> None:
        self._left = usd
        self._ends = time.monotonic() + seconds
        self._open: dict[str, float] = {}
        self.spent_usd = 0.0

    def seconds_left(self) -> float:
        return max(0.0, self._ends - time.monotonic())

    def usd_left(self) -> float:
        return max(0.0, self._left - sum(self._open.values()))

    def reserve(self, usd: float) -> str:
        if self.cancelled():
            raise Refused("the time for distilling is up; run it again, what was answered is kept")
        if usd > self.usd_left():
            raise Refused(f"the next question may cost {usd:.4f} USD, which is more than is left; give --budget-usd")
        name = str(len(self._open) + 1)
        while name in self._open:
            name += "'"
        self._open[name] = usd
        return name

    def settle(self, reservation: str, usd: float, *, tokens: int = 0) -> None:  # noqa: ARG002
        del self._open[reservation]
        self._left -= usd
        self.spent_usd += usd

    def cancelled(self) -> bool:
        return self.seconds_left() <= 0
