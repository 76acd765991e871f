"""`ratchet patterns`: what keeps failing, by pattern and by command, and what people decide about it."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import click

from ratchet.cli import shapes, show, show_patterns
from ratchet.cli.app import Records, home_option, json_option, opened
from ratchet.cli.folders import project_option
from ratchet.errors import UsageError
from ratchet.failures.kinds.known import need_known

if TYPE_CHECKING:
    from collections.abc import Callable

    from ratchet.lessons.failing import By

BY = ("command", "tool", "file", "project", "model", "hour")
STATES = ("open", "regressed", "resolved", "ignored", "muted")
_LENGTH = re.compile(r"(\d+)([hdw])")
_UNITS_S = {"h": 3_600.0, "d": 86_400.0, "w": 7 * 86_400.0}


def _need_aspect(ctx: click.Context, by: By | None) -> None:
    """Raise UsageError where a range is given and nothing that it counts for."""
    if by is None and ctx.get_parameter_source("span") is not click.core.ParameterSource.DEFAULT:
        raise UsageError("--range goes with --by: name an aspect, such as --by command")


@click.group(cls=Records, invoke_without_command=True)
@click.option("--agent", help="Only this agent's failures.")
@click.option("--kind", help="Only this kind, e.g. rate_limit.")
@click.option("--state", type=click.Choice(STATES), help="Only those that people decided so about.")
@click.option("--like", "text", default="", help="Those that are like this error text, the most alike first.")
@click.option("--by", type=click.Choice(BY), help="Count by command, tool, file, project, model or hour instead.")
@click.option(
    "--range",
    "span",
    default="all",
    show_default=True,
    help="With --by: 24h, 7d, 14d, 30d, 90d, up to the last step known, or all.",
)
@project_option("Only what this project met; patterns count in all.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also consequences of other failures, refusals, cancelled steps, and what was resolved, ignored or muted.",
)
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many at most.")
@home_option
@json_option
@click.pass_context
def patterns(
    ctx: click.Context,
    agent: str | None,
    kind: str | None,
    state: str | None,
    text: str,
    by: By | None,
    span: str,
    project: str | None,
    everything: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Show what keeps failing, what it cost, what fixed it.

    The commands that fail most, then the patterns: first what several sessions met lately (in the last two weeks of
    what is known), then what they met before, then the rest; each by sessions times impact (a minute a failure, and
    those lost, weighed by severity), which its line says. Resolved, ignored and muted ones are left out. An id
    may be shortened to its beginning.
    """
    if ctx.invoked_subcommand:
        return
    if kind is not None:
        need_known(kind)
    _need_aspect(ctx, by)
    runtime = opened()
    if by is not None:
        rows = runtime.failing.by(by, span=span, project=project or "")
        if as_json:
            show.as_json(shapes.failures.FailsShape.built(None, by=by, rows=rows))
        else:
            show_patterns.fails(rows[:limit], by)
        return
    found = runtime.patterns(agent=agent, kind=kind, include_excused=everything or bool(text))
    met = runtime.failing.met_in(project) if project else {}
    if project:
        found = [each for each in found if each.id in met]
    if text:
        likeness = dict(runtime.failing.like(text))
        found = sorted([each for each in found if each.id in likeness], key=lambda each: -likeness[each.id])
        everything = True
    if as_json:
        given = ctx.get_parameter_source("limit") is not click.core.ParameterSource.DEFAULT
        chosen = [each for each in found if state in (None, each.triage.state)]
        show.as_json([shapes.failures.PatternShape.built(each) for each in chosen[: limit if given else None]])
        return
    shown = [each for each in found if _wanted(each.triage.state, state, everything)]
    of_some = agent is not None or kind is not None
    narrowed = f"that are {state}" if state is not None else "of this agent or kind" if of_some else ""
    narrowed = "like this text" if text else narrowed
    if not narrowed and not everything:
        show_patterns.most(runtime.failing.by("command", project=project or ""))
    from ratchet.lessons.failing import ORDER

    more = f"{limit} of {len(shown)}, {ORDER}; --limit {limit * 5} shows more" if len(shown) > limit else ""
    hidden = 0 if narrowed else len(found) - len(shown)
    show_patterns.patterns(shown[:limit], more=more, narrowed=narrowed, hidden=hidden, met=met)
    several = 0 if project or narrowed else sum(1 for each in runtime.failing.by("project") if each.failures)
    if several > 1:
        show.line(f"met in {several} projects: --project NAME keeps what one of them met; --by project counts in each")


def _wanted(held: str, asked: str | None, everything: bool) -> bool:
    return held == asked if asked is not None else everything or held in ("open", "regressed")


@patterns.command("split")
@click.argument("pattern_id")
@click.argument("signature")
@home_option
@json_option
def split(pattern_id: str, signature: str, as_json: bool) -> None:
    """Take one signature out of a pattern, for good.

    SIGNATURE (see `ratchet patterns show`) gets a pattern of its own; later failures follow it there.
    """
    new_id = opened().split(pattern_id, signature)
    show.as_json(shapes.failures.SplitShape(pattern=new_id)) if as_json else show.line(
        f"{signature} is now pattern {new_id}"
    )


@patterns.command("show")
@click.argument("pattern_id")
@home_option
@json_option
def show_pattern(pattern_id: str, as_json: bool) -> None:
    """One pattern whole.

    Its cost, lessons, examples, template and signatures, and what it occurs together with.
    """
    detail = opened().pattern(pattern_id)
    show.as_json(shapes.failures.PatternDetailShape.shown(detail)) if as_json else show_patterns.pattern(detail)


def _deciding(command: Callable[..., None]) -> Callable[..., None]:
    """The arguments that every decision takes."""
    for add in (
        json_option,
        home_option,
        click.option("--note", help="Why, for who looks at it next."),
        click.argument("pattern_ids", nargs=-1, required=True),
    ):
        command = add(command)
    return command


def _decided(pattern_ids: tuple[str, ...], as_json: bool, **decision: object) -> None:
    failing = opened().failing
    found = [failing.triage(each, **decision) for each in pattern_ids]  # type: ignore[arg-type]
    if as_json:  # one is an object, several are an array
        built = [shapes.failures.PatternShape.built(each) for each in found]
        show.as_json(built if len(built) > 1 else built[0])
    else:
        for each in found:
            show_patterns.triaged(each)


@patterns.command("resolve")
@_deciding
def resolve(pattern_ids: tuple[str, ...], note: str | None, as_json: bool) -> None:
    """Say that patterns are dealt with.

    One that fails again is listed as regressed.
    """
    _decided(pattern_ids, as_json, state="resolved", note=note)


@patterns.command("ignore")
@_deciding
def ignore(pattern_ids: tuple[str, ...], note: str | None, as_json: bool) -> None:
    """List patterns no longer, whatever happens."""
    _decided(pattern_ids, as_json, state="ignored", note=note)


@patterns.command("mute")
@click.option("--until", required=True, help="A length (12h, 7d, 2w) or a day (2027-01-31).")
@_deciding
def mute(pattern_ids: tuple[str, ...], until: str, note: str | None, as_json: bool) -> None:
    """List patterns no longer for a while."""
    _decided(pattern_ids, as_json, state="muted", until=moment_of(until, ahead=True), note=note)


@patterns.command("reopen")
@_deciding
def reopen(pattern_ids: tuple[str, ...], note: str | None, as_json: bool) -> None:
    """Take back what was decided about patterns."""
    _decided(pattern_ids, as_json, state="open", note=note)


@patterns.command("assign")
@click.option("--to", "who", required=True, help="Who looks after them; empty for nobody.")
@_deciding
def assign(pattern_ids: tuple[str, ...], who: str, note: str | None, as_json: bool) -> None:
    """Say who looks after patterns."""
    _decided(pattern_ids, as_json, assigned=who, note=note)


def moment_of(said: str, *, ahead: bool = False) -> float:
    """Unix seconds of a day (`2027-01-31`, UTC) or of a length from now (`7d`), back or `ahead`. Raises UsageError."""
    length = _LENGTH.fullmatch(said.strip())
    if length is not None:
        seconds = int(length[1]) * _UNITS_S[length[2]]
        return time.time() + (seconds if ahead else -seconds)
    from datetime import UTC, datetime

    try:
        return datetime.fromisoformat(said.strip()).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise UsageError(f"{said!r} is no time; write a length (12h, 7d, 2w) or a day (2027-01-31)") from None
