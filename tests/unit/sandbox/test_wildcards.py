"""Patterns that strangers wrote: each compiles, means what it means to git, and takes no time to speak of."""

from __future__ import annotations

import subprocess
from itertools import product

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ratchet.evolving.bench.agents import may_change
from ratchet.evolving.bench.benchmark import Agent
from ratchet.healing.judges.protection import matches
from ratchet.sandbox.wildcards import compiled
from support.campaigns import many

TOKENS = (
    *("a", "b", "*", "**", "**/", "/", "?", "[ab]", "[!a]", "[^b-]", "/**", "[b-a]", "\\a", "[]]", "[a-]", "[", "\\"),
    *("]", "-", "[[:alpha:]]", "[[:punct:]a]", "[[:none:]]", "[[:", "\\/", "é", "[é]", "!", "#", " ", "\r", "\x85"),
)
PATTERNS = st.lists(st.sampled_from(TOKENS), min_size=1, max_size=7).map("".join)
NAMES = ("a", "b", "ab", "ba", "]", "-", "\\", "é", "!", "a b", "\x85")
PATHS = ["/".join(parts) for depth in (1, 2, 3) for parts in product(NAMES[: 9 - 2 * depth], repeat=depth)]


@settings(max_examples=many(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(patterns=st.lists(PATTERNS, min_size=30, max_size=60))
@example(patterns=["[z-a].txt", "a**/b", "**", "*/", "a/**/b", "**/**/b", "[", "a\\", "*a*b*a"])
def test_a_pattern_means_what_it_means_to_git(tmp_path_factory: pytest.TempPathFactory, patterns: list[str]) -> None:
    folder = tmp_path_factory.mktemp("patterns")
    subprocess.run(["git", "init", "-q", folder], check=True)
    asked = []
    for number, pattern in enumerate(patterns):
        (folder / str(number)).mkdir()
        (folder / str(number) / ".gitignore").write_bytes(b"/" + pattern.lstrip("/").encode() + b"/x\n")
        asked += [f"./{number}/{path}/x" for path in PATHS]
    words = ["git", "-C", str(folder), "check-ignore", "--no-index", "-z", "--stdin"]
    said = subprocess.run(words, input="\0".join(asked).encode(), capture_output=True, check=False)
    assert said.returncode in (0, 1), said.stderr
    ignored = set(said.stdout.decode().split("\0"))
    for number, pattern in enumerate(patterns):
        found = compiled(f"{pattern.lstrip('/')}/x".encode().decode("latin-1"))
        mine = {path for path in PATHS if found.fullmatch(f"{path}/x".encode().decode("latin-1"))}
        assert mine == {path for path in PATHS if f"./{number}/{path}/x" in ignored}, pattern


@given(st.text(max_size=40) | PATTERNS | st.text("*?[]!^-\\/a:", max_size=40), st.text("ab/[]", max_size=20))
def test_whatever_stands_in_a_pattern_it_is_one(pattern: str, path: str) -> None:
    for loose in (False, True):
        compiled(pattern, loose=loose).fullmatch(path)
    matches(path, pattern)
    may_change(Agent(how="command", argv=("true",), changes=(pattern,)), path)


@pytest.mark.slow
@pytest.mark.parametrize("loose", [False, True])
@pytest.mark.parametrize(
    "pattern",
    [
        *("*a" * 2_000 + "b", "**/" * 2_000 + "x", "**/a/" * 1_000 + "b", "**a*b" * 500, "a**" * 4_000, "*" * 60_000),
        *(
            "**/*a" * 900 + "/z",
            "[" * 60_000,
            "[[:" * 20_000,
            "[a-" * 20_000,
            "\\" * 60_001,
            "?" * 60_000,
            "*" * 99_999,
        ),
    ],
    ids=lambda each: f"{len(each)} of {each[:6]}" if isinstance(each, str) else None,
)
def test_no_pattern_takes_long(pattern: str, loose: bool) -> None:
    """One that a matcher goes back in would not end before the sun does."""
    found = compiled(pattern, loose=loose)
    for path in ("a" * 4_000, "a/" * 2_000 + "a", "ab" * 2_000):
        found.fullmatch(path)


@pytest.mark.parametrize(("glob", "path"), [("a[1].py", "a[1].py"), ("[", "["), ("src/[x", "src/[x"), ("a\\", "a\\")])
def test_what_a_person_protects_by_its_very_name_is_protected(glob: str, path: str) -> None:
    assert matches(path, glob)


def test_a_wildcard_between_letters_crosses_folders_where_people_write_it() -> None:
    assert compiled("src**.py", loose=True).fullmatch("src/a/b.py")
    assert not compiled("src**.py").fullmatch("src/a/b.py")
