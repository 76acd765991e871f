"""Write docs/explanation/figures.md from the results of the last runs. `make bench` does it last.

A section whose script was not run here stays as it was, so that one script can be run anew alone.
"""

from __future__ import annotations

import json
import os
import platform
import re
from pathlib import Path

from figures import RESULTS

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "figures.md"
HEAD = """# Figures

Each comes from a script in `benchmarks/` that prints its baseline beside it, measured in the same run; `make bench`
runs them all and writes this page. Machines differ and this one is shared, so read the ratios. GA is grouping accuracy
(messages whose group is exactly right), FGA the F1 of groups; "x" is a multiple of the baseline.
"""
SAID = {True: "yes", False: "**no**", None: ""}


def main() -> None:
    sections = _written() | {path.stem: _section(path) for path in RESULTS.glob("*.json")}
    head = f"{HEAD}\nLast written on {os.cpu_count()} cores, Python {platform.python_version()}.\n"
    PAGE.write_text("\n".join([head, *(sections[name] for name in sorted(sections))]), encoding="utf-8")
    print(f"wrote {PAGE.name}")


def _written() -> dict[str, str]:
    """The sections of the page as it is, by the name of their script."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    parts = re.split(r"(?m)^(?=## `benchmarks/)", text)[1:]
    return {part[len("## `benchmarks/") : part.index(".py`")]: part.rstrip("\n") + "\n" for part in parts}


def _section(path: Path) -> str:
    result = json.loads(path.read_text(encoding="utf-8"))
    lines = [f"## `benchmarks/{result['benchmark']}.py`\n"]
    lines.append("| figure | measured | goal | baseline of the same run | holds |\n|---|---|---|---|---|")
    for each in result["figures"]:
        cells = (each["name"], each["measured"], each["goal"], each["baseline"], SAID[each["holds"]])
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
