"""Histories in which nothing is to be learnt: each failure ends by a fix of its own, and unrelated things happen to
stand beside it. A lesson that becomes active in one of them is false.
"""

from __future__ import annotations

import random
from pathlib import Path

from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons.lessons import listed
from ratchet.lessons.mined import mine_session
from ratchet.records import Lesson, LessonState, Row
from ratchet.testing.stores import open_store
from support.sessions import call, session, shell

SESSIONS = 50
ACTIVE: tuple[LessonState, ...] = ("active",)
_START = 1_700_000_000.0
_TOLD = """
cart price stock order basket refund coupon ledger parcel label quota region tariff voucher invoice payment address
customer supplier shelf carrier rebate batch window
"""
_WORDS = tuple(_TOLD.split())
_FINDINGS = (("nestif", "complex nested blocks"), ("revive", "confusing results"), ("gocritic", "can be simpler"))
_UNRELATED = '\tmetrics.Count("seen")'
_BETWEEN = ("git fetch origin", "git status", "docker ps", "mkdir -p tmp", "go mod tidy", "npm ci")


def coincidental(seed: int, sessions: int = SESSIONS) -> list[list[Row]]:
    """The calls of each session of one world."""
    chance = random.Random(seed)
    return [_session(chance, number) for number in range(sessions)]


def false_lessons(folder: Path, seed: int, sessions: int = SESSIONS) -> list[Lesson]:
    """The active lessons that one world makes."""
    folder.mkdir(parents=True)
    store = open_store(folder)
    try:
        for number, calls in enumerate(coincidental(seed, sessions)):
            ingest(store, session(calls, f"s{number:03}", start=_START + 3_600 * number))
            mine_session(store, f"s{number:03}")
        return listed(store, states=ACTIVE)
    finally:
        store.close()


def _session(chance: random.Random, number: int) -> list[Row]:
    calls: list[Row] = []
    if chance.random() < 0.5:
        calls += _linted(chance, number)
    if chance.random() < 0.4:
        calls += _flaky(chance)
    return calls or [shell("go build ./...")]


def _linted(chance: random.Random, number: int) -> list[Row]:
    """A finding that ends by a change of its own; every other time the file gets the same unrelated line elsewhere, now
    and then right beside it."""
    linter, about = chance.choice(_FINDINGS)
    name, value, verb = (f"{chance.choice(_WORDS)}{chance.choice(_WORDS).title()}" for _ in range(3))
    path, line = f"cmd/{chance.choice(_WORDS)}.go", chance.randrange(20, 400)
    said = f"{path}:{line}:9: {name}: {about} ({linter})\n\t{name} := {value}({number})"
    mend = f"@@ {line} {line}\n- \t{name} := {value}({number})\n+ \t{name} := {verb}({value}, {chance.randrange(9)})"
    changes = [mend]
    if chance.random() < 0.1:
        changes = [f"{mend}\n+ {_UNRELATED}"]
    elif chance.random() < 0.5:
        changes.insert(chance.randrange(2), f"@@ {line + 200} {line + 200}\n+ {_UNRELATED}")
    edits = [_edited(path, change) for change in changes]
    return [shell("golangci-lint run", said), *edits, shell(chance.choice(_BETWEEN)), shell("golangci-lint run")]


def _edited(path: str, change: str) -> Row:
    row = call("Edit", {"file_path": f"/w/shop/{path}", "old_string": "x", "new_string": "y"})
    step = row["step"]
    assert isinstance(step, dict)
    step["change"] = change
    return row


def _flaky(chance: random.Random) -> list[Row]:
    """A command that fails by chance and works when it is run again, whatever stood between."""
    command, error = chance.choice(
        (
            ("npm test", "Error: socket hang up\n    at connResetException (node:internal/errors:720:14)"),
            ("go test ./...", "--- FAIL: TestCart (0.10s)\n    cart_test.go:31: lost the race\nFAIL\tshop/cart\t0.1s"),
            ("make image", "failed to solve: rpc error: code = Unknown desc = stream terminated"),
        )
    )
    between = [shell(each) for each in chance.sample(_BETWEEN, chance.randrange(3))]
    return [shell(command, error), *between, shell(command)]
