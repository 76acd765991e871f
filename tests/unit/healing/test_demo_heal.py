"""The demo's healing: what a busy machine would not finish is not begun."""

from __future__ import annotations

import io
from pathlib import Path
from unittest.mock import Mock

import pytest
from rich.console import Console

from ratchet.cli import demo_heal


def test_a_task_that_would_not_be_finished_in_time_is_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_heal, "_SECONDS", 13.0)
    out, book = io.StringIO(), Mock()
    figures = demo_heal.heal(Console(file=out, width=100), book, tmp_path)
    assert figures["tasks"] == []
    assert "too busy" in out.getvalue()
    book.run.assert_not_called()
