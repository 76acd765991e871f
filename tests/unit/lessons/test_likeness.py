"""Patterns that are like a text: found by their features, in a store of before, too."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ratchet.runtime import Runtime

SEEN = {
    "cache": "worker 7 lost the lease of the artifact cache after 30 s",
    "parser": "unexpected token '<' in the manifest at line 12",
    "disk": "OSError: [Errno 28] No space left on device: '/var/spool/queue'",
}


def recorded(home: Path) -> Runtime:
    runtime = Runtime.open(home=home)
    for text in SEEN.values():
        runtime.record("bot", ok=False, error=text)
    return runtime


def templates(runtime: Runtime, text: str) -> list[str]:
    return [runtime.pattern(name).pattern.template for name, _ in runtime.failing.like(text)]


def test_a_pattern_is_found_by_a_text_with_other_names_and_numbers(home: Path) -> None:
    with recorded(home) as runtime:
        for asked, word in (
            ("worker 19 lost the lease of the artifact cache after 5 s", "lease"),
            ("unexpected token '{' in the manifest at line 7", "token"),
            ("OSError: [Errno 28] No space left on device: '/srv/other'", "space left"),
        ):
            (only,) = templates(runtime, asked)
            assert word in only


def test_what_is_like_nothing_finds_nothing(home: Path) -> None:
    with recorded(home) as runtime:
        assert runtime.failing.like("the moon is made of cheese") == []
        assert runtime.failing.like("") == []


def test_an_equal_text_is_as_like_as_can_be(home: Path) -> None:
    with recorded(home) as runtime:
        ((_, likeness),) = runtime.failing.like(SEEN["cache"])
        assert likeness == 1.0


@pytest.mark.sqlite
def test_patterns_of_a_store_of_before_are_found(home: Path) -> None:
    with recorded(home) as runtime:
        runtime.drain()
    with sqlite3.connect(home / "ratchet.db") as raw:
        for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE name LIKE 'patterns_terms_%'").fetchall():
            raw.execute(f'DROP TRIGGER IF EXISTS "{name}"')
        raw.execute('DROP TABLE "patterns_terms"')
        raw.execute('DROP TABLE "patterns_spread"')
        raw.execute('ALTER TABLE patterns DROP COLUMN "terms"')
        raw.execute("PRAGMA user_version = 19")
    raw.close()
    with Runtime.open(home=home) as runtime:
        (only,) = templates(runtime, "worker 19 lost the lease of the artifact cache after 5 s")
        assert "lease" in only
