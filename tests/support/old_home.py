"""A home as an old version of the code wrote it: that code comes out of the repository's own history."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COMMIT = "27c0e09047c0c1c19d038aae69fff570981b8955"
"""Writes layout 5: the last one before findings, texts and terms. Its modules have other names than today's."""
ROOT = Path(__file__).resolve().parent.parent.parent

_WRITES = """
import sys
from pathlib import Path
from OLD.analysis.ingest import ingest
from OLD.kinds import kind_of
from OLD.memory.lessons import add
from OLD.signature import sign, template_of
from OLD.store.sqlite import SqliteStore

home, outcomes, lessons = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
verbs = "open close lift drop turn bend fold send".split()
store = SqliteStore(home / "ratchet.db")
for start in range(0, outcomes, 2_000):
    rows = []
    for n in range(start, min(start + 2_000, outcomes)):
        row = {"id": f"o{n}", "agent": "a", "task": "Bash", "ok": n % 3 > 0, "started_at": 1e9 + n}
        row["session"] = f"s{n // 50}"
        if not row["ok"]:
            said = f"error: cannot {verbs[n % 8]} part {n % 200} of pile {n // 9}"
            row["failure"] = {"message": said, "flagged": True}
        rows.append(row)
    ingest(store, rows)
failed = [row for row in store.find("outcomes", {"ok": False}, limit=lessons).rows]
for n in range(lessons):
    if n % 2 or n >= len(failed):
        add(store, when=f"fatal: module m{n} cannot {verbs[n % 8]} the branch {n}", do=f"do {n}", state="active")
    else:
        failure = failed[n]["failure"]
        template = template_of(failure["message"])
        lesson = {"id": f"l{n}", "state": "active", "scope": "global", "signature": failure["signature"],
                  "kind": "other", "when_text": template, "text": f"do {n}", "tried": 2, "worked": 2, "uses": 1,
                  "wins": 1, "evidence": [failed[n]["id"]], "provenance": "mined from sessions of a"}
        store.swap("lessons", lesson["id"], 0, lesson)
store.close()
"""


def write(home: Path, scratch: Path, *, outcomes: int, lessons: int) -> Path:
    """Write the home with the old code; return its store. Skips the test where the history is not at hand."""
    code = scratch / "old"
    code.mkdir(parents=True, exist_ok=True)
    told = subprocess.run(["git", "-C", ROOT, "archive", COMMIT, "src"], capture_output=True)
    if told.returncode:
        pytest.skip(f"NOT TESTED: upgrading a home of {COMMIT[:7]}, since its code is not in this checkout's history")
    subprocess.run(["tar", "x", "-C", code], input=told.stdout, check=True)
    arguments: list[str | Path] = [
        sys.executable,
        "-c",
        _WRITES.replace("OLD", "ratchet"),
        home,
        str(outcomes),
        str(lessons),
    ]
    subprocess.run(arguments, check=True, env={"PYTHONPATH": str(code / "src"), "PATH": "/usr/bin:/bin"})
    return home / "ratchet.db"
