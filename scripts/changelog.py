"""Write CHANGELOG.md from the fragments in changelog.d/; `make changelog` runs it.

    python scripts/changelog.py [--check]

A fragment is `NAME.added.md`, `NAME.changed.md` or `NAME.fixed.md`: one paragraph, or a list of its own.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECTIONS = ("Added", "Changed", "Fixed")
TOP = "# Changelog\n\nWritten from `changelog.d/` by `make changelog`.\n\n## Unreleased\n"


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--check", action="store_true", help="write nothing; end with 1 where CHANGELOG.md is behind")
    written, wanted = ROOT / "CHANGELOG.md", changelog(ROOT / "changelog.d")
    if not asked.parse_args().check:
        written.write_text(wanted, encoding="utf-8")
    elif not written.exists() or written.read_text(encoding="utf-8") != wanted:
        print("CHANGELOG.md is behind changelog.d: run `make changelog` and commit it", file=sys.stderr)
        return 1
    return 0


def changelog(folder: Path) -> str:
    """Return the text of CHANGELOG.md. Raises SystemExit for a fragment of no section."""
    sections: dict[str, list[str]] = {section: [] for section in SECTIONS}
    for fragment in sorted(folder.glob("*.md")):
        if fragment.name == "README.md":
            continue
        section = fragment.suffixes[0].removeprefix(".").title() if len(fragment.suffixes) == 2 else ""
        if section not in sections:
            raise SystemExit(f"{fragment.name}: name it NAME.added.md, NAME.changed.md or NAME.fixed.md")
        sections[section].append(item(fragment.read_text(encoding="utf-8")))
    told = (f"\n### {section}\n\n" + "".join(items) for section, items in sections.items() if items)
    return TOP + "".join(told)


def item(text: str) -> str:
    """Return a fragment as items of a list: a list stays as it is, a paragraph becomes one item."""
    lines = text.strip().splitlines()
    if not text.startswith("- "):
        lines = [f"- {lines[0]}", *(f"  {line}".rstrip() for line in lines[1:])]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
