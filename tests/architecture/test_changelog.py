"""CHANGELOG.md says what the fragments in changelog.d say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_changelog_is_that_of_the_fragments() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "changelog.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_fragment_is_in_it() -> None:
    written = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for fragment in (ROOT / "changelog.d").glob("*.*.md"):
        for line in fragment.read_text(encoding="utf-8").splitlines():
            assert line.strip() in written, f"{fragment.name}: run `make changelog`"
