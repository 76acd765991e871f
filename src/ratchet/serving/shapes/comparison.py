"""Shapes of comparisons: the same tasks with and without memory."""

from __future__ import annotations

from ratchet.healing.comparison import ARMS, median_effort
from ratchet.serving.shapes.shape import Shape, said


class ArmTotalsShape(Shape):
    """All runs of one arm. Effort is the number of changes tried out."""

    runs: int = said("Runs of the arm.", of=len)
    passed: int = said("Runs that passed.", of=lambda runs: sum(each.status == "passed" for each in runs))
    total_effort: int = said("Effort of all runs.", of=lambda runs: sum(each.effort for each in runs))
    median_effort: float = said("Effort of the middle run.", of=median_effort)
    attempts: int = said("Attempts of all runs.", of=lambda runs: sum(each.attempts for each in runs))
    same_mistakes: int = said(
        "Attempts with a change that had failed before.", of=lambda runs: sum(each.same_mistakes for each in runs)
    )
    cost_usd: float = said("Cost of all runs.", of=lambda runs: sum(each.cost_usd for each in runs), digits=6)
    duration_s: float = said("Time of all runs.", of=lambda runs: sum(each.duration_s for each in runs), digits=3)


class RatioShape(Shape):
    """The total effort of one arm over that of another."""

    of: str = said("The arm.")
    over: str = said("The arm that it is compared with.")
    ratio: float = said("Below 1: the first needs less.")
    low: float = said("Lower end of the 95 % interval.")
    high: float | None = said("Upper end of the 95 % interval; null where so few tasks bound nothing.")


class ComparedRunShape(Shape):
    """One task in one arm."""

    arm: str = said("none, shuffled or memory.")
    seed: int = said("The seed that it ran with.")
    task: str = said("Names the task.")
    status: str = said("The end of its episode.")
    effort: int = said("Changes tried out.")
    attempts: int = said("Attempts made.")
    same_mistakes: int = said("Attempts with a change that had failed before.")
    cost_usd: float = said("The cost of it.")
    duration_s: float = said("How long it took.")


class ComparisonShape(Shape):
    """The same tasks without memory, with a shuffled one, and with the real one."""

    tasks: int = said("Tasks compared.")
    seeds: int = said("Runs of each task in each arm.")
    planned: int = said("Runs in all; there are fewer in `runs` where it was stopped.")
    arms: dict[str, ArmTotalsShape] = said(
        "The arms none, shuffled and memory.", of=lambda found: {arm: found.of(arm) for arm in ARMS}
    )
    ratios: list[RatioShape] = said("Of effort, with their 95 % intervals.")
    runs: list[ComparedRunShape] = said("Every single run.")
