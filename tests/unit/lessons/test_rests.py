"""A lesson whose ground is gone is withheld, and says why; one whose files merely changed is not."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons import lessons, lookup
from ratchet.lessons.citing import cited
from ratchet.lessons.mined import mine_session
from ratchet.lessons.recall import recall
from ratchet.lessons.rests import stale, version_in
from ratchet.records import Row
from ratchet.testing.stores import open_store
from support.sessions import session, shell

PLACE = 'File "{root}/shop/cart.py", line 3, in total'
SAID = f"Traceback:\n  {PLACE}\n    return sum(prices) / len(prices)\nZeroDivisionError"
PACKAGE = '{"scripts": {"format": "eslint --fix ."}, "devDependencies": {"eslint": "^8.57.0"}}'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    (root / "shop").mkdir()
    (root / "scripts").mkdir()
    (root / "shop" / "cart.py").write_text("def total(prices):\n    # mean\n    return sum(prices) / len(prices)\n")
    (root / "scripts" / "seed.py").write_text("print()\n")
    (root / "package.json").write_text(PACKAGE)
    return root


def lesson(root: Path) -> Row:
    advice = "Run `npm run format` first, then `python scripts/seed.py` again."
    said = SAID.format(root=root)
    return {"rests": cited(folder=str(root), advice=advice, said=said, tools=["eslint"]), "projects": [str(root)]}


def rewrite(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new) + "\n")


def test_nothing_speaks_against_what_stands_as_it_stood(project: Path) -> None:
    held = lesson(project)
    kinds = {str(each.get("kind")) for each in cast("list[Row]", held["rests"])}
    assert kinds == {"path", "name", "line", "version"}
    assert stale(held, str(project / "shop")) == ""
    rewrite(project / "shop" / "cart.py", "# mean", "# the mean of all")
    rewrite(project / "package.json", "8.57.0", "8.60.1")
    assert stale(held, str(project)) == ""


@pytest.mark.parametrize(
    ("file", "old", "new", "why"),
    [
        ("shop/cart.py", "len(prices)", "max(1, len(prices))", "`shop/cart.py` no longer holds the line that failed"),
        ("package.json", "format", "prettier", "`package.json` no longer names `format`"),
        ("package.json", "^8.57.0", "^9.1.0", "eslint is 9 now, it was 8 (`package.json`)"),
    ],
)
def test_a_changed_file_withholds_only_what_rested_on_the_change(
    project: Path, file: str, old: str, new: str, why: str
) -> None:
    held = lesson(project)
    rewrite(project / file, old, new)
    assert stale(held, str(project)) == why


def test_a_renamed_file_withholds_the_lesson_that_names_it(project: Path) -> None:
    held = lesson(project)
    (project / "scripts").rename(project / "tools")
    assert stale(held, str(project)) == "`scripts/seed.py` is gone"


def test_a_project_that_is_not_here_is_believed(project: Path) -> None:
    assert stale(lesson(project), "/nowhere/at/all") == ""
    assert cited(folder="/nowhere/at/all", advice="Run `python scripts/seed.py`", said="", tools=["eslint"]) == []


@pytest.mark.parametrize(
    ("line", "name", "version"),
    [
        ('"eslint": "^8.57.0",', "eslint", "8"),
        ('"eslint-plugin-react": "^7.1",', "eslint", ""),
        ("ruff>=0.4.2", "ruff", "0.4"),
        ("coverage[toml]==6.3", "coverage", "6"),
        ('"@types/express": "^4.0", "express": "^5.1"', "express", "5"),
        ('ruff = { version = "1.2" }', "ruff", "1"),
        ('{:credo, "~> 1.7", only: [:dev]}', "credo", "1"),
        ("\tgithub.com/go-git/go-git/v5 v5.16.2", "github.com/go-git/go-git", "5"),
        ("\tgithub.com/spf13/cobra v1.9.1", "github.com/spf13/cobra", "1"),
        ('gem "rubocop", "~> 1.50"', "rubocop", "1"),
        ('golangci-lint = "2.1.6"', "golangci-lint", "2"),
        ('"test": "jest --maxWorkers 4"', "test", ""),
    ],
)
def test_versions_are_read_from_manifests(line: str, name: str, version: str) -> None:
    assert version_in(f"# first\n{line}\n", name) == version


def test_a_stale_lesson_is_delivered_nowhere_until_it_is_met_again(project: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    store = open_store(home)
    error = "hook id: prettier\nCode is not formatted as the project wants it."

    def met(name: str, script: str, start: float) -> None:
        calls = [shell("git commit", error), shell(f"npm run {script}"), shell("git commit")]
        ingest(store, session(calls, name, project=str(project), start=start))
        mine_session(store, name)

    for number in range(3):
        met(f"s{number}", "format", 1_700_000_000.0 + number * 86_400)
    (found,) = lessons.listed(store)
    assert (found.state, found.stale, found.seen_at > 0) == ("active", "", True)
    failure: Row = {"message": error}
    assert lookup.matching(str(home), failure, project=str(project))
    rewrite(project / "package.json", "format", "prettier")
    assert lookup.matching(str(home), failure, project=str(project)) == []
    assert recall(store, error, project=str(project)).abstained
    (found,) = lessons.listed(store)
    assert found.stale == "`package.json` no longer names `format`"
    rewrite(project / "package.json", "prettier", "format")
    assert lookup.matching(str(home), failure, project=str(project))
    store.close()
