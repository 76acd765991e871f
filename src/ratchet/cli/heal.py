"""`ratchet run` and `ratchet episodes`: heal what fails, and see how that went."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import click

from ratchet.cli import shapes, show, show_heal
from ratchet.cli.app import Commands, explained, home_option, json_option, opened
from ratchet.cli.folders import PATH
from ratchet.cli.landings import landing_of
from ratchet.cli.means import means_options
from ratchet.cli.numbers import Finite
from ratchet.cli.plans import Planned, plan_options
from ratchet.cli.stopping import draining, heard
from ratchet.errors import BackendError, RatchetError, UsageError
from ratchet.healing.book import EpisodeBook, HealMeans, HealRequest
from ratchet.healing.episode import Budget, Episode
from ratchet.healing.junit import failed_in
from ratchet.healing.loop import HealMoment
from ratchet.healing.planning.plan import TaskPlan
from ratchet.healing.project_check import argv_of
from ratchet.healing.report import markdown
from ratchet.sandbox.environments import environments

EXITS = {"passed": 0, "already_passing": 0, "planned": 0, "refused": 5, "cancelled": 130}
NOT_HEALED = 1
CI_FOLDER = Path("ratchet-heal")
CI_PATCH, CI_REPORT = CI_FOLDER / "heal.patch", CI_FOLDER / "report.md"


class _Answering(click.Command):
    """A command that answers a wrong call with its one JSON object, too, where that is asked for."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        as_json = "--json" in args
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if not as_json:
                raise
            show.as_json(shapes.tasks.refused(error.format_message(), None))
            ctx.exit(error.exit_code)


@click.command(cls=_Answering)
@click.argument("instruction", default="")
@click.option("--check", "check", metavar="CMD", help="What fails now and is to pass; found by itself unless given.")
@click.option("--in", "folder", type=PATH, default=Path(), help="The project (default: here).")
@click.option("--solver", default="auto", show_default=True, help="repair, model[:NAME], command:WORDS, or a plugin.")
@click.option(
    "--judge", default="", metavar="NAME", help="Who says that it passes (default: pytest, or the check alone)."
)
@click.option("--attempts", default=5, show_default=True, type=click.IntRange(1), help="At most so many tries.")
@click.option("--budget-usd", default=1.0, show_default=True, type=Finite(0), help="Money for all of them.")
@click.option("--budget-s", default=1800.0, show_default=True, type=Finite(0, min_open=True), help="Seconds.")
@click.option("--candidates", default=2000, show_default=True, type=click.IntRange(1), help="Changes tried a try.")
@click.option("--protect", "protected", multiple=True, metavar="GLOB", help="Files that must not change.")
@click.option("--held-check", metavar="CMD", help="A second check, not shown to the solver, that must pass, too.")
@click.option("--strict", is_flag=True, help="Refuse an answer that passes, but for which too little speaks.")
@click.option("--apply", "applies", is_flag=True, help="Write the result into the project.")
@click.option("--doubtful", is_flag=True, help="With --apply: write a doubtful result, too.")
@click.option("--branch", metavar="NAME", help="Put the result onto a new git branch.")
@click.option("--patch", metavar="FILE", help="Write the result as a patch.")
@click.option("--ci", is_flag=True, help="For a job: a folder with report and patch; nothing is asked.")
@click.option("--junit", type=PATH, metavar="FILE", help="The failing job's JUnit file: only these tests are run.")
@click.option(
    "--siblings", is_flag=True, help="Look for the healed mistake elsewhere, too; nothing of that is written."
)
@click.option("--resume", metavar="ID", help="Go on with an episode; with words: what is still wrong with its result.")
@plan_options
@click.option("--seed", default=0, type=int, help="Where the solver's dice start.")
@means_options
@home_option
@json_option
def run(
    instruction: str, check: str | None, folder: Path, solver: str, judge: str, attempts: int,
    budget_usd: float, budget_s: float, candidates: int, protected: tuple[str, ...], held_check: str | None,
    strict: bool, applies: bool, doubtful: bool, branch: str | None, patch: str | None, ci: bool, junit: Path | None,
    siblings: bool, resume: str | None, seed: int, planning: Callable[[], Planned], means: Callable[[], HealMeans],
    as_json: bool,
) -> None:  # fmt: skip
    """Heal what fails, or do a task in words, in a sandbox.

    INSTRUCTION says what is wanted. Without --check a plan is made of it: steps, each with a check that fails now (by
    the model that is named, or the agent of --solver command:...). Nothing changes without --apply, which takes a
    doubtful result only with --doubtful or --resume; --patch and --branch write it, to be looked at; --strict, never.

    With --ci a folder ratchet-heal, which git does not see, is left here for a person to review: report.md, and
    heal.patch unless --apply, --branch or --patch is given. On GitHub the report is the job's summary, too.

    Exit codes: 0 passed (also if doubtful) or only planned; 1 not healed or not applied; 5 refused; 130 cancelled.
    """
    watching = EpisodeWatching(as_json)
    try:
        left = _left_here(patch, apart=applies or bool(branch)) if ci else patch
        landing = landing_of(applies=applies, branch=branch, patch=left, doubtful=doubtful)
        book = opened(begins=True).episodes
        with draining("ending; again to end at once") as cancelled, watching.waiting():
            plans = planning()
            given = replace(means(), told=heard(watching.told, cancelled), cancelled=cancelled.is_set)
            shown = watching.asked(plans.shown(as_json))
            given = replace(given, plan=plans.given(instruction, check if resume else None), shown=shown)
            budget = Budget(attempts=attempts, usd=budget_usd, seconds=budget_s, candidates=candidates)
            if resume and instruction:
                other = "" if plans.by_default("solver") else solver
                ended = book.follow(resume, instruction, given, solver=other, budget=budget, landing=landing)
            elif resume:
                ended = book.resume(_same_check(book, resume, check), given, landing=landing)
            else:
                words, folder = plans.wanted(instruction, check, junit), plans.folder(instruction, folder)
                _warn(folder)
                asked = HealRequest(
                    check=() if words else _check(book, check, folder, junit, as_json=as_json or ci),
                    folder=folder,
                    instruction=instruction,
                    solver=solver,
                    budget=budget,
                    protected=protected,
                    held_check=argv_of(held_check) if held_check else (),
                    judge=judge,
                    strict=strict,
                    seed=seed,
                )
                ended = book.run(asked, given, landing=landing)
            alike = book.siblings(ended.id, given) if siblings and ended.status == "passed" else ()
    except (RatchetError, OSError) as error:
        _stop(error, watching.episode, as_json=as_json)
    if ci:
        _report(markdown(ended, alike))
    with suppress(BrokenPipeError):  # it ended as it did, whoever reads of it
        whole = shapes.tasks.RunShape.built(ended, siblings=alike)
        show.as_json(whole) if as_json else show_heal.ended(ended, plans.only, alike if siblings else None)
    click.get_current_context().exit(_exit_code(ended, applies=applies))


def _exit_code(ended: Episode, *, applies: bool) -> int:
    """The exit code: a doubtful result that was to be applied, and is not, heals nothing."""
    held_back = applies and ended.is_doubtful and not ended.applied
    return NOT_HEALED if held_back else EXITS.get(ended.status, NOT_HEALED)


def _same_check(book: EpisodeBook, episode: str, check: str | None) -> str:
    """The episode. Raises UsageError where a check is given that is not its own."""
    if check is not None and argv_of(check) != book.show(episode).task.check:
        raise UsageError("another --check with --resume goes with words that say what is still wrong")
    return episode


def _left_here(patch: str | None, *, apart: bool) -> str | None:
    """Make the folder of a job's answer, out of git's sight, without that of an earlier job; return the patch's file,
    None where the result goes elsewhere (`apart`)."""
    CI_FOLDER.mkdir(exist_ok=True)
    CI_PATCH.unlink(missing_ok=True)
    (CI_FOLDER / ".gitignore").write_text("*\n", encoding="utf-8")
    return patch or (None if apart else str(CI_PATCH))


def _report(text: str) -> None:
    """Leave the report where a job's person finds it."""
    CI_REPORT.write_text(text, encoding="utf-8", errors="replace")
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with suppress(OSError), Path(summary).open("a", encoding="utf-8", errors="replace") as file:
            file.write(text)


def _stop(error: RatchetError | OSError, episode: Episode | None, *, as_json: bool) -> NoReturn:
    """End the command with what stopped it: one JSON object, or the error for the command line to show."""
    if isinstance(error, BrokenPipeError):
        click.get_current_context().exit(EXITS["cancelled"])
    if not as_json:
        raise error
    known = error if isinstance(error, RatchetError) else BackendError(explained(error))
    show.as_json(shapes.tasks.refused(str(known), episode))
    click.get_current_context().exit(known.exit_code)


def _warn(folder: Path) -> None:
    """Say which virtual environments of a project are not used."""
    for line in environments(folder).unused:
        click.echo(f"ratchet: {line}", err=True)


class EpisodeWatching:
    """Shows what happens, keeps the episode as it was last seen, and says what is waited for while nothing happens."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._last: HealMoment | None = None
        self._asks = False

    @property
    def episode(self) -> Episode | None:
        return self._last.episode if self._last else None

    def told(self, moment: HealMoment) -> None:
        self._last = moment
        if not self._quiet:
            show_heal.moment(moment)

    def waiting(self) -> AbstractContextManager[None]:
        """Tell on standard error, now and then, what is waited for: also beside JSON, where that is a terminal."""
        return nullcontext() if self._quiet and not sys.stderr.isatty() else show.ticking(self._awaited)

    def asked(self, shown: Callable[[TaskPlan], TaskPlan | None]) -> Callable[[TaskPlan], TaskPlan | None]:
        """Keep still while a person looks at a plan: an editor may have the terminal."""

        def shows(plan: TaskPlan) -> TaskPlan | None:
            self._asks = True
            try:
                return shown(plan)
            finally:
                self._asks = False

        return shows

    def _awaited(self) -> str:
        return "" if self._last is None or self._asks else str(show.plain(show_heal.awaited(self._last), 160))


def _check(book: EpisodeBook, said: str | None, folder: Path, junit: Path | None, *, as_json: bool) -> tuple[str, ...]:
    """The check as it was given, else the project's own, named before it runs; else a person is asked. Of its tests
    only those that failed in a job's JUnit file."""
    return (*_whole_check(book, said, folder, as_json=as_json), *(failed_in(junit, folder) if junit else ()))


def _whole_check(book: EpisodeBook, said: str | None, folder: Path, *, as_json: bool) -> tuple[str, ...]:
    if said is not None:
        return argv_of(said)
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder.absolute()}: name the project with --in FOLDER")
    found = book.own_check(folder)
    if found is not None:
        click.echo(f"check: {found.text} (told by {found.found})", err=as_json)
        return found.argv
    if not as_json and sys.stdin.isatty():
        return argv_of(click.prompt("No check was found in this project. Which command fails now and is to pass?"))
    raise UsageError(f"no check was found in {folder.resolve()}: give the command that fails now with --check CMD")


@click.group(cls=Commands)
def episodes() -> None:
    """Show how healing went: every episode, every attempt."""


@episodes.command("list")
@click.option("--in", "folder", type=PATH, help="Only those of this project.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1))
@home_option
@json_option
def list_episodes(folder: Path | None, limit: int, as_json: bool) -> None:
    """Episodes, newest first."""
    found = opened().episodes.list(folder=folder, limit=limit)
    show.as_json([shapes.tasks.EpisodeShape.built(each) for each in found]) if as_json else show_heal.episodes(found)


@episodes.command("show")
@click.argument("episode_id")
@home_option
@json_option
def show_episode(episode_id: str, as_json: bool) -> None:
    """One episode: its timeline, cause, fix, cost and diff of each attempt."""
    found = opened().episodes.show(episode_id)
    show.as_json(shapes.tasks.EpisodeDetailShape.built(found)) if as_json else show_heal.episode(found)


@episodes.command("diff")
@click.argument("episode_id")
@click.option("--attempt", type=int, help="Of this attempt instead of the result.")
@home_option
def diff(episode_id: str, attempt: int | None) -> None:
    """The patch of an episode's result: `ratchet episodes diff ID | git apply -p1`."""
    click.echo(opened().episodes.diff(episode_id, attempt=attempt), nl=False)


@episodes.command("rewind")
@click.argument("episode_id")
@click.option("--to", "to", required=True, type=click.IntRange(0), help="The attempt to go back to; 0: the beginning.")
@home_option
@json_option
def rewind(episode_id: str, to: int, as_json: bool) -> None:
    """Take an episode back to the files after an attempt; `ratchet run --resume ID` goes on from there."""
    found = opened().episodes.rewind(episode_id, to=to)
    if as_json:
        show.as_json(shapes.tasks.EpisodeShape.built(found))
    else:
        click.echo(f"{episode_id} is back at {to}; next: ratchet run --resume {episode_id}")
