"""A replay as a terminal shows it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ratchet.cli import show
from ratchet.cli.terminal import Console, Styled
from ratchet.lessons.backtest.telling import failed_of, figures, said, titles, told

if TYPE_CHECKING:
    from ratchet.lessons.backtest.backtest import Backtest, BacktestOffer


def backtest(found: Backtest, *, since: str = "") -> None:
    """Show the line that sums it up, the figures, the best and the worst offers, and what is assumed. `since` is the
    day that was asked for."""
    out = show.console()
    if since and not found.failures:
        show.row(out, Styled(f"Nothing to replay: no session with a failure began on {since} or later.", "bold"))
        out.print("next  ratchet backtest                all that was learnt")
        return
    show.row(out, Styled(said(found), "bold"))
    if not found.failures:
        out.print("next  ratchet learn                   read your histories")
        return
    for name, value in figures(found):
        show.row(out, value, f"  {name:<36}")
    for title, shown in titles(found):
        offers(out, title, shown)
    out.print(Styled("\nHad a lesson been told only after more proof", "bold"))
    for each in found.trusted_after:
        show.row(out, told(each), f"  after it worked in {each.sessions} sessions  ")
    out.print(Styled("\nAssumed", "bold"))
    for assumed in found.assumed:
        show.row(out, assumed, "  ")


def offers(out: Console, title: str, found: Sequence[BacktestOffer]) -> None:
    """Show some offers, and of a wrong one whether its lesson is better retired."""
    if not found:
        return
    out.print(Styled(f"\n{title}", "bold"))
    for each in found:
        day = time.strftime("%Y-%m-%d", time.gmtime(each.at))
        show.row(out, show.plain(each.step, 149), f"  {day} ")
        show.row(out, show.plain(f"failed with {failed_of(each)} (session {each.session})", 200), "     ")
        show.advice(out, each.text, Styled("  -> "))
        if each.lesson and each.verdict == "wrong":
            often = f"{each.right:,} right, {each.wrong:,} wrong in all"
            retire = f": ratchet lessons retire {each.lesson} --reason WHY" if each.is_bad else ", so it stays"
            show.row(out, f"{often}{retire}", "     ")
