"""Tables of sums over other tables, moved in the transaction that moves those, so that a page reads few rows.

`failures.patterns.sums` and `store.sums` write them.
"""

from __future__ import annotations

from ratchet.store.declaring import Column, Table, counters, integer, text

ENDINGS = Table(
    # How a session's failures ended of which nobody was told a lesson, by tool and command. A session's rows replace
    # its former.
    name="endings",
    key=("session", "head"),
    columns=(*text("session", "head"), *counters("int", "met", "overcome")),
    clustered=True,
    body=False,
)

SUM_TABLES = (
    # Tallies over all hours, of each agent and ("") of all, and in how many sessions each signature was met.
    Table(
        name="signature_sums",
        key=("agent", "signature"),
        columns=(
            *text("agent", "signature"),
            *counters("int", "n", "tokens", "sessions"),
            *counters("real", "duration_s"),
            Column(name="min_at", type="real", role="min"),
            Column(name="max_at", type="real", role="max"),
        ),
        clustered=True,
        body=False,
    ),
    # Tallies over all signatures of a kind.
    Table(
        name="kind_tallies",
        key=("hour", "kind"),
        columns=(*integer("hour"), *text("kind"), *counters("int", "n"), *counters("real", "duration_s")),
        clustered=True,
        body=False,
    ),
    # Facts by day (whole days since the epoch) and one thing: of commands their runs, of what else the steps. A session
    # counts on the last day on which it met a name, so that the days from any one on add up to how many did since.
    Table(
        name="fact_days",
        key=("by", "day", "name", "project"),
        columns=(
            *text("by", "name", "project"),
            *integer("day"),
            *counters("int", "calls", "failures", "excused", "sessions", "tokens"),
            *counters("real", "duration_s"),
            Column(name="max_at", type="real", role="max"),
        ),
        clustered=True,
        body=False,
    ),
    # Spending by day and one thing.
    Table(
        name="spending_days",
        key=("by", "day", "name", "project", "model", "waste"),
        columns=(
            *text("by", "name", "project", "model", "waste"),
            *integer("day"),
            *counters("int", "calls", "given", "stored", "stored_hour", "cached", "made", "unsplit", "begun"),
            *counters("real", "cost_usd", "duration_s", "wasted_s"),
        ),
        clustered=True,
        body=False,
    ),
)
