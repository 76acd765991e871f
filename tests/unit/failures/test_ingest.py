"""An outcome is stored once, its failure is classified and signed, and every tally moves with it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratchet.errors import NotFound, UsageError
from ratchet.failures.kinds.kind import kind_of
from ratchet.failures.kinds.table import KINDS
from ratchet.failures.patterns.health import NAMED, health, keep_recent, recent
from ratchet.failures.patterns.ingest import ingest
from ratchet.failures.patterns.patterns import current, members, patterns, split
from ratchet.failures.signature import sign, template_of
from ratchet.ports import Store
from ratchet.records import Json, Row
from ratchet.store.sqlite import SqliteStore
from ratchet.testing.stores import open_store
from support.campaigns import many

TABLES = ("tallies", "sightings", "activity", "recents", "signatures", "patterns")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path)
    yield opened
    opened.close()


def ran(number: int, error: str | None = None, **fields: Json) -> Row:
    row: Row = {"id": f"o{number}", "agent": "a", "ok": error is None, "started_at": float(number), "session": "s"}
    if error is not None:
        row["failure"] = {"message": error}
    return {**row, **fields}


def failure_of(row: Row) -> Row:
    failure = row["failure"]
    assert isinstance(failure, dict)
    return failure


def state(store: Store) -> dict[str, list[Row]]:
    return {table: store.find(table).rows for table in TABLES}


def test_a_failure_is_classified_and_signed_from_its_text(store: Store) -> None:
    text = "Error: connect ECONNREFUSED 127.0.0.1:5432"
    (row,) = ingest(store, [ran(1, text)]).new
    template = template_of(text)
    kind = kind_of(text)
    assert failure_of(row) == {
        "message": text, "kind": kind, "template": template, "signature": sign(kind, template),
    }  # fmt: skip
    assert store.get("outcomes", "o1") == row


def test_structure_decides_before_the_text(store: Store) -> None:
    rows = [
        ran(1, "it did not work", failure={"message": "it did not work", "status": 429}),
        ran(2, "bare", failure={"message": "it did not work", "type": "TimeoutError"}),
        ran(3, "bare", failure={"message": "it did not work", "kind": "wrong_output"}),
        ran(4, "bare", failure={"message": "it did not work", "kind": "no such kind", "status": 429}),
    ]
    found = [failure_of(row)["kind"] for row in ingest(store, rows).new]
    assert found == ["rate_limit", "timeout", "wrong_output", "rate_limit"]


def test_what_is_signed_already_is_left_as_it_is(store: Store) -> None:
    signed: Row = {"message": "m", "kind": "timeout", "signature": "v1:given", "template": "given"}
    (row,) = ingest(store, [ran(1, "m", failure=signed)]).new
    assert failure_of(row) == signed


def test_a_failure_without_a_text_is_told_apart_by_its_task(store: Store) -> None:
    silent = [ran(n, task=task, ok=False) for n, task in enumerate(("sum", "sum", "sort"))]
    rows = ingest(store, [*silent, ran(4, task="judged", ok=False, score=0.2)]).new
    signatures = [failure_of(row)["signature"] for row in rows]
    assert signatures[0] == signatures[1] != signatures[2]
    assert [failure_of(row)["kind"] for row in rows] == ["other", "other", "other", "wrong_output"]


def test_what_is_known_already_changes_nothing(store: Store) -> None:
    rows = [ran(n, "boom" if n % 3 == 0 else None, session=f"s{n % 2}") for n in range(30)]
    assert len(ingest(store, rows).new) == 30
    before = state(store)
    again = ingest(store, rows)
    assert again.new == []
    assert again.patterns == set()
    assert state(store) == before
    assert [row["id"] for row in ingest(store, [*rows, ran(99)]).new] == ["o99"]


@settings(max_examples=many(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cuts=st.sets(st.integers(1, 39)),
    order=st.permutations(range(40)),
)
def test_tallies_depend_neither_on_the_batches_nor_on_the_order_of_arrival(
    cuts: set[int], order: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = [
        ran(
            n,
            ("boom", "refused", "no such file")[n % 3] if n % 4 == 0 else None,
            session=f"s{n % 5}",
            agent="ab"[n % 2],
            started_at=n * 900.0,
            duration_s=0.5,
            tokens=n,
        )
        for n in range(40)
    ]
    whole = SqliteStore(tmp_path_factory.mktemp("whole") / "ratchet.db")
    parts = SqliteStore(tmp_path_factory.mktemp("parts") / "ratchet.db")
    ingest(whole, rows, now=1.0)
    edges = [0, *sorted(cuts), 40]
    for start, end in pairwise(edges):
        ingest(parts, [rows[n] for n in order[start:end]], now=1.0)
    for table in ("tallies", "sightings", "activity"):
        assert parts.find(table).rows == whole.find(table).rows
    for mine, theirs in zip(parts.find("recents").rows, whole.find("recents").rows, strict=True):
        assert mine["outcomes"] == theirs["outcomes"]
    whole.close()
    parts.close()


def test_a_failing_batch_leaves_no_tally_behind(store: Store) -> None:
    def fails() -> None:
        with store.transaction():
            ingest(store, [ran(1, "boom")])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert all(rows == [] for rows in state(store).values())
    assert len(ingest(store, [ran(1, "boom")]).patterns) == 1
    assert len(patterns(store, now=2.0)) == 1


def test_health_reads_the_last_200_outcomes_of_each_agent(store: Store) -> None:
    ingest(store, [ran(n, "boom") for n in range(100)])
    ingest(store, [ran(n) for n in range(100, 300)])
    ingest(store, [ran(1000, agent="b"), ran(1001, "boom", agent="b")])
    found = health(store)
    assert found.agents["a"] == 1.0
    assert 0.4 < found.agents["b"] < 0.6
    assert health(store, agent="b").agents == {"b": found.agents["b"]}
    (held, _) = store.find("recents", order=("agent",)).rows
    found_ = recent(held)
    assert [at for at, _, _ in found_] == [float(n) for n in range(100, 300)]
    assert [name for _, name, _ in found_] == ["" if n < 300 - NAMED else f"o{n}" for n in range(100, 300)]


@settings(max_examples=many(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    calls=st.permutations([(n // 3 / 4, f"call-{n * 7 % 260}-of-{n % 2}", n % 5 > 0) for n in range(260)]),
    cuts=st.sets(st.integers(1, 259), max_size=20),
)
def test_last_outcomes_are_the_newest_in_whatever_order_they_arrive(
    calls: list[tuple[float, str, bool]], cuts: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = SqliteStore(tmp_path_factory.mktemp("recent") / "ratchet.db")
    for start, end in pairwise([0, *sorted(cuts), len(calls)]):
        with store.transaction():
            keep_recent(store, {"a": [[at, name, int(ok)] for at, name, ok in calls[start:end]]})
    newest = sorted(calls, key=lambda each: (each[0], crc32(each[1].encode())))[-200:]
    named = [[at, name, int(ok)] for at, name, ok in newest]
    (held,) = store.find("recents").rows
    assert recent(held) == [*([at, "", ok] for at, _, ok in named[:-NAMED]), *named[-NAMED:]]
    store.close()


def test_last_outcomes_that_were_kept_as_lines_with_whole_ids_are_read_and_go_on(store: Store) -> None:
    lines = "\n".join(f"{n % 2} {n / 4!r} call of {n}" for n in range(200))
    store.swap("recents", "a", 0, {"outcomes": lines})
    ingest(store, [ran(50, "boom"), ran(25), ran(0)])
    (held,) = store.find("recents").rows
    found = recent(held)
    assert [each[1] for each in found[-3:]] == ["call of 198", "call of 199", "o50"]
    assert sum(each[2] == 1 for each in found if each[0] == 25.0) == 1
    assert (len(found), found[0]) == (200, [0.5, "", 0])


def test_last_outcomes_that_were_kept_as_lists_are_read_and_go_on(store: Store) -> None:
    kept: Row = {"outcomes": [[0.5, "before", 0], [7.5, "later", 1]]}
    store.swap("recents", "a", 0, kept)
    assert health(store).agents["a"] > 0.4
    ingest(store, [ran(n) for n in range(3)])
    (held,) = store.find("recents").rows
    assert recent(held) == [[0.0, "o0", 1], [0.5, "before", 0], [1.0, "o1", 1], [2.0, "o2", 1], [7.5, "later", 1]]


def test_refusals_cascades_and_interruptions_are_no_failures_of_the_agent(store: Store) -> None:
    kinds = ("cascade", "user_denied", "cancelled")
    rows = [ran(n, "x", failure={"message": "x", "kind": kind}) for n, kind in enumerate(kinds)]
    found = ingest(store, [*rows, ran(9)])
    assert len(found.new) == 4
    assert found.patterns == set()
    assert health(store).score == 1.0
    assert patterns(store, now=10.0) == []
    assert {each.kind for each in patterns(store, now=10.0, include_excused=True)} == set(kinds)
    assert [each.kind for each in patterns(store, now=10.0, kind="cascade")] == ["cascade"]


# -- merges --------------------------------------------------------------------------------------------------------

NAMES = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda omega"
NEAR = [f"could not load the plugin {name} since its checksum is wrong" for name in NAMES.split()]


def test_near_identical_signatures_are_one_pattern_and_the_merge_is_on_record(store: Store) -> None:
    for number, text in enumerate(NEAR):
        ingest(store, [ran(number, text)])
    (pattern,) = patterns(store, now=100.0)
    assert pattern.count == len(NEAR)
    assert pattern.sessions == 1
    merged = store.find("merges").rows
    assert {row["pattern"] for row in merged} >= {pattern.id}
    assert len(store.find("events", {"verb": "merged"}).rows) >= len(NEAR) - 1
    assert len(members(store, pattern.id)) == len(NEAR)


def test_a_pattern_that_was_merged_away_is_found_under_its_new_id(store: Store) -> None:
    known: set[str] = set()
    for number, text in enumerate(NEAR):
        known |= ingest(store, [ran(number, text)]).patterns
    (pattern,) = patterns(store, now=100.0)
    assert {current(store, old) for old in known} == {pattern.id}
    with pytest.raises(NotFound):
        current(store, "pnobody")


def test_a_split_undoes_a_merge_for_good(store: Store) -> None:
    ingest(store, [ran(number, text) for number, text in enumerate(NEAR)])
    (whole,) = patterns(store, now=100.0)
    signature = members(store, whole.id)[3]
    own = split(store, whole.id, signature, now=50.0)
    assert members(store, own) == [signature]
    assert {each.id: each.count for each in patterns(store, now=100.0)} == {whole.id: len(NEAR) - 1, own: 1}
    ingest(store, [ran(100 + number, text) for number, text in enumerate([*NEAR, NEAR[0].replace("alpha", "psi")])])
    assert members(store, own) == [signature]
    assert {each.id: each.count for each in patterns(store, now=200.0)} == {whole.id: 2 * len(NEAR) - 1, own: 2}
    assert [row["undone"] for row in store.find("merges", {"signature": signature}).rows] == [True]
    assert len(store.find("events", {"verb": "split"}).rows) == 1


def test_the_signature_that_named_a_pattern_can_be_split_off_too(store: Store) -> None:
    ingest(store, [ran(number, text) for number, text in enumerate(NEAR)])
    (whole,) = patterns(store, now=100.0)
    own = split(store, whole.id, whole.signature, now=50.0)
    assert own != whole.id
    assert sorted(each.count for each in patterns(store, now=100.0)) == [1, len(NEAR) - 1]


def test_a_split_that_makes_no_sense_is_refused(store: Store) -> None:
    ingest(store, [ran(1, NEAR[0]), ran(2, "refused")])
    mine, other = patterns(store, now=3.0)
    with pytest.raises(UsageError, match="nothing to split"):
        split(store, mine.id, mine.signature, now=3.0)
    with pytest.raises(NotFound, match="holds no signature"):
        split(store, mine.id, other.signature, now=3.0)


def test_another_process_groups_on_from_what_the_store_knows(store: Store, tmp_path: Path) -> None:
    half = len(NEAR) // 2
    ingest(store, [ran(number, text) for number, text in enumerate(NEAR[:half])])
    other = open_store(tmp_path)
    ingest(other, [ran(50 + number, text) for number, text in enumerate(NEAR[half:])])
    ingest(store, [ran(99, NEAR[0].replace("alpha", "psi"))])
    (pattern,) = patterns(store, now=100.0)
    assert pattern.count == len(NEAR) + 1
    other.close()


def test_different_kinds_are_never_one_pattern(store: Store) -> None:
    text = "it did not work"
    first, second = list(KINDS)[:2]
    rows = [ran(n, text, failure={"message": text, "kind": kind}) for n, kind in enumerate((first, second))]
    ingest(store, rows)
    assert sorted(each.kind for each in patterns(store, now=3.0, include_excused=True)) == sorted((first, second))
