"""`ratchet compare`: features of other projects, each with its line, and the gaps as plans."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ratchet.errors import UsageError
from ratchet.evolving.competitors.book import compare_projects, gap_plan, write_plans
from ratchet.evolving.competitors.features import features
from ratchet.healing.planning.plan import plan_of

CLI = """import click


@click.group()
def cli(): ...


@cli.command("export")
@click.option("--as-csv/--as-json", is_flag=True)
def export_command(): ...


@cli.command()
@click.option("-n", "--dry-run", is_flag=True)
def import_all(path):
    return path.suffix == ".csv" or path.name.endswith(".txt") or f"{path}.text"
"""
START = '[project.scripts]\nshop = "pkg.cli:cli"\n'
SERVER = """@app.get("/items")
def items(): ...


@mcp.tool()
def search(): ...


parser.add_argument("--port", type=int)
"""


@pytest.mark.parametrize(
    "texts",
    [
        {"pkg/cli.py": CLI, "pyproject.toml": START},
        {"pkg/cli.py": CLI, "pkg/__main__.py": "from pkg.cli import cli\n\ncli()\n"},
        {"pkg/cli.py": CLI + '\n\nif __name__ == "__main__":\n    cli.main()\n'},
    ],
)
def test_the_group_that_a_program_starts_is_no_command_of_it(texts: dict[str, str]) -> None:
    below = CLI.replace("@click.group()\ndef cli", "@cli.group()\ndef items")
    commands = {each.name for each in features({**texts, "pkg/items.py": below}) if each.kind == "command"}
    assert commands == {"export", "import-all", "items", *(("shop",) if "pyproject.toml" in texts else ())}


def test_each_feature_names_the_line_that_shows_it() -> None:
    got = {f"{each.kind} {each.name}": each.place for each in features({"pkg/cli.py": CLI, "pkg/server.py": SERVER})}
    assert got == {
        "command cli": "pkg/cli.py:5",
        "command export": "pkg/cli.py:8",
        "command import-all": "pkg/cli.py:15",
        "option --as-csv": "pkg/cli.py:9",
        "option --as-json": "pkg/cli.py:9",
        "option --dry-run": "pkg/cli.py:14",
        "option --port": "pkg/server.py:9",
        "format .csv": "pkg/cli.py:16",
        "format .txt": "pkg/cli.py:16",
        "endpoint /items": "pkg/server.py:1",
        "tool search": "pkg/server.py:6",
    }


def test_other_languages_docs_and_manifests() -> None:
    got = {
        f"{each.kind} {each.name}": each.place
        for each in features(
            {
                "bin/cli.ts": 'program.command("sync <dir>")\n  .option("-f, --force", "x")\napp.get("/v1/x", y)\n',
                "cmd/root.go": 'c := &Command{\n\tUse: "serve",\n}\nc.Flags().StringVar(&x, "listen", "", "")\n',
                "pyproject.toml": '[project]\nname = "x"\n[project.scripts]\nx = "x:main"\n',
                "README.md": "# X\n\n## Plugins\n\n```\n## no heading\n```\n",
                "CHANGELOG.md": "## Plugins again\n",
                "tests/test_cli.py": CLI,
            }
        )
    }
    assert got == {
        "command sync": "bin/cli.ts:1",
        "command serve": "cmd/root.go:2",
        "command x": "pyproject.toml:4",
        "option --force": "bin/cli.ts:2",
        "option --listen": "cmd/root.go:4",
        "endpoint /v1/x": "bin/cli.ts:3",
        "topic Plugins": "README.md:3",
    }


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    for name, text in {"mine": "", "one": CLI, "two": CLI.replace("export", "convert")}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "cli.py").write_text(text)
    (tmp_path / "mine" / "own.py").write_text('p.add_argument("--dry_run")\n')
    return tmp_path


def test_gaps_are_ranked_by_how_many_have_them(projects: Path) -> None:
    table = compare_projects(projects / "mine", [str(projects / "one"), str(projects / "two")])
    ranked = [(each.name, len(each.cells)) for each in table.gaps]
    assert ranked[0][1] == 2
    assert ("export", 1) in ranked
    assert "--dry-run" not in dict(ranked)  # one's own is spelled otherwise
    with pytest.raises(UsageError, match="OTHER=one"):
        compare_projects(projects / "mine", [str(projects / "one"), str(projects / "one")])


def test_a_gap_becomes_a_plan_with_a_check_that_names_it(projects: Path) -> None:
    table = compare_projects(projects / "mine", [str(projects / "one")])
    gap = next(each for each in table.gaps if each.name == "export")
    made = gap_plan(gap, "mine")
    assert made.plan.steps[0].check[2] == "mine --help | grep -qw -- 'export'"
    assert "one cli.py:8" in made.words
    written = write_plans(table, projects / "plans", program="mine", limit=2)
    assert len(written) == 2
    assert all(plan_of(path.read_text()).steps for path in written)


def test_a_repository_is_read_from_git_and_nothing_of_it_is_run(projects: Path, home: Path) -> None:
    one = projects / "one"
    git = ["git", "-C", str(one), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    watching = ["config", "core.fsmonitor", "touch ran; false"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"], watching):
        subprocess.run([*git, *words], check=True, capture_output=True)
    compare = [sys.executable, "-m", "ratchet", "compare"]
    asked = [*compare, f"one={one / '.git'}", "--own", str(projects / "mine"), "--json"]
    environ = {"PATH": os.environ["PATH"], "HOME": str(home.parent)}
    said = subprocess.run(asked, env=environ, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    rows = {each["name"]: each["cells"] for each in json.loads(said.stdout)}
    assert rows["export"]["one"] == {"file": "cli.py", "line": 8, "shown": '@cli.command("export")'}
    assert not (one / "ran").exists()
    asked = [*compare, str(projects / "none")]
    missing = subprocess.run(asked, env=environ, capture_output=True, text=True, check=False)
    assert missing.returncode == 3
