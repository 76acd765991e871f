"""Write CHANGELOG.md from the fragments in changelog.d/ (see its README); `make changelog` runs it.

python scripts/changelog.py [--check | --release VERSION]
"""

from __future__ import annotations

import argparse
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
AREAS, CHANGES = ("md",), ("added.md", "changed.md", "fixed.md")  # what follows the first dot of a fragment's name
TOP = "# Changelog\n\nWritten from `changelog.d/` by `make changelog`.\n"


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--check", action="store_true", help="write nothing; end with 1 where CHANGELOG.md is behind")
    asked.add_argument("--release", metavar="VERSION", help="tell what is unreleased as VERSION; delete the fragments")
    given, written = asked.parse_args(), ROOT / "CHANGELOG.md"
    before = written.read_text(encoding="utf-8")
    fragments = sorted(path for path in (ROOT / "changelog.d").glob("*.md") if path.name != "README.md")
    title = f"{given.release}, {datetime.now(UTC):%Y-%m-%d}" if given.release else "Unreleased"
    wanted = changelog(fragments, before, title)
    if given.check and before != wanted:
        raise SystemExit("CHANGELOG.md is behind changelog.d: run `make changelog` and commit it")
    written.write_text(wanted, encoding="utf-8")
    for fragment in fragments if given.release else ():
        fragment.unlink()
    return 0


def changelog(fragments: list[Path], before: str, title: str) -> str:
    """Return CHANGELOG.md: fragments as `title`, then the versions in `before`. Raises SystemExit for a wrong name."""
    released = re.search(r"^## (?!Unreleased$)", before, re.MULTILINE)
    told: dict[str, list[str]] = {ending: [] for ending in (CHANGES if released else AREAS)}
    if wrong := [each.name for each in fragments if each.name.partition(".")[2] not in told]:
        raise SystemExit(f"{', '.join(wrong)}: changelog.d/README.md says how fragments are named")
    for each in fragments:
        told[each.name.partition(".")[2]].append(each.read_text(encoding="utf-8").strip())
    parts = [TOP, f"## {title}\n"] if fragments else [TOP]
    for ending, texts in told.items():
        if released and texts:
            items = (text if text.startswith("- ") else "- " + text.replace("\n", "\n  ") for text in texts)
            texts = [f"### {ending.removesuffix('.md').title()}\n\n" + "\n".join(items)]
        parts += [f"{text}\n" for text in texts]
    return "\n".join([*parts, before[released.start() :]] if released else parts)


if __name__ == "__main__":
    sys.exit(main())
