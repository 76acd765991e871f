"""The tables, declared once (so long since they are read together): a column for what is filtered, grouped or joined;
one JSON body holds the rest of a row.

Every store builds itself from `TABLES`; a change of a declaration is a new `VERSION` (see `store.migrations`).
Times are Unix seconds (UTC), hours are whole hours since the epoch.
"""

from __future__ import annotations

from ratchet.errors import UsageError
from ratchet.store.declaring import Column, Index, Table, boolean, copy, counters, integer, real, required, text
from ratchet.store.derived import template_terms_of, terms_of, words_of
from ratchet.store.sum_tables import ENDINGS, SUM_TABLES

VERSION = 28
"""Version of the declarations below, kept in the database."""

_SPAN = (Column(name="min_at", type="real", role="min"), Column(name="max_at", type="real", role="max"))
_REVISION, _ANSWER_TOKENS = integer("revision"), ("given", "stored", "stored_hour", "cached", "made", "begun")

_TABLES = (
    # Facts. A column costs 0.2 us an outcome even where it is empty, so only what is filtered by has one.
    Table(
        name="outcomes",
        key=("id",),
        columns=(
            *required("text", "id", "agent"),
            *required("bool", "ok"),
            *required("real", "started_at"),
            *text("session", "thread", "task", "project", "source"),
            *copy("failure", "kind", "signature"),
        ),
        indexes=(
            Index(columns=("session", "started_at", "thread", "ok"), where="session"),
            Index(columns=("started_at",)),
            Index(columns=("signature", "started_at"), where="signature"),
        ),
    ),
    Table(
        name="exposures",
        key=("trial", "unit"),
        columns=(
            *text("trial", "unit", "arm", "session", "pattern", "channel"),
            *real("share", "at", "settled_at", "due_at"),  # `due_at`: of a trial's exposure, its deadline
            *boolean("settled", "ok"),
            *_REVISION,
        ),
        indexes=(Index(columns=("session",), where="session"), Index(columns=("at",))),
    ),
    # Sessions that grew since they were last searched for loops and resolutions are `pending`.
    Table(
        name="sessions",
        key=("session",),
        columns=(*text("session"), *boolean("pending"), *real("at"), *_REVISION),
        indexes=(Index(columns=("pending", "at")),),
    ),
    # What happened in a session at all, moved in the transaction of the insert; `tokens` as its outcomes say them.
    Table(
        name="session_tallies",
        key=("session",),
        columns=(
            *text("session", "agent", "project", "model"),
            *counters("int", "calls", "failures", "excused", "tokens"),
            *counters("real", "cost_usd"),
            *_SPAN,
        ),
        indexes=(Index(columns=("max_at",)), Index(columns=("project", "max_at"))),
        clustered=True,
        body=False,
    ),
    # Tokens of each answer of a model, which is written again while it grows, and their sums.
    Table(
        name="session_models",
        key=("session", "model"),
        columns=(*text("session", "model"), *counters("int", "messages", *_ANSWER_TOKENS)),
        clustered=True,
        body=False,
    ),
    Table(
        name="message_tokens",
        key=("id",),
        columns=(
            *text("id", "session", "thread", "step", "agent", "project", "model"),
            *integer(*_ANSWER_TOKENS),
            *real("at"),
            *_REVISION,
        ),
        indexes=(Index(columns=("session", "at")), Index(columns=("step",), where="step")),
    ),
    # Where a step's result stands in its history: `file` is the identity of a cursor, `digest` its line's hash.
    Table(
        name="step_places",
        key=("id",),
        columns=(*text("id", "file", "digest"), *integer("start"), *real("at")),
        indexes=(Index(columns=("file",)), Index(columns=("at",))),
        body=False,
    ),
    # The words of a session's steps, by which they are found; the body holds the result where steps are kept.
    Table(
        name="steps",
        key=("id",),
        columns=(*text("id", "session", "words"), *real("at"), *_REVISION),
        indexes=(Index(columns=("session",)), Index(columns=("at",))),
        words="words",
    ),
    # Money's tokens by their use, and `waste` among them (failure, retry or loop). A session's rows replace its former.
    Table(
        name="spending",
        key=("session", "project", "agent", "model", "tool", "signature", "waste", "hour"),
        columns=(
            *text("session", "project", "agent", "model", "tool", "signature", "waste"),
            *integer("hour"),
            *counters("int", "calls", *_ANSWER_TOKENS, "unsplit"),
            *counters("real", "cost_usd", "duration_s", "wasted_s"),
        ),
        indexes=(Index(columns=("project", "hour")), Index(columns=("hour",))),
        clustered=True,
        body=False,
    ),
    # What the failures have in common.
    Table(
        name="signatures",
        key=("signature",),
        columns=(
            *text("signature", "kind", "template", "pattern"),
            *boolean("pinned"),  # split off by a person: never merged again by itself
            *real("created_at"),
            *_REVISION,
        ),
        indexes=(Index(columns=("pattern",)),),
    ),
    Table(
        name="patterns",
        key=("id",),
        columns=(
            *text("id", "signature", "kind", "template"),
            *real("created_at"),
            *_REVISION,
            *text("words", "terms"),
        ),
        terms="terms",
        words="words",
        made={"words": words_of("kind", "template"), "terms": template_terms_of},
    ),
    Table(
        name="merges",
        key=("id",),
        columns=(*text("id", "pattern", "signature"), *boolean("undone"), *real("at"), *_REVISION),
        indexes=(Index(columns=("pattern",)),),
    ),
    # What people decided about a pattern; the note stands in the body.
    Table(
        name="triage",
        key=("pattern",),
        columns=(*text("pattern", "state", "assigned"), *real("at", "until"), *_REVISION),
    ),
    # Tallies: moved in the transaction of the insert, so that analysis never scans history.
    Table(
        name="tallies",
        key=("signature", "agent", "hour"),
        columns=(
            *text("signature", "agent"),
            *integer("hour"),
            *counters("int", "n", "tokens"),
            *counters("real", "duration_s", "cost_usd"),
            *_SPAN,
        ),
        indexes=(Index(columns=("hour", "signature", "n")),),
        clustered=True,
        body=False,
    ),
    # Signature "" stands for taking part in a session at all.
    Table(
        name="sightings",
        key=("signature", "session", "agent"),
        columns=(*text("signature", "session", "agent"), *counters("int", "n"), *_SPAN),
        clustered=True,
        body=False,
    ),
    Table(
        name="activity",
        key=("agent", "hour"),
        columns=(
            *text("agent"),
            *integer("hour"),
            *counters("int", "calls", "failures", "excused", "tokens"),
            *counters("real", "duration_s", "cost_usd"),
            *_SPAN,
        ),
        clustered=True,
        body=False,
    ),
    # One row per agent: its last outcomes, oldest first, in the body (see `analysis.health`).
    Table(name="recents", key=("agent",), columns=(*text("agent"), *_REVISION)),
    # What was learnt.
    Table(
        name="resolutions",
        key=("id",),
        columns=(
            *text("id", "session", "project", "failed_id", "worked_id", "signature", "key", "lesson_id"),
            *real("at", "wasted_s", "failed_s"),
            *integer("wasted_tokens", "failed_tokens"),
            *_REVISION,
        ),
        indexes=(
            Index(columns=("signature",)),
            Index(columns=("lesson_id",), where="lesson_id"),
            Index(columns=("session",)),
            Index(columns=("key", "project"), where="key"),
        ),
    ),
    # What a session ran, each command once: vouches for a project's own ways, and speaks against lessons it outgrew.
    Table(
        name="habits",
        key=("session", "head", "form"),
        columns=(
            *text("session", "head", "form", "project"),
            *integer("ok", "failed", "refused"),
            *real("last_ok", "last_refused", "at"),
            *_REVISION,
        ),
        indexes=(Index(columns=("project", "at")),),
    ),
    # Remotes that git named in folders that are no repository here, by the folder's own name.
    Table(
        name="remotes",
        key=("folder", "remote"),
        columns=(*text("folder", "remote"), *counters("int", "seen")),
        clustered=True,
        body=False,
    ),
    # A project's calls by their end. A row with a `finding` counts the runs that showed it, one with circumstances
    # (`around`) the calls that it was for. A session's rows replace its former; session "" holds calls of none.
    Table(
        name="facts",
        key=("project", "session", "tool", "head", "file", "finding", "model", "hour", "around"),
        columns=(
            *text("project", "session", "tool", "head", "file", "finding", "model"),
            *integer("hour"),
            *text("around"),
            *counters("int", "calls", "steps", "failures", "excused", "refused", "edited", "tokens"),
            *counters("real", "duration_s"),
            *_SPAN,
        ),
        indexes=(Index(columns=("session", "hour")),),
        clustered=True,
        body=False,
    ),
    *(*SUM_TABLES, ENDINGS),
    Table(
        name="lessons",
        key=("id",),
        columns=(
            *text("id", "state", "scope", "signature", "pattern", "kind", "tool", "head", "target", "project"),
            *text("when_text", "text"),
            *integer("tried", "worked", "uses", "wins"),
            *real("created_at", "updated_at"),
            *_REVISION,
            *text("source", "terms", "said", "search_words"),  # `words` of a row are those that a person said
        ),
        # In the order in which a session start is offered them: `lookup.top` reads the first few and no more.
        indexes=(
            Index(columns=("signature",)),
            Index(columns=("pattern",)),
            Index(columns=("state", "worked", "id")),
            Index(columns=("project", "head"), where="project"),
        ),
        terms="terms",
        words="search_words",
        made={"terms": terms_of, "search_words": words_of("text", "when_text", "said", "note", "quote")},
    ),
    # What was said in a history, and what a session makes of a person's words.
    Table(
        name="sayings",
        key=("id",),
        columns=(*text("id", "session", "who", "after"), *real("at"), *_REVISION, *text("words")),
        indexes=(Index(columns=("session", "who")), Index(columns=("at",))),
        words="words",
        made={"words": words_of("text")},
    ),
    Table(
        name="moves",
        key=("id",),
        columns=(*text("id", "session", "project"), *integer("points"), *real("at"), *_REVISION),
        indexes=(Index(columns=("session",)), Index(columns=("project", "at"))),
    ),
    # The long form of a lesson, every version of it: its files by their paths.
    Table(
        name="skills",
        key=("id",),
        columns=(*text("id", "lesson", "name"), *integer("version"), *real("made_at"), *_REVISION),
        indexes=(Index(columns=("lesson", "version")),),
    ),
    # The findings that a mined lesson answers.
    Table(
        name="answers",
        key=("key", "lesson_id"),
        columns=(*text("key", "lesson_id"), *_REVISION),
        indexes=(Index(columns=("lesson_id",)),),
    ),
    # What is tried. A lease names the trial that holds its target, "" when it is free.
    Table(
        name="trials",
        key=("id",),
        columns=(
            *text("id", "target", "agent", "state", "pattern"),
            *real("created_at", "opened_at", "closed_at"),
            *_REVISION,
        ),
        indexes=(Index(columns=("state",)), Index(columns=("target",)), Index(columns=("created_at",))),
    ),
    Table(name="leases", key=("target",), columns=(*text("target", "trial"), *_REVISION)),
    Table(
        name="proposals",
        key=("id",),
        columns=(
            *text("id", "agent", "pattern", "kind", "state", "trial"),
            *real("created_at", "updated_at"),
            *_REVISION,
        ),
        indexes=(Index(columns=("state",)), Index(columns=("pattern",))),
    ),
    # Where reading stands: journal segments and source files. `carry` (the reader's own memory) stands in the body.
    Table(
        name="cursors",
        key=("path",),
        columns=(*text("path", "identity", "source"), *integer("offset", "size"), *real("at"), *_REVISION),
        indexes=(Index(columns=("identity",), where="identity"),),
    ),
    Table(
        name="quarantine",
        key=("path", "line", "reason"),
        columns=(*text("path"), *integer("line"), *text("reason", "source"), *real("at")),
        indexes=(Index(columns=("at",)),),
    ),
    # Live settings: which version of a target is in force (the body holds its declared knobs), and all versions.
    Table(
        name="settings",
        key=("target",),
        columns=(*text("target", "agent"), *integer("version"), *real("at"), *_REVISION),
    ),
    Table(
        name="versions",
        key=("id",),
        columns=(
            *text("id", "target", "who", "why"),
            *integer("number", "parent"),
            *real("at", "applied_at"),
            *_REVISION,
        ),
        indexes=(Index(columns=("target", "number")),),
    ),
    # Healing. A task is claimed again as a further episode; an attempt faces a signature and leaves another, or none.
    Table(
        name="tasks",
        key=("id",),
        columns=(*text("id", "folder"), *integer("episodes"), *real("created_at", "updated_at"), *_REVISION),
        indexes=(Index(columns=("folder",)),),
    ),
    Table(
        name="episodes",
        key=("id",),
        columns=(
            *text("id", "task", "status", "solver", "folder", "signature"),
            *integer("number"),
            *real("started_at", "ended_at", "duration_s", "cost_usd"),
            *_REVISION,
        ),
        indexes=(Index(columns=("started_at",)), Index(columns=("task",))),
    ),
    Table(
        name="attempts",
        key=("episode", "n"),
        columns=(
            *text("episode"),
            *integer("n"),
            *text("status", "solver", "faced", "signature", "kind"),
            *real("started_at", "duration_s", "cost_usd"),
            *_REVISION,
        ),
        indexes=(Index(columns=("solver", "status", "started_at")),),
    ),
    # A way back after each attempt: the workspace's token, and the changed files themselves in the body.
    Table(
        name="checkpoints",
        key=("episode", "n"),
        columns=(*text("episode"), *integer("n"), *text("token", "state"), *real("at"), *_REVISION),
    ),
    # Money set aside before a call and settled after it: a call whose end nobody saw counts in full.
    Table(
        name="charges",
        key=("id",),
        columns=(
            *text("id", "episode"),
            *integer("attempt", "tokens"),
            *real("reserved_usd", "usd", "at"),
            *boolean("settled"),
            *_REVISION,
        ),
        indexes=(Index(columns=("episode",)),),
    ),
    # Measuring agents. An evaluation is a fact, written as it ends: a run that is resumed pays for none of them twice.
    Table(
        name="benchruns",
        key=("id",),
        columns=(*text("id", "name", "benchmark", "agent", "state"), *real("started_at", "ended_at"), *_REVISION),
        indexes=(Index(columns=("name", "started_at")), Index(columns=("started_at",))),
    ),
    Table(
        name="evaluations",
        key=("run", "candidate", "task", "seed"),
        columns=(
            *text("run", "candidate", "task"),
            *integer("seed"),
            *text("result", "kind", "signature"),
            *real("score", "wall_s", "cost_usd", "at"),
            *integer("tokens"),
        ),
        indexes=(Index(columns=("run", "at")),),
    ),
    Table(
        name="evolutions",
        key=("id",),
        columns=(*text("id", "state", "benchmark", "proposer"), *real("started_at", "ended_at"), *_REVISION),
        indexes=(Index(columns=("started_at",)),),
    ),
    # The archive of a run: every version that was proposed, as a tree.
    Table(
        name="candidates",
        key=("run", "n"),
        columns=(*text("run"), *integer("n"), *text("id", "parent", "state"), *real("created_at"), *_REVISION),
        indexes=(Index(columns=("id",)),),
    ),
    # Serving. A token is known by its hash; a queued task belongs to the server that holds its lease.
    Table(
        name="access_tokens",
        key=("name",),
        columns=(*text("name", "hash"), *real("created_at", "revoked_at"), *_REVISION),
        indexes=(Index(columns=("hash",)),),
    ),
    Table(
        name="queue",
        key=("id",),
        columns=(
            *text("id", "state", "server", "episode"),
            *real("created_at", "lease_until", "ended_at"),
            *_REVISION,
        ),
        indexes=(Index(columns=("state", "created_at")), Index(columns=("episode",), where="episode")),
    ),
    # Teams. A run is driven by one process; a task's row holds its attempts; a letter is unread while `read_at` is 0.
    Table(
        name="team_runs",
        key=("id",),
        columns=(*text("id", "team", "state"), *real("started_at", "ended_at"), *_REVISION),
        indexes=(Index(columns=("started_at",)), Index(columns=("state",))),
    ),
    Table(
        name="team_tasks",
        key=("run", "id"),
        columns=(*text("run", "id", "state", "worker"), *real("started_at", "ended_at"), *_REVISION),
    ),
    Table(
        name="team_mail",
        key=("id",),
        columns=(*text("id", "run", "sender", "to"), *real("at", "read_at"), *_REVISION),
        indexes=(Index(columns=("run", "read_at")),),
    ),
    # The overseer: what it remembers of running work between two looks, and what it did.
    Table(
        name="watches",
        key=("id",),
        columns=(*text("id", "session", "trouble", "last"), *real("next_at", "at"), *_REVISION),
        indexes=(Index(columns=("last",)), Index(columns=("session",))),
    ),
    Table(
        name="interventions",
        key=("id",),
        columns=(*text("id", "session", "subject", "judgement", "action"), *real("at"), *_REVISION),
        indexes=(Index(columns=("at",)), Index(columns=("session",))),
    ),
    # The timeline, read by people and notifiers, never by loops.
    Table(
        name="events",
        key=("id",),
        columns=(*text("id", "noun", "record", "verb"), *real("at")),
        indexes=(Index(columns=("at",)), Index(columns=("record",))),
    ),
    Table(name="meta", key=("name",), columns=(*text("name"), *_REVISION)),
)

TABLES: dict[str, Table] = {table.name: table for table in _TABLES}


def table_of(name: str) -> Table:
    """The table of this name. Raises UsageError naming those that exist."""
    found = TABLES.get(name)
    if found is None:
        raise UsageError(f"no table {name!r}; the tables are {', '.join(TABLES)}")
    return found
