"""CHANGELOG.md says what the fragments in changelog.d say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path("scripts", "changelog.py")


def run(root: Path, *options: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, str(root / SCRIPT), *options], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_the_changelog_is_that_of_the_fragments() -> None:
    assert run(ROOT, "--check") == (0, "")


def test_an_area_is_a_heading_and_a_short_list() -> None:
    areas = sorted((ROOT / "changelog.d").glob("[0-9]*.md"))
    for area in areas:
        heading, _, items = area.read_text(encoding="utf-8").partition("\n\n")
        told = re.findall(r"^- .+\n(?:  .+\n)?", items, re.MULTILINE)
        assert heading.startswith("### "), area.name
        assert "".join(told) == items, f"{area.name}: an item has one line or two"
        assert 4 <= len(told) <= 12, f"{area.name}: 4 to 12 items"
        assert max(map(len, items.splitlines())) <= 140, f"{area.name}: 140 characters a line"
    assert sum(area.stat().st_size for area in areas) <= 20_000, "an area says what there is; docs/ says more"


def test_areas_become_the_first_version_and_changes_the_next(tmp_path: Path) -> None:
    fragments, changelog = tmp_path / "changelog.d", tmp_path / "CHANGELOG.md"
    fragments.mkdir()
    (tmp_path / SCRIPT).parent.mkdir()
    (tmp_path / SCRIPT).write_bytes((ROOT / SCRIPT).read_bytes())
    changelog.write_text("# Changelog\n")
    (fragments / "README.md").write_text("How fragments are named.\n")
    (fragments / "01-recording.md").write_text("### Recording\n\n- Records.\n")
    (fragments / "02-lessons.md").write_text("### Lessons\n\n- Learns.\n")
    (fragments / "slow.fixed.md").write_text("It was slow.\n")
    assert run(tmp_path) == (1, "slow.fixed.md: changelog.d/README.md says how fragments are named\n")

    (fragments / "slow.fixed.md").unlink()
    assert run(tmp_path) == (0, "")
    areas = "\n\n### Recording\n\n- Records.\n\n### Lessons\n\n- Learns.\n"
    assert changelog.read_text().partition("## ")[2] == f"Unreleased{areas}"
    assert run(tmp_path, "--release", "0.1.0") == (0, "")
    assert [each.name for each in fragments.iterdir()] == ["README.md"]
    assert run(tmp_path, "--check") == (0, "")
    first = changelog.read_text().partition("## ")[2]
    assert re.fullmatch(r"0\.1\.0, \d{4}-\d\d-\d\d" + re.escape(areas), first)

    (fragments / "quick.changed.md").write_text("Quick,\nfor all.\n")
    (fragments / "b.added.md").write_text("- Two.\n- Three.\n")
    (fragments / "a.added.md").write_text("One.\n")
    assert run(tmp_path, "--check")[0] == 1
    assert run(tmp_path) == (0, "")
    told = "### Added\n\n- One.\n- Two.\n- Three.\n\n### Changed\n\n- Quick,\n  for all."
    assert changelog.read_text().partition("## ")[2] == f"Unreleased\n\n{told}\n\n## {first}"
    (fragments / "03-more.md").write_text("### More\n\n- More.\n")
    assert run(tmp_path)[0] == 1
