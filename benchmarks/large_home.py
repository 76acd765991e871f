"""A large home for the pages: outcomes of many sessions with steps, tokens, words, patterns and lessons.

    python benchmarks/large_home.py HOME [--outcomes 1000000] [--sessions 10000] [--patterns 10000] [--longest 50000]

Everything goes through the functions that a history goes through, but for three shortcuts that make it fast: failures
are signed beforehand, their patterns are stored as they are made up (none is merged), and nothing is searched for
resolutions. The same arguments make the same home, but for its dates: it ends now.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ratchet.failures.patterns.ingest import ingest
from ratchet.failures.signature import sign
from ratchet.lessons.exposure import project_name
from ratchet.lessons.indexing import keep_index
from ratchet.lessons.lessons import add
from ratchet.lessons.mining.calls import calls_of
from ratchet.lessons.mining.facts import facts
from ratchet.lessons.mining.facts import row_of as fact_row
from ratchet.recording.keeping import keep_tokens
from ratchet.recording.rows import said_row
from ratchet.records import MessageTokens, Row, Saying
from ratchet.store.sqlite import SqliteStore
from ratchet.store.sums import replace_facts

DAYS = 90
LONG = "session-long"
"""The session that has more steps than any other."""
_DAY_S = 86_400.0
_AGENTS = ("claude-code", "codex", "gemini-cli", "opencode")
_MODELS = ("claude-opus-4-5", "claude-sonnet-4-5", "gpt-5-codex", "gemini-2.5-pro")
_PROJECTS = tuple(
    f"/srv/work/{name}" for name in ("shop", "billing", "search", "mobile", "infra", "docs", "etl", "auth")
)
_COMMANDS = (
    "pytest",
    "git push",
    "npm test",
    "make lint",
    "cargo build",
    "docker build",
    "ruff check",
    "mypy",
    "ls",
    "rg",
)
_KINDS = (
    "command_failed",
    "test_failure",
    "code_error",
    "resource_missing",
    "dependency_missing",
    "timeout",
    "network",
)
_SYLLABLES = ("ba", "de", "fi", "go", "lu", "ma", "ne", "po", "ri", "su")
_FAILING = 0.15
_ANSWER_STEPS = 4  # steps that one answer of a model calls, about


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large a home is to be; `longest` is the number of steps of one session among the others."""

    outcomes: int = 1_000_000
    sessions: int = 10_000
    patterns: int = 10_000
    longest: int = 50_000
    lessons: int = 1_000


def build(home: Path, size: Size, *, now: float | None = None) -> None:
    """Write a home of this size. About 0.2 ms an outcome."""
    chance = random.Random(7)
    end = time.time() if now is None else now
    store = SqliteStore(home / "ratchet.db")
    failures = _patterns(store, size.patterns, end)
    _lessons(store, size.lessons, failures, end)
    for number, steps in enumerate(_lengths(size, chance)):
        _session(store, number, steps, failures, chance, end)
    store.close()


def word(number: int) -> str:
    """A word for a number, since digits are masked in messages."""
    return "".join(_SYLLABLES[int(digit)] for digit in f"{number:05d}")


def _lengths(size: Size, chance: random.Random) -> Iterator[int]:
    """Steps of each session: the longest first, the others about alike."""
    yield min(size.longest, size.outcomes)
    left = size.outcomes - size.longest
    for number in range(size.sessions - 1, 0, -1):
        steps = left if number == 1 else min(left, max(1, round(left / number * chance.uniform(0.3, 1.7))))
        left -= steps
        yield steps


def _patterns(store: SqliteStore, count: int, end: float) -> list[Row]:
    """Store so many patterns; return a failure of each, those that are to be frequent first."""
    failures: list[Row] = []
    heads: list[Row] = []
    for number in range(count):
        kind = _KINDS[number % len(_KINDS)]
        message = (
            f"error: the {word(number)} of stage {word(99_999 - number)} could not be read: {word(7 * number % 99_999)}"
        )
        signature = sign(kind, message)
        failures.append(
            {"kind": kind, "message": message, "template": message, "signature": signature, "flagged": True}
        )
        made: Row = {"kind": kind, "template": message, "created_at": end - DAYS * _DAY_S, "revision": 1}
        heads.append({**made, "id": f"p{signature.partition(':')[2]}", "signature": signature})
    with store.transaction():
        store.insert_new("patterns", heads)
        store.insert_new("signatures", [{**_but(row, "id"), "pattern": row["id"]} for row in heads])
    return failures


def _but(row: Row, name: str) -> Row:
    return {key: value for key, value in row.items() if key != name}


def _session(
    store: SqliteStore, number: int, steps: int, failures: Sequence[Row], chance: random.Random, end: float
) -> None:
    session = f"session-{number:05d}" if number else LONG
    agent, model = chance.choice(list(zip(_AGENTS, _MODELS, strict=True)))
    project = chance.choice(_PROJECTS)
    length_s = min(steps * 30.0, 5 * _DAY_S)
    start = end - length_s - chance.random() * (DAYS * _DAY_S - length_s)
    rows: list[Row] = []
    answers: list[MessageTokens] = []
    for step in range(steps):
        at = start + step * length_s / steps
        row = _step(f"{session}-{step}", session, agent, model, project, at, failures, chance)
        if step % _ANSWER_STEPS == 0:
            given, cached, made = chance.randrange(50), chance.randrange(150_000), chance.randrange(900)
            answers.append(
                MessageTokens(
                    id=f"m-{session}-{step}",
                    agent=agent,
                    session=session,
                    at=at,
                    model=model,
                    project=project,
                    step=str(row["id"]),
                    given=given,
                    stored=chance.randrange(3_000),
                    cached=cached,
                    made=made,
                )
            )
        rows.append(row)
    said = f"mend the {word(number)} of {project.rpartition('/')[2]}, its tests fail since {word(number * 3 % 99_999)}"
    name = project_name(project)
    with store.transaction():
        ingest(store, rows)
        keep_tokens(store, answers)
        store.insert_new("sayings", [said_row(_saying(session, agent, start - 1, said))])
        keep_index(store, session, rows, name, keep_steps=False)
        counted = facts(calls_of(rows), project)
        replace_facts(
            store, session, [{**fact_row(each), "session": session, "project": name} for each in counted], since_hour=0
        )


def _saying(session: str, agent: str, at: float, text: str) -> Saying:
    return Saying(
        id=f"w-{session}", who="person", way="typed", agent=agent, session=session, at=at, text=text, chars=len(text)
    )


def _step(
    key: str,
    session: str,
    agent: str,
    model: str,
    project: str,
    at: float,
    failures: Sequence[Row],
    chance: random.Random,
) -> Row:
    row: Row = {
        "id": key,
        "agent": agent,
        "task": "Bash",
        "ok": True,
        "started_at": at,
        "duration_s": round(chance.expovariate(0.5), 3),
        "model": model,
        "source": "synthetic",
        "session": session,
        "project": project,
    }
    head = chance.choice(_COMMANDS)
    if head in ("ls", "rg") and chance.random() < 0.3:
        path = f"{project}/src/{word(chance.randrange(3_000))}.py"
        change = f"- was = {chance.randrange(99)}\n+ now = {chance.randrange(99)}"
        row |= {
            "task": "Edit",
            "step": {"tool": "Edit", "head": "edit", "target": path, "input": path, "change": change},
        }
        return row
    row["step"] = {"tool": "Bash", "head": head, "input": f"{head} src/{word(chance.randrange(3_000))}.py"}
    if chance.random() < _FAILING:  # few patterns have most of the failures, as everywhere
        row |= {"ok": False, "failure": failures[int(len(failures) * chance.random() ** 3)]}
    return row


def _lessons(store: SqliteStore, count: int, failures: Sequence[Row], end: float) -> None:
    with store.transaction():
        for number in range(count):
            failure = failures[number % len(failures)]
            add(store, when=str(failure["message"]), do=f"run: mend-{word(number)} --once", scope="global", now=end)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path)
    usual = Size()
    for name in ("outcomes", "sessions", "patterns", "longest", "lessons"):
        parser.add_argument(f"--{name}", type=int, default=getattr(usual, name))
    given = parser.parse_args()
    given.home.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    asked = {name: getattr(given, name) for name in ("outcomes", "sessions", "patterns", "longest", "lessons")}
    build(given.home, Size(**asked))
    took = time.perf_counter() - began
    print(f"{given.outcomes:,} outcomes in {given.sessions:,} sessions in {given.home}, {took:.0f} s")


if __name__ == "__main__":
    main()
