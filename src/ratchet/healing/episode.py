"""The facts of healing: a task, the attempts at it, what the check said, and what all of it may cost. Values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ratchet.arguments import need_number
from ratchet.failures.redaction.text import redact
from ratchet.records import Json, Lesson

EpisodeStatus = Literal[
    "running",
    "passed",
    "failed",
    "budget",
    "breaker",
    "no_progress",
    "cancelled",
    "refused",
    "already_passing",
    "flaky",
    "planned",
]
UNANSWERED = "unanswered"
"""In the memo of an attempt whose model could not answer."""
AttemptStatus = Literal["running", "passed", "failed", "gave_up", "refused", "budget", "cancelled", "dropped"]
Standing = Literal["", "sure", "doubtful"]
RIVAL = "rival "
"""Begins the lines in an attempt's evidence that show another patch which passes: where it is, then what it changes."""
"""Whether enough speaks for a change that passes; "" where nobody has weighed it."""
SolvedStatus = Literal["proposed", "gave_up", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of an episode. Money and seconds are reserved before they are spent, in one place (`Purse`)."""

    attempts: int = 5
    usd: float = 1.0
    seconds: float = 1_800.0
    breaker: int = 3
    """Attempts with one signature and no new state of the files, after which it is no use to go on."""
    candidates: int = 2_000
    """Changes that a solver may try out by itself in one attempt."""

    def __post_init__(self) -> None:
        """Raise UsageError for an amount that is none, which no spending would reach."""
        need_number("the budget's usd", self.usd)
        need_number("the budget's seconds", self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """One step of a task in words. Without a check it is for a person: nothing in a sandbox can say that it is done."""

    do: str
    check: tuple[str, ...] = ()
    now: Literal["", "fails", "passes"] = ""
    """What its check did before anything was changed, and said."""
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Work asked for, and the check that says when it is done."""

    id: str
    check: tuple[str, ...]
    """The command whose success is asked for, run in the workspace. One that needs a shell is ("sh", "-c", text)."""
    instruction: str = ""
    folder: str = ""
    """The project, absolute. Nobody works in it: it is copied."""
    protected: tuple[str, ...] = ()
    """Globs, from the project's folder, of files that no attempt may change, besides tests and harness."""
    held_check: tuple[str, ...] = ()
    """A second command, not shown to solvers, that must pass, too."""
    judge: str = ""
    """Name of the judge; "" chooses by the check."""
    quarantined: tuple[str, ...] = ()
    """Tests that count for nothing, since they are known to be flaky; by the runner's own names."""
    selected: tuple[str, ...] = ()
    """Tests to be run, in this order, where the runner tells its tests apart; all for none."""
    strict: bool = False
    """Whether an answer is refused that passes, but for which too little speaks (`Standing`)."""
    steps: tuple[PlanStep, ...] = ()
    """Of a task in words: its plan, whose checks together are `check`."""
    beyond: str = ""
    """What of the words nobody looks at, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerCounts:
    """Counts of a test runner. The ids are its own names for tests, errors among `failed_ids`; none where it only
    counts."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    failed_ids: tuple[str, ...] = ()
    passed_ids: tuple[str, ...] = ()
    skipped_ids: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.errors + self.skipped


@dataclass(frozen=True, slots=True)
class Reads:
    """Files of the project that a check's run opened, by whose code: the program's, or a test's."""

    program: frozenset[str] = frozenset()
    tests: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Judgement of the files as they are."""

    passed: bool
    score: float
    """In [0, 1]: 1 is passed; the share of the tests that pass where tests are counted, else 0."""
    reason: str = ""
    """Why it did not pass, in one line."""
    output: str = ""
    """What the check printed, both streams, its middle left out when long. Unmasked: for solvers."""
    kind: str = ""
    signature: str = ""
    template: str = ""
    """The masked text behind the signature."""
    exit_code: int | None = None
    tests: RunnerCounts | None = None
    refused: bool = False
    """The files themselves are not acceptable (a test was changed): nothing was run."""
    killed: str = ""
    """The limit that ended the check (`confinement.Killed`)."""
    isolation: str = ""
    duration_s: float = 0.0
    python: str = ""
    """Version and folder of the interpreter that ran the tests, where they are told one by one: `3.11.7 in .venv`."""
    beside: int = 0
    """Tests beside the check's own that passed before and pass still."""
    step: int = 0
    """Of a plan: the first step that is not done, counted from 1."""
    uncollected: Mapping[str, str] = field(default_factory=dict)
    """Test files that the runner itself reports as impossible to collect, with its report: what a program prints is not
    heard."""
    reads: Reads | None = None
    """Where the judge saw it, and until the check's first run is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flake:
    """A test that failed in some runs of the same files and passed in others."""

    test: str
    failed: int
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Memo:
    """Note that a solver made of an edit that passed, with the failure that it fixed.

    Kept by the loop and handed back to the same solver (what `auto` passed on counts as both's): those of the same
    signature first, then those of the same tests, then the newest.
    """

    solver: str
    signature: str
    kind: str
    task: str
    note: Mapping[str, Json]
    template: str = ""
    project: str = ""
    at: float = 0.0
    tests: tuple[str, ...] = ()
    """Tests that failed, as `failures.failed_tests` names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try at a task in one sandbox. `signature` and `kind` are those of the check after it ("" when it passed),
    `faced` is the signature of the failure that it was asked to mend.

    `diff` is against the project as it was copied; `state` names the content of all its files, so that two attempts
    that arrive at the same files are seen to. `base` is the number of the attempt whose files it started from (0: the
    project's own).
    """

    episode: str
    n: int
    status: AttemptStatus
    solver: str = ""
    faced: str = ""
    signature: str = ""
    kind: str = ""
    cause: str = ""
    fix: str = ""
    reason: str = ""
    candidates: int = 0
    """Changes tried out, up to and including the first that passes."""
    alternatives: int = 0
    """Changes tried after it, to have a choice."""
    standing: Standing = ""
    evidence: str = ""
    """What speaks for it, and why it is doubtful, if it is, with other patches that pass (`rivals`)."""
    cost_usd: float = 0.0
    tokens: int = 0
    duration_s: float = 0.0
    started_at: float = 0.0
    score: float = 0.0
    diff: str = ""
    without_secrets: str = ""
    """`diff` as it may be shown (`shown_text`); "" in rows that were written before there was one."""
    state: str = ""
    base: int = 0
    checkpoint: str = ""
    isolation: str = ""
    seed: int = 0
    note: str = ""
    lessons: tuple[str, ...] = ()
    """Ids of those that it was given."""
    memo: Mapping[str, Json] = field(default_factory=dict)
    revision: int = 0

    @property
    def grounds(self) -> str:
        """The evidence without its rivals."""
        return self.evidence.partition(f"\n{RIVAL}")[0]

    @property
    def rivals(self) -> str:
        """Other patches that pass and answer otherwise, as changed lines behind where they are; "" for none."""
        return self.evidence.removeprefix(self.grounds).lstrip("\n")

    @property
    def answered(self) -> bool:
        """Tell whether anybody answered: else nothing was tried, so that nothing is to be learnt from it."""
        return UNANSWERED not in self.memo

    @property
    def shown(self) -> str:
        """The diff without secrets: all that is ever shown of it."""
        return self.without_secrets or redact(self.diff)


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """All attempts of one claim of a task. `number` counts the claims of the same task."""

    id: str
    task: Task
    number: int
    status: EpisodeStatus
    budget: Budget
    solver: str = ""
    asked: str = ""
    """The solver's name as it was asked for, with its argument."""
    reason: str = ""
    attempts: tuple[Attempt, ...] = ()
    first: Verdict | None = None
    """The check before any attempt."""
    flakes: tuple[Flake, ...] = ()
    """Tests that were told to be flaky before anything was edited: they count for nothing."""
    diff: str = ""
    cost_usd: float = 0.0
    duration_s: float = 0.0
    lessons: tuple[Lesson, ...] = ()
    """Those that were recalled for it."""
    learnt: tuple[str, ...] = ()
    """Ids of the lessons that it left behind."""
    workspace: str = ""
    start: int = 0
    """The attempt that a person went back to: the next one starts from its files (0: the project's own)."""
    wish: str = ""
    """Words of a person that nobody has made a plan of yet."""
    since: int = 0
    """The attempt after which a person said more: the budget of attempts counts those behind it."""
    applied: str = ""
    """Where its result went: "apply", "branch NAME" or "patch FILE"."""
    seed: int = 0
    started_at: float = 0.0
    ended_at: float = 0.0
    revision: int = 0

    @property
    def shown(self) -> str:
        """The diff without secrets: all that is ever shown of it."""
        return next((each.shown for each in self.attempts if each.diff == self.diff), redact(self.diff))

    @property
    def candidates(self) -> int:
        return sum(each.candidates for each in self.attempts)

    @property
    def is_doubtful(self) -> bool:
        """Tell whether it passed with a result for which too little speaks."""
        return self.status == "passed" and bool(self.attempts) and self.attempts[-1].standing == "doubtful"

    @property
    def is_guess(self) -> bool:
        """Tell whether the search guessed it: a doubtful edit that happens to pass, and that nobody took."""
        return self.is_doubtful and self.attempts[-1].solver == "repair" and not self.applied
