"""Shapes of lessons: learnt, recalled, shared and measured; long, since they refer to one another."""

from __future__ import annotations

from ratchet.serving.shapes.shape import Shape, said


class QuarantinedShape(Shape):
    """A piece of input that could not be read; it costs itself, never the rest."""

    path: str = said("The file.")
    line: int = said("Counts from 1; 0 is the file as a whole.")
    reason: str = said("Why it could not be read.")


class LearnedShape(Shape):
    """The result of reading histories."""

    files: int = said("Histories read.")
    sessions: int = said("Sessions in them of which something is known: a step, or an answer of a model.")
    outcomes: int = said("Steps that are new.")
    failures: int = said("New steps that failed by the agents' own fault.")
    unflagged: int = said("Of these, failures that their source called a success.")
    of_model: int = said("Of these, calls of the model, not of a tool.")
    cascades: int = said("New failures that only followed from another one.")
    user_denied: int = said("New steps that a person refused.")
    quarantined: list[QuarantinedShape] = said("Input that could not be read.")
    notes: list[QuarantinedShape] = said("Files that could be read and taught nothing, with why.")
    patterns: int = said("Patterns that are new.")
    lessons: dict[str, int] = said("New lessons by state.")
    corrections: int = said("Candidates that are a person's words.")
    projects: list[str] = said("Projects whose sessions grew.")
    loops: list[str] = said("Calls that went round in circles, with their session.", foreign="words")


class PolledShape(Shape):
    """The result of one look at a folder of files."""

    processed: int = said("Files taken.")
    outcomes: int = said("Outcomes in them.")
    rejected: list[QuarantinedShape] = said("Files, or lines of them, that were refused.")


class LessonShape(Shape):
    """Advice for an error. Agents are handed active ones."""

    id: str = said("Names the lesson.")
    text: str = said("The advice, word for word.", foreign="words")
    state: str = said("candidate, active, quarantined or retired.")
    scope: str = said("project or global.")
    signature: str = said("The cause that it is for.")
    kind: str = said("The class of the failure that it is for.")
    tried: int = said("How often it was seen to be tried.")
    worked: int = said("How often it worked.")
    right: int = said("By replay: later sessions whose failure ended as it says.")
    wrong: int = said("Later sessions whose failure ended otherwise.")
    unknown: int = said("Later sessions of which nobody can say.")
    saved_turns: int = said("Failed calls of those sessions whose finding it ends.")
    reason: str = said("Why it is quarantined or retired.", foreign="words")
    when: str = said("The masked error text that it is for.", foreign="words")
    example: str = said("One real instance of `text`.", foreign="words")
    stale: str = said("Why it no longer holds where it was learnt; empty while it does.", foreign="words")
    replaces: list[str] = said("Lessons of people that it contradicts; they are retired.")
    seen_at: float = said("When it was met last (Unix seconds); 0 where nobody did.")
    projects: list[str] = said("Projects in which it was learnt.", foreign="name")
    provenance: str = said("The source of it.", foreign="words")
    foreign: bool = said("Whether others wrote it: agents are shown its `parts`, never its words.")
    parts: list[str] = said("The commands, flags and paths of a foreign one.", foreign="words")
    evidence: list[str] = said("Ids of the outcomes behind it.", foreign="name")
    note: str = said("An agent's own sentence about the fix, not a proof.", foreign="words")
    noted_in: str = said("The session that the note is of.", foreign="name")
    quote: str = said("The words of a person that it is made of.", foreign="words")
    step: str = said("The outcome that those words met.", foreign="name")
    sessions: list[str] = said("The sessions in which they were said.", foreign="name")
    skill: str = said("The name of the skill that is its long form; empty without one.", foreign="name")
    steps: list[str] = said("The steps of that skill.", foreign="words")
    changes: list[str] = said(
        "The edits that ended it, newest session first: session, then a hunk. Empty in lists of lessons.",
        foreign="output",
    )


class CorrectionShape(Shape):
    """A person's words to an agent, as a history holds them."""

    quote: str = said("The words, without secrets.", foreign="words")
    way: str = said("refused, interrupted, typed or review.")
    head: str = said("The step that they met.")
    met: str = said("The command or the file of that step.", foreign="words")
    step: str = said("The outcome of that step.")
    sessions: list[str] = said("The sessions in which they were said.")
    people: int = said("How many people said so.")
    points: int = said("How much speaks for a rule in them.")
    why: list[str] = said("What speaks for one.")
    undone: int = said("Lines of its own that the agent took back after them.")
    obeyed: list[str] = said("Names in them that the agent's next steps hold, and none before did.")
    project: str = said("The project in which they were said.")
    lesson: str = said("The candidate that they make; empty where too little speaks for one.")
    state: str = said("The state of that candidate; empty without one.")


class CureShape(Shape):
    """A permanent change that a lesson could become."""

    lesson: str = said("The lesson.")
    kind: str = said("notes, skill, git, pre-commit, check or permission.")
    target: str = said("Names what would be changed.", foreign="words")
    file: str = said("The file that it would be in.", foreign="name")
    piece: str = said("The text that would be put there.", foreign="words")
    diff: str = said("The change of the file, as a unified diff.", foreign="output")
    prevented: int = said("Failed or refused steps that it would have prevented, by replay.")
    accepted: int = said("Fine steps that it would have stopped.")
    of: int = said("Fine steps in all.")
    problem: str = said("Why it may not be applied; empty where it may.", foreign="words")


class DistillPlanShape(Shape):
    """Announcement of what a model would be sent."""

    model: str = said("Who would be asked.")
    asked: int = said("Questions that would be sent.")
    known: int = said("Pieces of evidence that were answered before.")
    bytes: int = said("The size of all questions.")
    usd: float | None = said("The most that it may cost; null where nobody knows.", digits=6)
    places: dict[str, int] = said("Questions by the kind of evidence.")


class DistilledShape(Shape):
    """The result of having a model put evidence into words."""

    plan: DistillPlanShape = said("What was to be sent.")
    answered: int = said("Questions that were answered.")
    verified: int = said("Answers that replay bore out.")
    malformed: int = said("Answers that had not the asked shape.")
    rejected: dict[str, int] = said("Answers that replay did not bear out, by reason.")
    lessons: list[str] = said("Ids of the candidates that were made.")
    cost_usd: float = said("What it cost.", digits=6)
    stopped: str = said("Why it ended early; empty where it did not.")


class FoundLessonShape(Shape):
    """A lesson that was recalled."""

    id: str = said("Names the lesson.", of="lesson.id")
    text: str = said("The advice, word for word.", foreign="words", of="lesson.text")
    state: str = said("candidate, active, quarantined or retired.", of="lesson.state")
    foreign: bool = said("Whether others wrote it: `text` then holds its commands only.", of="lesson.foreign")
    match: str = said("finding (a finding of the text), exact (same signature), pattern, similar, or words (in prose).")
    score: float = said("Similarity, from 0 to 1.", digits=4)
    tried: int = said("How often it was seen to be tried.", of="lesson.tried")
    worked: int = said("How often it worked.", of="lesson.worked")
    evidence: list[str] = said("Ids of the outcomes behind it.", of="lesson.evidence", foreign="name")
    superseded_by: str = said("The newer lesson about the same, empty for none.", foreign="name")
    learnt_in: list[str] = said("Projects that it counts in; none where it counts everywhere.", foreign="name")
    needs: str = said("What the failed command must have had, where the text does not show it.", foreign="words")


class RecalledShape(Shape):
    """Lessons that are known to fix an error."""

    lessons: list[FoundLessonShape] = said("Surely about it, best first.")
    possibly: list[FoundLessonShape] = said("For who looks through them, nearest first; never to be followed unread.")
    abstained: bool = said("Whether nothing is sure.")
    silent: str = said(
        "Why: nothing, unlike, ambiguous, unproven, empty, itself (the text says it), others (approve it); or empty."
    )
    looked_for: str = said("What the text was known by, masked.", foreign="words")
    searched: int = said("Lessons searched.")
    known: int = said("Lessons that there are: those that were not searched are quarantined or retired.")
    elapsed_ms: float = said("Milliseconds that the search took.", digits=2)


class ImportedShape(Shape):
    """The result of taking lessons from an export."""

    imported: int = said("Lessons taken, as candidates.")
    known: int = said("Lessons that were there already, and stayed as they were.")
    rejected: list[QuarantinedShape] = said("Lines that were refused.")


class TrustedFileShape(Shape):
    """One file below a repository's `.ratchet/`."""

    name: str = said("Its path below `.ratchet/`.")
    sha256: str = said("The hash of its content.")
    trusted: bool = said("Whether this content was trusted before.")


class TrustedShape(Shape):
    """The result of trusting what lies below a repository's `.ratchet/`, or of asking what would be trusted."""

    files: list[TrustedFileShape] = said("The files, all of them.")
    lessons: list[LessonShape] = said("Lessons that are active by it, or would be.")
    rejected: list[QuarantinedShape] = said("Lines that stay out whatever is trusted.")
    aside: list[str] = said("Advice that they put aside; what this home taught of it is retired.", foreign="words")
    done: bool = said("Whether it is trusted now; false where it was only shown.")


class SharedShape(Shape):
    """The result of sharing a project's lessons in its repository."""

    folder: str = said("The folder of the lessons.")
    written: list[str] = said("Files that are new, below `.ratchet/`.")
    retired: list[str] = said("Files in which a lesson was marked as put aside.")
    known: int = said("Lessons that were there already.")
    moved: int = said("Lessons that stood in `.ratchet/lessons.jsonl` and are files now.")
    kept: list[str] = said("Files of active lessons of this home that the repository put aside or rewrote; left alone.")
    quotes: int = said("People's words, which stayed in this home.")
    rejected: list[QuarantinedShape] = said("Files and lines that were refused.")


class DistrustedShape(Shape):
    """The result of withdrawing the trust in a repository's `.ratchet/`."""

    candidates: int = said("Lessons that were active by it, and are candidates again.")


class CallCountsShape(Shape):
    """Ends of the calls of one tool, or whose main command it was (of a chain the last one that does something)."""

    tool: str = said("The agent's tool.", foreign="words")
    name: str = said("The command, or the tool where it runs none.", foreign="words")
    calls: int = said("Calls in all.")
    runs: int = said("Of these, runs that nobody refused or cancelled: what failures and share are counted of.")
    failures: int = said("Runs that failed.")
    refused: int = said("Calls that a person refused.")
    share: float = said("The part of the runs that worked.", digits=4)
    sessions: int = said("Sessions that ran it.")
    tokens: int = said("Tokens that the runs cost.")
    duration_s: float = said("Seconds that they took themselves: no person's time.", digits=3)
    last_at: float = said("When it ran last (Unix seconds).")


class WayShape(Shape):
    """Commands with which a project runs one kind of check."""

    check: str = said("lint, test or build.")
    usual: CallCountsShape = said("The command that most sessions use.")
    written: str = said("That command with its usual options.", foreign="words")
    others: list[CallCountsShape] = said("Other commands for it.")


class ShownFindingShape(Shape):
    """A finding that failing checks showed."""

    finding: str = said("Its key: the rule that it breaks, else its masked message.", foreign="words")
    name: str = said("The command that showed it.", of="head", foreign="words")
    runs: int = said("Failing runs that showed it.")
    sessions: int = said("Sessions that met it.")
    files: int = said("Files in which it stood.")


class CheckedStepShape(Shape):
    """A command that is no check itself and fails of what checks find."""

    step: CallCountsShape = said("The command.")
    by: list[str] = said("The checks that it runs, as they are run by themselves.", foreign="words")
    sessions: int = said("Sessions in which it failed so.")


class LeftFindingShape(Shape):
    """A finding that nobody edits, session after session."""

    finding: str = said("Its key.", foreign="words")
    file: str = said("The file, as the project names it.", foreign="words")
    name: str = said("The command that shows it.", of="head", foreign="words")
    sessions: int = said("Sessions that left it.")


class ProjectFactsShape(Shape):
    """The facts of one project: counts of what really ran."""

    project: str = said("Its name: its repository's remote, else its folder.", foreign="name")
    calls: int = said("Steps in all.")
    failures: int = said("Of these, failures of the agents' own.")
    sessions: int = said("Sessions with a step.")
    lines: list[str] = said("What is worth knowing, in words.", foreign="words")
    ran: list[CallCountsShape] = said("What ran: what several sessions ran and what fails most first.")
    ways: list[WayShape] = said("How it is linted, tested and built.")
    refused: list[CallCountsShape] = said("What people refuse.")
    never: list[CallCountsShape] = said("What never works.")
    findings: list[ShownFindingShape] = said("What failing checks show, what most sessions met first.")
    left: list[LeftFindingShape] = said("Findings that nobody edits.")
    checked: list[CheckedStepShape] = said("Commands that fail of what checks find.")


class ProjectsFactsShape(Shape):
    """The facts of projects, the busiest first."""

    projects: list[ProjectFactsShape] = said("One entry a project.")


class MemoryStatsShape(Shape):
    """Counts of what is remembered."""

    lessons: int = said("Lessons in all.")
    by_state: dict[str, int] = said("Lessons of each state.")
    by_kind: dict[str, int] = said("Lessons for each kind of failure.")
    by_scope: dict[str, int] = said("Lessons of each scope.")
    resolutions: int = said("Steps that were seen to work after a failure.")
    tried: int = said("How often lessons were seen to be tried.")
    worked: int = said("How often they worked.")
    uses: int = said("How often a lesson was handed to an agent.")
    wins: int = said("How often the agent then got past the failure.")


class PooledEffectShape(Shape):
    """An effect of all lessons together: cases that met a lesson against cases, drawn at random, that did not."""

    verdict: str = said("The conclusion, in words.")
    estimate: float | None = said("Points of success (0.15: 15 more of 100); null while an arm is empty.")
    low: float = said("Lower end of the 95 % interval.")
    high: float = said("Upper end of the 95 % interval.")
    evidence: float | None = said("The e-value; null where it is beyond all numbers.")
    shown: int = said("Cases that met a lesson.")
    shown_ok: int = said("Of these, cases that went well.")
    withheld: int = said("Cases from which it was withheld.")
    withheld_ok: int = said("Of these, cases that went well.")


class NetShape(Shape):
    """The tokens that a lesson costs and saves."""

    read: int = said("Tokens of it that agents have read, again at each later step of a session.")
    saved: float = said("Tokens that its effect has saved.", digits=0)
    most: float = said("The greatest saving that its effect is believed to allow.", digits=0)


class LessonEffectShape(Shape):
    """The effect of one lesson, drawn towards that of all."""

    id: str = said("Names the lesson.")
    text: str = said("The advice, word for word.", foreign="words")
    state: str = said("candidate, active, quarantined or retired.")
    enough: bool = said("Whether its own cases tell more than those of all lessons do.")
    estimate: float = said("Points of success.", of="effect.estimate")
    spread: float = said("Standard deviation of the estimate.", of="effect.spread")
    shown: int = said("Cases that met it.", of="counts.shown")
    shown_ok: int = said("Of these, cases that got past the failure.", of="counts.shown_ok")
    withheld: int = said("Cases from which it was withheld.", of="counts.withheld")
    withheld_ok: int = said("Of these, cases that got past the failure.", of="counts.withheld_ok")
    net: NetShape | None = said("Its tokens; null where no source told of tokens.")


class SavingShape(Shape):
    """Failing turns that lessons would have spared."""

    turns: int = said("Failing calls.")
    duration_s: float = said("Seconds that they took, the thinking before each included.", digits=1)
    tokens: int = said("Tokens that they took.")
    cached: int = said("Those of them that a cache gave, as far as the histories say so.")
    cost_usd: float | None = said("At least so much money; null where no price is known.")


class BacktestOfferShape(Shape):
    """A lesson that a session would have been handed."""

    lesson: str = said("Names the lesson.")
    session: str = said("Names the session.", foreign="name")
    outcome: str = said("Names the failing call.", foreign="name")
    at: float = said("When it failed.")
    step: str = said("The failing step.", foreign="output")
    key: str = said("The finding that asked for it.", foreign="words")
    text: str = said("The advice as it stood then.", foreign="words")
    verdict: str = said("right, wrong or unknown.")
    turns: int = said("Failing calls whose finding it ends.")
    right: int = said("Offers of this lesson that were right, in the whole replay.")
    wrong: int = said("Those that were wrong.")


class TrustedAfterShape(Shape):
    """The same replay, had lessons been trusted later."""

    sessions: int = said("Sessions in which a lesson had to work first.")
    right: int = said("Offers that were right.")
    wrong: int = said("Offers that were wrong.")
    unknown: int = said("Offers of which nobody can say.")
    turns: int = said("Failing calls whose finding the right ones end.")


class BacktestShape(Shape):
    """Proof on past sessions: what lessons would have saved, had they been handed out when they were learnt."""

    since: float = said("When the first session that counts began.")
    until: float = said("When the last one began.")
    sessions: int = said("Sessions with a failure.")
    failures: int = said("Failing calls that were the agents' own.")
    recurring: int = said("Of these, failures that an earlier session had met.")
    offered: int = said("Of these, failures at which a lesson is told.")
    silent: int = said("Failures at which none is.")
    right: int = said("Lessons, once a session, whose fix ended the failure.")
    wrong: int = said("Lessons, once a session, where another fix ended it.")
    unknown: int = said("Lessons, once a session, where nobody can say.")
    repeats_right: int = said("Known failing steps that were run again and failed, with a right lesson.")
    repeats_wrong: int = said("Known failing steps that were run again and worked.")
    saved: SavingShape = said("Spared by right lessons that are told at the failure.")
    saved_before: SavingShape = said("Spared by right lessons that are told before it.")
    best: list[BacktestOfferShape] = said("The best offers, at most five.")
    worst: list[BacktestOfferShape] = said("The worst ones, at most five.")
    trusted_after: list[TrustedAfterShape] = said("The same, had lessons been trusted later.")
    assumed: list[str] = said("Assumptions behind the figures.")
