"""Sessions, search and cost as a terminal shows them."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from ratchet.cli import show
from ratchet.cli.terminal import Console, Styled
from ratchet.failures.spans import span
from ratchet.sessions.cost import NAMELESS, Cost, Costs
from ratchet.sessions.prices import remedy
from ratchet.sessions.proof import way_out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ratchet.sessions.checking import Checked
    from ratchet.sessions.finding import SearchFound
    from ratchet.sessions.forgetting import Forgotten
    from ratchet.sessions.session import (
        ModelCost,
        OutcomeDetail,
        SessionDetail,
        SessionPage,
        SessionStep,
        SessionSummary,
    )
    from ratchet.sessions.ways import ToolWay

_STEP = re.compile(r"o[0-9a-f]{24}")
COSTS = 50
"""Rows of a table of costs: what costs less than fifty others can wait."""
_NAME, _SHORT = 40, 9  # of an id so many characters tell it from others


def is_step(text: str) -> bool:
    """Tell whether a text is an outcome's id and no session's."""
    return _STEP.fullmatch(text) is not None


def listed(page: SessionPage, *, narrowed: bool = False) -> None:
    """Show sessions, two lines each; `narrowed` says that filters chose them."""
    out = show.console()
    if not page.items:
        fits = "No session fits these filters. Next: ratchet sessions list"
        show.row(out, fits if narrowed else "No session is known. Next: ratchet learn")
    priced = any(each.cost_usd for each in page.items)
    for each in page.items:
        show.row(out, _title(each))
        show.row(out, _figures(each), "  ")
        show.row(out, Styled(show.plain(each.id, 40).plain, "dim"), "  ")
    if page.next:
        out.print(Styled("There are more; --limit shows them, --since and --project narrow.", "dim"))
    _unpriced(out, sum(each.unpriced for each in page.items), some=priced)


def _title(each: SessionSummary) -> Styled:
    said = show.plain(each.title or "(nobody said anything)", 100)
    said.stylize("bold")
    return Styled("● " if each.live else "", "green").append(said)


def _figures(each: SessionSummary) -> Styled:
    line = Styled(f"{_when(each.started_at)} to {_when(each.ended_at)}  {show.number(each.calls, 'step')}  ")
    line.append(f"{each.failures} failed", "red" if each.failures else "dim")
    line.append(f"  {_spent(each)}" if each.cost_usd is not None else "")
    return line.append(f"  {tokens(each.tokens.total)} tokens", "dim").append(f"  {each.agent}", "dim")


def _unpriced(out: Console, count: int, *, some: bool) -> None:
    """Say once of how many tokens no price is known, and what brings it; `some` others have one."""
    if count:
        which = f"{tokens(count)} tokens have no known price" if some else "No price is known of these tokens"
        show.row(out, f"{which}; {remedy()}")


def opened(found: SessionDetail) -> None:
    """Show a session: what was said and done in its order."""
    out = show.console()
    show.row(out, _title(found.summary))
    show.row(out, _figures(found.summary), "  ")
    show.row(out, Styled(show.plain(found.summary.id, 40).plain, "dim"), "  ")
    show.row(out, show.plain(found.summary.project, 100), "  ")
    for each in found.summary.models:
        cost = f", {_spent(each)}" if each.cost_usd is not None else ""
        used = f"{show.number(each.messages, 'answer')}, {tokens(each.tokens.total)} tokens{cost}"
        show.row(out, show.plain(f"{each.model}: {used}"), "  ")
    _unpriced(out, found.summary.unpriced, some=bool(found.summary.cost_usd))
    if caveat := found.summary.tokens.caveat:
        show.row(out, f"cost {caveat}", "  ")
    show.row(out, _ended(found), "  ")
    if found.heard_from:
        show.row(out, Styled(found.heard_from, "dim"), "  ")
    words = [said for said in found.said if said.who == "person"]
    for taken in found.steps:
        while words and words[0].at <= taken.outcome.started_at:
            show.row(out, show.plain(words.pop(0).text, 200), Styled("person  ", "bold"))
        _step(out, taken)
    for said in words:
        show.row(out, show.plain(said.text, 200), Styled("person  ", "bold"))
    if found.next:
        out.print(Styled(f"more: --cursor {found.next}", "dim"))


def _ended(found: SessionDetail) -> Styled:
    """Say whether it failed, and what of that was not seen to be fixed."""
    held = found.summary
    if not held.failures:
        return Styled("no step failed", "green")
    if not found.unfixed:
        return Styled(f"a later step fixed what failed, all {held.failures} times", "green")
    last = found.unfixed[-1]
    said = last.failure.message if last.failure else ""
    line = Styled(f"{len(found.unfixed)} of {held.failures} failed steps not seen to be fixed", "red")
    return line.append(show.plain(f"; the last: {said}", 120)).append(f"  {last.id}", "dim")


def _step(out: Console, each: SessionStep) -> None:
    outcome = each.outcome
    lead = Styled(f"{each.number:>6}  ", "dim").append("│ " if outcome.thread else "")
    asked = outcome.step.input if outcome.step else outcome.task
    name = f"{outcome.step.tool if outcome.step else outcome.task}  "
    said = Styled(name, "bold").append(show.plain(asked, 110))
    if each.cost_usd:
        said.append(f"  {_spent(each)}", "dim")
    show.row(out, said, lead)
    behind = Styled(" " * lead.cell_len)
    if outcome.failure is not None:
        failed = show.kind(outcome.failure.kind).append("  ").append(show.plain(outcome.failure.message, 160))
        show.row(out, failed.append(f"  {outcome.id}", "dim"), behind)
        if each.fixed_by:
            show.row(out, Styled(f"fixed by {each.fixed_by}", "green"), behind)
    for met in each.lessons:
        show.row(out, show.plain(f"{'shown' if met.shown else 'withheld'}: {met.text}", 160), behind)


def step(found: OutcomeDetail) -> None:
    """Show one step whole."""
    out = show.console()
    each = found.step
    outcome = each.outcome
    state = Styled("ok", "green") if outcome.ok else Styled("failed", "red")
    show.row(out, Styled(f"{outcome.step.tool if outcome.step else outcome.task}  ", "bold").append(state))
    show.row(
        out,
        show.plain(f"{outcome.id}  session {outcome.session}  step {each.number}  {_when(outcome.started_at)}"),
        "  ",
    )
    for title, text in (
        ("asked", outcome.step.input if outcome.step else ""),
        ("changed", outcome.step.change if outcome.step else ""),
        ("failed", outcome.failure.message if outcome.failure else ""),
        ("answered", each.result),
    ):
        if text:
            out.print(Styled(title, "bold"))
            show.row(out, show.block(text), "  ")
    if each.place in ("gone", "changed"):
        show.row(out, show.plain(f"its history is {each.place}: {found.path}"), "  ")
    for name, other in (("fixed by", each.fixed_by), *(("fixes", failed) for failed in each.fixes)):
        if other:
            show.row(out, Styled(f"{name} {other}", "green"), "  ")


def found(result: SearchFound) -> None:
    """Show what a search found."""
    if result.recalled is not None:
        show.recalled(result.recalled)
        return
    out = show.console()
    if not result.hits:
        words = f"Nothing has all of these words: {' '.join(result.words)}"
        show.row(out, words if result.words else "No step is left by these options.")
        return
    if not result.words:
        show.row(out, f"{show.number(result.steps, 'step')}, the newest first; those that say the same stand once")
    for each in result.hits:
        style = "" if each.ok else "red"
        head = Styled(f"{each.noun:<8}", "bold").append(show.plain(each.title, 70), style)
        alike = f"  and {each.alike} more that say{'s' * (each.alike == 1)} the same" if each.alike else ""
        head.append(f"  {_when(each.at)}  {each.outcome or each.id}{alike}", "dim")
        show.row(out, head)
        show.row(out, show.plain(each.text, 200), "        ")
        if each.fixed_by:
            fixed = Styled("fixed by ", "green").append(show.plain(each.fix, 160)).append(f"  {each.fixed_by}", "dim")
            show.row(out, fixed, "        ")
    for session in result.sessions[:5]:
        show.row(
            out,
            Styled("session ", "bold")
            .append(show.plain(session.title, 70))
            .append(f"  {session.id}  {show.number(session.hits, 'hit')}", "dim"),
        )


def costs(result: Costs, words: Mapping[str, str]) -> None:
    """Show what was used as a table; `words` say what ids stand for."""
    out = show.console()
    if not result.rows:
        show.row(out, "Nothing was used in this time, as far as it is known. Next: ratchet learn, or another --since")
        return
    priced = any(each.cost_usd for each in result.rows)
    money_columns = f"{'cost':>12} {'waste':>10} " if priced else ""
    out.print(Styled(f"{money_columns}{'tokens':>10} {'steps':>8}  {result.by}", "dim"))
    for each in result.rows[:COSTS]:
        said = words.get(each.name, "")
        name = show.plain(said or each.name or f"({NAMELESS[result.by]})", 70)
        show.row(out, name.append(f"  {each.name[:_SHORT]}", "dim") if said else name, _cost(each, priced=priced))
    if len(result.rows) > COSTS:
        rest = f"and {show.number(len(result.rows) - COSTS, 'more row')}: --since and --project narrow, --json has all"
        out.print(Styled(rest, "dim"))
    show.row(out, _cost(result.total, priced=priced).append("all", "bold"))
    for each in sorted(result.waste, key=lambda each: -each.wasted_tokens):
        took = f"{each.name}: {show.number(each.wasted_calls, 'step')}, {tokens(each.wasted_tokens)} tokens"
        usd = f", {money(each.wasted_usd)}" if priced and each.wasted_usd is not None else ""
        show.row(out, f"waste by {took}{usd}, {span(each.wasted_s)} of tools")
    if caveat := result.total.tokens.caveat:
        show.row(out, f"cost {caveat}")
    _unpriced(out, result.total.unpriced, some=priced)


def _cost(each: Cost, *, priced: bool) -> Styled:
    wasted = money(each.wasted_usd) if each.wasted_calls else ""
    spent = f"{_spent(each):>12} {wasted:>10} " if priced else ""
    return Styled(f"{spent}{tokens(each.tokens.total):>10} {each.calls:>8,}  ")


def _spent(each: Cost | ModelCost | SessionStep | SessionSummary) -> str:
    return "" if each.cost_usd is None else each.tokens.mark + money(each.cost_usd)


def ways(rows: Sequence[ToolWay]) -> None:
    """Show the ways to call a tool."""
    out = show.console()
    for each in rows:
        ended = f"worked {each.worked}" + (f", failed {each.failed}" if each.failed else "")
        ended += f" (exit {', '.join(map(str, each.exit_codes))})" if each.exit_codes else ""
        show.row(
            out, show.plain(each.input, 160), Styled("+ " if each.worked else "- ", "green" if each.worked else "red")
        )
        show.row(out, Styled(f"{ended}, {show.ago(each.last_at)}  {each.last}", "dim"), "  ")


def forgotten(done: Forgotten) -> None:
    """Say what went, and whether anything is left."""
    verb = "forgot" if done.done else "would forget"
    steps, rows = done.removed.get("outcomes", 0), sum(done.removed.values())
    held = f"{show.number(steps, 'step')} and {rows - steps:,} records made of them (--json counts each kind)"
    show.line(f"{verb} {show.number(len(done.sessions), 'session')}: {held}")
    gone = f"{show.number(done.patterns, 'pattern')} and {show.number(len(done.lessons), 'lesson')}"
    show.line(f"  {gone} {'went' if done.done else 'would go'} with them: they rested on nothing else")
    if done.kept_lessons:
        show.line(f"  {show.number(len(done.kept_lessons), 'lesson')} kept, without that evidence")
    if not done.done:
        return
    for folder in done.folders:
        show.line(f"LEFT: {folder}, a skill that was made of them and changed by a person: yours to delete")
    for table, count in done.left.items():
        show.line(f"LEFT: {show.number(count, 'row')} of {table} with the name of one of them")
    for name in done.quoting:
        show.line(f"LEFT: session {show.plain(name, 80)} speaks of one of them; next: ratchet forget {name}")
    for name in done.traces:
        show.line(f"LEFT: {name} still names one of them{way_out(name)}")
    if done.beside:
        show.line(f"LEFT: {show.plain(done.beside, 300)}; what it holds of them goes when it is asked next")
    if not (done.left or done.traces or done.folders or done.beside):
        show.line(
            "proved: every table and every file of the home was searched, and none names them but for the paths of the "
            "histories that were read (so that they are not read again)"
        )


def checked(result: Checked) -> None:
    """Say how the store compares with its histories."""
    read = f"{show.number(result.files, 'history') if result.files == 1 else f'{result.files:,} histories'} read again"
    show.line(f"{read}: {result.steps:,} steps and {result.answers:,} answers compared")
    for title, names in (
        ("not there any more", result.gone),
        ("has lines that are not read yet (ratchet learn)", result.grown),
        ("MISSING step", result.missing),
        ("FEWER tokens", result.fewer),
        ("SUM differs", result.strange),
    ):
        for name in names[:10]:
            show.line(f"  {title}: {name}")
        if len(names) > 10:
            show.line(f"  {title}: and {len(names) - 10} more")
    show.line(
        "sound: the store has all that its histories say"
        if result.sound
        else "NOT SOUND: run ratchet learn, then this again"
    )


def money(usd: float | None) -> str:
    """USD as people read it; "" where nobody knows."""
    if usd is None:
        return ""
    return f"${usd:,.2f}" if usd >= 0.005 or not usd else f"${usd:.4f}"


def tokens(count: int) -> str:
    """Tokens in at most four digits."""
    for size, name in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.1f}{name}"
    return str(count)


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(at))
