"""A synthetic history of any size, the same for the same seed: outcomes as rows, in order of time.

The published figures use 1,000,000 outcomes, 15 % of them failures, with 500 signatures, 20 agents
and 90 days. Messages carry parameters that differ from one failure to the next, as real ones do.

    python benchmarks/history.py COUNT [HOME]     ingest COUNT outcomes into HOME/ratchet.db
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ratchet.records import Row

AGENTS = 20
SIGNATURES = 500
DAYS = 90
STARTED_AT = 1_750_000_000.0
SESSION_CALLS = 50  # calls of an agent's session, about as in real histories

_VERBS = ("open", "parse", "fetch", "write", "merge", "compile", "push", "resolve", "decode", "lock")
_THINGS = ("file", "branch", "module", "socket", "record", "table", "lease", "token", "bucket", "schema")
_REASONS = ("permission denied", "no such entry", "checksum mismatch", "connection refused", "unexpected end")


def outcomes(
    count: int, *, failing: float = 0.15, seed: int = 7, days: float = DAYS, started_at: float = STARTED_AT
) -> Iterator[Row]:
    """`count` rows over `days`, of which a share of `failing` are failures. Ids are hashes, as of tool calls: in no
    order, which is the harder case for an index (`record` gives out ids in order of time)."""
    random_ = random.Random(seed)
    step_s = days * 86_400 / count
    for number in range(count):
        agent = random_.randrange(AGENTS)
        row: Row = {
            "id": f"o{random_.getrandbits(96):024x}",
            "agent": f"agent-{agent}",
            "task": f"task-{number % 40}",
            "ok": True,
            "started_at": started_at + number * step_s,
            "duration_s": random_.random() * 3,
            "tokens": random_.randrange(2000),
            "source": "synthetic",
            "session": f"s{seed}-{agent}-{number // (SESSION_CALLS * AGENTS)}",
            "project": "/srv/project",
            "step": {"tool": "Bash", "head": "make test", "input": f"make test TARGET=unit-{number % 17}"},
        }
        if random_.random() < failing:
            row["ok"] = False
            row["failure"] = {"message": message(random_.randrange(SIGNATURES), random_), "flagged": True}
        yield row


def message(cause: int, random_: random.Random) -> str:
    """An error text of that cause, about 500 characters long, with other parameters each time."""
    verb, rest = _VERBS[cause % 10], cause // 10
    thing, reason = _THINGS[rest % 10], _REASONS[rest // 10]
    name, number = f"{random_.getrandbits(32):08x}", random_.randrange(100_000)
    return (
        f"Error: could not {verb} the {thing} of stage {_word(cause)}: {reason}\n"
        f"  while working on /srv/project/build/{name}/unit_{number}.py at line {number % 900}\n"
        f"  request id {name}-{number}, attempt {number % 5} after {number % 3000} ms\n"
        f"  the last {number % 50} lines of output were kept in /var/log/build/{name}.log; run with --verbose to see\n"
        f"  all of them, or look at http://ci.example.com/builds/{number} where the whole build of {name} is shown\n"
    )


def _word(cause: int) -> str:
    """A word for a number, since digits are masked."""
    return "".join("bdfgklmnpr"[int(digit)] + "aeiou"[int(digit) % 5] for digit in f"{cause:03d}")


def batches(rows: Iterator[Row], size: int = 2_000) -> Iterator[list[Row]]:
    while batch := list(islice(rows, size)):
        yield batch


def main(count: int, home: Path) -> None:
    from ratchet.failures.patterns.ingest import ingest
    from ratchet.store.sqlite import SqliteStore

    store = SqliteStore(home / "ratchet.db")
    done = 0
    for batch in batches(outcomes(count)):
        done += len(ingest(store, batch).new)
    store.close()
    print(f"{done:,} outcomes in {home / 'ratchet.db'}")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "."))
