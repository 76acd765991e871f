"""Whence a project imports its names is known from all its edits, before one of them is ever missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from ratchet.failures.diagnostics import import_keys_of
from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons import lookup
from ratchet.lessons.backtest.pasts import pasts
from ratchet.lessons.backtest.replay import replayed
from ratchet.lessons.lessons import listed, retire
from ratchet.lessons.mined import mine_session
from ratchet.lessons.mining.hunks import Hunk
from ratchet.lessons.mining.imported import ImportUses, added_imports, import_sources
from ratchet.lessons.recall import recall
from ratchet.ports import Store
from ratchet.records import Row
from ratchet.store.sqlite import SqliteStore
from support.sessions import call, session, shell

MISSING = "cmd/pay.go:9:9: undefined: cart"
TOLD = 'Import `cart` from `"shop.io/shop/cart"` (2 of 2 sessions).'


@pytest.mark.parametrize(
    ("path", "line", "names"),
    [
        ("a.go", '\t"shop.io/shop/cart"', {"cart": "shop.io/shop/cart"}),
        ("a.go", '\t"shop.io/shop/cart/v5"', {"cart": "shop.io/shop/cart/v5"}),
        ("a.go", '\tbasket "shop.io/shop/cart"', {"basket": "shop.io/shop/cart"}),
        ("a.go", 'import "fmt"', {"fmt": "fmt"}),
        (
            "a.ts",
            "import { Cart, total as sum } from '@shop/cart';",
            {"Cart": "@shop/cart", "total": "@shop/cart", "sum": "@shop/cart"},
        ),
        ("a.ts", "import { Cart } from './cart';", {}),  # of another folder it is another
        ("a.tsx", "import React from 'react'", {"React": "react"}),
        ("a.py", "from shop.cart import Cart, Total", {"Cart": "shop.cart", "Total": "shop.cart"}),
        ("a.py", "import numpy as np", {"np": "numpy"}),
        ("a.py", "import os.path", {"os": "os.path"}),
        ("a.rs", "use shop::cart::Cart;", {"Cart": "shop::cart::Cart"}),
        ("a.rs", "use shop::{cart, Pay};", {"cart": "shop::{cart, Pay}", "Pay": "shop::{cart, Pay}"}),
        ("A.java", "import shop.cart.Cart;", {"Cart": "shop.cart.Cart"}),
        ("a.ex", "  alias Shop.Cart", {"Cart": "Shop.Cart"}),
        ("a.exs", "  import Shop.CartCase", {}),  # it brings functions
        ("A.kt", "import shop.cart.Cart", {"Cart": "shop.cart.Cart"}),
        ("a.go", "\tcart := shop.New()", {}),
        ("shop.rb", '  license "MIT"', {}),
        ("README", '"shop.io/shop/cart"', {}),
    ],
)
def test_an_import_brings_these_names(path: str, line: str, names: dict[str, str]) -> None:
    found = dict(added_imports(Hunk(path, 0, (), (line,))))
    assert {key.split(" ")[2]: module for key, module in found.items()} == names


def test_a_line_that_only_moved_brings_nothing() -> None:
    assert not list(added_imports(Hunk("a.go", 0, ('"fmt"', "x"), ('\t"fmt"', "y"))))


@pytest.mark.parametrize(
    ("modules", "told"),
    [
        (["shop/cart"], "shop/cart"),
        (["shop/cart", "shop/cart"], "shop/cart"),
        (["cart"], ""),  # its name says it
        (["cart", "cart"], "cart"),
        (["shop/cart", "pay/cart"], ""),  # it means two things here
        (["shop/cart", "pay/cart", "shop/cart", "pay/cart"], ""),
        (["shop/cart", "shop/cart", "pay/cart", "pay/cart"], "pay/cart"),  # it moved
    ],
)
def test_the_newest_source_counts_where_it_is_the_only_one_since(modules: list[str], told: str) -> None:
    uses: ImportUses = {"import go cart": [(at, f"s{at}", module) for at, module in enumerate(modules)]}
    assert [each.module for each in import_sources(uses).values()] == ([told] if told else [])


@pytest.mark.parametrize(
    ("path", "line", "told"),
    [
        ("a.go", '\t"shop.io/shop/cart"', 'Import `cart` from `"shop.io/shop/cart"`'),
        ("a.go", 'import "errors"', 'Import `"errors"`'),
        ("a.ts", "import { Cart } from '@shop/cart';", 'Import `Cart` from `"@shop/cart"`'),
        ("a.ts", "import fs from 'node:fs';", 'Import `fs` from `"node:fs"`'),
        ("a.ts", "import { test } from 'bun:test';", 'Import `test` from `"bun:test"`'),
        ("a.py", "from shop.cart import Cart", "Import `Cart` from `shop.cart`"),
        ("a.rs", "use shop::cart::Cart;", "Import `shop::cart::Cart`"),
        ("A.java", "import shop.cart.Cart;", "Import `shop.cart.Cart`"),
        ("a.ex", "  alias Shop.Cart", "Alias `Shop.Cart`"),
    ],
)
def test_a_path_is_told_in_quotes_and_a_module_as_its_language_names_it(path: str, line: str, told: str) -> None:
    ((key, module),) = added_imports(Hunk(path, 0, (), (line,)))
    (source,) = import_sources({key: [(at, f"s{at}", module) for at in range(2)]}).values()
    assert source.text == f"{told} (2 of 2 sessions)."


def test_code_in_a_text_imports_nothing() -> None:
    assert not [*added_imports(Hunk("guide.md", 0, (), ("import fs from 'node:fs';",)))]


def test_only_a_name_that_an_import_may_bring_is_asked_for() -> None:
    assert import_keys_of(f"{MISSING}\ncmd/pay.go:10:2: undefined: cart.Total") == ["import go cart"]
    assert import_keys_of("src/a.tsx(9,3): error TS2304: Cannot find name 'Cart'.") == ["import ts Cart"]


def imported(number: int, module: str = "shop.io/shop/cart") -> list[Row]:
    new: Row = {"file_path": "/w/shop/cmd/cart.go", "content": f'import "{module}"\n\nvar open = cart.New()'}
    return session([call("Write", new)], f"s{number}", start=1_700_000_000.0 + 10_000 * number)


def failed(number: int) -> list[Row]:
    edit: Row = {
        "file_path": "/w/shop/cmd/pay.go",
        "old_string": 'import "fmt"',
        "new_string": 'import "fmt"\nimport "shop.io/shop/cart"',
    }
    calls = [shell("go build ./...", MISSING), call("Edit", edit), shell("go build ./...")]
    return session(calls, f"s{number}", start=1_700_000_000.0 + 10_000 * number)


def learn(store: Store, *sessions: list[Row]) -> None:
    for rows in sessions:
        ingest(store, rows)
        mine_session(store, str(rows[0]["session"]))


def test_a_missing_name_that_the_projects_edits_import_is_told_though_it_never_failed(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    learn(store, imported(1), imported(2))
    assert [each.text for each in recall(store, MISSING, project="/w/shop").lessons] == [TOLD]
    for other in ("cmd/pay.go:9:9: undefined: purse", "src/pay.ts(9,3): error TS2304: Cannot find name 'cart'."):
        assert not recall(store, other, project="/w/shop").lessons
    assert not recall(store, MISSING, project="/w/bar").lessons
    store.close()
    (row,) = lookup.matching(str(tmp_path), {"message": MISSING}, project="/w/shop")
    assert row["text"] == TOLD
    assert not lookup.top(str(tmp_path), "/w/shop"), "a session's start is no place for a table"


def test_what_a_fix_taught_of_the_name_itself_is_told_in_its_place(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    learn(store, imported(1), imported(2), failed(3))
    (lesson,) = recall(store, MISSING, project="/w/shop").lessons
    assert lesson.text.startswith('Import it: `import "shop.io/shop/cart"`')
    store.close()


def test_a_person_who_retires_it_is_asked_no_more(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    learn(store, imported(1))
    (lesson,) = listed(store)
    retire(store, lesson.id, reason="we know")
    learn(store, imported(2))
    assert [each.state for each in listed(store)] == ["retired"]
    store.close()


def test_replay_counts_it_where_the_name_was_missing(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    learn(store, imported(1), imported(2), failed(3))
    offers = [each for done in replayed(pasts(store)) for each in done.offers]
    assert [(each.session, each.text, each.verdict) for each in offers] == [("s3", TOLD, "right")]
    store.close()
