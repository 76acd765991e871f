"""An active lesson is found, told and withheld however many candidates were learnt from the same failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons import exposure, lookup
from ratchet.lessons.lessons import add, listed
from ratchet.lessons.mined import mine_session
from ratchet.lessons.recall import recall
from ratchet.lessons.reply import to_failure
from ratchet.records import Row
from ratchet.store.sqlite import SqliteStore
from support.sessions import session, shell

SHORT = "fatal: No configured push destination.\nEither specify the URL from the command-line or"
WHOLE = (
    f"Exit code 128\n{SHORT} configure a remote repository using\n\n    git remote add <name> <url>\n\n"
    "and then push using the remote name\n\n    git push <name>"
)
PROJECT = "/w/shop"


def store_in(home: Path) -> SqliteStore:
    """One active lesson, known by less of the text than those that are mined from it will be."""
    store = SqliteStore(home / "ratchet.db")
    add(store, when=SHORT, do="name the remote and the branch", scope="global", state="active")
    exposure.publish(str(home), active=1, withheld=0.5, effects={})
    return store


@pytest.mark.slow
def test_every_session_that_fails_has_its_exposure_while_candidates_are_mined(tmp_path: Path) -> None:
    store, told, most = store_in(tmp_path), list[Row](), 0

    def append(row: Row) -> bool:
        told.append(row)
        return True

    for number in range(36):
        name = f"s{number}"
        calls = [shell("git push", WHOLE), shell(f"git push ../remote{number} HEAD:refs/heads/b{number}")]
        failed: Row = {
            "id": f"o{number}",
            "session": name,
            "project": PROJECT,
            "step": {"tool": "Bash", "head": "git push", "input": "git push"},
            "failure": {"message": WHOLE},
        }
        to_failure(str(tmp_path), failed, append)
        ingest(store, session(calls, name, start=1_700_000_000.0 + 3_600 * number))
        mine_session(store, name)
        most = max(most, sum(each.state == "candidate" for each in listed(store)))
    store.close()
    assert most > 28  # each fix was another: no session proves what another did
    assert [row["session"] for row in told] == [f"s{number}" for number in range(36)]
    assert {row["arm"] for row in told} == {"new", "control"}


@pytest.mark.parametrize("candidates", [1, 27, 28, 100, 400])
def test_who_asks_for_what_is_active_finds_it_among_candidates(tmp_path: Path, candidates: int) -> None:
    store = store_in(tmp_path)
    (active,) = listed(store)
    for number in range(candidates):
        row: Row = {"id": f"c{number}", "state": "candidate", "scope": "global", "said": WHOLE, "text": f"way {number}"}
        store.insert_new("lessons", [{**row, "when_text": WHOLE, "source": "session", "body": "{}"}])
    found = recall(store, WHOLE, states=("active",))
    store.close()
    assert [each.id for each in found.lessons] == [active.id]
    assert [row["id"] for row in lookup.matching(str(tmp_path), {"message": WHOLE}, project=PROJECT)] == [active.id]
