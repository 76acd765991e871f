"""A failure that stands anywhere in a long text is found by its own words."""

from __future__ import annotations

from pathlib import Path

from ratchet.failures.features import LONG
from ratchet.lessons import lookup
from ratchet.lessons.lessons import add
from ratchet.lessons.recall import recall
from ratchet.store.sqlite import SqliteStore

UNMARKED = "Read the plan once more before you change the schema of table invoices."
OTHERS = (
    "listen EADDRINUSE: address already in use 127.0.0.1:3000",
    "fatal: The current branch main has no upstream branch.",
    "ModuleNotFoundError: No module named 'yaml'",
)
NOISE = [f"step {at}: copied assets/{at % 7}/image{at}.png to the folder of release {at % 5}" for at in range(100)]


def store_in(home: Path) -> SqliteStore:
    store = SqliteStore(home / "ratchet.db")
    for text in (UNMARKED, *OTHERS):
        add(store, when=text, do=f"what helps against {text.split()[0]}", scope="global", state="active")
    return store


def test_an_unmarked_line_among_hundreds_is_found(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    text = "\n".join([*NOISE, UNMARKED, *NOISE])
    assert len(text) > LONG
    found = recall(store, text)
    store.close()
    assert [each.text for each in found.lessons] == ["what helps against Read"]
    told = lookup.matching(str(tmp_path), {"message": text}, project="/srv/any")
    assert [row["text"] for row in told] == ["what helps against Read"]


def test_a_failure_is_found_below_other_lines_that_speak_of_errors(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    told = [f"warning: {line}, 0 errors, failed 0" for line in NOISE]
    found = recall(store, "\n".join([*NOISE, f"Error: {OTHERS[0]}", *told]))
    store.close()
    assert [each.text for each in found.lessons] == ["what helps against listen"]


def test_output_about_nothing_known_finds_nothing(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    found = recall(store, "\n".join([*NOISE, "the plan is to change tables at the address of the branch", *NOISE]))
    store.close()
    assert not found.lessons


LINTED = "{path}: string `{word}` has {times} occurrences, {what} (goconst)"
CHATTY = "INFO invoice mailed component=postbox queue=nightly template=reminder sender=accounts retries=none result=ok"


def test_a_finding_comes_before_a_memory_that_reads_like_the_output_around_it(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    known = LINTED.format(path="pkg/mail/send.go:12:6", word="paid", times=9, what="make it a constant")
    source = "\t\tcase kindOf(invoice) == paid && retries > limit:\n\t\t     ^\n1 issues:\n* goconst: 1"
    add(store, when=f"$ linter run\n{known}\n{source}", do="declare a constant", scope="global", state="active")
    add(store, when=f"{CHATTY}\nERROR: no route to the mailbox", do="log in first", scope="global", state="active")
    shown = LINTED.format(path="cmd/shop/cart.go:88:2", word="due", times=3, what="but `dueState` already exists")
    found = recall(store, "\n".join([*NOISE, shown, *NOISE, CHATTY]))
    store.close()
    listed = [each.text for each in (*found.lessons, *found.possibly)]
    assert listed[:2] == ["declare a constant", "log in first"]  # of either passage the nearest
