"""What a person's words are worth: kept from real histories in order, scored on corrections that were read by hand.

    python benchmarks/words.py --history DIR --rows rows.jsonl [--split 2026-01-20]

DIR and `rows` are those of `benchmarks.lessons`; only rows of the type `correction` count here. One is in evidence
where a quote of its session holds its words and the quote, or the step that it met, names what the row accepts. Printed
for the sessions before the split, which the weights were set on, and for those from it on: how many corrections are in
evidence, how many quotes are shown as a candidate, and how many of these are one of the rows; the quotes themselves, to
be read by eye. Beside it, in the same run: showing every refusal and interruption.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from figures import Figure, publish
from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons.mined import mine_session
from ratchet.lessons.words.kept import hear
from ratchet.lessons.words.rules import Correction, corrections
from ratchet.recording.rows import row_of
from ratchet.recording.sources.claude_code import ClaudeCode
from ratchet.records import Outcome, Row, Saying
from ratchet.store.sqlite import SqliteStore


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--history", required=True)
    parser.add_argument("--rows", required=True)
    parser.add_argument("--split", default="2026-01-20")
    asked = parser.parse_args()
    files = sorted(Path(asked.history).glob("*.jsonl"))
    rows = [json.loads(line) for line in Path(asked.rows).read_text().splitlines() if line.strip()]
    rows = [row for row in rows if row.get("type") == "correction"]
    figures: list[Figure] = []
    for part, label in (("before", f"before {asked.split}"), ("from", f"from {asked.split} on")):
        mine = [file for file in files if (file.stem < asked.split) == (part == "before")]
        named = {file.stem for file in mine}
        print(f"\nsessions {label}: {len(mine)} files")
        figures += _score(label, _kept(mine), [row for row in rows if row["session"] in named])
    publish("words", figures)


def _kept(files: Iterable[Path]) -> Sequence[Correction]:
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "words.db")
        seen: set[str] = set()
        for path in files:
            items = [item for read in ClaudeCode().read(str(path), 0, {}) for item in read.items]
            outcomes = [{**row_of(item), "session": path.stem} for item in items if isinstance(item, Outcome)]
            said = [item for item in items if isinstance(item, Saying) and item.id not in seen]
            seen |= {item.id for item in said}
            ingest(store, [{**row, "project": "/project"} for row in outcomes])
            hear(store, [_moved(item, path.stem) for item in said])
            mine_session(store, path.stem)
        found = corrections(store, every=True)
        store.close()
    return found


def _moved(item: Saying, session: str) -> Saying:
    from dataclasses import replace

    return replace(item, session=session, project="/project")


def _score(label: str, found: Sequence[Correction], rows: Sequence[Row]) -> list[Figure]:
    by_row = {str(row["row"]): [each for each in found if _is(row, each)] for row in rows}
    evidence = [name for name, several in by_row.items() if several]
    shown = [each for each in found if each.lesson]
    right = [each for each in shown if any(each in several for several in by_row.values())]
    plain = [each for each in found if each.way in ("refused", "interrupted")]
    good = [each for each in plain if any(each in several for several in by_row.values())]
    print(f"  corrections in evidence {len(evidence)} of {len(rows)} ({len(found)} quotes kept)")
    print(f"  missing: {' '.join(name for name in by_row if name not in evidence) or 'none'}")
    print(f"  shown {len(shown)}, of which are rows {len(right)}; every refusal and stop: {len(good)} of {len(plain)}")
    for each in shown:
        mark = "*" if each in right else " "
        print(f"  {mark} {each.points} {each.way} {each.head}: {' '.join(each.quote.split())[:220]!r}")
    shares = (
        ("corrections in evidence", evidence, rows),
        ("shown as a rule, and one by hand", right, shown),
        ("refusals and stops that are one by hand (the baseline: show each)", good, plain),
    )
    return [Figure(name=f"{name}, {label}", measured=f"{len(some)} of {len(of)}") for name, some, of in shares]


def _is(row: Row, each: Correction) -> bool:
    said = each.quote.lower()
    if row["session"] not in each.sessions or str(row["error"]).lower() not in said:
        return False
    return any(str(word).lower() in f"{said} {each.head} {each.met}".lower() for word in row["accept_any"])  # type: ignore[union-attr]


if __name__ == "__main__":
    main()
