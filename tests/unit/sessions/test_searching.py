"""Everything that was done is found by its words: steps, edits, what people said, patterns and lessons."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, nan
from pathlib import Path
from shutil import copytree

import pytest

from ratchet.errors import NotFound, UsageError
from ratchet.failures.searching import month_mark, month_marks, words_in
from ratchet.runtime import Runtime
from ratchet.sessions.finding import near
from support.histories import lines, result, use
from support.shop import SHOP, history, key, shell, words


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("learnt")
    with Runtime.open(home=folder / "home") as opened:
        opened.learn([history(folder / "history.jsonl")])
    return folder / "home"


@pytest.fixture
def runtime(learnt: Path, tmp_path: Path) -> Iterator[Runtime]:
    with Runtime.open(home=copytree(learnt, tmp_path / "home")) as opened:
        yield opened


def found(runtime: Runtime, text: str, **narrowed: object) -> list[tuple[str, str]]:
    result = runtime.sessions.search(text, **narrowed)  # type: ignore[arg-type]
    return [(each.noun, each.text) for each in result.hits for _ in range(1 + each.alike)]


def test_a_step_is_found_by_the_words_of_its_error(runtime: Runtime) -> None:
    nouns = [noun for noun, _ in found(runtime, "No rule target")]
    assert nouns.count("step") == 2
    assert "pattern" in nouns


def test_an_edit_is_found_by_what_it_wrote(runtime: Runtime) -> None:
    assert ("diff", "@@ 1 1 - SIZE = 1 + SIZE = 2") in found(runtime, "size 2")


def test_what_a_person_said_is_found_with_its_session(runtime: Runtime) -> None:
    result = runtime.sessions.search("connection pool leaks")
    assert [each.noun for each in result.hits] == ["words"]
    assert [(each.title, each.hits) for each in result.sessions] == [
        ("make the shop build, its connection pool leaks", 1)
    ]


def test_words_beside_each_other_come_first_and_the_same_text_once(runtime: Runtime, tmp_path: Path) -> None:
    calls = [
        *shell("a", "grep -n connection pool.py", "12: the connection pool is full", 20),
        *[
            each
            for n in range(6)
            for each in shell(f"b{n}", f"echo pool {'of ' * 40} size {n} a connection", "", 30 + n)
        ],
    ]
    rows = [{**each, "sessionId": "other"} for each in (words("why is the connection pool full?", 19), *calls)]
    runtime.learn([lines(tmp_path / "other.jsonl", rows)])
    result = runtime.sessions.search("connection pool")
    steps = [each for each in result.hits if each.noun == "step"]
    assert [each.text.partition(" ")[0] for each in steps] == ["grep", "echo"]
    assert [each.alike for each in steps] == [0, 5]
    assert all("connection" in each.text for each in result.hits)
    assert {each.title: each.hits for each in result.sessions}["why is the connection pool full?"] == 8


@pytest.mark.parametrize(
    ("text", "asked", "distance", "excerpt"),
    [
        ("the connection pool is full", "connection pool", (0, 0), "the connection pool is full"),
        ("a pool, and then in it one more connection", "connection pool", (0, 1), ""),
        ("a pool\n" + "x " * 100 + "a connection", "connection pool", (0, 3), ""),
        ("pool " + "x " * 900 + "the connection pool", "connection pool", (0, 0), "connection pool"),
        ("only a pool", "connection pool", (1, 0), "only a pool"),
        ("nothing", "connection pool", (2, 0), ""),
    ],
)
def test_the_shortest_stretch_with_the_words_is_shown(
    text: str, asked: str, distance: tuple[int, int], excerpt: str
) -> None:
    found = near(text, asked.split())
    assert found.distance == distance
    assert excerpt in found.excerpt
    assert near(text, asked.split()[::-1]).distance == distance


def test_all_words_must_be_there(runtime: Runtime) -> None:
    assert found(runtime, "make target nonsense") == []


@pytest.mark.parametrize(
    ("narrowed", "steps"),
    [
        ({"tool": "bash"}, 3),
        ({"tool": "Edit"}, 0),
        ({"failed": True}, 2),
        ({"kind": "resource_missing", "failed": True}, 2),
        ({"kind": "timeout"}, 0),
        ({"agent": "claude-code"}, 3),
        ({"agent": "codex"}, 0),
        ({"model": "claude-opus-4"}, 3),
        ({"project": SHOP, "tool": "Bash"}, 3),
        ({"project": "/elsewhere", "tool": "Bash"}, 0),
        ({"since": 1_900_000_000.0, "tool": "Bash"}, 0),
        ({"since": 1_700_000_000.0, "until": 1_800_000_000.0, "tool": "Bash"}, 3),
        ({"until": 1_700_000_000.0, "tool": "Bash"}, 0),
    ],
)
def test_a_search_is_narrowed(runtime: Runtime, narrowed: dict[str, object], steps: int) -> None:
    assert [noun for noun, _ in found(runtime, "make", **narrowed)].count("step") == steps


def test_a_pasted_output_is_recalled_instead(runtime: Runtime) -> None:
    result = runtime.sessions.search("$ make build\nmake: *** No rule to make target 'build'.  Stop.")
    assert result.recalled is not None
    assert not result.hits


def test_a_text_without_a_word_is_an_error(runtime: Runtime) -> None:
    with pytest.raises(UsageError, match="search for a word"):
        runtime.sessions.search("--")


def test_a_secret_is_found_nowhere(runtime: Runtime) -> None:
    assert found(runtime, "a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2") == []


def test_what_was_recorded_without_a_history_is_found_by_its_pattern(runtime: Runtime) -> None:
    runtime.record("bot", task="fetch", error="the frobnicator refused", session="b1")
    assert ("pattern", "the frobnicator refused") in found(runtime, "frobnicator")


def test_patterns_and_lessons_are_dated_by_what_failed_not_by_when_they_were_learnt(runtime: Runtime) -> None:
    hits = runtime.sessions.search("make").hits
    failed = max(each.at for each in hits if not each.ok and each.noun == "step")
    assert {each.at for each in hits if each.noun == "pattern"} == {failed}
    assert [each for each in hits if each.noun == "lesson" and each.at > failed + 3_600] == []
    assert runtime.sessions.search("make", until=failed).hits != ()
    assert "pattern" not in {noun for noun, _ in found(runtime, "make", until=failed)}


def test_names_in_camel_case_are_found_whole_and_by_their_parts() -> None:
    assert words_in("HTTPServer opened ConnectionPool_2 in a") == [
        "httpserver",
        "http",
        "server",
        "opened",
        "connectionpool",
        "connection",
        "pool",
        "in",
    ]


def test_a_stretch_of_time_touches_its_months() -> None:
    december, march = 1_735_600_000, 1_741_000_000
    assert month_marks(december, march, 4) == [month_mark(march - days * 86_400) for days in (0, 20, 50, 80)]
    assert month_marks(december, march, 3) is None
    assert month_marks(0, 0, 4) == [month_mark(0)]
    assert month_marks(march, december, 4) == []


_BOUNDS = [-inf, -1e300, -1.0, 1.0, 2.0**53 - 2, 1e300, inf, nan]


@pytest.mark.parametrize("since", _BOUNDS)
@pytest.mark.parametrize("until", _BOUNDS)
def test_a_search_takes_any_bounds_and_does_not_count_out_their_months(
    runtime: Runtime, since: float, until: float
) -> None:
    nouns = [noun for noun, _ in found(runtime, "make", since=since, until=until)]
    assert nouns.count("step") == (3 if since <= 1.0 and until > 1e10 else 0)


def test_the_ways_that_worked_come_first(runtime: Runtime) -> None:
    first, second = runtime.sessions.ways("make")
    assert (first.input, first.worked, first.failed) == ("make all", 1, 0)
    assert (second.input, second.worked, second.failed, second.exit_codes) == ("make build", 0, 2, (2,))
    with pytest.raises(NotFound, match="cargo never ran"):
        runtime.sessions.ways("cargo")


def test_a_file_is_had_back_as_it_was_before_the_last_session(runtime: Runtime) -> None:
    before = runtime.sessions.replaced("pool.py")
    assert (before.text, before.whole, before.edits, before.path) == (
        "POOL = 3\nSIZE = 1\n",
        True,
        2,
        f"{SHOP}/pool.py",
    )
    with pytest.raises(NotFound, match=r"no edit of other\.py"):
        runtime.sessions.replaced("other.py")


def test_only_the_replaced_lines_are_known_once_a_history_is_gone(tmp_path: Path) -> None:
    read = history(tmp_path / "history.jsonl")
    with Runtime.open(home=tmp_path / "home") as runtime:
        runtime.learn([read])
        read.unlink()
        before = runtime.sessions.replaced("pool.py")
    assert (before.text, before.whole) == ("POOL = 3", False)


def test_a_handoff_says_what_was_asked_changed_and_still_fails(runtime: Runtime) -> None:
    session = runtime.sessions.list().items[0].id
    text = runtime.sessions.handoff(session, to="codex").text
    assert "make the shop build" in text
    assert f"`{SHOP}/pool.py` (2 edits)" in text
    assert "`make all`" in text
    assert "AGENTS.md" in text
    assert "AGENTS.md or CLAUDE.md" in runtime.sessions.handoff(session).text
    with pytest.raises(UsageError, match="no handoff to 'vim'"):
        runtime.sessions.handoff(session, to="vim")  # type: ignore[arg-type]


def test_failed_steps_of_a_tool_are_those_that_are_counted_and_no_refusal_is_among_them(
    runtime: Runtime, tmp_path: Path
) -> None:
    refusal = "The user doesn't want to proceed with this tool use."
    rows = [
        *(use(key(f"r{n}"), "Edit", {"file_path": f"/a{n}"}, 40 + 2 * n, message=f"m{n}", tokens=1) for n in range(9)),
        *(result(key(f"r{n}"), refusal, 41 + 2 * n, is_error=True) for n in range(9)),
        use(key("bad"), "Edit", {"file_path": "/b"}, 70, message="mb", tokens=1),
        result(key("bad"), "String to replace not found in file.", 71, is_error=True),
    ]
    runtime.learn([lines(tmp_path / "refused.jsonl", rows)])
    (counted,) = [each for each in runtime.failing.by("tool", span="all") if each.name == "Edit"]
    listed = runtime.sessions.search("", tool="Edit", failed=True, limit=1)
    assert (counted.failures, counted.excused, listed.steps) == (1, 9, 1)
    assert [each.title for each in listed.hits] == ["Edit"]
    assert runtime.sessions.search("", tool="Edit", failed=True, kind="user_denied").steps == 9
