"""Inputs: what requests may say, checked by type before anything is done with it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Required

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from typing_extensions import TypedDict


def _whole(value: object) -> object:
    """3.0 is an integer in JSON, and many a client's only way to write one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _no_command(name: str) -> str:
    if name.lstrip().startswith("command:"):
        raise ValueError(
            "a command of your own runs only where it is typed: ratchet lessons distill --model command:..."
        )
    return name


_WHOLE = BeforeValidator(_whole)
Name = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
Text = Annotated[str, StringConstraints(max_length=1_000_000)]
Amount = Annotated[float, Field(ge=0, lt=2**53, allow_inf_nan=False)]
ModelName = Annotated[str, Field(max_length=1_000), AfterValidator(_no_command)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, lt=2**53), _WHOLE]
Whole = Annotated[int, Field(gt=-(2**53), lt=2**53), _WHOLE]


class Strict(BaseModel):
    """A body: no unknown field, and nothing taken for what it is not."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SentStep(TypedDict, total=False):
    """The tool call that an outcome is, where it is one."""

    tool: Text
    head: Text
    target: Text
    input: Text | dict[str, Any]
    change: Text


class SentOutcome(TypedDict, total=False):
    """One finished run. `id` is the sender's own key: the same one of the same session is the same outcome. A field
    that is not known is left out, and named in the outcome's context."""

    __pydantic_config__ = ConfigDict(extra="allow", strict=True)  # type: ignore[misc]  # how a TypedDict is configured

    id: Name | None
    agent: Required[Name]
    task: Text | None
    ok: bool | None
    score: Share | None
    quality: Annotated[float, Field(ge=1, le=5)] | None
    error: Text | None
    status: Whole | None
    exit_code: Whole | None
    kind: Name | None
    started_at: Amount | None
    duration_s: Amount | None
    first_item_s: Amount | None
    cost_usd: Amount | None
    tokens: Count | None
    model: Text | None
    session: Text | None
    thread: Text | None
    unit: Text | None
    project: Text | None
    source: Text | None
    step: SentStep | None
    context: dict[str, Any] | None


class Observed(TypedDict, total=False):
    """One outcome as other systems' webhooks spell it; all of it is optional."""

    __pydantic_config__ = ConfigDict(extra="allow", strict=True)  # type: ignore[misc]

    id: Name | None
    agent: Name | None
    source: Text | None
    task: Text | None
    task_type: Text | None
    success: bool | None
    ok: bool | None
    quality: Annotated[float, Field(ge=1, le=5)] | None
    error: Text | None
    error_message: Text | None
    error_msg: Text | None
    duration_ms: Amount | None
    duration_s: Amount | None
    model: Text | None
    session: Text | None
    notes: Text | None
    issues: list[Text] | None
    tags: list[Text] | None
    metadata: dict[str, Any] | None


class Search(Strict):
    """Question: what is known to fix this error?"""

    query: Text = Field(
        validation_alias=AliasChoices("query", "text"), description="The error, as it was printed.", min_length=1
    )
    limit: Annotated[int, Field(ge=1, le=50), _WHOLE] = 5
    project: Annotated[str, Field(min_length=1, max_length=1_000)] | None = Field(
        None, description="A folder: its lessons and global ones; all projects unless given."
    )
    session: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        None, description="A session's arm of the control is obeyed, and that it was told is recorded."
    )


class Predicting(Strict):
    """Question: how likely does this step fail? One of text, command, file, diff and plan."""

    text: Text = Field("", description="Any of the others: it is worked out which.")
    command: Text = Field("", description="A command line.")
    file: Text = Field("", description="A file that is to be changed, as the project names it.")
    diff: Text = Field("", description="A unified diff: the project's checks after it.")
    plan: Text = Field("", description="A text that names commands and files.")
    project: Annotated[str, Field(min_length=1, max_length=1_000)] = Field(description="The project's folder.")
    session: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        None, description="The session that is about to take the step: what it did so far counts."
    )


class ExportedLesson(TypedDict, total=False):
    """A lesson of an export. Its state, counts and id are not taken over."""

    __pydantic_config__ = ConfigDict(extra="allow", strict=True)  # type: ignore[misc]

    when: Required[Text]
    do: Required[Text]
    example: Text | None
    kind: Text | None
    tool: Text | None
    head: Text | None
    scope: Text | None
    provenance: Text | None


class NewLesson(Strict):
    """When an error like `when` occurs, do `do`, word for word."""

    when: Annotated[str, Field(min_length=1, max_length=20_000)]
    do: Annotated[str, Field(min_length=1, max_length=20_000)]
    scope: Literal["project", "global"] | None = Field(None, description="Global unless a project is named.")
    project: Annotated[str, Field(min_length=1, max_length=1_000)] | None = Field(None, description="Its folder.")
    source: Literal["person", "report", "conversation"] = Field(
        "person", description="What `when` holds: an error that a person wrote down, a report or a conversation."
    )


class Reason(Strict):
    reason: Annotated[str, Field(max_length=2_000)] = ""


class NeededReason(Strict):
    reason: Annotated[str, Field(min_length=1, max_length=2_000)]


class Approval(Strict):
    globally: Annotated[bool, Field(description="In every project.")] = False
    do: Annotated[str, Field(max_length=20_000, description="Its advice from now on; empty leaves it.")] = ""


class ProposalApproval(Strict):
    deadline_s: Annotated[float, Field(gt=0, lt=1e9)] | None = Field(
        None, description="A run without an outcome by then counts as failed; derived unless given."
    )


class NewCure(Strict):
    """A permanent change that a lesson is to become."""

    kind: Literal["notes", "git", "pre-commit", "check", "permission"]
    dir: Annotated[
        str, Field(min_length=1, max_length=4_000, pattern="^/", description="The project's folder on the server.")
    ]


class Distilling(Strict):
    """Evidence to be put into words by a model."""

    agreed: Literal[True] = Field(description="True: send it. The evidence leaves this machine.")
    model: ModelName = Field("", description="provider:name, or `local`; the configured one unless given.")
    places: Annotated[
        tuple[Literal["words", "hunks", "steps", "contrary"], ...], Field(max_length=4, strict=False)
    ] = ()
    project: Annotated[str, Field(min_length=1, max_length=1_000)] | None = Field(None, description="Its folder.")
    budget_usd: Annotated[float, Field(ge=0, le=10_000)] = 0.5
    allow_unknown_price: bool = False


class NewTrial(Strict):
    """New values of a target beside the old ones, decided by evidence."""

    target: Annotated[str, Field(min_length=1, max_length=300, description="`settings:AGENT`")]
    new: Annotated[dict[str, Any], Field(min_length=1)]
    agent: Annotated[str, Field(max_length=200)] = ""
    reason: Annotated[str, Field(max_length=2_000)] = ""
    metric: Literal["success", "latency", "cost", "score"] = "success"
    trade: dict[str, Annotated[float, Field(gt=0, lt=1e6)]] | None = None
    mode: Literal["coin", "switchback", "advisory"] | None = None
    deadline_s: Annotated[float, Field(gt=0, lt=1e9)] | None = None


class Stop(Strict):
    keep: bool = Field(False, description="Keep the new values, which nothing has proven then.")
    reason: Annotated[str, Field(max_length=2_000)] = ""


class SetSettings(Strict):
    """Knobs to set. Those that are not named stay as they are."""

    values: dict[str, Any] = Field(default_factory=dict)
    unset: list[Name] = Field(default_factory=list, description="Knobs that get their default again.")
    why: Annotated[str, Field(max_length=2_000)] = ""


class NewStep(Strict):
    """One step of a plan."""

    do: Annotated[str, Field(min_length=1, max_length=2_000, description="What it changes.")]
    check: Annotated[str, Field(max_length=10_000)] = Field(
        "", description="A command that fails now and passes when it is done; empty for a step that a person takes."
    )


class NewTask(Strict):
    """A task: a copy of `dir` is worked on in a sandbox until `check` passes; without one, until the steps of a plan
    do that is made of the instruction. `dir` itself stays."""

    instruction: Annotated[str, Field(max_length=20_000, description="What is wanted, in words.")] = ""
    check: Annotated[str, Field(min_length=1, max_length=10_000)] | list[Name] | None = Field(
        None, description="The command that fails now and is to pass; without words, the project's own unless given."
    )
    plan: Annotated[list[NewStep], Field(max_length=12)] = Field(
        default_factory=list, description="A plan of your own for the words, in place of one that is made."
    )
    plan_only: bool = Field(True, description="Words without a check: end with the plan; `resume` carries it out.")
    dir: Annotated[
        str, Field(min_length=1, max_length=4_000, pattern="^/", description="The project's folder on the server.")
    ]
    solver: Annotated[str, Field(min_length=1, max_length=2_000)] = "auto"
    attempts: Annotated[int, Field(ge=1, le=1_000), _WHOLE] = 5
    budget_s: Annotated[float, Field(gt=0, le=86_400)] = 1_800.0
    budget_usd: Annotated[float, Field(ge=0, le=10_000)] = 1.0
    candidates: Annotated[int, Field(ge=1, le=1_000_000), _WHOLE] = 2_000
    protected: Annotated[list[Name], Field(max_length=1_000)] = Field(
        default_factory=list, description="Globs of files that must not change."
    )
    seed: Annotated[int, Field(ge=0, lt=2**31), _WHOLE] = 0


class ResumedTask(Strict):
    """A task that goes on where it ended: with its plan, or with what is still wrong."""

    words: Annotated[str, Field(max_length=20_000, description="What is still wrong; empty: carry out its plan.")] = ""
    check: Annotated[str, Field(min_length=1, max_length=10_000)] | list[Name] | None = Field(
        None, description="The command that shows what the words say, and fails now; made of them unless given."
    )
    plan: Annotated[list[NewStep], Field(max_length=12)] = Field(
        default_factory=list, description="A whole plan, in place of the earlier one."
    )
    plan_only: bool = Field(False, description="End with the plan once more.")
    solver: Annotated[str, Field(max_length=2_000, description="With words: another one than before.")] = ""
    attempts: Annotated[int, Field(ge=1, le=1_000), _WHOLE] = 5
    budget_s: Annotated[float, Field(gt=0, le=86_400)] = 1_800.0
    budget_usd: Annotated[float, Field(ge=0, le=10_000)] = 1.0
    candidates: Annotated[int, Field(ge=1, le=1_000_000), _WHOLE] = 2_000


class NewComparison(Strict):
    """The same tasks without memory, with a shuffled one and with the real one: same limits, same order, each arm
    starting from nothing."""

    dir: Annotated[
        str, Field(min_length=1, max_length=4_000, pattern="^/", description="A folder of failing projects.")
    ]
    check: Annotated[str, Field(min_length=1, max_length=10_000)] | list[Name] | None = None
    solver: Annotated[str, Field(min_length=1, max_length=2_000)] = "repair"
    seeds: Annotated[int, Field(ge=1, le=100), _WHOLE] = 1
    attempts: Annotated[int, Field(ge=1, le=1_000), _WHOLE] = 5
    budget_s: Annotated[float, Field(gt=0, le=86_400)] = 300.0
    budget_usd: Annotated[float, Field(ge=0, le=10_000)] = 1.0
    candidates: Annotated[int, Field(ge=1, le=1_000_000), _WHOLE] = 2_000
