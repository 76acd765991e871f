"""Understand, explore, plan: words become steps whose checks failed; one file, since they share one set of rules."""

from __future__ import annotations

import ast
import logging
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ratchet.errors import ModelError, NotFound, Refused, UsageError
from ratchet.failures.redaction.text import cap, clean, redact
from ratchet.healing.episode import Episode, PlanStep, Task, Verdict
from ratchet.healing.job import Judge, Purse
from ratchet.healing.judges.protection import graders, is_test
from ratchet.healing.judges.verdicts import ran_nothing
from ratchet.healing.models.prompts import Prompts
from ratchet.healing.models.quoting import output_excerpt, quoted
from ratchet.healing.planning.examples import WordExample, asks_otherwise, examples, of_project, passed_by
from ratchet.healing.planning.plan import MOST_STEPS, TaskPlan, check_text
from ratchet.healing.planning.planner import Planner, PlannerAnswer, PlannerGround, ProposedPlan
from ratchet.healing.planning.steps import for_step
from ratchet.healing.project_check import OwnCheck, argv_of, own_check
from ratchet.healing.solvers import survey
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import Limits

log = logging.getLogger(__name__)

ROUNDS, PLAIN_ROUNDS = 3, 2
"""Answers that a planner may give: after the first, it is told what its checks did; the last of these, and one more,
are asked for one program where no plan came."""
ROOMS = (16_000, 6_000, 2_500)
"""Characters of the files shown: a usual window, a small one, and a local model's with 4,096 tokens."""
_CANNOT_START = (126, 127)
_PATHS_SHOWN, _DIFF_SHOWN, _SAID, _UNCLEAR_SHOWN = 80, 4_000, 200, 3
_MOST_SPOILED, _UNREADABLE = 2_000, b"\0"  # files spoiled to see whether a check looks at any; no text of a language
_OWN_FAULT = re.compile(
    r'File "<string>", line \d+[^\n]*\n(?:(?!\s*File ")[^\n]*\n)*\s*(?:SyntaxError|IndentationError|NameError'
    r"|TypeError: 'module' object is not callable)"
    r"|^(?:sh|/bin/sh): (?:\d+|line \d+|-c)[^\n]*(?i:syntax error|unterminated|unexpected)",
    re.MULTILINE,
)
"""A check that fails by its own text: the shell cannot read it, or the innermost frame of its program is its own."""
_FRAME = re.compile(r'^  File "([^"\n]{1,400})", line \d', re.MULTILINE)
_NO_MODULE = re.compile(r"No module named '([A-Za-z_][\w.]{0,200})'")
_FILE = re.compile(r"(?!/|\.\./)[\w@%+./-]{1,200}\.\w{1,8}")
_BY_EXAMPLE = "they fail now, so no model was asked for a plan"
KEEP_PASSING = "What passed before still passes."
_FOLLOWING = (
    "These steps stay: write none of them again. Where the person takes one back, or wants what its check forbids, put "
    "its number into `drop`; one that is to be different is dropped and written anew."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanGround:
    """Everything that planning stands on. The workspace's files are those to plan for."""

    workspace: Workspace
    sandbox: Sandbox
    limits: Limits
    purse: Purse
    judge_of: Callable[[Task], Judge]
    planner: Planner | None
    lacking: str
    """Why there is no planner."""
    prompts: Prompts
    note: Callable[[str], None] = lambda _text: None


@dataclass(slots=True)
class _AsItIs:
    """The project as it is: its own check, what that says now, the steps of an earlier plan with what theirs say now,
    and the diff of what was done for them."""

    own: OwnCheck | None
    now: Verdict | None
    before: tuple[PlanStep, ...]
    shown: str


class Planning:
    """One plan for the words of an episode."""

    def __init__(self, ground: PlanGround, episode: Episode, *, shown: str = "") -> None:
        self._ground = ground
        self._episode = episode
        self._token = ground.workspace.checkpoint()
        own = own_check(Path(episode.task.folder))
        if own is not None:
            ground.note(f"running the project's own check first: {own.text}")
        now = None if own is None else self._try(PlanStep(do="", check=own.argv))
        before = tuple(self._tried(each)[0] for each in episode.task.steps)
        self._seen = _AsItIs(own=own, now=now, before=before, shown=shown)

    def given(self, plan: TaskPlan) -> TaskPlan:
        """A person's own plan, with what each check does now. Raises Refused where nothing fails, unless a step of an
        earlier plan was all that kept its result from passing."""
        tried = [self._tried(each) for each in plan.steps]
        steps = tuple(step for step, _ in tried)
        if plan.adds:
            steps = (*(each for each in self._seen.before if not _among(each, steps)), *steps)
        found = self._with_own(replace(plan, steps=steps, adds=False))
        found = replace(found, dropped=tuple(each for each in self._seen.before if not _among(each, found.steps)))
        if not any(each.now == "fails" for each in found.steps) and not self._settled(found):
            said = [wrong or f"`{check_text(step.check)}`" for step, wrong in tried if step.check]
            named = ", ".join(said) or "none has a check"
            raise Refused(f"nothing that the plan checks fails on the files as they are: {named}; name one that fails")
        return found

    def made(self) -> TaskPlan:
        """A plan by the planner; where it comes to nothing, by examples in the words, else by the project's own check.
        What follows a plan goes by its examples at once: they are the person's own checks, and need no answer of a
        model, which may take minutes.

        Raises Refused, with the remedy, where there is nothing to go by.
        """
        if self._ground.planner is None:
            return self._by_examples(self._ground.lacking) or self._by_own_check(self._ground.lacking)
        if self._episode.task.steps and (exemplified := self._by_examples(_BY_EXAMPLE)) is not None:
            return exemplified
        plan, problem = self._asked(self._ground.planner)
        return plan or self._by_own_check(problem)

    def _by_examples(self, why: str) -> TaskPlan | None:
        """A step for each example in the words, what does not hold now first, in the place of earlier ones that want
        another value of the same call."""
        steps = self._exemplified(self._episode.wish)
        if not any(each.now == "fails" for each in steps):
            return None
        wanted = [check_text(each.check) for each in steps]
        drop = [
            n
            for n, each in enumerate(self._seen.before, 1)
            if any(asks_otherwise(check_text(each.check), text) for text in wanted)
        ]
        found = self._changed(sorted(steps, key=lambda each: each.now == "passes"), drop)
        beyond = f"Of your words only the examples were looked at: {why}. {self._unclear()}"
        return self._with_own(replace(found, beyond=beyond.strip()))

    def _exemplified(self, words: str) -> list[PlanStep]:
        steps: list[PlanStep] = []
        for each in self._examples(words):
            if each.check:
                step, wrong = self._tried(PlanStep(do=clean(each.said, 300), check=each.check))
                if not wrong and not _among(step, (*self._seen.before, *steps)):
                    steps.append(step)
        return steps

    def _unclear(self) -> str:
        """Name the calls in the words that the project does not have, and those of which it is open what they are to
        come to, and how to say it."""
        found = self._examples(self._episode.wish)
        missing = "".join(f"There is no `{clean(each.missing, 80)}` in the project. " for each in found if each.missing)
        calls = dict.fromkeys(clean(each.call, 80) for each in found if not each.check and not each.missing)
        said = ", ".join(f"`{each} == VALUE`" for each in list(calls)[:_UNCLEAR_SHOWN])
        unsaid = (
            f"No check was made of what is open in the words, or holds a secret: say it as {said}. " if said else ""
        )
        return missing + unsaid

    def _examples(self, words: str) -> Sequence[WordExample]:
        """The examples in words; of what is not there yet, too, where somebody may make it: no search can."""
        return examples(words, self._modules, may_make=self._ground.planner is not None) if "(" in words else ()

    @cached_property
    def _modules(self) -> dict[str, ast.Module]:
        """The project's Python modules by their names, tests apart."""
        ground, found = self._ground, dict[str, ast.Module]()
        for path in survey.listing(ground.workspace, ground.sandbox, ground.limits)[:_MOST_SPOILED]:
            name = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            if path.endswith(".py") and not is_test(path) and all(map(str.isidentifier, name.split("."))):
                try:
                    found[name] = ast.parse(survey.text_of(ground.workspace, path))
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    continue  # it may be what is to be mended
        return found

    def _by_own_check(self, why: str) -> TaskPlan:
        own, now = self._seen.own, self._seen.now
        if self._episode.task.steps or own is None or now is None or now.passed:
            found = "" if self._episode.task.steps else self._own_said()
            holds = [f"`{each.do}`" for each in self._exemplified(self._episode.wish) if each.now == "passes"]
            found += f"It holds already: {', '.join(holds)}. " if holds else ""
            raise Refused(f"{why}. {found}{self._unclear()}Or give the command that fails now: --check CMD")
        step = PlanStep(do="Make the project's own check pass.", check=own.argv)
        beyond = f"Your words were not understood, only the project's own check is looked at: {why}. {self._unclear()}"
        return TaskPlan(steps=(_after(step, now),), beyond=beyond.strip())

    def _own_said(self) -> str:
        if self._seen.own is None:
            return "The project's files tell of no check. "
        return f"The project's own check ({self._seen.own.text}) passes. "

    # -- ask -----------------------------------------------------------------------------------------------------------

    def _asked(self, planner: Planner) -> tuple[TaskPlan | None, str]:
        """The plan of a planner, or why there is none. Each answer's checks are run; what is wrong is told back."""
        objections: list[str] = []
        rooms = iter(ROOMS)
        room, plan, turn = next(rooms), None, 0
        while turn < (ROUNDS if plan else ROUNDS + PLAIN_ROUNDS - 1) and not self._ground.purse.cancelled():
            self._ground.note(f"asking {planner.name} for a plan")
            plainly = plan is None and turn >= ROUNDS - 1
            if plainly and (exemplified := self._by_examples(self._none_by(planner, objections))) is not None:
                return exemplified, ""
            told = self._text(room, objections, plainly=plainly)
            answer = self._answer(planner, told, turn, plainly=plainly)
            if answer.less and (smaller := next(rooms, 0)):
                room = smaller
                continue
            turn += 1
            self._ground.note(f"trying the checks that {planner.name} wrote")
            held, objections = self._held(answer, planner.name, told)
            plan = held or plan
            if held is not None and not objections:
                break
        if plan is not None:
            return self._with_own(plan), ""
        return None, self._none_by(planner, objections)

    def _none_by(self, planner: Planner, objections: Sequence[str]) -> str:
        why = clean("; ".join(objections), 300) or "it was ended before it answered"
        return f"{planner.name} made no plan that can be used: {why}"

    def _answer(self, planner: Planner, text: str, turn: int, *, plainly: bool) -> PlannerAnswer:
        copy = self._ground.workspace.fork(self._token)
        ground = self._ground
        try:
            return planner.ask(
                text,
                PlannerGround(
                    workspace=copy,
                    sandbox=ground.sandbox,
                    limits=replace(ground.limits, wall_s=max(1.0, ground.purse.seconds_left())),
                    purse=ground.purse,
                    prompts=ground.prompts,
                ),
                turn=turn,
                plainly=plainly,
            )
        except ModelError as error:
            return PlannerAnswer(problem=f"the model could not answer: {error}")
        finally:
            copy.close()

    def _held(self, answer: PlannerAnswer, by: str, told: str) -> tuple[TaskPlan | None, list[str]]:
        """The steps that hold of an answer to what was `told`, with those of an earlier plan that it leaves, and
        what is wrong with the others; None where no check fails now."""
        if answer.plan is None:
            return None, [answer.problem or "it holds no steps"]
        steps: list[PlanStep] = []
        objections: list[str] = []
        before, drop = self._seen.before, answer.plan.drop
        kept = [each for n, each in enumerate(before, 1) if n not in drop]
        for proposed in answer.plan.steps[:MOST_STEPS]:
            try:
                step, wrong = self._tried(self._of_project(_step_of(proposed.do, proposed.check)))
                wrong = wrong or self._made_up(step) or self._about_another(step)
                if redact(shown := check_text(step.check)) != shown:
                    wrong = f"`{redact(shown)}` holds a secret, which a plan must not show: read it from a variable"
                if step.check and not _among(step, kept) and _among(step, before):
                    wrong = f"`{check_text(step.check)}` is the check of a step that you drop: write what is to be now"
            except UsageError as error:
                step, wrong = PlanStep(do=""), str(error)
            # Small models write what is to hold where a command was asked for.
            meant = [each for each in self._exemplified(proposed.check) if each.now == "fails"] if wrong else []
            if meant:
                steps += [replace(each, do=step.do or each.do) for each in meant if not _among(each, (*kept, *steps))]
            elif wrong:
                objections.append(wrong)
            elif (step.do or step.check) and not _among(step, (*kept, *steps)):
                steps.append(step)
        steps = [each if each.do else replace(each, do=self._episode.wish) for each in steps]
        found = self._changed(steps, drop)
        found = replace(found, beyond=self._beyond(answer.plan, objections, told), by=by)
        failing = [each for each in found.steps if each.now == "fails"]
        # What failed before the words says nothing of what they want, unless they take some of it back.
        told_of = failing if found.dropped else [each for each in failing if each in steps]
        if not told_of and (answer.plan.steps or not self._settled(found)):
            none = "none of the checks fails now, so none shows that there is something to do"
            return None, [*objections, none]
        return found, objections

    def _of_project(self, step: PlanStep) -> PlanStep:
        """The step, its program trying the project's own names: small models write down in it what is to be tried."""
        wanted = f"{self._episode.wish}\n{self._episode.task.instruction}"
        code = of_project(held, self._modules, wanted) if (held := _program(step)) else ""
        return step if code == held else replace(step, check=("python", "-c", code))

    def _beyond(self, plan: ProposedPlan, objections: Sequence[str], told: str) -> str:
        """Say what nobody looks at. A small model writes down a line that it was shown, or one of its steps; only the
        person's count."""
        said = " ".join(plan.beyond.split())
        line = said.strip(" .:#")
        shown = line in told and line not in f"{self._episode.wish}\n{self._episode.task.instruction}"
        if shown or any(line in each.do for each in plan.steps):
            said = ""
        return clean("; ".join([*filter(None, [said]), *(f"left out, since {each}" for each in objections)]), 600)

    def _changed(self, new: Sequence[PlanStep], drop: Sequence[int]) -> TaskPlan:
        """The earlier plan without the steps of these numbers, and with the new ones in the place of the first of them,
        else at its end. The project's own tests stay: only a person's plan may leave out some that fail."""
        before, own = self._seen.before, self._seen.own
        gone = [n for n, each in enumerate(before, 1) if n in drop and not (own is not None and each.check == own.argv)]
        at = gone[0] - 1 if gone else len(before)
        kept = [(n, each) for n, each in enumerate(before) if n + 1 not in gone]
        return TaskPlan(
            steps=(*(each for n, each in kept if n < at), *new, *(each for n, each in kept if n >= at)),
            dropped=tuple(before[n - 1] for n in gone),
        )

    def _settled(self, plan: TaskPlan) -> bool:
        """Tell whether nothing is left to do, since a step was dropped from what was begun: its result may pass."""
        return bool(self._episode.since and plan.dropped and plan.checked)

    def _with_own(self, plan: TaskPlan) -> TaskPlan:
        """The plan, and the project's own check where that passes: nothing may be broken on the way."""
        own, now = self._seen.own, self._seen.now
        if own is None or now is None or not now.passed or any(each.check == own.argv for each in plan.steps):
            return plan
        at = len(plan.steps) - next((n for n, each in enumerate(reversed(plan.steps)) if each.check), 0)
        kept = PlanStep(do=KEEP_PASSING, check=own.argv, now="passes")
        return replace(plan, steps=(*plan.steps[:at], kept, *plan.steps[at:]))

    # -- try -----------------------------------------------------------------------------------------------------------

    def _tried(self, step: PlanStep) -> tuple[PlanStep, str]:
        """The step with what its check does now, and why the check is none, if it is none."""
        if not step.check:
            return step, ""
        verdict = self._try(step)
        shown = check_text(step.check)
        if verdict.refused or verdict.exit_code in _CANNOT_START:
            return step, f"`{shown}` cannot be run here: {verdict.reason}"
        if _OWN_FAULT.search(verdict.output + "\n"):
            return step, f"`{shown}` is itself wrong: {verdict.reason}"
        if ran_nothing(verdict.output) or verdict.killed:
            return step, f"`{shown}` shows nothing: {verdict.reason or 'no test was run'}"
        missing = [] if verdict.passed else self._missing(step, verdict.output)
        if missing and self._try(step, missing).passed:
            return step, f"`{shown}` passes with an empty {missing[0]}: let it say what that must do"
        if not verdict.passed and not missing and self._looks_at_nothing(step, verdict):
            return step, f"`{shown}` fails in the same way when no file can be read: let it import what is to be done"
        return _after(step, verdict), ""

    def _looks_at_nothing(self, step: PlanStep, verdict: Verdict) -> bool:
        """Tell whether a program within the check fails whatever the files hold: small models copy them into it."""
        frames = _FRAME.findall(verdict.output)
        named = _FILE.findall(check_text(step.check))
        if not frames or frames[-1] != "<string>" or any(self._is_there(each) for each in named):
            return False
        paths = survey.listing(self._ground.workspace, self._ground.sandbox, self._ground.limits)
        return len(paths) <= _MOST_SPOILED and self._try(step, paths, _UNREADABLE).reason == verdict.reason

    def _made_up(self, step: PlanStep) -> str:
        """Object to a check whose module is not there and is named by nobody: it fails whatever is done."""
        if step.now != "fails" or not (found := _NO_MODULE.search(step.said)):
            return ""
        name = found[1].rpartition(".")[2]
        if name not in check_text(step.check):
            return ""
        asked = f"{self._episode.wish}\n{self._episode.task.instruction}\n{step.do}"
        if re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", asked, re.IGNORECASE):
            return ""
        return (
            f"`{check_text(step.check)}` imports {found[1]}, which is not there and which the step does not say to "
            "make: import what the files hold"
        )

    def _about_another(self, step: PlanStep) -> str:
        """Object to a check that tries nothing of what the words name: small models go on with the last thing shown."""
        code = _program(step)
        name = passed_by(code, self._modules, self._episode.wish, step.do) if step.now == "fails" and code else ""
        shown = check_text(step.check)
        return (
            f"`{shown}` does not try `{name}`, which the person names: let it call that and assert what is wanted"
            if name
            else ""
        )

    def _missing(self, step: PlanStep, output: str) -> list[str]:
        """Files that a check runs or imports, and that are not there."""
        modules = [f"{each.replace('.', '/')}.py" for each in _NO_MODULE.findall(output)]
        named = [each for each in sorted(graders(step.check)) if _FILE.fullmatch(each)]
        return [each for each in (*named, *modules) if not self._is_there(each)]

    def _is_there(self, path: str) -> bool:
        try:
            self._ground.workspace.read(path)
        except NotFound:
            return False
        except Refused:
            return True
        return True

    def _try(self, step: PlanStep, other: Sequence[str] = (), content: bytes = b"") -> Verdict:
        """The verdict of one check on a copy of the files as they are, but for those `other` ones of this content."""
        ground = self._ground
        copy = ground.workspace.fork(self._token)
        task = for_step(self._episode.task, step)
        limits = replace(ground.limits, wall_s=min(ground.limits.wall_s, max(1.0, ground.purse.seconds_left() / 4)))
        try:
            for path in other:
                copy.write(path, content, mode=0o755)
            return ground.judge_of(task).judge(copy, ground.sandbox, task, limits=limits, purse=ground.purse)
        finally:
            copy.close()

    # -- tell ----------------------------------------------------------------------------------------------------------

    def _text(self, room: int, objections: Sequence[str], *, plainly: bool) -> str:
        """Write what a planner is told: the words, what was done, the own check, the files, objections."""
        episode, seen = self._episode, self._seen
        paths = survey.listing(self._ground.workspace, self._ground.sandbox, self._ground.limits)
        said = seen.now.output if seen.now is not None and not seen.now.passed else ""
        words = f"{episode.wish}\n{episode.task.instruction}"
        ranked = survey.ranked(paths, (said, words), {})
        # Asked for one test, a small model writes down again the one that it is shown.
        order = [path for path in ranked if not (plainly and is_test(path))]
        may = frozenset(path for path in order if not is_test(path))
        files = survey.shown(self._ground.workspace, order, said, room, may_change=may)
        parts = [] if plainly else ["# Files\n" + quoted("\n".join(paths[:_PATHS_SHOWN]))]
        parts += [f"# {each.path}\n{quoted(each.text)}" for each in files]
        if seen.before and not plainly:
            parts.append(f"# The plan so far\n{self._so_far()}\n{_FOLLOWING}")
        if seen.own is not None and not plainly:
            state = "passes now" if not said else f"fails now:\n{quoted(output_excerpt(said, room // 5))}"
            parts.append(f"# The project's own check: `{seen.own.text}` {state}")
        # Last, where a small model still sees it.
        parts.append(f"# What the person wants\n{clean(episode.wish, 4_000)}")
        if objections and not plainly:
            told = "\n".join(f"- {cap(each, 400)}" for each in objections)
            parts.append(f"# What is wrong with your last answer\n{told}\nAnswer again with the whole plan.")
        if plainly:
            parts.append("Write the program: `from ... import ...` what it needs, then assert what the person says.")
        return "\n\n".join(parts)

    def _so_far(self) -> str:
        episode, seen = self._episode, self._seen
        first = "" if episode.wish == episode.task.instruction else f"Asked for first: {episode.task.instruction}\n"
        steps = "\n".join(
            f"{n}. {each.do} " + (f"(`{check_text(each.check)}` {each.now} now)" if each.check else "(for a person)")
            for n, each in enumerate(seen.before, 1)
        )
        return f"{first}{steps}\nWhat was changed for it:\n{quoted(cap(seen.shown, _DIFF_SHOWN))}"


def _among(step: PlanStep, steps: Sequence[PlanStep]) -> bool:
    """Tell whether a step is one of these: by its check, one for a person by its words."""
    words = _words(step)
    return any(_words(each) == words and (words or each.do == step.do) for each in steps)


def _words(step: PlanStep) -> tuple[str, ...]:
    """The words of a step's check, whichever way they are quoted."""
    try:
        return tuple(shlex.split(check_text(step.check)))
    except ValueError:  # only a shell can read it
        return step.check


def _program(step: PlanStep) -> str:
    """The text of a step's check that is one program of Python, "" for any other."""
    words = _words(step)
    return words[2] if len(words) == 3 and words[1] == "-c" and words[0].startswith("python") else ""


def _step_of(do: str, check: str) -> PlanStep:
    """A step as a planner wrote it: data until its check was seen to fail. Raises UsageError for a check that is no
    command."""
    return PlanStep(do=clean(" ".join(do.split()), 300), check=argv_of(check) if check.strip() else ())


def _after(step: PlanStep, verdict: Verdict) -> PlanStep:
    said = "" if verdict.passed else clean(verdict.reason, _SAID)
    return replace(step, now="passes" if verdict.passed else "fails", said=said)
