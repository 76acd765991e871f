"""Folders that are gone count as one project where git itself named their remote."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from ratchet.errors import UsageError
from ratchet.lessons import exposure
from ratchet.lessons.ahead import trigger
from ratchet.lessons.ahead.making import everywhere
from ratchet.lessons.delivery import publish_triggers
from ratchet.lessons.learning import mine_pending, take
from ratchet.lessons.lessons import listed
from ratchet.lessons.repositories import known_as, project_of
from ratchet.ports import Store
from ratchet.recording.remotes import remote_in
from ratchet.records import Row
from ratchet.store.sqlite import SqliteStore
from support.sessions import call, session, shell

PUSHED = "To github.com:shop/cart.git\n   1a2b3c4..5d6e7f8  main -> main"
FINDING = "cart.go:3:9: error returned from external package is unwrapped: sig: func os.Open (wrapcheck)\n\treturn err"


@pytest.mark.parametrize(
    ("command", "said", "remote"),
    [
        ("git push 2>&1 | tail -3", PUSHED, "github.com/shop/cart"),
        ("git add . && git push -u origin main", PUSHED, "github.com/shop/cart"),
        ("git fetch origin", "From github.com:shop/cart\n * branch main -> FETCH_HEAD", "github.com/shop/cart"),
        ("git pull", "From https://ann:t0ken@github.com/Shop/Cart\n", "github.com/shop/cart"),
        ("git remote -v", "origin\tgit@github.com:shop/cart.git (fetch)", "github.com/shop/cart"),
        ("git push fork main", PUSHED, ""),
        ("cd ../other && git push", PUSHED, ""),
        ("git -C ../other push", PUSHED, ""),
        ("git push", "To ../cart.git\n   1a2b3c4..5d6e7f8  main -> main", ""),
        ("cat log.txt", PUSHED, ""),
        ("git log", PUSHED, ""),
    ],
)
def test_only_gits_own_words_about_origin_name_a_remote(command: str, said: str, remote: str) -> None:
    assert remote_in(command, said) == remote


def wrapped(name: str, folder: str, *, pushes: bool = False) -> list[Row]:
    old, new = "\treturn err", f'\treturn fmt.Errorf("open {name}: %w", err)'
    edit: Row = {"file_path": f"{folder}/cart.go", "old_string": old, "new_string": new}
    calls = [shell("golangci-lint run", FINDING), call("Edit", edit), shell("golangci-lint run")]
    if pushes:
        calls.append(shell("git push", context={"remote": "github.com/shop/cart"}))
    return session(calls, name, project=folder, start=1_700_000_000.0 + 10_000 * int(name[1:]))


SESSIONS = [
    wrapped("s1", "/gone/ann/cart"),
    wrapped("s2", "/gone/ann/cart", pushes=True),
    wrapped("s3", "/gone/bob/cart", pushes=True),
    wrapped("s4", "/gone/eve/cart"),
]


def learnt(store: Store, order: tuple[int, ...]) -> list[tuple[str, str, int]]:
    for number in order:
        take(store, SESSIONS[number], lambda _store, _rows: None)
        mine_pending(store, lambda *_: None)
    counted = store.sum_by("facts", ("project",), ("calls",), {"finding": ""})
    assert sorted((row["project"], row["calls"]) for row in counted) == [
        ("/gone/eve/cart", 3),
        ("github.com/shop/cart", 11),
    ]
    return sorted((each.state, each.text, each.tried) for each in listed(store))


@pytest.mark.slow
def test_clones_of_one_remote_are_one_project_in_whatever_order_it_is_told(tmp_path: Path) -> None:
    found = []
    for number, order in enumerate(permutations(range(len(SESSIONS)))):
        store = SqliteStore(tmp_path / f"{number}.db")
        found.append(learnt(store, order))
        assert known_as(store, "/gone/ann/cart") == known_as(store, "/gone/bob/cart") == "github.com/shop/cart"
        assert known_as(store, "/gone/eve/cart") == "/gone/eve/cart"
        assert {each.state for each in listed(store, project="/gone/bob/cart")} == {"active"}
        store.close()
    assert [state for state, _, _ in found[0]] == ["active", "candidate"]
    assert [tried for _, _, tried in found[0]] == [3, 1]
    assert all(each == found[0] for each in found)


def counted(store: Store) -> dict[str, int]:
    rows = store.sum_by("facts", ("project",), ("calls",), {"finding": ""})
    return {str(row["project"]): int(str(row["calls"])) for row in rows if row["calls"]}


def test_a_repository_that_moved_or_is_gone_keeps_what_was_learnt_in_it(tmp_path: Path) -> None:
    folder, config = tmp_path / "cart", tmp_path / "cart" / ".git" / "config"
    config.parent.mkdir(parents=True)
    store = SqliteStore(tmp_path / "s.db")

    def learn(number: int, *, pushes: bool = False) -> None:
        exposure._repositories.clear()  # each time is another process
        take(store, wrapped(f"s{number}", str(folder), pushes=pushes), lambda _store, _rows: None)
        mine_pending(store, lambda *_: None)

    def name(remote: str) -> None:
        config.write_text(f'[remote "origin"]\n\turl = git@github.com:{remote}.git\n')

    name("ann/cart")
    learn(1)
    learn(2, pushes=True)
    assert counted(store) == {"github.com/ann/cart": 7}, "what the configuration names now decides"
    name("shop/cart")
    learn(3)
    assert counted(store) == {"github.com/shop/cart": 10}
    assert {each.state for each in listed(store, project=str(folder))} == {"active"}
    folder.rename(tmp_path / "elsewhere")
    exposure._repositories.clear()
    assert known_as(store, str(folder)) == known_as(store, f"{folder}/") == "github.com/shop/cart"
    name_again = tmp_path / "cart" / ".git"
    name_again.mkdir(parents=True)
    name("ann/cart")
    learn(4)
    assert counted(store) == {"github.com/ann/cart": 13}, "and back again"
    store.close()


def test_before_a_step_a_folder_that_is_gone_is_told_what_its_remote_knows(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    pushes = [shell("git push", context={"remote": "github.com/shop/cart"})]
    for at, folder in enumerate(("/gone/ann/cart", "/gone/bob/cart")):
        flag = [shell("tool run --fast", "Error: unknown flag: --fast"), shell("tool run"), *pushes]
        take(store, session(flag, f"s{at}", project=folder, start=1_700_000_000.0 + 10_000 * at), lambda *_: None)
    mine_pending(store, lambda *_: None)
    publish_triggers(store, tmp_path)
    told = {trigger.held(str(tmp_path), folder) for folder in ("/gone/ann/cart", "/gone/bob/cart", "/gone/bob/cart/")}
    assert len(told) == 1
    assert b"`tool run` has no `--fast`" in told.pop()
    assert trigger.held(str(tmp_path), "/gone/eve/cart") == b""
    assert len(everywhere(tmp_path)) == 1, "each is counted once"
    store.close()


def test_the_whole_of_a_remotes_name_means_it_also_where_folders_end_so(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    rows = [
        wrapped("s1", "/gone/ann/shop/cart"),
        wrapped("s2", "/gone/bob/code", pushes=True),
        wrapped("s3", "/gone/eve/cart"),
    ]
    for each in rows:
        take(store, each, lambda _store, _rows: None)
    mine_pending(store, lambda *_: None)
    assert project_of(store, "shop/cart") == "github.com/shop/cart"
    assert project_of(store, "eve/cart") == "/gone/eve/cart"
    with pytest.raises(UsageError, match="several projects end in cart"):
        project_of(store, "cart")
    store.close()
