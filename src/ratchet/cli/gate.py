"""The commands that judge versions by scores which somebody else's loop measured: gate."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ratchet.cli import shapes, show, show_gate
from ratchet.cli.app import Commands, json_option
from ratchet.cli.folders import PATH
from ratchet.cli.gathered import gathered
from ratchet.cli.numbers import Finite
from ratchet.errors import NotFound, UsageError

if TYPE_CHECKING:
    from ratchet.evolving.score_plan import ScorePlan
    from ratchet.evolving.score_table import ScoreTable
    from ratchet.gate.scores import ScoreAnswer, ScoreGate

EXIT = {"keep": 0, "discard": 10, "again": 11}
_STDIN = Path("-")
_NAMED = 10  # versions of a table that a message names


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """Options about a table of scores and about how it is judged."""

    by: str | None
    score: str
    task: str | None
    lower: bool
    crashed: tuple[str, str]
    guards: Mapping[str, bool]
    incumbent: str | None
    fdr: float
    proposals: int | None
    least: float | None
    noise: Literal["auto", "normal", "bounded", "none"]

    def table(self, file: Path) -> ScoreTable:
        from ratchet.evolving.score_table import Columns, read_scores

        columns = Columns(
            version=self.by, score=self.score, task=self.task, guards=tuple(self.guards), crashed=self.crashed
        )
        return read_scores(_read(file), columns, name="standard input" if file == _STDIN else str(file))

    def gate(self, *, are_bounded: bool) -> ScoreGate:
        from ratchet.gate.scores import ScoreGate

        return ScoreGate(
            fdr=self.fdr,
            planned=self.proposals,
            least=self.least,
            lower=self.lower,
            noise=("bounded" if are_bounded else "normal") if self.noise == "auto" else self.noise,
            incumbent=self.incumbent,
            guards=self.guards,
        )

    def planned(self, file: Path, table: ScoreTable) -> str:
        """Return the command that tells how many runs a decision takes, with these options; "" while the noise of one
        run is not known."""
        from ratchet.evolving.score_plan import noise_of

        noise, tasks = noise_of(table)
        if not noise:
            return ""
        gain = self.least or (0.05 if tasks else noise)
        words = ["ratchet", "gate", "plan", str(file), "--gain", f"{gain:.3g}"]
        defaults = {"--score": "score", "--fdr": 0.05, "--noise": "auto", "--crashed": ("status", "crash")}
        given = {
            "--by": self.by,
            "--score": self.score,
            "--task": self.task,
            "--crashed": self.crashed,
            "--fdr": self.fdr,
            "--proposals": self.proposals,
            "--least": self.least,
            "--noise": self.noise,
        }
        for name, value in given.items():
            if value is not None and value != defaults.get(name):
                words += [name, "=".join(value) if isinstance(value, tuple) else str(value)]
        words += ["--lower"] * self.lower
        for name, is_lower in self.guards.items():
            words += ["--guard", f"{name}:lower" if is_lower else name]
        return f"`{shlex.join(words)}`"

    def judged(self, table: ScoreTable) -> ScoreGate:
        gate = self.gate(are_bounded=table.are_bounded)
        for run in table.runs:
            try:
                gate.add(run.version, run.score, task=run.task, guards=run.guards)
            except UsageError as error:
                raise UsageError(f"line {run.line}: {error}") from None
        need_runs(gate, gate.incumbent)
        stands = gate.attempts[gate.incumbent]
        if self.incumbent is None and stands.failed == stands.total:
            raise UsageError(
                f"{gate.incumbent} stands, since the first row is a run of it, and no run of it has a score: run it "
                "again, or name what stands: --incumbent VERSION"
            )
        return gate


def need_runs(gate: ScoreGate, version: str) -> None:
    """Raise UsageError, naming what there is, unless the table has a run of this version."""
    if version not in gate.attempts:
        there = list(gate.attempts)
        more = f" and {len(there) - _NAMED} more" if len(there) > _NAMED else ""
        raise UsageError(f"the table has no run of {version}; it has runs of {', '.join(there[:_NAMED])}{more}")


_MOST_BYTES = 64 * 1024 * 1024
"""The largest table that is read: some million rows."""


def _read(file: Path) -> str:
    try:
        if file != _STDIN and file.exists() and not file.is_file():  # a device has no end, a pipe waits for ever
            raise UsageError(f"{file} is no regular file: name the table of scores, or - for standard input")
        with nullcontext(sys.stdin.buffer) if file == _STDIN else file.open("rb") as table:
            said = table.read(_MOST_BYTES + 1)
        if len(said) > _MOST_BYTES:
            name = "standard input" if file == _STDIN else file
            raise UsageError(f"{name} is larger than {_MOST_BYTES // 1024**2} MB: hand over fewer rows")
        return said.decode()
    except FileNotFoundError:
        raise NotFound(f"there is no file {file}: name the table of scores, or - for standard input") from None
    except UnicodeDecodeError as error:
        name = "standard input" if file == _STDIN else file
        raise UsageError(f"{name} is not UTF-8 (byte {error.start + 1}): save it as UTF-8") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be read as text: {error}") from None


def _guards(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, bool]:
    found = {}
    for each in given:
        name, colon, way = each.rpartition(":")
        if colon and way in ("lower", "higher"):
            found[name] = way == "lower"
        else:
            found[each] = False
    return found


def _crashed(_: click.Context, __: click.Parameter, given: str) -> tuple[str, str]:
    column, equals, value = given.partition("=")
    if not (column and equals and value):
        raise click.BadParameter(f"{given!r} is no COLUMN=VALUE, such as status=crash")
    return column, value


_TABLE = (
    click.option("--by", metavar="COLUMN", help="What names the version; `version`, else `commit`, unless given."),
    click.option("--score", default="score", show_default=True, metavar="COLUMN", help="What was measured."),
    click.option("--task", metavar="COLUMN", help="What was run, where a run is of one task; `task`, if there."),
    click.option("--lower", is_flag=True, help="Lower scores are better."),
    click.option(
        "--crashed", default="status=crash", show_default=True, metavar="COLUMN=VALUE", callback=_crashed,
        help="Marks a run without a score, whatever stands in its place.",
    ),
    click.option(
        "--guard",
        "guards",
        multiple=True,
        metavar="COLUMN[:lower]",
        callback=_guards,
        help="Must not get worse; with :lower, lower is better.",
    ),
    click.option("--incumbent", metavar="VERSION", help="What stands at first; the first row's, unless given."),
    click.option(
        "--fdr", default=0.05, show_default=True, type=Finite(0, 1, min_open=True, max_open=True),
        help="Share of false keeps over the whole run, at most.",
    ),
    click.option("--proposals", type=click.IntRange(1), help="How many there will be; any number, unless given."),
    click.option(
        "--least", type=Finite(0, min_open=True),
        help="The smallest gain worth finding; the noise of one run, unless given (.05 where bounded).",
    ),
    click.option(
        "--noise", default="auto", show_default=True, type=click.Choice(["auto", "normal", "bounded", "none"]),
        help="What is assumed: normal noise, only that scores lie in [0, 1], or none: a repeat gives the same.",
    ),
)  # fmt: skip
_table_options = gathered(_TABLE, "given", ScoreOptions)
"""The options of all three commands."""


@click.group(cls=Commands)
def gate() -> None:
    """Decide for your own loop: is this version better, or was it luck?

    FILE has a row for each run, in the order in which they were made: the version and its score, with a header, as TSV,
    CSV or JSON Lines; - is standard input. The first version is the incumbent. A run without a number as its score
    counts against its version. All decisions of a file share one error budget: of what is kept, at most 5 % is expected
    to be no better than what it replaced.
    """


@gate.command()
@click.argument("file", type=PATH)
@click.argument("version", required=False)
@_table_options
@json_option
def keep(file: Path, version: str | None, given: Callable[[], ScoreOptions], as_json: bool) -> None:
    """Keep this version, discard it, or run again? The newest, unless VERSION is named.

    A version is kept once luck alone would show as much in fewer cases than its share of --fdr allows: the first of an
    open end in 1 of 4,000, more where --proposals says how many there will be.

    \b
    Exit code   0 keep   10 discard   11 run again (the answer says which version)
    """
    asked = given()
    table = asked.table(file)
    judged = asked.judged(table)
    if version:
        need_runs(judged, version)
    last = table.runs[-1]
    failed = last.version if last.score is None and last.version != judged.incumbent else None
    answer = judged.answer(version or failed)  # of a run that failed, that is what the loop asks about
    if as_json:
        show.as_json(shapes.scores.ScoreAnswerShape.built(answer))
    else:
        show_gate.answer(answer, planned=asked.planned(file, table), later=_later(judged, answer))
        show_gate.failed(judged)
        show_gate.came_late({answer.version: answer.ignored} if answer.ignored else {})
    raise SystemExit(EXIT[answer.decision])


def _later(gate: ScoreGate, answer: ScoreAnswer) -> int:
    """Count the runs of a kept version that came after the decision: what is compared with it meets them, too."""
    of = gate.attempts[answer.version]
    scored = of.total if gate.worst is not None else of.total - of.failed
    return scored // answer.tasks - answer.runs if answer.decision == "keep" else 0


@gate.command()
@click.argument("file", type=PATH)
@_table_options
@json_option
def status(file: Path, given: Callable[[], ScoreOptions], as_json: bool) -> None:
    """Show every version: what was decided, on how many runs, by what evidence."""
    asked = given()
    table = asked.table(file)
    judged = asked.judged(table)
    if as_json:
        show.as_json([shapes.scores.ScoreAnswerShape.built(each) for each in judged.answers()])
    else:
        show_gate.status(judged, asked.fdr)
        show_gate.failed(judged)
        show_gate.came_late(judged.ignored)


@gate.command()
@click.argument("file", type=PATH, required=False)
@click.option(
    "--gain", required=True, type=Finite(0, min_open=True), help="The gain to be found, in the score's units."
)
@click.option(
    "--sd", type=Finite(0, min_open=True), help="Noise of one run (standard deviation); FILE's, unless given."
)
@_table_options
@json_option
def plan(file: Path | None, gain: float, sd: float | None, given: Callable[[], ScoreOptions], as_json: bool) -> None:
    """Tell how many runs a decision will take, before they are paid.

    Runs the gate on simulated proposals: such as gain that much, and such as gain nothing.
    """
    from ratchet.evolving.score_plan import noise_of, score_plan

    asked = given()
    noise, tasks = noise_of(asked.table(file)) if file is not None else (None, 0)
    noise = sd if sd is not None else noise
    if noise is None:
        raise UsageError(
            "the noise of one run is not known: give --sd, or a FILE in which a version ran twice on the same"
        )

    def planned(options: ScoreOptions) -> ScorePlan:
        with show.progress(quiet=as_json) as told:
            gate_of = partial(options.gate, are_bounded=tasks > 0)
            return score_plan(gate_of, gain=gain, noise=noise, tasks=tasks, told=told)

    made = planned(asked)
    if as_json:
        show.as_json(shapes.scores.ScorePlanShape.built(made))
    else:
        is_missed = made.found < show_gate.FOUND_ENOUGH and (asked.least is None or asked.least > gain)
        show_gate.plan(made, planned(replace(asked, least=gain)) if is_missed else None, asked.fdr, tasks)
