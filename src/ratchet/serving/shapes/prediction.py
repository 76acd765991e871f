"""Shapes of what is said before a step runs."""

from __future__ import annotations

from ratchet.serving.shapes.shape import Shape, said


class StepLessonShape(Shape):
    """A lesson about a step that has not run yet."""

    id: str = said("Names the lesson.")
    text: str = said("What is known.", foreign="words")
    when: str = said(
        "Where it is of use, as in `git push` fails; empty for a proven lesson about the step itself.", foreign="words"
    )


class PredictedStepShape(Shape):
    """The odds that one step fails."""

    step: str = said("The command, or the change of a file.", foreign="words")
    name: str = said("What it is counted as: the program with its subcommand, edit or write.", foreign="words")
    probability: float | None = said(
        "How likely it fails, lessons left out, from 0 to 1; null where there is no basis.", digits=3
    )
    basis: str = said("What that rests on.", foreign="words")
    runs: int = said("Runs of this command in the project.")
    failures: int = said("Of these, runs that failed.")
    why: list[str] = said("Circumstances that count, and what it fails of.", foreign="words")
    lessons: list[StepLessonShape] = said("Proven lessons about such a step, then those about failures that it had.")


class PredictionShape(Shape):
    """The odds of the steps that were asked about, from what ran in the project."""

    project: str = said("Its name: its repository's remote, else its folder.", foreign="name")
    session: str = said("The session whose calls so far were counted in; empty for none.", foreign="name")
    steps: list[PredictedStepShape] = said("The steps, in their order.")
    note: str = said("Why there is none; empty where there is one.")
