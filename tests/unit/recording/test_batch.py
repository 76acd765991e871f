"""A batch of outcomes has the rows that each of them has by itself, and hides what each of them would."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ratchet.failures.redaction.text import nothing_to_hide, redact
from ratchet.recording import wire
from ratchet.recording.batch import lines_of, rows_of, usual_rows
from ratchet.recording.journal import Journal, segments
from ratchet.recording.recorder import Recorder, row_of

SECRETS = (
    "sk-proj-" + "aB3" * 16,
    "password=hunter2hunter2",
    "api_key: 9f8e7d6c5b4a39281706f5e4d3c2b1a0",
    "mail bob@example.com now",
    "card 4111 1111 1111 1111",
    "postgres://user:s3cretpw@db/x",
    "Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
)
PLAIN = st.text(max_size=40) | st.sampled_from(
    ("answer ticket 7", "TimeoutError: read timed out", "Änderung nötig", "")
)
TEXTS = PLAIN | st.sampled_from(SECRETS)
NUMBERS = st.floats(allow_nan=True) | st.integers(-3, 2**70) | st.none() | TEXTS | st.booleans()
ITEMS = st.fixed_dictionaries(
    {"agent": TEXTS | st.none()},
    optional={
        "id": TEXTS,
        "task": TEXTS | st.integers(),
        "session": TEXTS,
        "error": TEXTS | st.none(),
        "ok": st.booleans() | st.none() | TEXTS,
        "duration_s": NUMBERS,
        "tokens": NUMBERS,
        "started_at": NUMBERS,
        "model": TEXTS,
        "score": NUMBERS,
        "context": st.dictionaries(TEXTS, TEXTS, max_size=2),
        "nonsense": TEXTS,
    },
)


def alone(item: dict[str, Any]) -> dict[str, Any]:
    given_fields = dict(item)
    return dict(row_of(given_fields.pop("agent"), given_fields))


def settled(row: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    """The row without what chance and the clock decide."""
    kept = dict(row)
    if item.get("id") is None or not item.get("id"):
        kept.pop("id")
    if item.get("started_at") is None or kept.get("context"):
        kept.pop("started_at")
    return kept


@given(st.lists(ITEMS, max_size=6))
@settings(deadline=None)
def test_a_batch_has_the_rows_that_each_outcome_has_by_itself(items: list[dict[str, Any]]) -> None:
    made = rows_of(items)
    assert [settled(dict(row), item) for row, item in zip(made, items, strict=True)] == [
        settled(alone(item), item) for item in items
    ]


AMOUNTS = st.sampled_from((0, 0.5, 2, 2**53, 10**400, -1, float("nan"), float("inf"), None, True))
NEARLY_USUAL = st.fixed_dictionaries(
    {},
    optional={
        "agent": st.sampled_from(("a", "b", "", None)),
        "id": st.sampled_from(("o1", "call_0123456789abcdef", "", None)),
        "error": st.sampled_from(("429 Too Many Requests", "", None)),
        "ok": st.sampled_from((True, False, None)),
        "duration_s": AMOUNTS,
        "tokens": AMOUNTS,
        "started_at": AMOUNTS,
    },
)


@given(st.lists(NEARLY_USUAL, max_size=6))
@settings(deadline=None)
def test_what_is_taken_for_usual_has_the_rows_that_each_has_by_itself(items: list[dict[str, Any]]) -> None:
    made = usual_rows(items)
    if made is not None:
        assert [settled(dict(row), item) for row, item in zip(made, items, strict=True)] == [
            settled(alone(item), item) for item in items
        ]


@given(st.lists(TEXTS, max_size=8))
def test_texts_that_hide_nothing_together_hide_nothing_each(texts: list[str]) -> None:
    if nothing_to_hide(texts):
        assert [redact(each) for each in texts] == texts


def test_one_secret_in_a_batch_is_hidden_wherever_it_stands() -> None:
    usual = [
        {"agent": "a", "task": f"t{n}", "ok": False, "error": f"failed {n} times", "session": "s"} for n in range(50)
    ]
    for secret in SECRETS:
        for name in ("agent", "task", "error", "session", "model"):
            rows = rows_of([*usual, {**usual[0], name: secret}])
            assert redact(secret) != secret
            assert secret not in wire.written(rows), (name, secret)


def test_usual_outcomes_are_known_as_such_and_others_are_not() -> None:
    assert usual_rows([{"agent": "a", "ok": True, "duration_s": 3, "tokens": 4}]) is not None
    for other in ([{"ok": True}], [{"agent": "a", "score": 1.0}], [{"agent": 3}], [3], {"agent": "a"}, "x"):
        assert usual_rows(other) is None, other


def test_the_lines_of_a_batch_are_those_of_its_rows_even_with_half_characters() -> None:
    rows = rows_of(
        [{"agent": "a", "task": "ünïcode ✓"}, {"agent": "b", "context": {"half": "x\udc80y", "n": [1, {"r": 2}]}}]
    )
    read = [json.loads(line) for line in lines_of(rows).decode().splitlines()]
    assert [each["agent"] for each in read] == ["a", "b"]
    assert read[0] == rows[0]


def test_a_batch_is_one_write_and_every_line_of_it_is_kept(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path))
    rows = rows_of([{"agent": "a", "id": str(n)} for n in range(100)])
    assert recorder.extend(lines_of(rows), len(rows))
    recorder.close()
    (path,) = segments(str(tmp_path))
    lines = Path(path).read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == [row["id"] for row in rows]


def test_a_batch_that_cannot_be_written_is_said_to_be_lost(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("no folder")
    journal = Journal(str(tmp_path / "home"))
    assert not journal.extend(b"{}\n{}\n", 2)
    assert journal.lost == 2


def test_threads_that_record_their_first_batches_at_once_all_hide_their_secrets() -> None:
    from ratchet.failures import expressions
    from ratchet.failures.redaction import providers

    expressions._cache.clear()
    providers._made.clear()
    found: list[str] = []

    def work() -> None:
        found.append(redact("password=hunter2hunter2"))

    threads = [threading.Thread(target=work) for _ in range(16)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [redact("password=hunter2hunter2")] * 16
