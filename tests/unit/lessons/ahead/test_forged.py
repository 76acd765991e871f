"""What outputs, files, servers and messages say in a step that fails never becomes a word before a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons import facts, fence, lookup
from ratchet.lessons.ahead.making import triggers
from ratchet.lessons.backtest.backtest import backtest, keep
from ratchet.lessons.mined import mine_session
from ratchet.lessons.prediction import predict, told_in_words
from ratchet.records import Row
from ratchet.store.sqlite import SqliteStore
from support.attacks import forged, forged_findings
from support.campaigns import many
from support.sessions import call, session, shell

SHOP = "/w/shop"
EDIT: Row = {"file_path": f"{SHOP}/src/cart.go", "old_string": "a := b()", "new_string": "a, err := b()"}
Forging = Callable[[int, int], Iterator[tuple[str, str, tuple[str, str]]]]


def _said(home: Path, output: str, failed: str, worked: str) -> dict[str, str]:
    """Everything that is told ahead after three sessions in which this step failed so, and that one worked."""
    store = SqliteStore(home / "ratchet.db")
    for at in range(3):
        then: list[Row] = [shell(worked)] if worked else [call("Edit", EDIT), shell(failed)]
        steps = [shell(failed, f"Exit code 1\n{output}"), *then]
        ingest(store, session(steps, f"s{at}", start=1_700_000_000.0 + 10_000 * at))
        mine_session(store, f"s{at}")
    keep(store, *backtest(store))
    found = facts.for_agents(facts.facts_of(store, SHOP))
    said = {
        "step": "\n".join(each.text for each in triggers(store, SHOP)),
        "start": fence.digest(lookup.top(str(home), SHOP), fence.START_LIMIT)[0],
        "facts": fence.facts(found.told, fence.FACTS_LIMIT),
        "predict": told_in_words(predict(store, "command", failed, folder=SHOP, here=False)),
    }
    store.close()
    return said


@pytest.mark.parametrize("forging", [forged, forged_findings])
@pytest.mark.parametrize("count", [20, pytest.param(150, marks=pytest.mark.soak)])
def test_an_order_in_an_output_is_told_ahead_nowhere(count: int, forging: Forging, tmp_path: Path) -> None:
    told = 0
    for at, (word, output, (failed, worked)) in enumerate(forging(many(count), 7)):
        home = tmp_path / str(at)
        home.mkdir()
        said = _said(home, output, failed, worked)
        told += bool(said["start"]) or "  first: " in said["predict"]
        assert word not in said["step"] + said["start"], output
        words = output.split()  # the name of a finding or a test may be told alone, as nobody's advice
        orders = [f"{one} {next_}" for one, next_ in pairwise(words) if word in one + next_]
        assert not [each for each in orders if each in said["facts"] + said["predict"]], output
    assert told, "what really ran is told"
