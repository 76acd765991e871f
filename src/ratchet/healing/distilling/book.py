"""Distilling as people ask for it: first what would leave the machine, then the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ratchet.errors import Refused
from ratchet.healing.distilling.distill import Distilled, DistillPlan, distill, plan
from ratchet.healing.distilling.items import PLACES, Place
from ratchet.healing.distilling.speakers import COMMAND, SpendingPurse, speaker_of
from ratchet.healing.models.choice import ModelChoice
from ratchet.lessons.repositories import project_of
from ratchet.ports import Store

_MOST_S = 1_800.0


class Distillery:
    """Rules made of evidence by a model. `consent` says whether the person's own configuration allows it to a
    configured model; `told` is called after lessons changed."""

    def __init__(
        self, *, reading: Callable[[], Store], models: ModelChoice, consent: bool, told: Callable[[], object]
    ) -> None:
        self._reading = reading
        self._models = models
        self._told = told
        self._consent = consent

    def plan(
        self, model: str = "", *, places: Sequence[Place] = (), project: str | None = None, unpriced: bool = False
    ) -> DistillPlan:
        """Count what would be sent, to whom, and what it may cost. Sends nothing. Raises Refused where no model is
        named, UsageError for a name that is none."""
        price = (
            (lambda _sent, _got: None) if model.startswith(COMMAND) else self._models.price(model, unpriced=unpriced)
        )
        named = speaker_of(self._models, model, unpriced=unpriced).named("reasoning")
        return plan(self._reading(), named, price, places=places or PLACES, project=self._named(project))

    def run(
        self,
        planned: DistillPlan,
        model: str = "",
        *,
        places: Sequence[Place] = (),
        project: str | None = None,
        budget_usd: float = 0.5,
        unpriced: bool = False,
        agreed: bool = False,
    ) -> Distilled:
        """Send what was planned, and keep what replay bears out. A model that is only configured is no consent: name
        it, or say so by `agreed` or in the person's own configuration. Raises Refused without that."""
        if not (model or agreed or self._consent):
            raise Refused(
                f"nothing was sent to {planned.model}: a configured model is no consent; "
                "give --yes, name it with --model, or set RATCHET_DISTILL=1"
            )
        speaker = speaker_of(self._models, model, unpriced=unpriced)
        purse = SpendingPurse(budget_usd, _MOST_S)
        store = self._reading()
        found = distill(store, speaker, purse, planned, places=places or PLACES, project=self._named(project))
        if found.lessons:
            self._told()
        return found

    def _named(self, project: str | None) -> str | None:
        return None if project is None else project_of(self._reading(), project)
