"""What every store keeps to, run over every implementation. A new backend joins `OPENERS` and changes nothing else."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratchet.errors import StoreError, UsageError
from ratchet.failures.features import features_in
from ratchet.ports import Store, Where
from ratchet.records import Row
from ratchet.store.schema import TABLES
from ratchet.store.sqlite import SqliteStore
from support.postgres_server import Databases
from support.redis_server import SearchRedis, need_redis

Opener = Callable[[Path], Store]


def _sqlite(request: pytest.FixtureRequest) -> Iterator[Opener]:
    yield lambda folder: SqliteStore(folder / "ratchet.db")


def _postgres(request: pytest.FixtureRequest) -> Iterator[Opener]:
    databases: Databases = request.getfixturevalue("postgres")
    from ratchet.store.postgres import PostgresStore

    urls: dict[Path, str] = {}  # one store a folder, as with a file

    def opened(folder: Path) -> Store:
        if folder not in urls:
            urls[folder] = databases.fresh()
        return PostgresStore(urls[folder])

    yield opened
    for url in urls.values():
        databases.give_back(url)


def _beside_redis(request: pytest.FixtureRequest) -> Iterator[Opener]:
    need_redis()
    from ratchet.store.redis.beside import StoreBesideRedis
    from ratchet.store.redis.tiers import RedisTiers

    class CaughtUp(StoreBesideRedis):
        """Lets Redis catch up before each search, as whatever reads does."""

        def match(
            self, table: str, weights: Mapping[str, float], where: Where | None = None, *, limit: int = 64
        ) -> list[Row]:
            self.catch_up()
            return super().match(table, weights, where, limit=limit)

    with SearchRedis() as server:
        yield lambda folder: CaughtUp(SqliteStore(folder / "ratchet.db"), RedisTiers(server.url))


OPENERS: dict[str, Callable[[pytest.FixtureRequest], Iterator[Opener]]] = {
    "sqlite": _sqlite,
    "postgres": _postgres,
    "beside_redis": _beside_redis,
}


@pytest.fixture(params=sorted(OPENERS))
def opener(request: pytest.FixtureRequest) -> Iterator[Opener]:
    yield from OPENERS[request.param](request)


@pytest.fixture
def store(opener: Opener, tmp_path: Path) -> Iterator[Store]:
    opened = opener(tmp_path)
    yield opened
    opened.close()


def ran(number: int, **fields: object) -> Row:
    row: Row = {"id": f"o{number}", "agent": "a", "ok": True, "started_at": float(number)}
    return {**row, **fields}  # type: ignore[dict-item]


def ids(rows: list[Row]) -> list[str]:
    return [str(row["id"]) for row in rows]


# -- rows ----------------------------------------------------------------------------------------------------------


def test_a_row_comes_back_as_it_went_in(store: Store) -> None:
    row = ran(
        1,
        ok=False,
        duration_s=1.5,
        tokens=12,
        failure={"message": "boom \u2028 \x00 \U0001f600", "kind": "timeout", "signature": "v1:x", "flagged": False},
        step={"tool": "Bash", "head": "git push", "input": "git push"},
        context={"deep": [1, {"er": None}], "empty": {}},
    )
    store.insert_new("outcomes", [row])
    assert store.get("outcomes", "o1") == row


def test_absent_fields_stay_absent(store: Store) -> None:
    store.insert_new("outcomes", [ran(1)])
    assert store.get("outcomes", "o1") == ran(1)


def test_an_unknown_key_is_none_and_no_error(store: Store) -> None:
    assert store.get("outcomes", "nobody") is None


def test_copied_fields_can_be_filtered_by_and_are_not_given_back_twice(store: Store) -> None:
    store.insert_new("outcomes", [ran(1, ok=False, failure={"message": "m", "kind": "timeout"}), ran(2)])
    (found,) = store.find("outcomes", {"kind": "timeout"}).rows
    assert "kind" not in found


def test_values_that_a_database_refuses_cost_themselves_and_no_other(store: Store) -> None:
    rows = [ran(1), ran(2, task="half a character \ud83d"), ran(3, context={"huge": 10**30, "half": "\ud800"})]
    assert store.insert_new("outcomes", rows) == [0, 1, 2]
    assert str((store.get("outcomes", "o2") or {})["task"]).startswith("half a character")
    assert (store.get("outcomes", "o3") or {})["context"] == {"huge": 10**30, "half": "\ud800"}
    store.insert_new("quarantine", [{"path": "p", "line": 2**80, "reason": "r", "at": float("nan")}])
    assert store.find("quarantine").rows[0]["line"] == 2**63 - 1


def test_a_counter_is_added_once_where_a_value_of_the_batch_is_refused(store: Store) -> None:
    good: Row = {"signature": "v1:a", "agent": "a", "hour": 1, "n": 1}
    store.add("tallies", [good, {**good, "agent": "half \ud83d"}])
    assert store.sum_by("tallies", ["signature"], ["n"]) == [{"signature": "v1:a", "n": 2}]


@pytest.mark.parametrize(
    "bad",
    [{"id": "o9", "ok": True, "started_at": 1.0}, {"id": "o9", "agent": "a", "ok": True, "started_at": {"a": 1}}],
    ids=["missing", "no plain value"],
)
def test_a_row_that_cannot_be_stored_is_a_usage_error_and_leaves_nothing_behind(store: Store, bad: Row) -> None:
    with pytest.raises(UsageError):
        store.insert_new("outcomes", [ran(1), bad])
    assert store.find("outcomes").rows == []


# -- insert --------------------------------------------------------------------------------------------------------


def test_only_new_keys_are_inserted_and_their_positions_told(store: Store) -> None:
    assert store.insert_new("outcomes", [ran(1), ran(2)]) == [0, 1]
    assert store.insert_new("outcomes", [ran(3), ran(1), ran(4), ran(3, agent="late")]) == [0, 2]
    assert store.insert_new("outcomes", []) == []
    assert (store.get("outcomes", "o3") or {})["agent"] == "a"


def test_a_key_of_several_columns_is_one_key(store: Store) -> None:
    first: Row = {"trial": "t", "unit": "u", "arm": "new", "share": 0.8, "at": 1.0}
    assert store.insert_new("exposures", [first, {**first, "arm": "control"}, {**first, "unit": "v"}]) == [0, 2]
    assert store.insert_new("exposures", [{**first, "arm": "control"}]) == []
    assert store.get("exposures", ("t", "u")) == first
    with pytest.raises(UsageError, match="trial, unit"):
        store.get("exposures", "t")


# -- find ----------------------------------------------------------------------------------------------------------


def test_a_list_of_texts_may_hold_any(store: Store) -> None:
    odd = ["", "a\x1fb", "a", "b", "x,y", '"', "{}", "NULL"]
    store.add("activity", [{"agent": name, "hour": 1, "calls": 1} for name in odd])
    for asked in (odd, ["a\x1fb"], [""], ["", "a"], ["a", "b"], ["a", "a", "zz"]):
        found = store.find("activity", {"agent": ("in", [*asked])}).rows
        assert {str(row["agent"]) for row in found} == {*asked} - {"zz"}


def test_conditions_narrow(store: Store) -> None:
    store.insert_new("outcomes", [ran(n, agent="ab"[n % 2], ok=n < 4, session="s" if n == 2 else "") for n in range(6)])
    assert ids(store.find("outcomes", {"agent": "a"}, order=["started_at"]).rows) == ["o0", "o2", "o4"]
    assert ids(store.find("outcomes", {"agent": "a", "ok": False}).rows) == ["o4"]
    assert ids(store.find("outcomes", {"started_at": (">=", 4)}, order=["id"]).rows) == ["o4", "o5"]
    assert ids(store.find("outcomes", {"started_at": ("<", 1)}).rows) == ["o0"]
    assert ids(store.find("outcomes", {"agent": ("!=", "a")}, order=["id"], limit=1).rows) == [ran(1)["id"]]
    assert ids(store.find("outcomes", {"id": ("in", ["o1", "o5", "zz"])}, order=["id"]).rows) == ["o1", "o5"]
    assert store.find("outcomes", {"id": ("in", [])}).rows == []
    assert ids(store.find("outcomes", {"task": None, "agent": "b"}, order=["-id"]).rows) == ["o5", "o3", "o1"]
    assert store.find("outcomes", {"task": ("!=", None)}).rows == []


def test_a_wrong_question_is_a_usage_error_that_names_what_there_is(store: Store) -> None:
    with pytest.raises(UsageError, match="tables are outcomes"):
        store.find("nonsense")
    with pytest.raises(UsageError, match="its columns are id"):
        store.find("outcomes", {"colour": "red"})
    with pytest.raises(UsageError, match="no column"):
        store.find("outcomes", order=["-colour"])
    with pytest.raises(UsageError, match="operator"):
        store.find("outcomes", {"agent": ("like", "a%")})
    with pytest.raises(UsageError, match="cursor"):
        store.find("outcomes", cursor="made up")
    store.insert_new("outcomes", [ran(1), ran(2)])
    cursor = store.find("outcomes", order=["started_at"], limit=1).cursor
    with pytest.raises(UsageError, match="another order"):
        store.find("outcomes", order=["-started_at"], cursor=cursor)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(st.sampled_from([None, "x", "y"]), st.integers(0, 3)), max_size=12),
    order=st.sampled_from([(), ("started_at",), ("-started_at",), ("task", "-started_at"), ("-task", "started_at")]),
    limit=st.integers(1, 5),
)
def test_pages_neither_skip_nor_repeat_and_agree_with_one_big_page(
    store: Store,
    rows: list[tuple[str | None, int]],
    order: tuple[str, ...],
    limit: int,
) -> None:
    store.delete_before("outcomes", "started_at", 4)
    store.insert_new("outcomes", [ran(n, task=task, started_at=at) for n, (task, at) in enumerate(rows)])
    paged: list[str] = []
    cursor = None
    while True:
        page = store.find("outcomes", order=order, limit=limit, cursor=cursor)
        assert len(page.rows) <= limit
        paged += ids(page.rows)
        cursor = page.cursor
        if cursor is None:
            break
    assert paged == ids(store.find("outcomes", order=order).rows)
    assert sorted(paged) == sorted(f"o{n}" for n in range(len(rows)))


def test_rows_that_come_between_two_pages_disturb_neither(store: Store) -> None:
    store.insert_new("outcomes", [ran(n) for n in (2, 4, 6)])
    page = store.find("outcomes", order=["started_at"], limit=2)
    store.insert_new("outcomes", [ran(1), ran(5)])
    rest = store.find("outcomes", order=["started_at"], limit=9, cursor=page.cursor)
    assert ids(page.rows) + ids(rest.rows) == ["o2", "o4", "o5", "o6"]


# -- tallies -------------------------------------------------------------------------------------------------------


def test_added_counters_sum_and_extremes_widen(store: Store) -> None:
    key: Row = {"signature": "v1:a", "agent": "a", "hour": 7, "duration_s": 0.0, "cost_usd": 0.0}
    store.add("tallies", [{**key, "n": 1, "tokens": 5, "min_at": 10.0, "max_at": 10.0}])
    store.add("tallies", [{**key, "n": 2, "min_at": 9.0, "max_at": 9.5}, {**key, "n": 1, "max_at": 12.0}])
    store.add("tallies", [])
    assert store.find("tallies").rows == [{**key, "n": 4, "tokens": 5, "min_at": 9.0, "max_at": 12.0}]


def test_sums_are_grouped_and_named_as_asked(store: Store) -> None:
    rows: list[Row] = [
        {"signature": sign, "agent": agent, "hour": hour, "n": n, "min_at": hour, "max_at": hour}
        for sign, agent, hour, n in (("x", "a", 1, 1), ("x", "b", 2, 2), ("x", "b", 3, 4), ("y", "a", 1, 8))
    ]
    store.add("tallies", rows)
    sums = ("n", "count:*", "min:min_at", "max:max_at", "distinct:agent")
    found = sorted(store.sum_by("tallies", ("signature",), sums), key=lambda row: str(row["signature"]))
    assert found == [
        {"signature": "x", "n": 7, "count:*": 3, "min:min_at": 1, "max:max_at": 3, "distinct:agent": 2},
        {"signature": "y", "n": 8, "count:*": 1, "min:min_at": 1, "max:max_at": 1, "distinct:agent": 1},
    ]
    assert store.sum_by("tallies", (), ("n",), {"agent": "b"}) == [{"n": 6}]
    assert store.sum_by("tallies", (), ("n", "count:*"), {"agent": "nobody"}) == [{"n": 0, "count:*": 0}]
    assert store.sum_by("tallies", ("agent",), ("n",), {"agent": "nobody"}) == []
    with pytest.raises(UsageError, match="unknown sum"):
        store.sum_by("tallies", (), ("mean:n",))
    with pytest.raises(UsageError, match="no field colour"):
        store.add("tallies", [{**rows[0], "colour": "red"}])


# -- terms ---------------------------------------------------------------------------------------------------------


def lesson(when: str, **fields: object) -> Row:
    row: Row = {"when_text": when, "state": "active"}
    return {**row, **fields}  # type: ignore[dict-item]


def weighed(**weights: float) -> dict[str, float]:
    """Words with their weights, as the terms under which lessons with these words are found."""
    return {features_in(word)[0]: weight for word, weight in weights.items()}


def test_rows_come_back_by_the_sum_of_the_weights_of_their_terms(store: Store) -> None:
    store.swap("lessons", "l1", 0, lesson("fatal branch upstream branch"))
    store.swap("lessons", "l2", 0, lesson("such file directory"))
    store.swap("lessons", "l3", 0, lesson("upstream closed", state="retired"))
    found = store.match("lessons", weighed(upstream=1.0, branch=0.5, such=1.2))
    assert [row["id"] for row in found] == ["l1", "l2", "l3"]
    assert [row["id"] for row in store.match("lessons", weighed(upstream=1.0), {"state": "retired"})] == ["l3"]
    assert [row["id"] for row in store.match("lessons", weighed(upstream=1.0, such=2.0), limit=1)] == ["l2"]
    assert store.match("lessons", weighed(nothing=1.0)) == []
    assert store.match("lessons", {}) == []


def test_many_better_rows_that_are_not_asked_for_hide_none_that_is(store: Store) -> None:
    for number in range(30):
        store.swap("lessons", f"b{number:02}", 0, lesson("upstream branch", state="retired"))
    store.swap("lessons", "l1", 0, lesson("upstream"))
    store.swap("lessons", "l2", 0, lesson("branch upstream closed"))
    found = store.match("lessons", weighed(upstream=1.0, branch=0.5), {"state": "active"}, limit=2)
    assert [row["id"] for row in found] == ["l2", "l1"]
    assert [row["id"] for row in store.match("lessons", weighed(upstream=1.0), {"state": "active"}, limit=1)] == ["l1"]


def test_terms_follow_changes_of_the_text(store: Store) -> None:
    store.swap("lessons", "l1", 0, lesson("older words"))
    store.swap("lessons", "l1", 1, lesson("fresh words", uses=1))
    store.swap("lessons", "l1", 2, lesson("fresh words", uses=2))
    assert store.match("lessons", weighed(older=1.0)) == []
    assert len(store.match("lessons", weighed(fresh=1.0))) == 1
    assert store.spread("lessons", [*weighed(older=1, fresh=1, words=1), ""]) == {
        **dict.fromkeys(weighed(fresh=1, words=1), 1),
        "": 1,
    }


def test_how_many_rows_have_a_term_is_known_whatever_was_written_and_deleted(store: Store) -> None:
    texts = ["red apple", "red pear", "green pear", ""]
    store.insert_new("lessons", [{"id": f"l{n}", **lesson(text)} for n, text in enumerate(texts)])
    red, pear, green = weighed(red=1, pear=1, green=1)
    assert store.spread("lessons", [red, pear, green, "", "absent"]) == {red: 2, pear: 2, green: 1, "": 3}
    store.delete("lessons", {"id": "l2"})
    assert store.spread("lessons", [red, pear, green, ""]) == {red: 2, pear: 1, "": 2}
    assert store.spread("lessons", []) == {}


@pytest.mark.parametrize("term", ['"', "a OR b", "NEAR(", "*", "col:x", "\0", "'; DROP TABLE lessons; --", "<num>"])
def test_no_term_is_a_query(store: Store, term: str) -> None:
    store.swap("lessons", "l1", 0, lesson("plain text"))
    assert store.match("lessons", {term: 1.0}) == []
    assert len(store.match("lessons", {term: 1.0, **weighed(plain=1.0)})) == 1


def test_rows_that_have_all_words_come_those_written_last_first(store: Store) -> None:
    rows: list[Row] = [
        {"id": "s1", "session": "a", "at": 1.0, "words": "git push failed", "revision": 1},
        {"id": "s2", "session": "b", "at": 2.0, "words": "git pull", "revision": 1},
        {"id": "s3", "session": "b", "at": 3.0, "words": "push git again", "revision": 1},
    ]
    store.insert_new("steps", rows)
    assert [row["id"] for row in store.having("steps", ["git", "push"])] == ["s3", "s1"]
    assert [row["id"] for row in store.having("steps", ["git"], limit=2)] == ["s3", "s2"]
    assert [row["id"] for row in store.having("steps", ["git"], {"session": "a"})] == ["s1"]
    assert [row["id"] for row in store.having("steps", ["git"], without=["again", "pull"])] == ["s1"]
    assert [row["id"] for row in store.having("steps", ["git"], {"session": "b"}, without=["push"])] == ["s2"]
    assert store.having("steps", ["pus"]) == []
    store.swap("steps", "s1", 1, {**rows[0], "words": "moved"})
    store.delete("steps", {"id": "s3"})
    assert store.having("steps", ["push"]) == []
    assert [row["id"] for row in store.having("steps", ["moved"])] == ["s1"]
    store.compact()
    assert [row["id"] for row in store.having("steps", ["git"])] == ["s2"]


def test_only_words_of_a_table_that_declares_them_are_searched(store: Store) -> None:
    with pytest.raises(UsageError, match="no words to search"):
        store.having("outcomes", ["git"])
    with pytest.raises(UsageError, match="name a word"):
        store.having("steps", ["-", ""])


def test_a_table_without_declared_terms_cannot_be_matched(store: Store) -> None:
    with pytest.raises(UsageError, match="no terms to match"):
        store.match("outcomes", {"x": 1.0})
    with pytest.raises(UsageError, match="no terms to match"):
        store.spread("outcomes", ["x"])


# -- swap ----------------------------------------------------------------------------------------------------------


def test_swap_writes_only_over_the_revision_that_was_read(store: Store) -> None:
    assert store.swap("lessons", "l1", 0, lesson("a", tried=1, note="kept in the body"))
    assert not store.swap("lessons", "l1", 0, lesson("b"))
    assert not store.swap("lessons", "l1", 2, lesson("b"))
    assert store.swap("lessons", "l1", 1, lesson("b"))
    assert store.get("lessons", "l1") == {"id": "l1", "revision": 2, "when_text": "b", "state": "active"}
    assert not store.swap("lessons", "nobody", 3, lesson("b"))
    with pytest.raises(UsageError, match="revision"):
        store.swap("outcomes", "o1", 0, ran(1))


def test_of_many_swaps_from_one_revision_exactly_one_wins(opener: Opener, tmp_path: Path) -> None:
    store = opener(tmp_path)
    won: list[bool] = []
    start = threading.Barrier(8)

    def race() -> None:
        mine = opener(tmp_path)
        start.wait()
        won.append(mine.swap("meta", "lease", 0, {"owner": threading.get_ident()}))
        mine.close()

    threads = [threading.Thread(target=race) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]
    store.close()


# -- transactions --------------------------------------------------------------------------------------------------


def test_a_transaction_is_all_or_nothing_with_everything_nested_in_it(store: Store) -> None:
    def fails() -> None:
        with store.transaction():
            store.insert_new("outcomes", [ran(1)])
            with store.transaction():
                store.add("tallies", [{"signature": "x", "agent": "a", "hour": 1, "n": 1}])
            assert store.get("outcomes", "o1") is not None
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert store.find("outcomes").rows == []
    assert store.find("tallies").rows == []
    store.insert_new("outcomes", [ran(2)])
    assert ids(store.find("outcomes").rows) == ["o2"]


def test_counts_are_exact_when_threads_read_and_then_write(opener: Opener, tmp_path: Path) -> None:
    store = opener(tmp_path)

    def count_up() -> None:
        for _ in range(25):
            with store.transaction():
                held = store.get("meta", "count") or {"value": 0, "revision": 0}
                value, revision = int(str(held["value"])), int(str(held["revision"]))
                assert store.swap("meta", "count", revision, {"value": value + 1})

    threads = [threading.Thread(target=count_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (store.get("meta", "count") or {})["value"] == 100
    store.close()


def test_a_forked_child_writes_through_a_connection_of_its_own(opener: Opener, tmp_path: Path) -> None:
    store = opener(tmp_path)
    store.insert_new("outcomes", [ran(1)])
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            store.insert_new("outcomes", [ran(2)])
            code = 0 if len(store.find("outcomes").rows) == 2 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    store.insert_new("outcomes", [ran(3)])
    assert sorted(ids(store.find("outcomes").rows)) == ["o1", "o2", "o3"]
    store.close()


def test_a_child_forked_in_the_middle_of_a_transaction_is_not_in_it(opener: Opener, tmp_path: Path) -> None:
    store = opener(tmp_path)
    with store.transaction():
        store.insert_new("outcomes", [ran(1)])
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = 0 if store.find("outcomes").rows == [] else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert ids(store.find("outcomes").rows) == [ran(1)["id"]]
    store.close()


# -- the rest ------------------------------------------------------------------------------------------------------


def test_what_is_older_is_deleted_and_counted(store: Store) -> None:
    store.insert_new("events", [{"id": f"e{n}", "at": float(n), "verb": "opened"} for n in range(5)])
    assert store.delete_before("events", "at", 3) == 3
    assert ids(store.find("events", order=["at"]).rows) == ["e3", "e4"]
    with pytest.raises(UsageError):
        store.delete_before("events", "when", 3)


def test_what_was_stored_is_there_after_reopening(opener: Opener, tmp_path: Path) -> None:
    first = opener(tmp_path)
    first.insert_new("outcomes", [ran(1)])
    first.close()
    first.close()
    with pytest.raises(StoreError, match="closed"):
        first.find("outcomes")
    second = opener(tmp_path)
    assert ids(second.find("outcomes").rows) == [ran(1)["id"]]
    second.close()


def test_every_declared_table_stands(store: Store) -> None:
    for table in TABLES:
        assert store.find(table, limit=1).rows == []


def test_what_no_database_takes_is_found_as_it_was_stored(store: Store) -> None:
    store.insert_new("outcomes", [ran(1, agent="a\ud800")])
    assert [row["id"] for row in store.find("outcomes", {"agent": "a\ud800"}).rows] == [ran(1)["id"]]
    assert store.get("outcomes", "\ud800") is None
    assert store.sum_by("tallies", ("agent",), ("n",), {"agent": "\udcff"}) == []
    assert store.find("outcomes", {"started_at": (">=", 10**400)}).rows == []


def test_who_listens_hears_of_every_write_and_of_nothing_else(store: Store, opener: Opener, tmp_path: Path) -> None:
    other = opener(tmp_path)
    changes = store.changes()
    assert not changes.wait(0.0)
    for write in (
        lambda: store.insert_new("outcomes", [ran(1)]),
        lambda: other.add("tallies", [{"signature": "x", "agent": "a", "hour": 1, "n": 1}]),
        lambda: other.swap("meta", "m", 0, {}),
        lambda: store.delete_before("outcomes", "started_at", 9),
    ):
        write()
        assert changes.wait(10.0)
        assert not changes.wait(0.0)
    store.find("outcomes")

    def fails() -> None:
        with store.transaction():
            store.insert_new("outcomes", [ran(2)])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert not changes.wait(0.1)
    changes.close()
    other.close()


def test_many_swaps_at_once_write_those_that_were_read_last(store: Store) -> None:
    store.swap("meta", "a", 0, {"value": 1})
    store.swap("meta", "b", 0, {"value": 1})
    rows: list[Row] = [
        {"name": "a", "revision": 1, "value": 2},
        {"name": "b", "revision": 7, "value": 2},
        {"name": "c", "value": 2},
    ]
    assert store.swap_many("meta", rows) == 2
    assert [(row["name"], row["revision"], row["value"]) for row in store.find("meta").rows] == [
        ("a", 2, 2),
        ("b", 1, 1),
        ("c", 1, 2),
    ]
    assert store.swap_many("meta", []) == 0


def test_what_fits_a_condition_is_deleted_with_its_terms(store: Store) -> None:
    store.insert_new("outcomes", [ran(n, agent="ab"[n % 2]) for n in range(6)])
    assert store.delete("outcomes", {"agent": "a", "started_at": ("<", 4), "id": ("!=", "o0")}) == 1
    assert ids(store.find("outcomes").rows) == ["o0", "o1", "o3", "o4", "o5"]
    store.swap("lessons", "l1", 0, lesson("some words"))
    assert store.delete("lessons", {"id": "l1"}) == 1
    assert store.match("lessons", weighed(words=1.0)) == []
    with pytest.raises(UsageError, match="name what to delete"):
        store.delete("outcomes", {})
    store.compact()
    assert len(store.find("outcomes").rows) == 5


@pytest.mark.parametrize("cursor", ["", "bm9wZQ==", "WzEsMl0=", "MQ==", "W1tbW1tb", "\x00", "é", "e30=" * 500])
def test_a_cursor_of_anybody_elses_making_is_a_usage_error(store: Store, cursor: str) -> None:
    with pytest.raises(UsageError, match="cursor"):
        store.find("outcomes", cursor=cursor)


def test_a_number_in_a_key_comes_back_as_a_number(store: Store) -> None:
    assert store.swap("attempts", ("e", "1"), 0, {"status": "failed", "diff": "-a"})
    held = store.get("attempts", ("e", "1"))
    assert held == {"episode": "e", "n": 1, "status": "failed", "diff": "-a", "revision": 1}
    assert store.swap("attempts", ("e", "1"), 1, {"status": "passed"})
    assert [row["n"] for row in store.find("attempts", {"n": (">", 0)}).rows] == [1]
