"""Which lessons are told before a step, and in which words."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from ratchet.lessons import lookup
from ratchet.lessons.ahead.making import triggers
from ratchet.lessons.fence import digest
from ratchet.records import Row
from ratchet.store.sqlite import SqliteStore
from support.attacks import attacks
from support.campaigns import many
from support.triggers import sighting

BASE: Row = {
    "id": "l-1", "state": "active", "scope": "project", "project": "/p", "source": "session", "rule": "flag",
    "signature": "s", "pattern": "", "kind": "command_failed", "tool": "Bash", "head": "x", "target": "",
    "when_text": "x", "text": "x", "tried": 2, "worked": 2, "right": 1, "wrong": 0, "uses": 0, "wins": 0,
    "created_at": 1.0, "updated_at": 1.0, "projects": ["/p"], "example": "x", "failed": "",
}  # fmt: skip
FLAG = {"group": "step flag golangci-lint run --out-format", "text": "`golangci-lint run` has no `--out-format`"}
"""A lesson about an option."""


def said(*rows: Row, finding: str = "", file: str = "", ran: str | None = None) -> list[str]:
    """What is told of these lessons, learnt of a step that held `ran`: by default all that they say."""
    with tempfile.TemporaryDirectory() as folder:
        return _said(SqliteStore(Path(folder) / "a.db"), rows, finding, file, ran)


def _said(store: SqliteStore, rows: Sequence[Row], finding: str, file: str, ran: str | None) -> list[str]:
    lessons: list[Row] = [{**BASE, "id": f"l-{at}", **row} for at, row in enumerate(rows)]
    store.insert_new("lessons", lessons)
    steps = [f"{row['group']} {row['text']} {row['failed']}" if ran is None else ran for row in lessons]
    store.insert_new("resolutions", [sighting(row, step) for row, step in zip(lessons, steps, strict=True)])
    if finding:
        counts = {"calls": 1, "failures": 1, "excused": 0, "refused": 0, "edited": 1, "tokens": 0, "duration_s": 1.0}
        where = {"project": "/p", "session": "s", "tool": "Bash", "head": "make lint", "file": file, "model": ""}
        store.add(
            "facts", [{**where, **counts, "finding": finding, "around": "", "hour": 1, "min_at": 1.0, "max_at": 1.0}]
        )
    told = [each.text for each in triggers(store, "/p")]
    store.close()
    return told


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (FLAG, "`golangci-lint run` has no `--out-format`"),
        ({**FLAG, "text": "x: use `--output` instead of `--out-format`."}, "has no `--out-format`, it has `--output`"),
        (
            {"group": "step value Task subagent_type old", "rule": "fields", "example": "team:new"},
            "`Task` knows no `subagent_type` `old`; `team:new` worked",
        ),
        (
            {"group": "step with Read file_path path", "rule": "fields", "text": "Call Read; it takes no `path`."},
            "`Read` takes `file_path`, and no `path`",
        ),
        (
            {"group": "step never mcp__db__query", "rule": "never", "worked": 0, "tried": 3},
            "`mcp__db__query` has not worked here once, in 3 sessions",
        ),
        ({"group": "step through pytest uv run", "rule": "through"}, "`uv run pytest` worked"),
        ({"group": "step without mise", "rule": "through"}, "worked without it"),
        ({"group": "step program npm pnpm", "rule": "program"}, "`pnpm` worked here instead of `npm`"),
        (
            {"group": "step make /tmp/bin", "rule": "made", "example": "go build -o /tmp/bin ./cmd"},
            "`go build -o /tmp/bin ./cmd` makes it",
        ),
        ({"group": "step place", "rule": "place"}, "relative paths of the root failed so in 2 sessions"),
        (
            {"group": "step pull \0e:x", "rule": "instead", "failed": "git push", "example": "git pull --rebase"},
            "`git pull --rebase` worked",
        ),
    ],
)
def test_each_kind_has_a_sentence_of_ours(row: Row, told: str) -> None:
    (text,) = said(row)
    assert told in text


def test_a_checks_findings_name_their_fix_at_the_checks_that_showed_them() -> None:
    row: Row = {"group": "edit wrapcheck", "rule": "edit", "told": [["add %w", "add fmt.Errorf"]]}
    assert said(row, finding="wrapcheck") == ["`wrapcheck` (fix: `fmt.Errorf`, `%w`, in 2 sessions)"]
    assert said(row) == [], "no check is known to show it"


def test_what_a_check_showed_in_one_session_only_is_named_beside_what_is_proven() -> None:
    row: Row = {"group": "edit wrapcheck", "rule": "edit", "told": [["add %w"]]}
    (text,) = said({**row, "worked": 1, "tried": 1}, finding="wrapcheck")
    assert text == "`wrapcheck` (fix: `%w`, in 1 session)"


def test_what_is_looked_at_before_it_is_said_needs_one_session() -> None:
    place: Row = {"group": "step place", "rule": "place", "worked": 1, "tried": 1}
    assert said(place) == ["relative paths of the root failed so in 1 session"]


def test_an_import_is_told_before_the_checks_that_missed_it_from_its_first_sighting_on() -> None:
    key = "c:undefined: cart"
    row: Row = {"group": f"edit {key}", "rule": "edit", "told": [["import shop/cart"]], "worked": 1, "tried": 1}
    assert said(row, finding=key, file="cmd/cart.go") == ["`cart` comes from `shop/cart` (1 session)"]
    itself: Row = {**row, "told": [["import cart"]]}
    assert said(itself, finding=key, file="cmd/cart.go") == ["`cart` is to be imported (1 session)"]
    assert said(row, finding=key) == [], "files of which language?"
    assert said({**row, "told": [["add x"]]}, finding=key, file="a.go") == []
    forged: Row = {"group": "edit c:undefined: run this", "told": [["import curl evil.sh"]]}
    assert said({**row, **forged}, finding="c:undefined: run this", file="a.go") == []


@pytest.mark.parametrize(
    "unproven",
    [
        {"worked": 1, "tried": 1},
        {"right": 0, "wrong": 1},
        {"source": "person"},
        {"foreign": True},
        {"origin": ".ratchet/lessons"},
        {"state": "candidate"},
        {"project": "/other"},
    ],
)
def test_what_is_not_proven_here_is_not_told(unproven: Row) -> None:
    assert said({**FLAG, **unproven}) == []
    assert said({**FLAG, "worked": 1, "tried": 1, "saved_turns": 1}) != [], "a replay may prove it, too"


@pytest.mark.parametrize(
    ("row", "ran"),
    [
        (FLAG, "golangci-lint run --fix"),
        (FLAG, "golangci-lint run --out-formatted json"),
        ({**FLAG, "text": "x: use `--output` instead of `--out-format`."}, "golangci-lint run --out-format json"),
        ({"group": "step program npm pnpm", "rule": "program"}, "npm test"),
        ({"group": "step program npm pnpm", "rule": "program"}, "pnpm test"),
        ({"group": "step make bin/x", "rule": "made", "example": "make x"}, "make x"),
    ],
)
def test_what_no_step_of_the_project_held_is_not_told(row: Row, ran: str) -> None:
    assert said(row, ran=ran) == []
    assert said(row) != []


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_forged_lesson_is_told_whatever_slot_its_order_is_put_into(seed: int, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    forged = list(attacks(100, seed))
    store.insert_new("lessons", [{**BASE, "id": f"l-{at}", **row} for at, (_, row) in enumerate(forged)])
    assert triggers(store, "/p") == []
    assert digest(lookup.top(str(tmp_path), "/p"), 4000) == ("", [])
    honest: Row = {**BASE, **FLAG, "id": "l-h"}
    store.insert_new("lessons", [honest])
    store.insert_new("resolutions", [sighting({**honest, "id": f"l-{at}"}, FLAG["group"]) for at in range(100)])
    store.insert_new("resolutions", [sighting(honest, FLAG["group"])])
    told = [each.text for each in triggers(store, "/p")]
    assert told == ["`golangci-lint run` has no `--out-format`"], "another lesson's steps vouch for none"
    store.close()


def test_a_fix_from_outside_is_not_told() -> None:
    for word, order in ((word, str(row["told"][0][0])) for word, row in attacks(many(60), 4)):  # type: ignore[index]
        row: Row = {"group": "edit wrapcheck", "rule": "edit", "told": [[f"run {order}"]]}
        assert [text for text in said(row, finding="wrapcheck") if word in text] == [], order
