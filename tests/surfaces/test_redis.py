"""A home with a Redis beside its store: the three tiers, a server that dies under load, and nothing lost by it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ratchet.compat.reloop.standalone import FailureMemory, StoredFailure
from ratchet.errors import RedisError
from ratchet.records import Row
from ratchet.runtime import Runtime, unwatched
from ratchet.store.redis import tiers
from ratchet.store.redis.working import EpisodicMemory
from support.redis_server import LyingRedis, SearchRedis, need_redis

if TYPE_CHECKING:
    from redis import Redis

pytest.importorskip("redisvl", reason="REDIS MISSING: pip install 'ratchet-ai[redis]'")

THINGS = ("cache", "ledger", "manifest", "mailbox", "turbine", "pipeline", "registry", "harbour", "archive", "scanner")
TROUBLES = ("refused the handshake of", "lost the lease of", "cannot decode the header of", "rejected the checksum of")


@pytest.fixture
def server() -> Iterator[SearchRedis]:
    need_redis()
    with SearchRedis() as started:
        yield started


@pytest.fixture(autouse=True)
def _looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another process wrote is looked for at every call, so that no test waits two seconds for it."""
    monkeypatch.setattr(tiers, "CHECKED_EVERY_S", 0.0)


CHECKED_EVERY_S = tiers.CHECKED_EVERY_S


def opened(home: Path, server: SearchRedis) -> Runtime:
    return Runtime.open(home=home, redis_url=server.url)


def error(number: int) -> str:
    thing, trouble = THINGS[number % len(THINGS)], TROUBLES[number // len(THINGS) % len(TROUBLES)]
    return (
        f"worker{chr(97 + number % 26)} {trouble} the {thing} service while unit {THINGS[number * 7 % 10]} was starting"
    )


def teach(runtime: Runtime, count: int, start: int = 0) -> None:
    for number in range(start, start + count):
        runtime.lessons.add(when=error(number), do=f"restart helper {number}", state="active")


def settled(runtime: Runtime) -> bool:
    """Tell whether Redis has caught up, within a minute."""
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        runtime.drain()
        if all(each.ready for each in runtime.redis.tiers.states(runtime.redis.store)):
            return True
        time.sleep(0.02)
    return False


def answers(runtime: Runtime, number: int) -> list[str]:
    return [each.text for each in runtime.recall(error(number)).lessons]


def redis_of(runtime: Runtime) -> Redis:
    return runtime.redis.tiers.server.client


def keys(runtime: Runtime, pattern: str) -> list[bytes]:
    return list(redis_of(runtime).scan_iter(match=pattern))


def texts_of(redis: Any) -> bytes:
    """Everything that a server holds but its vectors."""
    found = b""
    for key in redis.scan_iter():
        kind = redis.type(key)
        if kind == b"hash":
            found += b" ".join(value for name, value in redis.hgetall(key).items() if name != b"vector")
        elif kind == b"stream":
            found += repr(redis.xrange(key)).encode()
        elif kind == b"string":
            found += redis.get(key)
        elif kind == b"set":
            found += b" ".join(redis.smembers(key))
        elif kind == b"zset":
            found += b" ".join(redis.zrange(key, 0, -1))
        found += b" " + key
    return found


def test_recall_finds_the_same_with_vectors_as_without(home: Path, server: SearchRedis) -> None:
    with Runtime.open(home=home) as alone:
        teach(alone, 40)
        expected = [answers(alone, number) for number in range(40)]
    with opened(home, server) as runtime:
        assert settled(runtime)
        near = runtime.redis.tiers.near(runtime.redis.store, "lessons", {"00000001": 1.0}, 8)
        assert near, "the vectors are asked"
        assert [answers(runtime, number) for number in range(40)] == expected
        assert sum(map(bool, expected)) > 30


def test_patterns_that_are_like_a_text_are_the_same_with_vectors_as_without(home: Path, server: SearchRedis) -> None:
    with Runtime.open(home=home) as alone:
        for number in range(40):
            alone.record("bot", ok=False, error=error(number))
        expected = [alone.failing.like(error(number)) for number in range(40)]
    with opened(home, server) as runtime:
        assert settled(runtime)
        assert runtime.redis.tiers.near(runtime.redis.store, "patterns", {"00000001": 1.0}, 8)
        assert [runtime.failing.like(error(number)) for number in range(40)] == expected
        assert all(expected)


def test_a_server_killed_under_load_costs_no_data_and_no_answer(home: Path, server: SearchRedis) -> None:
    with opened(home, server) as runtime:
        teach(runtime, 20)
        assert settled(runtime)
        wrong: list[str] = []
        done = threading.Event()

        def recalls() -> None:
            number = 0
            while not done.is_set():
                number = (number + 1) % 20
                told = answers(runtime, number)
                if told[:1] != [f"restart helper {number}"]:
                    wrong.append(f"{number}: {told}")

        def records() -> None:
            number = 0
            while not done.is_set():
                number += 1
                runtime.record("bot", session="busy", ok=False, error=error(number), id=f"step {number}")
                if number % 20 == 0:
                    runtime.drain()
            recorded.append(number)

        recorded: list[int] = []
        threads = [threading.Thread(target=recalls), threading.Thread(target=records)]
        for thread in threads:
            thread.start()
        for round_ in range(3):
            teach(runtime, 5, start=20 + 5 * round_)
            server.kill()
            teach(runtime, 5, start=100 + 5 * round_)
            assert answers(runtime, 3) == ["restart helper 3"], "the store answers alone"
            server.start()
        done.set()
        for thread in threads:
            thread.join()
        assert not wrong
        assert settled(runtime), "it caught up"
        lessons, patterns = runtime.redis.states()
        assert lessons.held == lessons.rows == 50
        assert patterns.held == patterns.rows > 0
        found = runtime.store.sum_by("outcomes", (), ("count:*",), {"agent": "bot"})
        assert found[0]["count:*"] == recorded[0] > 0, "nothing is lost"
        assert answers(runtime, 110) == ["restart helper 110"], "what was learnt while it was away is found"


def test_what_another_process_wrote_is_found(home: Path, server: SearchRedis) -> None:
    with opened(home, server) as one, opened(home, server) as other:
        teach(one, 10)
        assert settled(one)
        assert settled(other)
        teach(other, 1, start=30)
        assert answers(one, 30) == ["restart helper 30"]
        assert settled(one)


def test_a_lesson_that_was_retired_is_not_shown_from_redis(home: Path, server: SearchRedis) -> None:
    with opened(home, server) as runtime:
        teach(runtime, 40)
        assert settled(runtime)
        with Runtime.open(home=home) as elsewhere:
            chosen = next(each for each in elsewhere.lessons.list() if each.text == "restart helper 5")
            elsewhere.lessons.retire(chosen.id, reason="wrong")
        runtime.redis.tiers.near(runtime.redis.store, "lessons", {"00000001": 1.0}, 8)
        assert "restart helper 5" not in answers(runtime, 5)


def test_rows_that_the_server_dropped_are_brought_again(home: Path, server: SearchRedis) -> None:
    with opened(home, server) as runtime:
        teach(runtime, 20)
        assert settled(runtime)
        redis_of(runtime).unlink(*keys(runtime, "*:lessons:row:*")[:7])
        assert settled(runtime)
        assert len(keys(runtime, "*:lessons:row:*")) == 20


def test_lessons_that_are_gone_from_the_store_are_gone_from_redis(home: Path, server: SearchRedis) -> None:
    with opened(home, server) as runtime:
        teach(runtime, 20)
        assert settled(runtime)
        runtime.redis.store.delete("lessons", {"text": "restart helper 5"})
        assert settled(runtime)
        assert len(keys(runtime, "*:lessons:row:*")) == 19


def test_a_session_in_flight_is_told_with_its_steps(home: Path, server: SearchRedis) -> None:
    with opened(home, server) as runtime:
        for number in range(30):
            failed = number % 3 == 0
            runtime.record(
                "bot",
                session="s1",
                ok=not failed,
                error=error(number) if failed else None,
                step={"tool": "Bash"},
                id=f"{number}",
                started_at=time.time() - 30 + number,
            )
        runtime.drain()
        redis = redis_of(runtime)
        (name,) = keys(runtime, "*:session:s1")
        told = redis.hgetall(name)
        assert told[b"agent"] == b"bot"
        assert (told[b"calls"], told[b"failures"]) == (b"30", b"10")
        assert told[b"last_ok"] == b"true"
        assert 0 < redis.ttl(name) <= 3_600, "it goes by itself"
        (trace,) = keys(runtime, "*:trace:s1")
        entries = redis.xrange(trace)
        assert [fields[b"ok"] for _, fields in entries] == [b"false", b"true", b"true"] * 10, "in the order of time"
        assert entries[0][1][b"message"].decode() == error(0)
        before = [entry for entry, _ in entries]
        runtime.record("bot", session="s1", ok=True, id="one more")
        runtime.drain()
        after = [entry for entry, _ in redis.xrange(trace)]
        assert after[:30] == before, "who reads on from an entry misses none and meets none twice"
        assert len(after) == 31


def test_every_event_is_streamed_once_whoever_brings_it(home: Path, server: SearchRedis) -> None:
    with opened(home, server) as one, opened(home, server) as other:
        teach(one, 10)
        threads = [threading.Thread(target=each.drain) for each in (one, other) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        one.drain()
        (stream,) = keys(one, "*:events")
        streamed = [fields[b"id"].decode() for _, fields in redis_of(one).xrange(stream)]
        stored = [str(row["id"]) for row in one.store.find("events", {}).rows]
        assert sorted(streamed) == sorted(stored)
        assert len(stored) >= 10


def test_what_was_forgotten_is_forgotten_there_too(home: Path, server: SearchRedis) -> None:
    with opened(home, server) as runtime:
        runtime.record("bot", session="private-session-1", ok=False, error="the zeppelin of Mrs Quux burst")
        runtime.record("bot", session="other-session-22", ok=True)
        runtime.drain()
        redis = redis_of(runtime)
        assert b"zeppelin" in texts_of(redis)
        with Runtime.open(home=home) as elsewhere:  # without the setting: Redis hears of it when it is asked again
            assert elsewhere.sessions.forget("private-session-1").done
        runtime.drain()
        held = texts_of(redis_of(runtime))
        assert b"zeppelin" not in held
        assert b"private-session-1" not in held
        assert b"other-session-22" in held, "what stays is brought again"


@pytest.mark.parametrize("how", ["session", "before", "retention"])
def test_what_was_forgotten_is_gone_when_the_call_returns(
    home: Path, server: SearchRedis, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(tiers, "CHECKED_EVERY_S", CHECKED_EVERY_S)
    old = time.time() - 3 * 86_400
    with opened(home, server) as runtime:
        for number in range(3):
            at = old if number < 2 else time.time()
            runtime.record(
                "bot", session="private-1", ok=False, error="the zeppelin burst", id=f"s{number}", started_at=at
            )
        runtime.drain()
        assert b"zeppelin" in texts_of(redis_of(runtime))
        runtime.drain()
        if how == "retention":
            before = len(runtime.store.find("outcomes").rows)
            runtime.retention.compact(1.0, whole=True)
            assert len(runtime.store.find("outcomes").rows) < before
            trace = redis_of(runtime).xrange(keys(runtime, "*:trace:private-1")[0])
            assert len(trace) < 3, "no step that the store no longer has"
            return
        done = runtime.sessions.forget(
            *(["private-1"] if how == "session" else []), before=None if how == "session" else time.time() + 60
        )
        assert (done.done, done.beside) == (True, "")
        held = texts_of(redis_of(runtime))
        assert b"zeppelin" not in held
        assert b"private-1" not in held


def test_forgetting_says_where_it_could_not_reach(home: Path, server: SearchRedis) -> None:
    with opened(home, server) as runtime:
        runtime.record("bot", session="private-session-1", ok=False, error="the zeppelin of Mrs Quux burst")
        runtime.drain()
    server.kill()
    done = run(home, server.url, "forget", "private-session-1", "--yes")
    assert done.returncode == 1
    assert "LEFT: redis://127.0.0.1" in done.stdout
    assert "proved" not in done.stdout


def test_forgetting_names_the_redis_that_is_no_longer_set(home: Path, server: SearchRedis) -> None:
    with opened(home, server) as runtime:
        runtime.record("bot", session="private-session-1", ok=False, error="the zeppelin of Mrs Quux burst")
        runtime.drain()
        place = runtime.redis.tiers._place
    with Runtime.open(home=home) as runtime:
        done = runtime.sessions.forget("private-session-1")
        assert place in done.beside
        assert "RATCHET_REDIS_URL" in done.beside
    with opened(home, server) as runtime:
        runtime.drain()
        assert b"private-session-1" not in texts_of(redis_of(runtime))


def test_what_was_forgotten_is_gone_from_the_servers_own_disk(home: Path) -> None:
    need_redis()
    with SearchRedis(kept=True) as server:
        with opened(home, server) as runtime:
            runtime.record("bot", session="private-session-1", ok=False, error="the zeppelin of Mrs Quux burst")
            runtime.drain()
            assert held_by(server, b"zeppelin")
            assert runtime.sessions.forget("private-session-1").beside == ""
        assert not held_by(server, b"zeppelin")
        assert not held_by(server, b"private-session-1")


def held_by(server: SearchRedis, text: bytes) -> bool:
    return any(text in path.read_bytes() for path in server._folder.rglob("*") if path.is_file())


def test_who_reads_while_another_forgets_leaves_nothing_there(
    home: Path, server: SearchRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(home, server) as one, opened(home, server) as other:
        one.record("bot", session="private-session-1", ok=False, error="the zeppelin of Mrs Quux burst")
        one.drain()
        bring = EpisodicMemory.catch_up

        def between(self: Any, store: Any, *, now: float) -> None:
            """What `other` read of the store it writes after `one` forgot."""
            rows = store.find("outcomes", {}).rows
            if rows:
                monkeypatch.setattr(EpisodicMemory, "catch_up", bring)
                assert one.sessions.forget("private-session-1").beside == ""
                key = f"{other.redis.tiers._place}:session:private-session-1"
                redis_of(other).hset(key, "last_message", str(rows))
            bring(self, store, now=now)

        monkeypatch.setattr(EpisodicMemory, "catch_up", between)
        other.drain()
        assert one.store.find("outcomes", {}).rows == []
        assert b"zeppelin" not in texts_of(redis_of(one))


def matches(store: Any, rows: list[Any]) -> list[list[str]]:
    weights = [dict.fromkeys(str(row["terms"]).split(), 1.0) for row in rows]
    return [[str(row["text"]) for row in store.match("lessons", each, limit=8)] for each in weights]


LOSSES: dict[str, Any] = {
    "one row": lambda redis, place: redis.unlink(next(redis.scan_iter(match=f"{place}:lessons:row:*"))),
    "all rows": lambda redis, place: [redis.unlink(key) for key in redis.scan_iter(match=f"{place}:lessons:row:*")],
    "the names of the rows": lambda redis, place: redis.unlink(f"{place}:lessons:ids"),
    "the state": lambda redis, place: redis.unlink(f"{place}:lessons:state"),
    "the index": lambda redis, place: redis.execute_command("FT.DROPINDEX", f"{place}:lessons"),
    "the index with its rows": lambda redis, place: redis.execute_command("FT.DROPINDEX", f"{place}:lessons", "DD"),
    "all": lambda redis, place: redis.flushall(),
}


@pytest.mark.parametrize("count", [12, 60])  # fewer and more than a search looks at
@pytest.mark.parametrize("lost", sorted(LOSSES))
def test_where_redis_lost_anything_the_store_answers(home: Path, server: SearchRedis, lost: str, count: int) -> None:
    with Runtime.open(home=home) as alone:
        teach(alone, count)
    with opened(home, server) as runtime:
        assert settled(runtime)
        rows = runtime.redis.find("lessons").rows
        expected = matches(runtime.redis.store, rows)
        assert all(expected)
        LOSSES[lost](redis_of(runtime), runtime.redis.tiers._place)
        for _ in range(2):  # before it is looked at again, and while it is brought again
            assert [each[0] for each in matches(runtime.redis, rows)] == [each[0] for each in expected]
        assert settled(runtime)
        assert [each[0] for each in matches(runtime.redis, rows)] == [each[0] for each in expected]


def test_rows_that_changed_while_the_state_was_lost_are_brought_anew(home: Path, server: SearchRedis) -> None:
    with opened(home, server) as runtime:
        teach(runtime, 12)
        assert settled(runtime)
        row = runtime.redis.find("lessons").rows[0]
        name = f"{runtime.redis.tiers._place}:lessons:row:{row['id']}"
        true = redis_of(runtime).hget(name, "vector")
        redis_of(runtime).hset(name, "vector", b"\0" * len(true))
        redis_of(runtime).unlink(f"{runtime.redis.tiers._place}:lessons:state")
        assert settled(runtime)
        assert redis_of(runtime).hget(name, "vector") == true


POISONS: dict[str, Any] = {
    "a text": lambda redis, key: (redis.unlink(key), redis.set(key, "no \x1b[2J")),
    "a list": lambda redis, key: (redis.unlink(key), redis.rpush(key, b"\xff")),
    "bytes in a hash": lambda redis, key: (redis.unlink(key), redis.hset(key, b"\xff", b"\xfe")),
    "words for numbers": lambda redis, key: (
        redis.type(key) != b"hash" and redis.unlink(key),
        redis.hset(key, mapping=dict.fromkeys(("moved", "mark", "calls", "algorithm", "id"), "nan or so")),
    ),
    "no number": lambda redis, key: (redis.unlink(key), redis.hset(key, mapping={"moved": "nan", "begun": "inf"})),
    "bytes in a set": lambda redis, key: (redis.unlink(key), redis.sadd(key, b"\xff\xfe")),
    "bytes by a number": lambda redis, key: (redis.unlink(key), redis.zadd(key, {b"\xff": 9e18})),
}


@pytest.mark.parametrize("poison", sorted(POISONS))
def test_a_value_that_cannot_be_read_costs_no_answer_whichever_it_is(
    home: Path, server: SearchRedis, poison: str
) -> None:
    with opened(home, server) as runtime:
        teach(runtime, 3)
        runtime.record("bot", session="s1", ok=False, error=error(1))
        assert settled(runtime)
        expected = [answers(runtime, number) for number in range(3)]
        place = runtime.redis.tiers._place
        kinds = {key.rpartition(b":row:")[0] or key: key for key in keys(runtime, f"{place}:*")}
        assert len(kinds) >= 10
        for key in kinds.values():
            POISONS[poison](redis_of(runtime), key)
            runtime.redis.tiers.server.wake()
            runtime.redis.tiers.written("lessons")
            runtime.drain()
            assert [answers(runtime, number) for number in range(3)] == expected, key
            runtime.redis.rebuild(unwatched)
            assert settled(runtime), "it is made anew"


@pytest.mark.parametrize("lie", sorted(LyingRedis.LIES))
def test_a_server_that_lies_costs_a_bounded_wait_once(home: Path, lie: str) -> None:
    with Runtime.open(home=home) as alone:
        teach(alone, 3)
        expected = answers(alone, 2)
    with LyingRedis(lie) as liar:
        for words in (("recall", error(2)), ("doctor",)):
            done = run(home, liar.url, *words)
            assert "Traceback" not in done.stderr, done.stderr
            assert words == ("doctor",) or expected[0] in done.stdout
            assert len(done.stdout + done.stderr) < 10_000
            assert "\x1b" not in done.stdout + done.stderr
        with Runtime.open(home=home, redis_url=liar.url) as runtime:
            server = runtime.redis.tiers.server
            server.wake()
            asked = liar.connections
            for _ in range(5):
                assert answers(runtime, 2) == expected
            if lie != "an error":
                assert server.resting, "it is left alone"
                assert liar.connections - asked <= 2, "and asked once, and once more at once"


def test_a_server_that_did_not_answer_is_left_alone_by_the_next_process_too(home: Path) -> None:
    with Runtime.open(home=home) as alone:
        teach(alone, 3)
    with LyingRedis("silence") as liar:
        run(home, liar.url, "recall", error(2))
        asked = liar.connections
        assert asked > 0
        done = run(home, liar.url, "recall", error(2))
        assert "restart helper 2" in done.stdout
        assert "did not answer a moment ago" in done.stderr
        assert liar.connections == asked


@pytest.mark.parametrize("option", ["colour=blue", "socket_timeout=blue", "db=blue"])
def test_an_option_of_the_address_that_is_none_is_named(home: Path, option: str) -> None:
    with Runtime.open(home=home) as alone:
        teach(alone, 3)
    done = run(home, f"redis://127.0.0.1:6399/0?{option}", "recall", error(2))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "redis://127.0.0.1:6399/0" in done.stderr


def test_two_homes_share_a_server_and_know_nothing_of_each_other(tmp_path: Path, server: SearchRedis) -> None:
    with opened(tmp_path / "one", server) as one, opened(tmp_path / "two", server) as two:
        teach(one, 12)
        teach(two, 3)
        assert settled(one)
        assert settled(two)
        one.redis.rebuild(unwatched)
        assert two.redis.states()[0].held == 3
        assert one.redis.states()[0].held == 12


def test_a_copied_home_has_a_name_of_its_own_there(
    tmp_path: Path, server: SearchRedis, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(tmp_path / "one", server) as one:
        teach(one, 12)
        assert settled(one)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    with opened(tmp_path / "two", server) as two:
        teach(two, 3)
        two.redis.rebuild(unwatched)
        assert caplog.text.count("is a copy") == 1
    with opened(tmp_path / "two", server) as two:
        assert two.redis.states()[0].held == 12  # of one, what three more teach is known
        assert caplog.text.count("is a copy") == 1
    os.rename(tmp_path / "one", tmp_path / "moved")
    with opened(tmp_path / "moved", server) as one:
        assert one.redis.states()[0].held == 12
    assert caplog.text.count("is a copy") == 1


@pytest.mark.parametrize(
    ("changed", "copy"),
    [
        ({}, False),
        ({"path": "/b"}, False),  # moved
        ({"device": "2"}, False),  # a restart
        ({"inode": "8"}, True),
        ({"path": "/b", "device": "2"}, True),  # another disk, where the number happens to be the same
    ],
)
def test_a_copy_is_told_from_a_file_that_was_moved(changed: dict[str, str], copy: bool) -> None:
    place: Row = {"device": "1", "inode": "7", "path": "/a"}
    assert tiers.is_copy({"id": "x", **place}, {**place, **changed}) is copy
    assert not tiers.is_copy({"id": "x"}, place)


def test_a_rebuild_in_which_nothing_comes_in_ends(
    home: Path, server: SearchRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(home, server) as runtime:
        teach(runtime, 3)
        assert settled(runtime)
        monkeypatch.setattr(tiers, "STALLED_S", 0.2)
        monkeypatch.setattr(tiers.RedisTiers, "_catch_up", lambda *_given, **_more: False)
        with pytest.raises(RedisError, match="took no row for"):
            runtime.redis.rebuild(unwatched)


def test_a_redis_without_vector_search_costs_a_warning_and_no_answer(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    need_redis()
    with SearchRedis(search=False) as server, opened(home, server) as runtime:
        teach(runtime, 5)
        assert answers(runtime, 3) == ["restart helper 3"]
        assert answers(runtime, 4) == ["restart helper 4"]
        assert keys(runtime, "*:events"), "streams need no search"
        said = [record.getMessage() for record in caplog.records if "refuses" in record.getMessage()]
        assert len(said) == 1
        assert "unknown command" in said[0]


def run(home: Path, url: str, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {"HOME": str(home.parent), "RATCHET_HOME": str(home), "RATCHET_REDIS_URL": url, "COLUMNS": "200"}
    asked = [sys.executable, "-m", "ratchet", *words]
    return subprocess.run(asked, env=environ, capture_output=True, text=True, timeout=120, check=False)


def test_the_commands_say_how_it_stands(home: Path, server: SearchRedis) -> None:
    with Runtime.open(home=home) as runtime:
        teach(runtime, 25)
    done = run(home, server.url, "services", "rebuild", "--index", "hnsw", "--json")
    assert done.returncode == 0, done.stderr
    lessons, _ = json.loads(done.stdout)
    assert lessons == {"table": "lessons", "rows": 25, "held": 25, "algorithm": "hnsw", "ready": True}
    recalled = run(home, server.url, "recall", error(7))
    assert "restart helper 7" in recalled.stdout
    doctor = run(home, server.url, "doctor")
    assert "25 of 25 lessons (hnsw)" in doctor.stdout, "the kind of index that was chosen stays"
    server.kill()
    recalled = run(home, server.url, "recall", error(7))
    assert "restart helper 7" in recalled.stdout
    assert recalled.returncode == 0
    assert "the store answers alone" in recalled.stderr
    gone = run(home, server.url, "services", "rebuild")
    assert gone.returncode == 6
    assert "does not answer" in gone.stderr
    doctor = run(home, server.url, "doctor")
    assert "RATCHET_REDIS_URL" in doctor.stdout


def test_a_password_is_in_no_message(home: Path, server: SearchRedis) -> None:
    url = server.url.replace("redis://", "redis://somebody:tellnoone77@")
    with Runtime.open(home=home) as runtime:
        teach(runtime, 3)
    for words in (("doctor",), ("recall", error(2)), ("services", "rebuild")):
        done = run(home, url, *words)
        assert "tellnoone77" not in done.stdout + done.stderr
        assert "127.0.0.1" in done.stdout + done.stderr


def test_without_the_setting_there_is_nothing_to_rebuild(home: Path) -> None:
    done = run(home, "", "services", "rebuild")
    assert done.returncode == 2
    assert "RATCHET_REDIS_URL" in done.stderr


def test_reloops_memory_asks_the_redis_that_it_is_given(
    home: Path, server: SearchRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RATCHET_HOME", str(home))
    failure: StoredFailure = {
        "error_type": "ImportError",
        "error_message": "No module named 'sharp'",
        "root_cause": "missing",
        "suggested_fix": "pip install sharp",
    }

    async def kept(memory: FailureMemory) -> str:
        await memory.store_failure(**failure)
        return str(await memory.search("ImportError: No module named 'sharp'"))

    assert "pip install sharp" in asyncio.run(kept(FailureMemory(redis_url=server.url)))
    with opened(home, server) as runtime:
        assert runtime.redis.states()[0].held == 1
    server.kill()
    monkeypatch.setenv("REDIS_URL", server.url)
    failure["error_message"] = "No module named 'blunt'"
    assert "pip install sharp" in asyncio.run(kept(FailureMemory()))
