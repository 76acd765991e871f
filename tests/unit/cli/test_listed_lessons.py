"""What a terminal says of lessons that it lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from ratchet.cli import show_lessons
from ratchet.lessons.lessons import add, listed
from ratchet.store.sqlite import SqliteStore


def test_what_is_left_out_is_counted_only_where_something_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    for number in range(7):
        add(store, when=f"error: no part{'abcdefg'[number]}", do="build the parts", project=f"/w/{number}")
        add(store, when=f"error: no wheel{'abcdefg'[number]}", do=f"build wheel {number}", project=f"/w/{number}")
    found = listed(store)
    store.close()
    show_lessons.lessons(found, narrowed=True)
    assert "more candidate" not in capsys.readouterr().out
    show_lessons.lessons(found)
    assert "and 3 more candidates" in capsys.readouterr().out, "eight remedies, five of them shown"
