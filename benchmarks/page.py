"""Write docs/explanation/figures.md from the results of the last runs. `make bench` does it last."""

from __future__ import annotations

import json
import os
import platform
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
    parts = [HEAD, f"Last written on {os.cpu_count()} cores, Python {platform.python_version()}.\n"]
    for path in sorted(RESULTS.glob("*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        parts.append(f"## `benchmarks/{result['benchmark']}.py`\n")
        parts.append("| figure | measured | goal | baseline of the same run | holds |\n|---|---|---|---|---|")
        for each in result["figures"]:
            cells = (each["name"], each["measured"], each["goal"], each["baseline"], SAID[each["holds"]])
            parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        parts.append("")
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {PAGE.name}")


if __name__ == "__main__":
    main()
