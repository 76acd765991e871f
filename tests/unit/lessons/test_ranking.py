"""What counts as the same failure, and whose advice comes first."""

from __future__ import annotations

import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratchet.lessons import ranking
from ratchet.lessons.finding import FITS as THRESHOLD
from ratchet.lessons.ranking import BAND, LENGTH, Text, compare, evidence, order, similarity, trigrams

NO_UPSTREAM = """fatal: The current branch main has no upstream branch.
To push the current branch and set the remote as upstream, use
git push --set-upstream origin main"""

pieces = st.sampled_from(
    [
        "error:",
        "cannot",
        "open",
        "close",
        "file",
        "<path>",
        "<num>",
        "'<name>'",
        "KeyError:",
        "a.b.c",
        "->",
        "x_y",
        "\n",
    ]
)
masked = st.lists(pieces, max_size=25).map(" ".join) | st.text(max_size=80)

SAME = [
    ("connection to <host> refused after <num> attempts", "connection to <ip> refused after <num> attempts"),
    ("session opened for user root by (uid=<num>)", "session opened for user cyrus by (uid=<num>)"),
    ("FAIL: openssl.RateLimitError: Error code: <num> - slow down", "RateLimitError: Error code: <num> - slow down"),
    ("fatal: The current branch feature-x has no upstream branch.", NO_UPSTREAM),
    (NO_UPSTREAM.replace("main", "topic/login"), NO_UPSTREAM),
    ("git push fails: current branch has no upstream branch", NO_UPSTREAM),
    ("how do I fix EADDRINUSE", "Error: listen EADDRINUSE: address already in use <ip>"),
    ("pushing: no upstreams for the current branch", NO_UPSTREAM),
    ("login of <email> refused by <host>", "login of [redacted:email] refused by <host>"),
    ("database is locked", "sqlite3.OperationalError: database is locked"),
    (
        "psycopg<num>.errors.UndefinedTable: relation <name> does not exist\nLINE <num>: FROM orders o JOIN users u",
        "psycopg<num>.errors.UndefinedTable: relation <name> does not exist\nLINE <num>: SELECT * FROM orders",
    ),
]

# A remembered line and the same line as others pass it on.
WRAPPED = [
    ("EADDRINUSE: address already in use <ip>", "Error: listen EADDRINUSE: address already in use <ip>"),
    ("database is locked", "sqlalchemy.exc.OperationalError: (sqlite<num>.OperationalError) database is locked"),
    ("npm ERR! Missing script: <name>", "npm error Missing script: <name>"),
    ("HTTP403: Resource not accessible by integration (<url>)", "GraphQL: Resource not accessible by integration"),
    (
        "No such tool available: WebSearch",
        "<time> [agent] ERROR - Error: No such tool available: mcp__github__list",
    ),
    (
        "Claude requested permissions to use WebFetch, but you haven't granted it yet.",
        "Error: Claude requested permissions to use Bash, but you haven't granted it yet.",
    ),
    (
        "prompt is too long: <num> tokens > <num> maximum",
        'API Error: HTTP400 {"type":"error","error":{"message":"prompt is too long: <num> tokens > <num> maximum"}}',
    ),
    (
        "Cannot connect to the Docker daemon at <url> Is the docker daemon running?",
        "ERROR in job <num>: docker: Cannot connect to the Docker daemon at <url> Is the docker daemon running?",
    ),
]

# The words of the memory stand in the text, and go on to mean something else.
CONTINUED = [
    ("rm: cannot remove <name>: Is a directory", "rm: cannot remove <name>: Is a directory not owned by you"),
    ("bash: jq: command not found", "bash: rg: command not found"),
    ("fatal error: <path>: No such file or directory", "cp: cannot stat <name>: No such file or directory"),
    ("Request failed with status code HTTP404", "Request failed with status code HTTP500"),
    (
        "ValueError: invalid literal for int() with base <num>",
        "FAILED a TypeError: invalid literal for int() with base <num>",
    ),
    ("File does not exist. Did you mean <path>?", "File does not exist."),
    (
        "TypeError: fetch failed\n[cause]: Error: getaddrinfo ENOTFOUND <host>",
        "TypeError: fetch failed\n[cause]: Error: connect ECONNREFUSED <ip>",
    ),
]

OTHER = [
    ("could not open file <path>: device busy", "could not close file <path>: device busy"),
    (
        "Took <num> seconds to spawn the instance on the hypervisor.",
        "Took <num> seconds to destroy the instance on the hypervisor.",
    ),
    (
        "Failed to start nginx.service: Unit nginx.service not found.",
        "Failed to stop nginx.service: Unit nginx.service not loaded.",
    ),
    (
        "ValueError: invalid literal for int() with base <num>: <name>",
        "TypeError: invalid literal for int() with base <num>: <name>",
    ),
    (
        "FileNotFoundError: [Errno <num>] No such file or directory: <name>",
        "IsADirectoryError: [Errno <num>] Is a directory: <name>",
    ),
    ("sqlite3.OperationalError: no such column: email", "sqlite3.OperationalError: database is locked"),
    (
        "KeyError: <name>\nin total (cart.py)\nin main (shop.py)",
        "KeyError: <name>\nin price (basket.py)\nin run (job.py)",
    ),
    ("TypeError: expected str, got int", "TypeError: expected int, got str"),
    ("error", "error: failed to push some refs to <name>"),
    ("how to write a good commit message", NO_UPSTREAM),
]


@pytest.mark.parametrize(("query", "memory"), SAME)
def test_texts_that_differ_in_parameters_length_or_place_are_the_same(query: str, memory: str) -> None:
    assert similarity(query, memory) >= THRESHOLD


@pytest.mark.parametrize(("query", "memory"), OTHER)
def test_texts_that_differ_in_a_word_that_names_the_cause_are_not(query: str, memory: str) -> None:
    assert similarity(query, memory) < THRESHOLD


@pytest.mark.parametrize(("memory", "query"), WRAPPED)
def test_a_remembered_line_is_found_whatever_is_put_around_it(memory: str, query: str) -> None:
    assert similarity(query, memory) >= THRESHOLD


@pytest.mark.parametrize(("memory", "query"), CONTINUED)
def test_words_that_go_on_with_the_sentence_make_it_another(memory: str, query: str) -> None:
    assert similarity(query, memory) < THRESHOLD


def test_a_question_may_name_the_remedy_too() -> None:
    asked, memory = "push new branch without upstream", "fatal: The current branch main has no upstream branch."
    assert similarity(asked, memory) < THRESHOLD
    assert compare(Text(asked), Text(memory), "for a new branch push without arguments first") >= THRESHOLD


def test_a_memory_is_found_inside_a_long_output() -> None:
    noise = [f"[<num>/<num>] building package {word} done" for word in ("alpha", "beta", "gamma", "delta", "omega")]
    output = "\n".join([*noise, "error TS2339: Property <name> does not exist on type <name>.", *noise])
    assert similarity(output, "error TS2339: Property <name> does not exist on type <name>.") >= THRESHOLD


@given(masked, masked)
def test_similarity_is_a_share_and_1_only_for_equal_texts(one: str, other: str) -> None:
    score = similarity(one, other)
    assert 0 <= score <= 1
    assert (score == 1) == (one == other)


def test_of_memories_that_hold_the_text_the_one_with_less_else_comes_first() -> None:
    longer = NO_UPSTREAM + "\nerror: something else broke in another place"
    asked = "fatal: The current branch x has no upstream branch."
    assert similarity(asked, NO_UPSTREAM) > similarity(asked, longer)


def test_trigrams_of_a_short_text_are_the_text() -> None:
    assert trigrams("Ab") == {"ab"}
    assert trigrams("ABCD") == {"abc", "bcd"}


@given(st.integers(0, 500), st.integers(0, 500))
def test_evidence_grows_with_success_and_shrinks_with_failure(tried: int, worked: int) -> None:
    worked = min(worked, tried)
    assert 0 <= evidence(tried, worked) < 1
    assert evidence(tried + 1, worked + 1) > evidence(tried, worked)
    assert evidence(tried + 1, worked) < evidence(tried, worked)


def test_evidence_prefers_much_to_little_and_untried_to_useless() -> None:
    assert evidence(100, 65) > evidence(1, 1) > evidence(0, 0) > evidence(5, 0)


def test_evidence_orders_what_is_about_equally_similar() -> None:
    assert order([(0.95, True, 4, 1, "a"), (0.93, True, 9, 8, "b"), (0.94, True, 0, 0, "c")]) == [1, 2, 0]


def test_evidence_never_lifts_a_lesson_over_a_more_similar_one() -> None:
    assert order([(0.85, True, 50, 50, "a"), (0.95, False, 3, 0, "b")]) == [1, 0]


def test_an_equal_text_comes_before_a_nearly_equal_one() -> None:
    assert order([(0.99, True, 50, 50, "a"), (1.0, False, 0, 0, "b")]) == [1, 0]


def test_approved_lessons_come_before_candidates_of_their_band() -> None:
    assert order([(0.9, False, 1, 1, "a"), (0.9, True, 0, 0, "b")]) == [1, 0]


hits = st.lists(
    st.tuples(st.floats(0, 1), st.booleans(), st.integers(0, 9), st.integers(0, 9), st.uuids().map(str)), max_size=8
)


@given(hits)
def test_order_is_a_permutation_that_does_not_depend_on_how_hits_arrive(
    given_hits: list[tuple[float, bool, int, int, str]],
) -> None:
    ordered = [given_hits[i] for i in order(given_hits)]
    backwards = given_hits[::-1]
    assert sorted(order(given_hits)) == list(range(len(given_hits)))
    assert [backwards[i] for i in order(backwards)] == ordered
    assert all(before[0] >= after[0] - BAND for before, after in pairwise(ordered))


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(["a", "<", "<num>", "a.", "-", "'", ":", ": ", "Error", "$", "/", "a==", "é", "\n"]), st.data())
def test_repetitive_texts_of_any_length_are_compared(piece: str, data: st.DataObject) -> None:
    other = data.draw(st.sampled_from(["b", ".", "<num>", " "]))
    text = (piece + other) * LENGTH + piece * LENGTH
    assert 0 <= similarity(text, piece * LENGTH) <= 1


def test_it_imports_nothing_that_a_hook_would_pay_for() -> None:
    used = {name for name, value in vars(ranking).items() if value is sys.modules.get(name)}
    assert used == set()
