"""Shapes of the gate for any loop: what it says of a version by its scores, and of the runs that it will take."""

from __future__ import annotations

from ratchet.serving.shapes.shape import Shape, said


class ScoreAnswerShape(Shape):
    """The gate's answer about one version."""

    version: str = said("The version.")
    incumbent: str = said("What it was compared with.")
    decision: str = said("keep, discard or again.")
    reason: str = said("Why, in words.")
    runs: int = said("Its runs that counted; rounds, where scores are by task.")
    incumbent_runs: int = said("The incumbent's.")
    gain: float | None = said("Difference of the mean scores, above 0 where it is better; null before both ran.")
    noise: float | None = said("Standard deviation of one run; null where it is not known or not used.")
    e_value: float = said("The evidence: it is kept at 1/`level`.", of=lambda answer: min(answer.e_value, 1e300))
    level: float = said("Its share of the error budget.")
    next: str = said('The version to run next where the decision is again, else "".')
    ignored: int = said("Its runs that came after it was decided, and changed nothing.")
    failed: int = said("Its runs that brought no score; counted as the worst one where scores are bounded.")
    tasks: int = said("Tasks of a round; 1 where a run is of no task, or all are of one.")


class ScorePlanShape(Shape):
    """The runs that a decision will take, the proposal's and the incumbent's together."""

    gain: float = said("The gain that is looked for.")
    noise: float = said("The noise of one run that was assumed.")
    found: float = said("Share of proposals with this gain that are kept.")
    median: int = said("Runs until then, in the middle.")
    most: int = said("Nine in ten need no more.")
    idle: float = said("Mean runs of a proposal that gains nothing.", digits=1)
    first: int = said("Runs that the incumbent has had.")
    bound: int = said("Runs after which a simulation ends.")
    cut: float = said("Share of proposals with this gain that were not decided by then.")
