"""A trial in words: what was enough stays enough, and is said as what it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from ratchet.improving.trials.evidence import evidence
from ratchet.improving.trials.words import in_words
from ratchet.records import Change, Row, Trial
from ratchet.store.sqlite import SqliteStore

AT = 36_060.0  # 10:01


def _units(store: SqliteStore, trial: Trial, ok_of: list[tuple[bool, bool]], begins: float) -> None:
    """Units in pairs, a minute apart: whether that of the new arm worked, and that of the old one."""
    rows: list[Row] = []
    for number, pair in enumerate(ok_of):
        for arm, ok in zip(("new", "old"), pair, strict=True):
            at = begins + 60 * number + (arm == "old")
            rows.append(
                {
                    "id": f"{arm}{at}",
                    "unit": f"call:{arm}{at}",
                    "trial": trial.id,
                    "channel": "trial",
                    "arm": arm,
                    "at": at,
                    "ok": ok,
                    "share": 0.5,
                    "settled": True,
                    "settled_at": at + 1,
                    "due_at": at + 600,
                }
            )
    store.insert_new("exposures", rows)


@pytest.mark.parametrize(
    ("verdict", "first", "then"), [("keep", (True, False), (False, True)), ("revert", (False, True), (True, False))]
)
def test_what_was_enough_once_is_said_with_its_time_where_later_runs_say_less(
    tmp_path: Path, verdict: str, first: tuple[bool, bool], then: tuple[bool, bool]
) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    trial = Trial(id="t", change=Change(target="settings:a", new={"n": 2}), state="open", opened_at=AT, before=(5, 10))

    def told(now: float) -> tuple[str, tuple[str, ...]]:
        words = in_words(trial, evidence(store, trial, now=now), now=now, first_at=AT, usual={})
        return words.missing, words.sure

    _units(store, trial, [first] * 30, AT)
    said = evidence(store, trial, now=AT + 3_600)
    assert said.verdict == verdict
    assert AT < said.enough_at < AT + 1_800  # before the last: it is the first crossing
    assert max(said.toward, said.against) >= said.threshold
    assert told(AT + 3_600)[0] == f"Enough is known to {verdict}: `ratchet loop` {verdict}s it once it runs."
    crossed = said.enough_at

    _units(store, trial, [then] * 40, AT + 1_800)
    said = evidence(store, trial, now=AT + 7_200)
    assert (said.verdict, said.enough_at) == (verdict, crossed)
    assert (said.toward if verdict == "keep" else said.against) < said.threshold
    missing, sure = told(AT + 7_200)
    assert f"Enough was known to {verdict} with the run that started at 10:" in missing
    assert "holds at its first crossing" in missing
    assert not any(" at 1 of " in line for line in sure)  # no threshold is said to be still ahead
    assert said.crossing is not None
    assert said.crossing.e_value >= said.threshold
    assert said.crossing.units < said.new.units + said.old.units
    against, toward = {units: both for units, *both in said.curve}[said.crossing.units]
    assert said.crossing.e_value == (toward if verdict == "keep" else against)  # the chart shows it, too
    proven = next(line for line in sure if line.startswith("Proven"))
    assert f"after {said.crossing.units} runs" in proven
    assert f"With all {said.new.units + said.old.units}" in proven
    store.close()
